"""Values and pages of a made-up report, for the tests of what is sent on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from exported import displayed
from front_data import NOTHING, report_of, runs_of, verdicts_of
from trainspeed.core.files import VALUES
from trainspeed.judge.comparison import Verdict
from trainspeed.report.export import export_html
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.values import ReportValues, report_values

HOSTILE = (
    '</text><script>go()</script> | @someone #12 www.evil.example `a|b` [x](https://evil.example) "x\u202e"'
)


def a_verdict(ratio: float = 1.3, *, study: str = "layout", blocks: int = 6, **more) -> Verdict:
    """Return a verdict on time whose candidate is about so many times as fast; fields of it among `more` are set."""
    return replace(verdicts_of(runs_of(study, ratio, blocks=blocks))[0], **more)


def values_with(*verdicts: Verdict, again: float | None = None, **more) -> ReportValues:
    """Return the values of a report with these verdicts.

    Args:
        again: What fresh blocks say of the first one; None where it was not measured again.
        more: Arguments of `front_data.report_of`.
    """
    confirmed = [Confirmed(first=verdicts[0], again=a_verdict(again))] if again else []
    runs = runs_of("layout")
    return report_values(report_of(*verdicts, runs=runs, **more), NOTHING, confirmed)


def write_page(out: Path, name: str, *texts: str, title: str | None = None, **about) -> None:
    """Export a page of Markdown and HTML texts (those that begin with "<") as a report does."""
    out.mkdir(exist_ok=True)
    cells = [new_markdown_cell(f"# {title or f'The question of {name}'}")]
    for text in texts:
        shown = new_code_cell("show()", outputs=[displayed("text/html", text)], execution_count=1)
        cells.append(shown if text.startswith("<") else new_markdown_cell(text))
    path = out / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    export_html(path, out / f"{name}.html", pictures=out, **{"front_page": name != "index", **about})
    path.unlink()


def write_values(out: Path, values: ReportValues) -> None:
    """Write `report.json` as the front page's notebook does."""
    (out / VALUES).write_bytes(msgspec.json.encode(values))
