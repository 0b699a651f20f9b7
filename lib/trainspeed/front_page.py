"""What the front page tells of: every verdict with its place, the runs behind them, which notebooks ran.

Reads what the notebooks left in the folder; judges nothing, draws nothing and writes nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from trainspeed import datasets
from trainspeed.comparison import Verdict
from trainspeed.confirmation import NO_SWITCHES
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.execute import METADATA
from trainspeed.export import slug
from trainspeed.ledger import Ledger
from trainspeed.notebook import VERDICTS
from trainspeed.recipe_search import CHAIN
from trainspeed.run import Run
from trainspeed.sessions import COMPARE, SUMMARY
from trainspeed.trial import DATASETS, check_name
from trainspeed.verdict import Outcome

PAGE = "index.html"
FILES = ("runs.csv", "runs.jsonl", VERDICTS, f"{COMPARE}.html")
# Headings of the notebooks that verdicts are found under; where none is named, it is the last one.
SECTIONS = {
    ("layout", "layout"): "channels_last against channels_first",
    ("layout", "framework"): "Framework against framework",
    ("layout", "accuracy"): "Accuracy",
    ("layout", "control"): "channels_last against channels_first",
    ("multi_gpu", "devices"): "Speed-up",
    ("multi_gpu", "pipeline"): "The input pipeline",
    ("multi_gpu", "control"): "Speed-up",
    ("amp", "precision"): "Speed-up",
    ("amp", "accuracy"): "Does accuracy hold?",
    ("amp", "control"): "Speed-up",
    ("conv2d", "library"): "Speed-up",
    ("conv2d", "devices"): "Speed-up",
    ("conv2d", "residency"): "Speed-up",
    ("conv2d", "control"): "Speed-up",
}
SECTION = "Verdict"
STUDIES = tuple(dict.fromkeys(study for study, _ in SECTIONS))
ANCHOR = re.compile(r'\sid="([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A notebook of the report, or of an earlier one that is still in the folder.

    Attributes:
        status: As of `execute.Outcome`.
        error: One line; None where it is ok.
        seconds: It took, with measuring; of one that draws older runs, those took. None where not known.
        page: File name of its page; None where there is none.
        rendered: Whether it draws older runs and measured none.
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


@dataclass(frozen=True)
class Front:
    """All that the front page tells of.

    Attributes:
        out: Folder of the page.
        runs: Of the session that each notebook's page shows, without the front page's own.
        own: The front page's newest runs, of a recipe and of confirmations.
        anchors: File name of a page -> the places in it that a link can name.
    """

    out: Path
    notebooks: tuple[Ran, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    runs: tuple[Run, ...] = ()
    own: tuple[Run, ...] = ()
    doubts: tuple[str, ...] = ()
    anchors: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine of the newest run."""
        return max(self.runs, key=lambda run: run.started_at or "").machine if self.runs else {}

    @property
    def versions(self) -> dict[str, Mapping[str, str]]:
        """Versions per framework."""
        return {run.trial.framework: run.versions for run in self.runs if run.versions}

    @property
    def session(self) -> str:
        """The newest session that a notebook shows."""
        return max((ran.session or "" for ran in self.notebooks), default="")

    @property
    def files(self) -> tuple[str, ...]:
        """Names of what else is beside the page, by now."""
        return tuple(name for name in FILES if (self.out / name).is_file())

    @property
    def switches(self) -> list[Verdict]:
        """Verdicts on time of what can be switched, those on training first, of these the largest speed-up first.

        A control is no switch, and hardly anyone changes the framework for its speed.
        """
        known = [v for v in self.verdicts if v.quantity == "time" and v.factor not in NO_SWITCHES]
        return sorted(in_order(known), key=lambda verdict: isinstance(verdict.candidate, Conv2dTrial))

    @property
    def gains(self) -> list[Verdict]:
        """What is worth switching on: the largest gain first."""
        return [verdict for verdict in self.switches if verdict.outcome is Outcome.FASTER]

    def place_of(self, verdict: Verdict) -> str | None:
        """Return the page and section that a verdict comes from, as a link; None where it has no page."""
        page = f"{verdict.study}.html"
        if page not in self.anchors:
            return None
        anchor = slug(section_of(verdict))
        return f"{page}#{anchor}" if anchor in self.anchors[page] else page

    def is_older(self, session: str | None) -> bool:
        """Whether a session is an earlier one than the newest that is shown."""
        return bool(session) and session < self.session  # ids begin with the time


def read_front(out: Path, source: Path, told: Sequence[Mapping[str, Any]] | None = None) -> Front:
    """Return what a report folder holds.

    Args:
        out: Folder with the notebooks and `verdicts.json`.
        source: Folder with the ledger.
        told: What became of this report's notebooks, also of those that left no file; see `Ran`.
    """
    notebooks = notebooks_in(out, told or ())
    everything, doubts = Ledger(source).read()
    runs = list({(run.session, run.study, run.key): run for run in everything}.values())  # again: once
    newest: dict[str, str] = {}
    for run in runs:
        newest[run.study] = max(run.session, newest.get(run.study, ""))
    shown = {ran.name: ran.session or newest.get(ran.name) for ran in notebooks}
    verdicts, unread = _read_verdicts(out / VERDICTS)
    front = Front(
        out=out,
        verdicts=tuple(verdict for verdict in verdicts if verdict.study != SUMMARY),
        runs=tuple(run for run in runs if run.study != SUMMARY and run.session == shown.get(run.study)),
        own=tuple(run for run in runs if run.study == SUMMARY and run.session == newest[SUMMARY]),
        doubts=tuple(dict.fromkeys((*doubts, *unread))),
        anchors={ran.page: _anchors(out / ran.page) for ran in notebooks if ran.page},
    )
    return replace(front, notebooks=tuple(_measured(ran, front.runs) for ran in notebooks))


