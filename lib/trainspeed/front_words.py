"""The front page in sentences: what to switch on, how sure that is, what is missing. Computes no speed-up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainspeed.comparison import Verdict, controls
from trainspeed.confirmation import Confirmed
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.doubts import study_doubts
from trainspeed.front_page import STUDIES, Front, in_order
from trainspeed.naming import name_of
from trainspeed.notebook import VERDICTS
from trainspeed.progress import minutes
from trainspeed.run import Run, Status
from trainspeed.sessions import SUMMARY
from trainspeed.study import Measured
from trainspeed.verdict import LEAST_BLOCKS, Outcome, expected_false
from trainspeed.wording import NAMES, describe

MOST = 8  # of the gains in sentences: a reader wants to know in a minute; the table has them all
DATA_SETS = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "digits": "the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)",
    "own": "the data of the user's own file",
}
OUTCOMES = (Outcome.FASTER, Outcome.SLOWER, Outcome.BETTER, Outcome.WORSE, Outcome.SAME, Outcome.UNDECIDED)
CODE = re.compile(r"(`[^`\n]*`)")
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
NUMBERS = re.compile(r"\d[\d.,]*")


def plain(text: str) -> str:
    """Return what others wrote, such as a framework's error, so that Markdown shows it as it is.

    `Code` between backticks stays code.
    """
    parts = CODE.split(" ".join(text.split()))
    for index in range(0, len(parts), 2):
        parts[index] = MARKUP.sub(r"\\\1", parts[index])
    return "".join(parts)


def machine_sentences(machine: Mapping[str, Any]) -> list[str]:
    """Say in one line what was measured on."""
    if not machine:
        return ["Nothing was measured in this folder yet."]
    gpus = Counter(gpu["name"] for gpu in machine.get("gpus") or [])
    if machine.get("device") == "gpu" and gpus:
        return [", ".join(f"{number} × {name}" if number > 1 else name for name, number in gpus.items())]
    cores = (machine.get("cores") or {}).get("logical")
    return [f"{machine.get('cpu') or 'CPU'}" + (f", {cores} cores" if cores else "") + ", no GPU used"]


def switch_sentences(front: Front, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Say what is faster, the largest gain first, each with a link to where it comes from.

    Args:
        confirmed: What became of some of these in fresh blocks: a gain that was luck must not pass for one.
    """
    gains = front.gains
    if gains:
        more = len(gains) - MOST
        rest = [f"{more} smaller gain{'s' * (more > 1)}: in the [table](#every-verdict)."] if more > 0 else []
        again = {c.first: _in_fresh_blocks(c) for c in confirmed}
        return [_linked(front, verdict, again.get(verdict, "")) for verdict in gains[:MOST]] + rest
    if any(verdict.outcome is not Outcome.UNDECIDED for verdict in front.switches):
        return ["Nothing that was compared is faster here than what it was compared with."]
    return [f"Nothing is decided: a verdict needs {LEAST_BLOCKS} blocks or more."]


def slower_sentences(front: Front) -> list[str]:
    """Say what costs time or accuracy, the largest loss first, and what makes no difference."""
    slower = [verdict for verdict in front.switches[::-1] if verdict.outcome is Outcome.SLOWER]
    slower.sort(key=lambda verdict: isinstance(verdict.candidate, Conv2dTrial))
    worse = [verdict for verdict in front.verdicts if verdict.outcome is Outcome.WORSE]
    same = [verdict for verdict in front.switches if verdict.outcome is Outcome.SAME]
    more = len(slower) - MOST
    rest = [f"{more} smaller loss{'es' * (more > 1)}: in the [table](#every-verdict)."] if more > 0 else []
    losses = [_linked(front, verdict) for verdict in slower[:MOST]] + rest
    return losses + [_linked(front, verdict) for verdict in (*in_order(worse), *same[:MOST])]


def _in_fresh_blocks(confirmed: Confirmed) -> str:
    word = confirmed.word if confirmed.holds else "**not confirmed**"
    return f"; {word} in [fresh blocks](#confirmed-in-fresh-blocks)" if confirmed.again else ""


def _linked(front: Front, verdict: Verdict, more: str = "") -> str:
    decimals, sign, unit = (2, "", "x") if verdict.quantity == "time" else (1, "+", " points")
    size, low, high = (
        f"{round(value, decimals) + 0.0:{sign}.{decimals}f}"  # no -0.0
        for value in (verdict.speedup, verdict.low, verdict.high)
    )
    place = front.place_of(verdict)
    where = f"[{plain(verdict.study)}]({place})" if place else plain(verdict.study)
    older = ", from an earlier session" if front.is_older(verdict.session) else ""
    words = {Outcome.SAME: "the same within the margin"}.get(verdict.outcome, str(verdict.outcome))
    return f"**{size}{unit}** ({low} to {high}), {words}: {plain(name_of(verdict))} ({where}{older}){more}."


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
        false = sum(expected_false(1, verdict.judgement.confidence) for verdict in judged)
        several = f"{len(judged)} of them have" if len(judged) > 1 else "One of them has"
        sentences.append(
            f"{several} an interval. At this confidence up to {false:.1f} of these intervals miss the truth on "
            "average, and the largest gains are the likeliest to be too large."
        )
    return sentences


