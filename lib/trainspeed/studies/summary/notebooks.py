"""The notebooks that are in a report's folder: how each ended, and where its page shows which verdicts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from trainspeed.core.files import DRAWING, FLEET, METADATA, SUMMARY, slug
from trainspeed.core.page_order import WHOLE, page_order
from trainspeed.core.quantities import Identifier, Name, Text
from trainspeed.search.unmeasured import UnmeasuredStage

MEMORY = (
    "memory",
    "result",
)  # how the id of the section on memory begins, or else of the one whose table has it
HEADING = re.compile(r"#{1,4} ")


@dataclass(frozen=True, kw_only=True)
class ReportNotebook:
    """A notebook of the report, or of an earlier one that is still in the folder.

    Attributes:
        status: A value of `report.notebook_run.NotebookStatus`.
        error: One line; None where the status is "ok".
        seconds: How long measuring took: see `core.runs.took_s`. None where nothing was measured.
        page: File name of its page; None where there is none.
        rendered: Whether it draws older runs and measured none.
        sections: (factor, quantity) of the verdicts that it shows -> id of the section that shows them first.
        anchors: Of the verdicts that have a line of their own in its page.
        memory: Id of the section that shows how much memory was taken; None where there is none.
        unmeasured: Stages of its searches that were not measured whole.
    """

    name: str
    title: str
    status: str
    error: str | None = None
    seconds: float | None = None
    page: str | None = None
    session: str | None = None
    preset: str | None = None
    rendered: bool = False
    sections: Mapping[tuple[str, str], str] = field(default_factory=dict)
    anchors: frozenset[str] = frozenset()
    memory: str | None = None
    unmeasured: tuple[UnmeasuredStage, ...] = ()


class Saved(TypedDict, total=False):
    """What a notebook's file may say of it."""

    title: Text
    status: Name
    error: Text
    session: Identifier
    preset: Name
    rendered: bool


SAVED = frozenset(Saved.__annotations__)


def notebooks_in(out: Path, statuses: Sequence[Mapping[str, Any]] = ()) -> tuple[ReportNotebook, ...]:
    """Return the notebooks of a report folder: those whose statuses are given first, then the others in it."""
    rows = {row["name"]: dict(row) for row in statuses}
    for path in sorted(out.glob("*.ipynb")):
        name = path.name.removesuffix(".ipynb").removesuffix(".failed")
        if path.name.startswith(".") or name in (SUMMARY, *DRAWING, FLEET):
            continue
        if not path.is_file():
            continue
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            row = {k: v for k, v in saved["metadata"][METADATA].items() if k in SAVED and v not in (None, "")}
            row = msgspec.convert(row, Saved) | {"name": name}
            row["sections"], ids = _sections(saved["cells"], whole=row.get("status", "ok") in WHOLE)
            row["memory"] = next((name for place in MEMORY for name in ids if name.startswith(place)), None)
            row["anchors"] = _anchors(saved["cells"])
            row["unmeasured"] = _unmeasured(saved["cells"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a report did not write it
        rows[name] = row | rows.get(name, {})
    return tuple(_notebook(row, out) for row in rows.values())


def _sections(
    cells: Sequence[Mapping[str, Any]], *, whole: bool
) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return where a page shows each kind of verdict first, see `show.notebook.of_verdicts`, and all its sections.

    Args:
        whole: Whether the notebook ran to its end, so that the page begins with the answer.
    """
    sections: dict[tuple[str, str], str] = {}
    ids: list[str] = []
    seen: Counter[str] = Counter()
    heading = ""
    for cell in (cells[index] for index in page_order(cells)) if whole else cells:
        lines = "".join(cell["source"]).splitlines() if cell["cell_type"] == "markdown" else []
        for name in (slug(line) for line in lines if HEADING.match(line)):
            seen[name] += 1
            heading = name if seen[name] == 1 else f"{name}-{seen[name]}"
            ids.append(heading)
        for output in cell.get("outputs", ()):
            for factor, quantity in _about(output).get("verdicts", ()):
                sections.setdefault((factor, quantity), heading)
    return sections, ids


def _anchors(cells: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of the verdicts that have a line of their own in the page."""
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    return frozenset(anchor for output in outputs for anchor in _about(output).get("anchors", ()))


def _unmeasured(cells: Iterable[Mapping[str, Any]]) -> tuple[UnmeasuredStage, ...]:
    """Return the stages of searches that outputs say were not measured whole."""
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    told = [left for output in outputs for left in _about(output).get("unmeasured", ())]
    return tuple(msgspec.convert(told, list[UnmeasuredStage]))


def _about(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an output says of the verdicts in it: see `show.notebook.of_verdicts`."""
    return output.get("metadata", {}).get(METADATA, {})


def _notebook(row: Mapping[str, Any], out: Path) -> ReportNotebook:
    page = f"{row['name']}.html"
    known = {f.name: row[f.name] for f in fields(ReportNotebook) if row.get(f.name) is not None}
    if row["name"] == SUMMARY:  # listed only where it did not measure to its end
        known["title"] = "Confirmations"
    known["page"] = page if (out / page).is_file() else None
    return ReportNotebook(**{"title": row["name"], "status": "ok"} | known)
