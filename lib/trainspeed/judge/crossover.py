"""From what size on a device beats the CPU, how sure that is, and which size to measure next.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. A size is a number of images,
of channels, or the width of a filter: what grows, while everything else is held equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise

from trainspeed.core.format import three
from trainspeed.judge.verdict import MIN_BLOCKS, judge

NARROW_BRACKET = 1.1  # a bracket whose ends are nearer than this says enough: the noise decides from here on


class Kind(StrEnum):
    """What the sizes tried say. Measured as faster or slower means: the whole interval is beyond 1.

    FOUND: the device is measured as slower up to one size and as faster from another on (or the reverse).
    ALWAYS: measured as faster at every size. NEVER: measured as slower at every size.
    SEVERAL: faster and slower change places more than once, so that no single number would be true.
    UNDECIDED: some sizes are too near to 1 to tell, and no two others stand on both sides; or no size.
    """

    FOUND = "found"
    ALWAYS = "always"
    NEVER = "never"
    SEVERAL = "several"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Point:
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
        """1: measured as faster than the CPU; -1: as slower; 0: cannot tell. By the estimate, if that is all.

        Without the margin of `verdict`: where both are equal is what is looked for here.
        """
        low, high = self.speedup if self.low is None else self.low, self.high or self.speedup
        return int(low > 1) - int(high < 1)


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """Where the device becomes faster than the CPU.

    Attributes:
        points: What was judged, by size. Where two or more sizes have an interval, those without are left out.
        size: Where the speed-up is 1, interpolated; None unless found.
        bracket: The two sizes tried between which it lies, one measured as slower and one as faster.
        low, high: The bracket as the uncertainty: what lies between is interpolated, and overheads bend the
            curve. None without intervals.
        rising: False, if the device is faster up to the crossover and slower from there on.
        left_out: Sizes without an interval beside others with one.
    """

    kind: Kind
    points: tuple[Point, ...]
    size: float | None = None
    low: float | None = None
    high: float | None = None
    bracket: tuple[float, float] | None = None
    rising: bool = True
    left_out: tuple[float, ...] = ()


def judged_points(times: Mapping[float, tuple[Sequence[float], Sequence[float]]]) -> list[Point]:
    """Return the points of times measured in pairs, with the interval of `verdict.judge`.

    Args:
        times: Size -> (CPU, device), in seconds, paired by block. A size without a block is left out.
    """
    found = ((size, judge(*pair)) for size, pair in sorted(times.items()))
    return [Point(size=n, speedup=j.speedup, low=j.low, high=j.high) for n, j in found if j.speedup]


def crossover(points: Sequence[Point]) -> Crossover:
    """Return from what size on the device is faster, interpolated between the sizes tried.

    Args:
        points: One for each size.
    """
    ordered = sorted(points, key=lambda point: point.size)
    sure = [point for point in ordered if point.low is not None]
    if len(sure) < 2:
        # By the estimates alone: a single interval among them would decide nothing.
        sure = [Point(size=p.size, speedup=p.speedup) for p in ordered] if len(ordered) > 1 else ordered
    tried = {point.size for point in sure}
    found = Crossover(
        kind=_classify(sure),
        points=tuple(sure),
        left_out=tuple(p.size for p in ordered if p.size not in tried),
    )
    return _interpolate(found) if found.kind is Kind.FOUND else found


def _changes(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Return the neighbours among the decided sizes between which the faster one changes."""
    return [(a, b) for a, b in pairwise(p for p in points if p.sign) if a.sign != b.sign]


def _classify(points: Sequence[Point]) -> Kind:
    changes = len(_changes(points))
    if changes:
        return Kind.FOUND if changes == 1 else Kind.SEVERAL
    if not points or not all(point.sign for point in points):
        return Kind.UNDECIDED
    return Kind.ALWAYS if points[0].sign > 0 else Kind.NEVER