def with_interval(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on time that have an interval."""
    return [v for v in verdicts if v.low is not None and v.quantity == "time"]


def chart_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return verdicts for the chart of all notebooks, each with a name that stands alone."""
    fields = ("speedup", "low", "high", "outcome", "blocks")
    return [
        {"label": name_of(verdict), **{name: getattr(verdict, name) for name in fields}}
        for verdict in verdicts
    ]


def older_sentences(front: Front, measured: Measured) -> list[str]:
    """Say where the recipe and the confirmations are older than what they stand beside."""
    older = measured.runs and front.is_older(measured.session)
    return [f"Measured in an earlier session, {measured.session}."] if older else []


def time_sentences(front: Front, measured: Measured) -> list[str]:
    """Say how long the report took, and how much of that this page measured itself."""
    sentences = []
    for rendered, took in ((False, "took"), (True, "drawn again from runs that took")):
        others = [ran for ran in front.notebooks if ran.name != SUMMARY and ran.rendered == rendered]
        seconds = [ran.seconds for ran in others if ran.seconds is not None]
        if seconds:
            number = f"{len(seconds)} notebook{'s' * (len(seconds) != 1)}"
            sentences.append(f"{number}{',' * rendered} {took} {minutes(sum(seconds))}.")
    own = sum(sum(run.stages_s.values()) for run in measured.runs)
    return sentences + ([f"The recipe and the confirmations took {minutes(own)}."] if own else [])


def data_sentences(front: Front, measured: Measured) -> list[str]:
    """Say what was trained on, and where the measured values are."""
    sets = sorted({run.trial.dataset for run in (*front.runs, *measured.runs) if run.trains})
    names = [DATA_SETS.get(name, name) for name in sets]
    trained = f"Trained on: {', '.join(names)}." if names else "Nothing was trained in this report."
    linked = [f"[{name}]({name})" for name in front.files]
    return [trained, *([f"Beside this page: {', '.join(linked)}."] if linked else [])]


def not_measured(front: Front, measured: Measured) -> list[str]:
    """Say what was asked for and gave no result, and why: once for each reason; and which notebooks are missing."""
    ended = [
        f"{plain(ran.name)}: {ran.status}{f': {plain(ran.error)}' if ran.error else ''}".rstrip(".") + "."
        for ran in front.notebooks
        if ran.status != "ok"
    ]
    kinds: dict[tuple[str, str, str], list[Run]] = {}
    for run in (*front.runs, *measured.runs):
        if run.status != Status.OK:
            kind = NUMBERS.sub("", run.reason or "")
            kinds.setdefault((run.study, str(run.status), kind), []).append(run)
    failed = [
        f"{plain(study)}: {plain(_of(runs))}: {status}: {plain((runs[0].reason or 'no reason given').rstrip('.'))}."
        for (study, status, _), runs in kinds.items()
    ]
    missing = [name for name in STUDIES if name not in {ran.name for ran in front.notebooks}]
    words = f'Not in this report: {", ".join(map(plain, missing))}: `make report NOTEBOOKS="{" ".join(missing)}"`.'
    return [*ended, *failed, *([words] if missing else [])]


def _of(runs: Sequence[Run]) -> str:
    """What these runs were of: in full for one trial, else by framework and number."""
    trials = dict.fromkeys(run.trial.without_seed() for run in runs)
    if len(trials) == 1:
        return ", ".join(describe(next(iter(trials))))
    names = ", ".join(dict.fromkeys(NAMES[trial.framework] for trial in trials))
    return f"{len(trials)} trials ({names})"


def all_doubts(front: Front, measured: Measured) -> list[str]:
    """Return the doubts about the folder, about each study, and about what this page measured itself."""
    found = [*front.doubts, *_of_several_machines((*front.runs, *measured.runs))]
    known = {verdict.study for verdict in front.verdicts}
    for study in dict.fromkeys(run.study for run in front.runs):
        runs = [run for run in front.runs if run.study == study]
        found += [f"{study}: {doubt}" for doubt in study_doubts(runs, controls(runs))]
        if study not in known:
            found.append(f"{study}: it has runs, but no verdict in {VERDICTS}: see why in its notebook.")
    return [plain(doubt) for doubt in dict.fromkeys((*found, *measured.doubts))]


def _of_several_machines(runs: Iterable[Run]) -> list[str]:
    """A doubt where not everything was measured on one machine with the same versions."""
    machines: dict[str, list[str]] = {}
    versions: dict[str, set[str]] = {}
    for run in runs:
        if run.machine:
            machines.setdefault(machine_sentences(run.machine)[0], []).append(run.study)
        if version := run.versions.get(run.trial.framework):
            versions.setdefault(NAMES[run.trial.framework], set()).add(version)
    told = "; ".join(f"{', '.join(dict.fromkeys(of))} on {name}" for name, of in machines.items())
    doubts = []
    if len(machines) > 1:
        doubts.append(f"Not everything was measured on one machine: {told}. Compare within each only.")
    for name, several in versions.items():
        if len(several) > 1:
            doubts.append(
                f"{name} ran in several versions: {', '.join(sorted(several))}. Measure all notebooks again."
            )
    return doubts
