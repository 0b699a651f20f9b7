"""Runs of two trials, paired block by block, and round by round where they took turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TypeVar

from trainspeed.core.rounds import are_disturbed, common_rounds
from trainspeed.core.run import Run, Status

T = TypeVar("T")


def paired_s(baseline: Sequence[Run], candidate: Sequence[Run]) -> dict[int, tuple[float, float]]:
    """Return block -> the seconds of both, of an epoch or a warm call, as they compare in that block.

    Of two that took turns, the ratio is the median over the rounds: what drifts from round to round is in both
    halves of each ratio. Rounds that others disturbed are left out: see `common_rounds`. The candidate's seconds are
    its own median.
    """
    pairs = {}
    for one, other in value_pairs(baseline, candidate, lambda run: run if run.median_s is not None else None):
        pairs[one.block] = one.median_s, other.median_s
        if ratios := _round_ratios(one, other):
            pairs[one.block] = median(ratios) * other.median_s, other.median_s
    return pairs


def typical_difference(first: Sequence[Run], again: Sequence[Run]) -> float | None:
    """Return by what share of its time a trial that is measured twice differs in a typical round; None: in none.

    Of runs that took no turns, a block is a round.
    """
    both = value_pairs(first, again, lambda run: run if run.median_s is not None else None)
    ratios = [r for one, other in both for r in _round_ratios(one, other) or [one.median_s / other.median_s]]
    return median(abs(ratio - 1) for ratio in ratios) if ratios else None


def _round_ratios(one: Run, other: Run) -> list[float]:
    """Return the ratio of both times in each round that counts; none where they did not take turns together."""
    if one.alive_with != other.alive_with:
        return []
    one_s, other_s = one.round_s, other.round_s
    return [one_s[number] / other_s[number] for number in common_rounds([one, other])]


def disturbed_blocks(baseline: Sequence[Run], candidate: Sequence[Run]) -> set[int]:
    """Return the blocks in which others used the machine while the rounds that count were measured."""
    both = value_pairs(baseline, candidate, lambda run: run if run.median_s is not None else None)
    return {one.block for one, other in both if are_disturbed([one, other])}


def value_pairs(
    baseline: Sequence[Run], candidate: Sequence[Run], value: Callable[[Run], T | None]
) -> list[tuple[T, T]]:
    """Return the value of both in each block in which both ended well on one node and have it, in their order.

    What two nodes have measured is never paired, be they equal.
    """
    known = [
        {run.block_key: value(run) for run in runs if run.status == Status.OK and value(run) is not None}
        for runs in (baseline, candidate)
    ]
    # A block that was begun on a node and lost counts as it was measured last.
    both = {key[0]: key for key in known[1] if key in known[0]}
    return [(known[0][key], known[1][key]) for _, key in sorted(both.items())]
