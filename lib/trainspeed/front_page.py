"""What the front page tells: every verdict with its place, what was not measured, which notebooks ran.

Reads what the notebooks left in the folder; judges nothing and draws nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainspeed.comparison import Verdict
from trainspeed.confirmation import gain
from trainspeed.doubts import study_doubts
from trainspeed.execute import METADATA
from trainspeed.export import slug
from trainspeed.ledger import Ledger
from trainspeed.notebook import VERDICTS, read_elements
from trainspeed.progress import minutes
from trainspeed.run import Run, Status
from trainspeed.study import Measured
from trainspeed.verdict import Outcome, expected_false
from trainspeed.wording import NAMES, describe

NAME = "summary"
PAGE = "index.html"
FILES = ("runs.csv", "runs.jsonl", VERDICTS)
# Headings of the notebooks that verdicts are found under; where none is named, it is the last one.
SECTIONS = {
    ("layout", "layout"): "channels_last against channels_first",
    ("layout", "framework"): "Framework against framework",
    ("layout", "accuracy"): "Accuracy",
    ("layout", "control"): "channels_last against channels_first",
    ("multi_gpu", "devices"): "Speed-up",
    ("multi_gpu", "pipeline"): "The input pipeline",
    ("amp", "precision"): "Speed-up",
    ("amp", "accuracy"): "Does accuracy hold?",
    ("amp", "control"): "Speed-up",
    ("conv2d", "library"): "Speed-up",
    (NAME, "recipe"): "Recipe",
}
SECTION = "Verdict"
NOT_SWITCHES = ("control", "framework")
DATA_SETS = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "digits": "the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)",
    "own": "the data of the user's own file",
}
OUTCOMES = (Outcome.FASTER, Outcome.SLOWER, Outcome.BETTER, Outcome.WORSE, Outcome.SAME, Outcome.UNDECIDED)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A notebook of the report, or of an earlier one that is still in the folder.

    Attributes:
        status: As of `execute.Outcome`.
        error: One line; None where it is ok.
        seconds: It took, with measuring; None where it did not run.
        page: File name of its page; None where there is none.
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
        runs: Of the session that each notebook's page shows, without the front page's own.
        files: Names of the measured values beside the page.
    """

    notebooks: tuple[Ran, ...]
    verdicts: tuple[Verdict, ...]
    runs: tuple[Run, ...]
    doubts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine of the newest run."""
        return max(self.runs, key=lambda run: run.started_at or "").machine if self.runs else {}

    @property
    def versions(self) -> dict[str, Mapping[str, str]]:
        """Versions per framework."""
        return {run.trial.framework: run.versions for run in self.runs if run.versions}

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets that were trained on."""
        return sorted({run.trial.dataset for run in self.runs if run.trains})

    @property
    def decided(self) -> list[Verdict]:
        """Verdicts with an outcome, of what can be switched, the largest gain first."""
        known = [v for v in self.verdicts if v.outcome is not Outcome.UNDECIDED]
        return sorted((v for v in known if v.factor not in NOT_SWITCHES), key=gain, reverse=True)


def read_front(out: Path, source: Path, told: Sequence[Mapping[str, Any]] | None = None) -> Front:
    """Return what a report folder holds.

    Args:
        out: Folder with the notebooks and `verdicts.json`.
        source: Folder with the ledger.
        told: What became of this report's notebooks, also of those that left no file; see `Ran`.
    """
    notebooks = _notebooks(out, told or ())
    runs, doubts = Ledger(source).read()
    newest: dict[str, str] = {}
    for run in runs:
        newest[run.study] = max(run.session, newest.get(run.study, ""))
    shown = {ran.name: ran.session or newest.get(ran.name) for ran in notebooks}
    verdicts = []
    for element in read_elements(out / VERDICTS):
        try:
            verdicts.append(Verdict.from_dict(element))
        except (KeyError, TypeError, ValueError):
            doubts = (*doubts, "A verdict in verdicts.json cannot be read: it is of another version.")
    return Front(
        notebooks=notebooks,
        verdicts=tuple(verdict for verdict in verdicts if verdict.study != NAME),
        runs=tuple(run for run in runs if run.study != NAME and run.session == shown.get(run.study)),
        doubts=tuple(dict.fromkeys(doubts)),
        files=tuple(name for name in FILES if (out / name).is_file()),
    )


def _notebooks(out: Path, told: Sequence[Mapping[str, Any]]) -> tuple[Ran, ...]:
    rows = {row["name"]: row for row in told}
    for path in sorted(out.glob("*.ipynb")):
        name = path.name.removesuffix(".ipynb").removesuffix(".failed")
        if path.name.startswith(".") or name == NAME:
            continue
        try:
            ending = json.loads(path.read_text(encoding="utf-8"))["metadata"][METADATA]
        except (ValueError, KeyError, TypeError):
            continue  # not one of ours
        names = ("title", "status", "error", "seconds", "session", "preset", "rendered")
        rows[name] = {"name": name} | {key: ending.get(key) for key in names} | dict(rows.get(name, {}))
    found = []
    for name, row in rows.items():
        page = f"{name}.html" if (out / f"{name}.html").is_file() else None
        known = {key: row[key] for key in Ran.__dataclass_fields__ if row.get(key) is not None}
        found.append(Ran(**{"title": name, "status": "ok", **known, "page": page}))
    return tuple(found)


