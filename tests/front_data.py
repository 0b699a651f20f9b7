"""A made-up report folder for the tests of the front page: runs, verdicts, notebooks and their pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import conv2d_data
from study_data import MACHINE, make_pair
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Run
from trainspeed.core.runs import Measured, RunSet
from trainspeed.judge.comparison import Verdict, as_json, compare, controls
from trainspeed.show.notebook import of_verdicts
from trainspeed.studies.conv2d.findings import library_verdicts
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.glance import fact_sentences, setting_sentences
from trainspeed.studies.summary.notebooks import ReportNotebook

STUDIES = ("layout", "multi_gpu", "amp", "conv2d")
SESSION = "20261120T100000Z-abcd"  # that of the made-up runs
OLDER = "20261001T100000Z-abcd"
# Study -> what is compared in it.
PAIRS = {
    "layout": ("layout", ("channels_first", "channels_last")),
    "amp": ("precision", ("fp32", "bf16")),
    "multi_gpu": ("pipeline", ("arrays", "in_model")),
}


def runs_of(study: str, ratio: float = 1.3, *, blocks: int = 6, **more) -> list[Run]:
    """Return the runs of a pair whose candidate is about so many times as fast as its baseline."""
    if study == "conv2d":
        return conv2d_data.world(blocks=blocks, torch=4.0 / ratio)
    factor, values = PAIRS[study]
    ratios = [ratio * (1 + 0.001 * block) for block in range(blocks)]
    return make_pair(factor, values, ratios, study=study, **{"test_accuracy": 0.9, **more})


def verdicts_of(runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts of such runs: on time, on accuracy where they have one, and on controls."""
    study = runs[0].study
    if study == "conv2d":
        return library_verdicts(runs, conv2d_data.CORE)
    factor, values = PAIRS[study]
    about = {"question": "Does it train faster?"}
    on_time = compare(runs, factor, *values, **about)
    return [*on_time, *compare(runs, factor, *values, quantity="accuracy", **about), *controls(runs)]


def write_report(
    out: Path,
    runs: Iterable[Run] = (),
    *,
    studies: Sequence[str] = STUDIES,
    verdicts: Sequence[Verdict] | None = None,
) -> list[Verdict]:
    """Write ledger, verdicts, notebooks and pages of a report; return the verdicts, those of the runs by default."""
    out.mkdir(exist_ok=True)
    runs = list(runs)
    for run in runs:
        Ledger(out).append(run)
    if verdicts is None:
        of = [[run for run in runs if run.study == study] for study in dict.fromkeys(r.study for r in runs)]
        verdicts = [verdict for mine in of for verdict in verdicts_of(mine)]
    (out / "verdicts.json").write_text(json.dumps(as_json(verdicts)))
    for study in studies:
        shown = {"Speed-up": [v for v in verdicts if v.quantity == "time"], "Accuracy": verdicts}
        write_notebook(out, study, [shows(heading, several) for heading, several in shown.items()])
        write_page(out, study)
    return list(verdicts)


def shows(heading: str, verdicts: Iterable[Verdict], anchors: Iterable[str] = ()) -> list[dict]:
    """Return the cells of a section that shows verdicts, as they are saved."""
    output = {"output_type": "display_data", "metadata": of_verdicts(verdicts, anchors=[*anchors])}
    return [
        {"cell_type": "markdown", "source": [f"## {heading}\n", "\n", "How to read it."]},
        {"cell_type": "code", "source": ["show()"], "outputs": [output]},
    ]


def write_notebook(out: Path, name: str, sections: Iterable[list[dict]] = (), **ending) -> None:
    """Write a notebook that says how it ended; one that failed under its own name."""
    told = {"title": f"The question of {name}", "status": "ok", "error": None, "seconds": 60.0}
    told |= {"session": SESSION, "preset": "quick", "rendered": False, **ending}
    out.mkdir(exist_ok=True)
    suffix = "" if told["status"] == "ok" else ".failed"
    saved = {"cells": [cell for cells in sections for cell in cells], "metadata": {"trainspeed": told}}
    (out / f"{name}{suffix}.ipynb").write_text(json.dumps(saved))


def write_page(out: Path, name: str) -> None:
    """Write a page, for links to lead to."""
    (out / f"{name}.html").write_text("a page")


NOTHING = Measured((), "summary", SESSION, out=Path(), folder=Path())


def of_runs(*runs, session=SESSION):
    return Measured(runs, "summary", session, out=Path(), folder=Path())


def report_of(*verdicts, runs=(), **more):
    pages = tuple(
        ReportNotebook(name=name, title="", status="ok", page=f"{name}.html") for name in ("layout", "conv2d")
    )
    return ReportSummary(
        out=Path("nowhere"), verdicts=verdicts, runs=RunSet(tuple(runs)), **{"notebooks": pages, **more}
    )


def fact(name, *runs, own=(), machine=MACHINE, confirmed=(), verdicts=(), **report):
    """Return what the first screen says after a bold word."""
    measured = of_runs(*own) if own else NOTHING
    about = report_of(*verdicts, runs=runs, **report)
    facts = [*fact_sentences(about, measured, confirmed), *setting_sentences(about, measured, machine)]
    (said,) = [said for said in facts if said.startswith(f"**{name}**: ")]
    return said.removeprefix(f"**{name}**: ")
