"""The rows that the proofs of the protocol of turns make in docs/benchmarks.md, from runs and judgements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from bounds import met as within
from scatter import luck, pooled_mean, robust_sd, sd, share, times_smaller
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Judgement, Outcome, judge

SMALLER, ROBUST_SMALLER = 2.0, 1.6  # times: wanted of the scatter in turns
FOUND, FALSE = 0.9, 0.05  # shares: wanted of planted effects
WAITING_CORES, WAITING_GPU = 0.005, 0.01  # wanted
CHANGED = (Outcome.FASTER, Outcome.SLOWER)

Pair = tuple[Run, Run]


def of_scatter(what: str, alone: Sequence[Pair], turns: Sequence[Pair]) -> list[str]:
    """Return the rows on A against A.

    Args:
        alone, turns: Both runs of each block, measured one after the other, and in turns.
    """
    before, after = ([math.log(judge_runs([a], [b]).speedup) for a, b in way] for way in (alone, turns))
    wall_s = [fmean(RunSet(pair).wall_s for pair in way) for way in (alone, turns)]
    found = []
    for size, name, wanted in ((sd, "SD", SMALLER), (robust_sd, "robust SD", ROBUST_SMALLER)):
        times = times_smaller(before, after, size)
        met = within(times, at_least=wanted) if len(turns) >= MIN_BLOCKS else "undecided"
        sizes = f"{size(before):.4f} / {size(after):.4f}"
        found.append(
            f"| {what}: {name} of a block's log ratio, A against A, one after the other / in turns | {times:.2f}: "
            f"{sizes} | at least {wanted:g} | {met} |"
        )
    rests = luck([_halves(*pair) for pair in turns])
    return [
        *found,
        f"| {what}: what remains in turns, the luck of a set of processes | {rests:.4f} of {sd(after):.4f} | "
        "printed | |",
        f"| {what}: seconds of a block, one after the other / in turns | {wall_s[0]:.1f} / {wall_s[1]:.1f}, "
        f"{len(turns)} blocks each | equal | |",
    ]


def _halves(a: Run, b: Run) -> tuple[float, float]:
    """Return the log ratio of a block in the first half of its rounds, and in the second half."""
    ratios = [math.log(a.round_s[number] / b.round_s[number]) for number in sorted(a.round_s)]
    half = len(ratios) // 2
    return median(ratios[:half]), median(ratios[half:])


def of_planted(
    what: str, found: Sequence[tuple[Judgement, Judgement]], pooled: Judgement, factor: float
) -> list[str]:
    """Return the rows on planted effects.

    Args:
        found: Of each comparison the judgement on an arm against itself, and against the one with more steps.
        pooled: The latter, over the blocks of all comparisons.
        factor: How many times as many steps that one trains.
    """
    repeats = len(found)
    slower = sum(more.outcome is Outcome.SLOWER for _, more in found)
    changed = sum(same.outcome in CHANGED for same, _ in found)
    widths = [half_width(same) for same, _ in found if same.low is not None]
    wide = f"{median(widths):.1%}, largest {max(widths):.1%}" if widths else "no interval"
    needed, allowed = math.ceil(FOUND * repeats), math.floor(FALSE * repeats)
    steps = f"+{100 * (factor - 1):.0f} % steps"
    return [
        f"| {what}: {steps} called slower | {slower} of {repeats} ({_in_words(slower, repeats)}) | "
        f"at least {needed} | {_yes(slower >= needed)} |",
        f"| {what}: +0 % called faster or slower | {changed} of {repeats} ({_in_words(changed, repeats)}) | at most "
        f"{allowed} | {_yes(changed <= allowed)} |",
        f"| {what}: half-width of the interval of +0 %, median | {wide} | printed | |",
        f"| {what}: plain / {steps}, epoch time, all blocks | {_ratio(pooled)}; {1 / factor:.3f} by "
        "steps | printed | |",
    ]


def _in_words(hits: int, trials: int) -> str:
    exact = share(hits, trials)
    return f"{exact.low:.0%} to {exact.high:.0%}"


def of_alone(framework: str, blocks: Sequence[tuple[Run, Run, Run, Run]]) -> list[str]:
    """Return the row on an arm alone against itself in turns.

    Args:
        blocks: Alone before and after, then both arms that took turns in between.
    """
    alone_s = [math.sqrt(before.median_s * after.median_s) for before, after, _, _ in blocks]
    turns_s = [math.sqrt(_in_turns_s(one) * _in_turns_s(other)) for _, _, one, other in blocks]
    judged = judge(alone_s, turns_s)
    noise = judge([before.median_s for before, *_ in blocks], [after.median_s for _, after, *_ in blocks])
    return [
        f"| {framework}: an arm alone / in turns beside one that rests, epoch time | {_ratio(judged)} | within 2 % | "
        f"{within(judged, at_least=1 / (1 + MARGIN), at_most=1 + MARGIN)} |",
        f"| {framework}: the arm alone before / after (A/A) | {_ratio(noise)} | the resolution | |",
    ]


def _in_turns_s(run: Run) -> float:
    return median(run.round_s.values())


def of_waiting(runs: Iterable[Run]) -> list[str]:
    """Return the rows on what arms that wait use of the CPU, and of GPUs where there are some; none if none waited."""
    by_framework: dict[str, list[Run]] = {}
    for run in runs:
        by_framework.setdefault(run.trial.framework, []).append(run)
    found = []
    for name, several in sorted(by_framework.items()):
        cores = [(run.waiting_cores, run) for run in several if run.waiting_cores is not None]
        shares = [(run.waiting_gpu, run) for run in several if run.waiting_gpu is not None]
        if cores:
            found.append(_waiting(f"{name}: CPU use", "a core", cores, WAITING_CORES))
        if shares:
            found.append(_waiting(f"{name}: GPU use", "a GPU", shares, WAITING_GPU))
        elif reasons := {run.no_waiting_gpu for run in several} - {None}:
            found.append(
                f"| {name}: GPU use of an arm that waits | not known: {'; '.join(sorted(reasons))} | | |"
            )
    return found


def _waiting(what: str, whole: str, waited: Sequence[tuple[float, Run]], wanted: float) -> str:
    values = [value for value, _ in waited]
    used = pooled_mean(values, [run.waited_s for _, run in waited])
    return (
        f"| {what} of an arm that waits | {used:.3%} of {whole}, at most {max(values):.2%} in one of {len(waited)} "
        f"runs | at most {wanted:.1%} | {within(used, at_most=wanted)} |"
    )


def half_width(judged: Judgement) -> float:
    """Return half of an interval's width, as a share: 0.04 for 0.96 to 1.04."""
    return math.sqrt(judged.high / judged.low) - 1


def _ratio(judged: Judgement) -> str:
    interval = "no interval" if judged.low is None else f"{judged.low:.3f} to {judged.high:.3f}"
    return f"{judged.speedup:.3f} ({interval}), {judged.blocks} blocks"


def _yes(met: bool) -> str:
    return "yes" if met else "NO"
