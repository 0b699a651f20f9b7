"""From what size on a device beats the CPU, how sure that is, and which size to measure next.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. A size is a number of images,
of channels, or the width of a filter: what grows, while everything else is held equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from numbers import Integral

from trainspeed.errors import UserError
from trainspeed.verdict import CONFIDENCE, LEAST_BLOCKS, judge

NARROW = 1.1  # a bracket whose ends are nearer than this says enough: the noise decides from here on


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

    def __post_init__(self) -> None:
        ends = [] if self.low is None and self.high is None else [self.low, self.high]
        values = [self.size, self.speedup, *ends]
        if not all(value is not None and math.isfinite(value) and value > 0 for value in values):
            raise ValueError(f"{self} must have positive numbers, and an interval with both ends or none.")
        if ends and not self.low <= self.speedup <= self.high:
            raise ValueError(f"{self} must have its speedup within low to high.")

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
        size: Where the speed-up is 1; None unless found.
        low, high: Where the upper and the lower ends of the intervals are 1, as far as the curve may bend
            between the sizes: the uncertainty. None without intervals.
        bracket: The two sizes tried between which it lies, one measured as slower and one as faster.
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


def judged(times: Mapping[float, tuple[Sequence[float], Sequence[float]]]) -> list[Point]:
    """Return the points of times measured in pairs, with the interval of `verdict.judge`.

    Args:
        times: Size -> (CPU, device), in seconds, paired by block. A size without a block is left out.
    """
    points = []
    for size, (cpu_s, device_s) in sorted(times.items()):
        judgement = judge(cpu_s, device_s)
        if judgement.speedup is not None:
            points.append(Point(size=size, speedup=judgement.speedup, low=judgement.low, high=judgement.high))
    return points


def crossover(points: Sequence[Point]) -> Crossover:
    """Return from what size on the device is faster, interpolated between the sizes tried.

    Speed-up against size is taken as straight between neighbours on two logarithmic axes. Overheads bend
    it, so `low` and `high` allow for the slopes beside; with sizes far apart that counts for more than
    noise does: measure at `next_size` until there is none. Where noise makes the estimates cross 1 more
    than once within the bracket, `size` is the crossings' geometric mean.

    Raises:
        ValueError: A size that is there twice.
    """
    ordered = sorted(points, key=lambda point: point.size)
    if twice := [one.size for one, other in pairwise(ordered) if one.size == other.size]:
        raise ValueError(f"points has the size {twice[0]} twice: pool its blocks first.")
    sure = [point for point in ordered if point.low is not None]
    if len(sure) < 2:
        # By the estimates alone: a single interval among them would decide nothing.
        sure = [Point(size=p.size, speedup=p.speedup) for p in ordered] if len(ordered) > 1 else ordered
    said = {
        "points": tuple(sure),
        "left_out": tuple(p.size for p in ordered if p.size not in {q.size for q in sure}),
    }
    decided = [point for point in sure if point.sign]
    changes = [pair for pair in pairwise(decided) if pair[0].sign != pair[1].sign]
    if len(changes) > 1:
        return Crossover(kind=Kind.SEVERAL, **said)
    if not changes and (not sure or len(decided) < len(sure)):
        return Crossover(kind=Kind.UNDECIDED, **said)
    if not changes:
        return Crossover(kind=Kind.ALWAYS if sure[0].sign > 0 else Kind.NEVER, **said)
    ((first, last),) = changes
    rising = last.sign > 0
    sizes, start, end = [p.size for p in sure], sure.index(first), sure.index(last)
    places = _crossings(sizes, [p.speedup if rising else 1 / p.speedup for p in sure], start, end)
    low, high = None, None
    if all(p.low is not None for p in sure):
        optimist = [p.high if rising else 1 / p.low for p in sure]
        pessimist = [p.low if rising else 1 / p.high for p in sure]
        low = min(_crossings(sizes, optimist, start, end)[0])
        high = max(_crossings(sizes, pessimist, start, end)[-1])
    return Crossover(
        kind=Kind.FOUND,
        size=math.exp(math.fsum(math.log(straight) for straight, *_ in places) / len(places)),
        low=low,
        high=high,
        bracket=(first.size, last.size),
        rising=rising,
        **said,
    )


def next_size(points: Sequence[Point], *, step: int = 1, narrow: float = NARROW) -> int | None:
    """Return the size to measure next, so that the crossover's bracket halves (on a logarithmic axis).

    The geometric mean of the bracket, as a multiple of `step`. A size measured inside that could not be
    decided shields the crossover: then on either side of such sizes, where the gap is wider. None where
    nothing is bracketed, the gaps are narrow enough or hold no further multiple; more blocks help then.

    Args:
        step: What the size must be a multiple of, for example the number of devices that share the images.
        narrow: A gap whose ends have at most this ratio is not split.
    Raises:
        UserError: A step that is no whole number from 1 on, or narrow not above 1.
    """
    if not (isinstance(step, Integral) and not isinstance(step, bool) and step >= 1):
        raise UserError(f"step (={step!r}) must be a whole number of 1 or more, for example 1.")
    if not narrow > 1:
        raise UserError(f"narrow (={narrow!r}) must be a ratio above 1, for example {NARROW}.")
    found = crossover(points)
    if found.bracket is None:
        return None
    lowest, highest = found.bracket
    inside = sorted(p.size for p in points if lowest <= p.size <= highest)  # those left out are tried, too
    gaps = sorted({(inside[0], inside[1]), (inside[-2], inside[-1])}, key=lambda gap: gap[0] / gap[1])
    for start, end in gaps:
        first, last = math.floor(start / step) + 1, math.ceil(end / step) - 1
        if end / start > narrow and first <= last:
            return int(step) * min(max(round(math.sqrt(start * end) / step), first), last)
    return None


# In words.


def crossover_sentence(
    found: Crossover, *, device: str = "the device", cpu: str = "the CPU", unit: str = "images"
) -> str:
    """Return in a sentence from what size on the device is faster, or why there is no such number.

    Args:
        device, cpu: What was compared, for example "PyTorch on 1 GPU" and "SciPy on the CPU".
        unit: Of the size, in the plural.
    """
    versus, points = f"{device} against {cpu}", found.points
    if not points:
        return f"{versus}: crossover undecided, no size was measured in both."
    tried = f"within the sizes tried ({_sizes(points)} {unit})"
    best, worst = (pick(points, key=lambda p: p.speedup) for pick in (max, min))
    match found.kind:
        case Kind.FOUND:
            where, states = f"up to about {_number(found.size)} {unit}", ("faster", "slower")
            if found.rising:
                where, states = f"from about {_number(found.size)} {unit} on", states[::-1]
            first, last = map(_number, found.bracket)
            text = (
                f"{device} is faster than {cpu} {where} ({_uncertainty(found)}; measured as {states[0]} "
                f"at {first}, as {states[1]} at {last})"
            )
        case Kind.ALWAYS:
            text = (
                f"{device} is faster than {cpu} at every size tried: the crossover is not {tried}; "
                f"nearest at {_at(worst)}"
            )
        case Kind.NEVER:
            text = (
                f"{device} is nowhere faster than {cpu}: the crossover is not {tried}; nearest at {_at(best)}"
            )
        case Kind.SEVERAL:
            count = sum(a.sign != b.sign for a, b in pairwise(p for p in points if p.sign))
            text = (
                f"{versus}: the faster one changes {count} times {tried}, so no single size is the crossover: "
                f"{device} is {_stretches(points)}"
            )
        case _:
            text = f"{versus}: crossover undecided {tried}: {device} is {_stretches(points)}; measure more blocks"
    if found.kind is not Kind.FOUND and any(p.low is None for p in points):
        text += f"; by medians without an interval: measure {LEAST_BLOCKS} blocks or more"
    if found.left_out:
        text += f"; left out, without an interval: {', '.join(map(_number, found.left_out))}"
    return f"{'T' + text[1:] if text.startswith('the ') else text}."


def _uncertainty(found: Crossover) -> str:
    if found.low is None:
        return f"no interval: measure {LEAST_BLOCKS} blocks or more"
    confidence = f"{CONFIDENCE:.0%}".replace("%", " %")
    return f"{_number(found.low)} to {_number(found.high)} by the {confidence} intervals and the curve's bend"


def _crossings(
    sizes: Sequence[float], ratios: Sequence[float], start: int, end: int
) -> list[tuple[float, ...]]:
    """Return for each time that the ratios cross 1 between two places the sizes where they may do so.

    First where a straight line does. Then where it would with the slope before and the slope after, within
    the two sizes: a curve that bends one way all along, or is steepest there, crosses between these. Where
    there is no slope to go by, the two sizes themselves.
    """
    x, y = [[math.log(value) for value in values] for values in (sizes, ratios)]

    def cross(via: int, one: int, other: int) -> float:
        """Where a line through `via` with the slope from `one` to `other` does; far off if it never does."""
        slope = (y[other] - y[one]) / (x[other] - x[one])
        return x[via] - y[via] / slope if slope > 0 else math.copysign(math.inf, -y[via])

    found = []
    for k in range(start, end):
        if (y[k] >= 0) == (y[k + 1] >= 0):
            continue
        straight = x[k] - y[k] * (x[k + 1] - x[k]) / (y[k + 1] - y[k])
        bent = [cross(k, k - 1, k)] if k else []
        bent += [cross(k + 1, k + 1, k + 2)] if k + 2 < len(x) else []
        bent = [min(max(place, x[k]), x[k + 1]) for place in bent] or [x[k], x[k + 1]]
        found.append(tuple(math.exp(place) for place in (straight, *bent)))
    return found


def _stretches(points: Sequence[Point]) -> str:
    """Return where it is faster, slower or neither: "slower at 1 to 8, faster at 16 to 64"."""
    names = {1: "faster", -1: "slower", 0: "neither for sure"}
    runs = [(sign, list(group)) for sign, group in groupby(points, key=lambda p: p.sign)]
    return ", ".join(f"{names[sign]} at {_sizes(group)}" for sign, group in runs)


def _sizes(points: Sequence[Point]) -> str:
    ends = list(dict.fromkeys(_number(p.size) for p in (points[0], points[-1])))
    return " to ".join(ends)


def _at(point: Point) -> str:
    interval = "" if point.low is None else f", {point.low:.3g}x to {point.high:.3g}x"
    return f"{_number(point.size)} ({point.speedup:.3g}x{interval})"


def _number(size: float) -> str:
    """Return a size: all digits of a whole number, else three that count and all before the point."""
    return f"{size:,.0f}" if size >= 100 or float(size).is_integer() else f"{size:.3g}"