def notebooks_in(out: Path, told: Sequence[Mapping[str, Any]] = ()) -> tuple[Ran, ...]:
    """Return the notebooks of a report folder: those that are told of first, and then what else is there."""
    rows = {row["name"]: dict(row) for row in told}
    names = ("title", "status", "error", "seconds", "session", "preset", "rendered")
    for path in sorted(out.glob("*.ipynb")):
        name = path.name.removesuffix(".ipynb").removesuffix(".failed")
        if path.name.startswith(".") or name in (SUMMARY, COMPARE):
            continue
        try:
            ending = json.loads(path.read_text(encoding="utf-8"))["metadata"][METADATA]
            found = {key: ending.get(key) for key in names}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # not one of ours
        rows[name] = {"name": name} | found | rows.get(name, {})
    return tuple(_ran(row, out) for row in rows.values())


def _ran(row: Mapping[str, Any], out: Path) -> Ran:
    page = f"{row['name']}.html" if (out / f"{row['name']}.html").is_file() else None
    known = {f.name: row[f.name] for f in fields(Ran) if row.get(f.name) is not None}
    if row["name"] == SUMMARY:  # only told of where it did not measure to its end
        known["title"] = "Recipe and confirmations"
    return Ran(**{"title": row["name"], "status": "ok", **known, "page": page})


def _measured(ran: Ran, runs: Iterable[Run]) -> Ran:
    """Drawing takes seconds; what a reader asks is how long the runs took."""
    if not ran.rendered:
        return ran
    seconds = sum(sum(run.stages_s.values()) for run in runs if run.study == ran.name)
    return replace(ran, seconds=seconds or None)


def _anchors(page: Path) -> frozenset[str]:
    return frozenset(ANCHOR.findall(page.read_text(encoding="utf-8", errors="replace")))


def _read_verdicts(path: Path) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts of a file, and what is wrong with it."""
    try:
        elements = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except ValueError:
        elements = None
    if not isinstance(elements, list):
        return [], [f"{VERDICTS} is damaged and none of it is shown: `make render` writes it anew."]
    found = [verdict for element in elements if (verdict := _verdict(element)) is not None]
    if not (unread := len(elements) - len(found)):
        return found, []
    verdicts = "verdict" if unread == 1 else "verdicts"
    is_are = "is" if unread == 1 else "are"
    doubt = f"{unread} {verdicts} in {VERDICTS} {is_are} of another version and left out: `make render` writes it anew."
    return found, [doubt]


def _verdict(element: Any) -> Verdict | None:
    """Return the verdict; None where it is none that this version can show."""
    try:
        verdict = Verdict.from_dict(element)
        label = verdict.label
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    texts = (verdict.session, verdict.study, verdict.factor, verdict.sentence, label)
    sizes = [size for size in (verdict.speedup, verdict.low, verdict.high) if size is not None]
    sound = (
        verdict.quantity in ("time", "accuracy")
        and all(isinstance(text, str) for text in texts)
        and all(_is_number(size) and (size > 0 or verdict.quantity != "time") for size in sizes)
        and _is_number(verdict.blocks)
        and len(sizes) in (0, 1, 3)
        and (verdict.speedup is not None or not sizes)
        and (verdict.low is not None or verdict.outcome is Outcome.UNDECIDED)
    )
    return verdict if sound else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def section_of(verdict: Verdict) -> str:
    """Return the heading that a verdict is found under in its notebook."""
    factor = verdict.factor if verdict.quantity == "time" or verdict.factor == "control" else "accuracy"
    return SECTIONS.get((verdict.study, factor), SECTION)


def in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return what was decided first, the largest speed-up on top; then the undecided, accuracy, controls last."""

    def place(verdict: Verdict) -> tuple:
        last = verdict.factor == "control", verdict.quantity != "time"
        return *last, verdict.outcome is Outcome.UNDECIDED, verdict.low is None, -(verdict.speedup or 0.0)

    return sorted(verdicts, key=place)


def complete(notebooks: Iterable[Ran]) -> bool:
    """Whether every notebook came to its end."""
    return all(ran.status == "ok" for ran in notebooks)


def data_set(wanted: str, front: Front, *, drawn: bool) -> str:
    """Return the data set of the recipe, under its own name.

    Args:
        wanted: As it was asked for; "auto" is what is there.
        drawn: Whether older runs are shown: then it is theirs, whatever has been fetched here.
    Raises:
        UserError: There is no such data set, or it was not fetched.
    """
    check_name("dataset", wanted, DATASETS)
    if drawn:
        return next((run.trial.dataset for run in front.own if run.label.startswith(CHAIN)), wanted)
    return datasets.resolve(wanted)