def place_of(verdict: Verdict) -> str:
    """Return the page and section that a verdict comes from, as a link from the front page."""
    factor = verdict.factor if verdict.quantity == "time" else "accuracy"
    page = PAGE if verdict.study == NAME else f"{verdict.study}.html"
    return f"{page}#{slug(SECTIONS.get((verdict.study, factor), SECTION))}"


def in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return decided switches first, the largest speed-up first; then the undecided, controls last."""

    def place(verdict: Verdict) -> tuple:
        last = verdict.factor == "control", verdict.low is None, verdict.quantity != "time"
        return *last, -(verdict.speedup or 0.0)

    return sorted(verdicts, key=place)


def headline_sentences(front: Front) -> list[str]:
    """Say what was decided in how many verdicts, and how many of them may be false."""
    if not front.verdicts:
        return ["No verdict yet: a notebook makes one when it has compared two trials."]
    judged = [verdict for verdict in front.verdicts if verdict.low is not None]
    count = Counter(verdict.outcome for verdict in front.verdicts)
    words = ", ".join(f"{count[outcome]} {outcome}" for outcome in OUTCOMES if count[outcome])
    number = len(front.verdicts)
    sentences = [f"{number} verdict{'s' * (number > 1)}: {words}."]
    if judged:
        false = expected_false(len(judged))
        sentences.append(
            f"{len(judged)} of them have an interval. At this confidence up to {false:.1f} of these intervals "
            "miss the truth on average, and the largest gains are the likeliest to be too large."
        )
    return sentences


def machine_sentences(front: Front) -> list[str]:
    """Say in one line what was measured on."""
    machine = front.machine
    if not machine:
        return ["Nothing was measured in this folder yet."]
    gpus = Counter(gpu["name"] for gpu in machine.get("gpus") or [])
    if machine.get("device") == "gpu" and gpus:
        return [", ".join(f"{number} × {name}" if number > 1 else name for name, number in gpus.items())]
    cores = (machine.get("cores") or {}).get("logical")
    return [f"{machine.get('cpu') or 'CPU'}" + (f", {cores} cores" if cores else "") + ", no GPU used"]


def with_interval(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on time that have an interval."""
    return [v for v in verdicts if v.low is not None and v.quantity == "time"]


def switch_sentences(front: Front) -> list[str]:
    """Return each decided switch, the largest gain first, with a link to where it comes from."""
    return [f"{v.sentence} [{v.study}]({place_of(v)})" for v in front.decided]


def time_sentences(front: Front, measured: Measured) -> list[str]:
    """Say how long the report took, and how much of that this page measured itself."""
    seconds = [ran.seconds for ran in front.notebooks if ran.seconds is not None]
    own = sum(sum(run.stages_s.values()) for run in measured.runs)
    number = f"{len(seconds)} notebook{'s' * (len(seconds) != 1)}"
    sentences = [f"{number} took {minutes(sum(seconds))}."] if seconds else []
    return sentences + ([f"The recipe and the confirmations took {minutes(own)}."] if own else [])


def data_sentences(front: Front) -> list[str]:
    """Say what was trained on, and where the measured values are."""
    names = [DATA_SETS.get(name, name) for name in front.data_sets]
    trained = f"Trained on: {', '.join(names)}." if names else "Nothing was trained in this report."
    return [trained, f"Measured values: {', '.join(f'[{name}]({name})' for name in front.files)}."]


def not_measured(runs: Iterable[Run]) -> list[str]:
    """Say what was asked for and gave no result, and why: once for each reason."""
    kinds: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.status != Status.OK:
            kinds.setdefault((run.study, str(run.status), run.reason or "no reason given"), []).append(run)
    return [
        f"{study}: {_of(failed)}: {status}: {reason.rstrip('.')}."
        for (study, status, reason), failed in kinds.items()
    ]


def _of(runs: Sequence[Run]) -> str:
    """What these runs were of: in full for one trial, else by framework and number."""
    trials = dict.fromkeys(run.trial.without_seed() for run in runs)
    if len(trials) == 1:
        return ", ".join(describe(next(iter(trials))))
    names = ", ".join(dict.fromkeys(NAMES[trial.framework] for trial in trials))
    return f"{len(trials)} trials ({names})"


def all_doubts(front: Front) -> list[str]:
    """Return the doubts about each study, and about the ledger as a whole."""
    found = list(front.doubts)
    for study in dict.fromkeys(run.study for run in front.runs):
        controls = [v for v in front.verdicts if v.study == study and v.factor == "control"]
        runs = [run for run in front.runs if run.study == study]
        found += [f"{study}: {doubt}" for doubt in study_doubts(runs, controls)]
    return found


def complete(front: Front) -> bool:
    """Whether every notebook came to its end."""
    return all(ran.status == "ok" for ran in front.notebooks)
