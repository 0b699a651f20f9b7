"""From what size on a device beats the CPU, how sure that is, and which size to measure next.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. A size is a number of images
or of channels, or the width of a filter: it grows while everything else is held equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise

from trainspeed.core.format import fixed_to_interval, interval, three
from trainspeed.judge.verdict import MIN_BLOCKS, judge

# A bracket whose ends are further apart has no size to name: nobody knows the curve between them.
ROUGH_BRACKET = 16
NARROW_BRACKET = 1.1  # a bracket whose ends are nearer than this says enough: the noise decides from here on


class CrossoverKind(StrEnum):
    """What the sizes tried say. A size is measured as faster or slower when its whole interval is beyond 1.

    SINGLE: the device is measured as slower up to one size and as faster from another on (or the reverse).
    ALWAYS: measured as faster at every size. NEVER: measured as slower at every size.
    SEVERAL: faster and slower change places more than once, so that no single number would be true.
    UNDECIDED: some sizes are too near to 1 to tell, and no two others stand on both sides; or no size.
    """

    SINGLE = "found"
    ALWAYS = "always"
    NEVER = "never"
    SEVERAL = "several"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class SizeSpeedup:
    """How the device compares with the CPU at one size.

    Attributes:
        speedup: CPU time / device time; above 1 the device is faster.
        low, high: Ends of its interval; None where there are too few blocks for one.
    """

    size: float
    speedup: float
    low: float | None = None
    high: float | None = None

    @property
    def sign(self) -> int:
        """1: measured as faster than the CPU; -1: as slower; 0: undecided.

        Without an interval the estimate decides. The margin of `verdict` does not apply, since the search is
        for where both are equal.
        """
        low, high = self.speedup if self.low is None else self.low, self.high or self.speedup
        return int(low > 1) - int(high < 1)


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """Where the device becomes faster than the CPU.

    Attributes:
        points: What was judged, by size. Where two or more have an interval, those without are left out.
        size: Where the speed-up is 1, interpolated; None unless found.
        bracket: The two sizes tried between which it lies, one measured as slower and one as faster.
        low, high: The bracket as the uncertainty: what lies between is interpolated, and overheads bend the
            curve. None without intervals.
        rising: False, if the device is faster up to the crossover and slower from there on.
        left_out: Sizes without an interval, where others have one.
    """

    kind: CrossoverKind
    points: tuple[SizeSpeedup, ...]
    size: float | None = None
    low: float | None = None
    high: float | None = None
    bracket: tuple[float, float] | None = None
    rising: bool = True
    left_out: tuple[float, ...] = ()

    @property
    def nearest_faster(self) -> int | None:
        """The whole size nearest to the crossover at which the device is faster; None unless found."""
        if self.size is None:
            return None
        size = round(self.size, 6)  # what is interpolated to a whole number may miss it by a rounding
        return math.ceil(size) if self.rising else math.floor(size)

    @property
    def is_rough(self) -> bool:
        """Whether the sizes between which it lies are too far apart to name one between them."""
        return self.bracket is not None and self.bracket[1] > ROUGH_BRACKET * self.bracket[0]

    @property
    def size_words(self) -> str:
        """Where it lies, in words: "about 11", or "somewhere between 1 and 840"; found crossovers only."""
        if self.is_rough:
            return f"somewhere between {' and '.join(map(three, self.bracket))}"
        return f"about {three(self.nearest_faster)}"


def judged_points(times: Mapping[float, tuple[Sequence[float], Sequence[float]]]) -> list[SizeSpeedup]:
    """Return the points of times measured in pairs, with the interval of `verdict.judge`.

    Args:
        times: Size -> (CPU, device), in seconds, paired by block. A size without a block is left out.
    """
    judgements = ((size, judge(*pair)) for size, pair in sorted(times.items()))
    return [
        SizeSpeedup(size=n, speedup=j.speedup, low=j.low, high=j.high) for n, j in judgements if j.speedup
    ]


def crossover(points: Sequence[SizeSpeedup]) -> Crossover:
    """Return from what size on the device is faster, interpolated between the sizes tried.

    Args:
        points: One for each size.
    """
    ordered = sorted(points, key=lambda point: point.size)
    sure = [point for point in ordered if point.low is not None]
    if len(sure) < 2:
        # By the estimates alone: a single interval among them would decide nothing.
        sure = [SizeSpeedup(size=p.size, speedup=p.speedup) for p in ordered] if len(ordered) > 1 else ordered
    tried = {point.size for point in sure}
    left_out = tuple(p.size for p in ordered if p.size not in tried)
    # Neighbours among the decided sizes between which the faster one changes.
    changes = [(a, b) for a, b in pairwise(p for p in sure if p.sign) if a.sign != b.sign]
    kind = CrossoverKind.SEVERAL if len(changes) > 1 else CrossoverKind.SINGLE
    if not changes:
        decided = sure and all(point.sign for point in sure)
        everywhere = CrossoverKind.ALWAYS if sure and sure[0].sign > 0 else CrossoverKind.NEVER
        kind = everywhere if decided else CrossoverKind.UNDECIDED
    result = Crossover(kind=kind, points=tuple(sure), left_out=left_out)
    if kind is not CrossoverKind.SINGLE:
        return result
    first, last = changes[0]
    inside = [point for point in sure if first.size <= point.size <= last.size]
    bracket = first.size, last.size
    low, high = (None, None) if first.low is None else bracket
    rising = last.sign > 0
    return replace(result, size=_equal_at(inside), low=low, high=high, bracket=bracket, rising=rising)


def _equal_at(points: Sequence[SizeSpeedup]) -> float:
    """Return where the speed-up is 1, as if it were straight between neighbours on two logarithmic axes.

    Where noise makes the estimates cross 1 more than once, it is the crossings' geometric mean.
    """
    curve = [(math.log(point.size), math.log(point.speedup)) for point in points]
    crossings = [x - y * (x2 - x) / (y2 - y) for (x, y), (x2, y2) in pairwise(curve) if (y >= 0) != (y2 >= 0)]
    return math.exp(math.fsum(crossings) / len(crossings))


def next_size(points: Sequence[SizeSpeedup]) -> int | None:
    """Return the size to measure next, so that the crossover's bracket halves (on a logarithmic axis).

    That is the geometric mean of the bracket. A size inside that was measured and could not be decided hides
    the crossover: then it is the mean of the wider gap on either side of such sizes. None where nothing is
    bracketed, or the gaps are narrow enough or hold no further whole number: more blocks help then.
    """
    bracket = crossover(points).bracket
    if bracket is None:
        return None
    inside = sorted(p.size for p in points if bracket[0] <= p.size <= bracket[1])  # with those left out
    gaps = {(inside[0], inside[1]), (inside[-2], inside[-1])}
    for start, end in sorted(gaps, key=lambda gap: gap[0] / gap[1]):
        size = round(math.sqrt(start * end))
        if end / start > NARROW_BRACKET and end - start > 1:
            return min(max(size, math.floor(start) + 1), math.ceil(end) - 1)
    return None


# In words.


def crossover_sentence(result: Crossover, *, device: str, cpu: str, unit: str = "images") -> str:
    """Return in a sentence from what size on the device is faster, or why there is no such number.

    Args:
        device, cpu: What was compared, for example "PyTorch" and "scipy.signal.convolve2d".
        unit: Of the size, in the plural.
    """
    points = result.points
    if not points:
        return f"{device} against {cpu}: crossover undecided, no size was measured in both."
    tried = f"within the sizes tried ({_sizes(points)} {unit})"
    if result.kind is CrossoverKind.SINGLE:
        size, (first, last) = f"{result.size_words} {unit}", map(three, result.bracket)
        where, one, other = f"up to {size}", "faster", "slower"
        if result.rising:
            where, one, other = f"from {size} on", "slower", "faster"
        text = f"{device} is faster than {cpu} {where} (measured as {one} at {first}, as {other} at {last})"
    elif result.kind in (CrossoverKind.ALWAYS, CrossoverKind.NEVER):
        nearest = min(points, key=lambda point: abs(math.log(point.speedup)))
        known = nearest.speedup, nearest.low, nearest.high
        ends = "" if nearest.low is None else f", {interval(*known[1:])}"
        at = f"{three(nearest.size)} ({fixed_to_interval(*known, 2, 'x')}{ends})"
        text = f"{device} is faster than {cpu} at every size tried"
        if result.kind is CrossoverKind.NEVER:
            text = f"{device} is nowhere faster than {cpu}"
        text += f": the crossover is not {tried}; nearest at {at}"
    else:
        text = f"{device} against {cpu}: no single crossover {tried}: {device} is {_stretches(points)}"
    if any(point.low is None for point in points):
        text += f"; by medians without an interval: measure {MIN_BLOCKS} blocks or more"
    elif result.kind is CrossoverKind.UNDECIDED:
        text += "; measure more blocks"
    if result.left_out:
        text += f"; left out, without an interval: {', '.join(map(three, result.left_out))}"
    return f"{text}."


def _stretches(points: Sequence[SizeSpeedup]) -> str:
    """Return where it is faster, slower or neither: "slower at 1 to 8, faster at 16 to 64"."""
    names = {1: "faster", -1: "slower", 0: "neither for sure"}
    runs = [(sign, list(group)) for sign, group in groupby(points, key=lambda point: point.sign)]
    return ", ".join(f"{names[sign]} at {_sizes(group)}" for sign, group in runs)


def _sizes(points: Sequence[SizeSpeedup]) -> str:
    return " to ".join(dict.fromkeys(three(point.size) for point in (points[0], points[-1])))