def _interpolate(found: Crossover) -> Crossover:
    """Speed-up against size is taken as straight between neighbours on two logarithmic axes.

    Where noise makes the estimates cross 1 more than once within the bracket, it is the crossings' geometric mean.
    """
    ((first, last),) = _changes(found.points)
    inside = [p for p in found.points if first.size <= p.size <= last.size]
    curve = [(math.log(p.size), math.log(p.speedup)) for p in inside]
    places = [x - y * (x2 - x) / (y2 - y) for (x, y), (x2, y2) in pairwise(curve) if (y >= 0) != (y2 >= 0)]
    bracket = first.size, last.size
    low, high = (None, None) if first.low is None else bracket
    return replace(
        found,
        size=math.exp(math.fsum(places) / len(places)),
        low=low,
        high=high,
        bracket=bracket,
        rising=last.sign > 0,
    )


def next_size(points: Sequence[Point]) -> int | None:
    """Return the size to measure next, so that the crossover's bracket halves (on a logarithmic axis).

    The geometric mean of the bracket. A size measured inside that could not be decided shields the
    crossover: then on either side of such sizes, where the gap is wider. None where nothing is bracketed,
    the gaps are narrow enough or hold no further whole number; more blocks help then.
    """
    bracket = crossover(points).bracket
    if bracket is None:
        return None
    inside = sorted(
        p.size for p in points if bracket[0] <= p.size <= bracket[1]
    )  # those left out are tried, too
    gaps = {(inside[0], inside[1]), (inside[-2], inside[-1])}
    for start, end in sorted(gaps, key=lambda gap: gap[0] / gap[1]):
        size = round(math.sqrt(start * end))
        if end / start > NARROW_BRACKET and end - start > 1:
            return min(max(size, math.floor(start) + 1), math.ceil(end) - 1)
    return None


# In words.


def crossover_sentence(found: Crossover, *, device: str, cpu: str, unit: str = "images") -> str:
    """Return in a sentence from what size on the device is faster, or why there is no such number.

    Args:
        device, cpu: What was compared, for example "PyTorch" and "scipy.signal.convolve2d".
        unit: Of the size, in the plural.
    """
    points = found.points
    if not points:
        return f"{device} against {cpu}: crossover undecided, no size was measured in both."
    tried = f"within the sizes tried ({_sizes(points)} {unit})"
    text = f"{device} against {cpu}: no single crossover {tried}: {device} is {_stretches(points)}"
    if found.kind is Kind.FOUND:
        where, states = f"up to about {three(found.size)} {unit}", ("faster", "slower")
        if found.rising:
            where, states = f"from about {three(found.size)} {unit} on", states[::-1]
        (first, last), (one, other) = map(three, found.bracket), states
        text = f"{device} is faster than {cpu} {where} (measured as {one} at {first}, as {other} at {last})"
    elif found.kind in (Kind.ALWAYS, Kind.NEVER):
        nearest = min(points, key=lambda p: abs(math.log(p.speedup)))
        text = f"{device} is faster than {cpu} at every size tried"
        if found.kind is Kind.NEVER:
            text = f"{device} is nowhere faster than {cpu}"
        text += f": the crossover is not {tried}; nearest at {_at(nearest)}"
    if any(p.low is None for p in points):
        text += f"; by medians without an interval: measure {MIN_BLOCKS} blocks or more"
    elif found.kind is Kind.UNDECIDED:
        text += "; measure more blocks"
    if found.left_out:
        text += f"; left out, without an interval: {', '.join(map(three, found.left_out))}"
    return f"{text}."


def _stretches(points: Sequence[Point]) -> str:
    """Return where it is faster, slower or neither: "slower at 1 to 8, faster at 16 to 64"."""
    names = {1: "faster", -1: "slower", 0: "neither for sure"}
    runs = [(sign, list(group)) for sign, group in groupby(points, key=lambda p: p.sign)]
    return ", ".join(f"{names[sign]} at {_sizes(group)}" for sign, group in runs)


def _sizes(points: Sequence[Point]) -> str:
    ends = list(dict.fromkeys(three(p.size) for p in (points[0], points[-1])))
    return " to ".join(ends)


def _at(point: Point) -> str:
    interval = "" if point.low is None else f", {point.low:.3g}x to {point.high:.3g}x"
    return f"{three(point.size)} ({point.speedup:.3g}x{interval})"
