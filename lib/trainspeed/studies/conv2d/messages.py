"""What a chart of convolutions says, as its title: from what size on a device wins, what several bring, what a first
call takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainspeed.articles.charts import CONVOLUTIONS_QUESTION
from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.format import listed, three
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.crossover import Crossover, CrossoverKind
from trainspeed.judge.fastest import against_each, fastest_library
from trainspeed.judge.verdict import Outcome, judge
from trainspeed.show.messages import of_comparisons
from trainspeed.studies.conv2d.by_size import by_size_title
from trainspeed.studies.conv2d.calls import calls_at, calls_of, first_call_s, paired, warm_stage_s
from trainspeed.studies.conv2d.sweep_charts import QUESTION
from trainspeed.studies.conv2d.sweeps import LEAST_SIZES, SWEEPS, Sweep
from trainspeed.studies.conv2d.trials import on_device

CALL_QUESTION = "What is a call made of?"
CLEARLY = 0.9  # of what an image takes: less than that is no scatter of a median


def sweeps_title(sweeps: Iterable[Sweep], runs: Iterable[Run] = ()) -> str:
    """Return from what size on the device of the first pair wins, of what was decided.

    Where that is open, which library is fastest where that is decided; else the question.
    """
    first: dict[str, Sweep] = {}
    sweeps = list(sweeps)
    for sweep in sweeps:
        first.setdefault(sweep.factor, sweep)
    wins: dict[str, list[str]] = {}
    for sweep in first.values():
        if said := _won(sweep):
            wins.setdefault(f"{said[0]} beats {said[1]}", []).append(said[2])
    won = "; ".join(f"{pair} {listed(dict.fromkeys(where))}" for pair, where in wins.items())
    return won or by_size_title(runs, sweeps) or QUESTION


def _won(sweep: Sweep) -> tuple[str, str, str] | None:
    """Return who beats whom where, in words; None where that is not decided."""
    found = sweep.crossover
    device, cpu, unit = library_of(sweep.device), library_of(sweep.cpu), SWEEPS[sweep.factor].unit
    if len(found.points) < LEAST_SIZES or any(point.low is None for point in found.points):
        return None
    if found.kind is CrossoverKind.SINGLE and found.low is not None:
        return device, cpu, _side(found, unit)
    sizes = [point.size for point in found.points]
    tried = f"every size tried from {' to '.join(map(three, _ends(sizes)))}"
    where = f"at {listed(map(three, sizes)) if found.left_out else tried} {unit}"
    return {CrossoverKind.ALWAYS: (device, cpu, where), CrossoverKind.NEVER: (cpu, device, where)}.get(
        found.kind
    )


def _side(found: Crossover, unit: str) -> str:
    """Return on which side of its size a crossover was decided: to the last size with an interval, if not to all."""
    size = found.size_words
    first, last = (end(point.size for point in found.points) for end in (min, max))
    if found.rising:
        open_ = any(left > last for left in found.left_out)
        return f"from {size} to {three(last)} {unit}" if open_ else f"from {size} {unit} on"
    open_ = any(left < first for left in found.left_out)
    return f"from {three(first)} to {size} {unit}" if open_ else f"up to {size} {unit}"


def devices_title(verdicts: Sequence[Verdict]) -> str:
    """Return what several devices bring to a warm call, by outcome; the question where nothing is decided."""
    found = of_comparisons(verdicts)
    return CONVOLUTIONS_QUESTION if not found or found.endswith("?") else f"Warm calls, {found}"


def beyond_sharing(verdicts: Iterable[Verdict], runs: Iterable[Run]) -> list[str]:
    """Return what an image takes in the kernel, where N devices bring more than N times as much and that is why.

    The answer says that they do: see `advice`.

    Args:
        verdicts: On several devices against one.
        runs: Of these convolutions.
    """
    calls, sentences = calls_of(runs), []
    for verdict in verdicts:
        devices = verdict.candidate.devices
        if verdict.low is None or verdict.low <= devices:
            continue
        each_s, alone_s = (
            calls_at(calls, trial).median(warm_stage_s("kernel"))
            for trial in (verdict.candidate, verdict.baseline)
        )
        images = verdict.baseline.images
        if each_s is not None and alone_s is not None and devices * each_s < CLEARLY * alone_s:
            each, alone = (three(1e6 * seconds / images) for seconds in (devices * each_s, alone_s))
            sentences.append(
                f"{library_of(verdict.candidate)}: in its kernel an image takes {each} µs on each of {devices} "
                f"devices, which have {images // devices} of them, and {alone} µs on one that has all "
                f"{images}. So they bring more than {devices} times as much."
            )
    return sentences


def at_one_size(verdicts: Sequence[Verdict]) -> tuple[str, list[Verdict]]:
    """Return what was found at the one size that was compared, and the verdicts that show it.

    Where one library is faster than every other: how many times as fast as each, seen from it; else all by outcome.
    """
    if found := fastest_library(verdicts):
        return found.gain, against_each(found, verdicts)
    return of_comparisons(verdicts, otherwise="Which library is faster at this size?"), [*verdicts]


def calls_title(runs: Sequence[Run], trials: Iterable[Conv2dTrial]) -> str:
    """Return how many times as long as a warm call the first one takes, or in how many settings it takes longer.

    The times are those of the medians that the chart and the table have; what has no interval is counted.
    """
    calls = calls_of(runs)
    known = [one for one in (calls_at(calls, trial) for trial in trials if on_device(trial)) if one.runs]
    judged = [(one, judge(*paired(one.by_block(first_call_s), one.by_block()))) for one in known]
    sure = [(one, judgement) for one, judgement in judged if judgement.low is not None]
    longer = [one for one, judgement in sure if judgement.outcome is Outcome.FASTER]
    if not longer:
        return CALL_QUESTION
    unsure = f" ({len(judged) - len(sure)} more without an interval)" if len(sure) < len(judged) else ""
    if len(longer) < len(sure):
        return f"A first call takes longer than a warm one in {len(longer)} of {len(sure)} settings{unsure}"
    ends = _ends([one.median(first_call_s) / one.median() for one in longer])
    least, most = (three(float(f"{end:.2g}")) for end in ends)
    times = least if least == most else f"{least} to {most}"
    return f"A first call takes {times} times as long as a warm one{unsure}"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
