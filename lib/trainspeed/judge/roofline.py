"""How fast a device could train by its measured ceilings, and what another precision could give at best.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. The model has arithmetic
and memory traffic, nothing else. Launching, input, casts, loss scaling, weights and sums that stay in fp32,
layers too small to fill the device, what a cache saves and what a compiler fuses are not in it.
Source: S. Williams, A. Waterman, D. Patterson, Commun. ACM 52 (2009) 65, doi:10.1145/1498765.1498785
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainspeed.core.format import DEFAULT_PRECISION, NAMES, model_of, percent, precision_of, three
from trainspeed.core.trial import STRICT
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import Judgement

NO_CEILING = "No ceiling was measured on this machine: how much faster it could be at best is not known."
BASELINE = STRICT  # what the ceilings of a device are told against
# TF32 only multiplies with fewer bits.
PRECISION_BYTES = {DEFAULT_PRECISION: 4, STRICT: 4, "tf32": 4, "fp16": 2, "bf16": 2}
CEILING_VERBS = {"matmul_flop_per_s": "multiplies matrices", "conv_flop_per_s": "convolves"}


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """What a device did at most in a precision; None where it was not measured.

    Attributes:
        matmul_flop_per_s, conv_flop_per_s: Of a large matrix product and a large convolution, 2 per
            multiply-add.
        bandwidth_bytes_per_s: Of a large copy, read and written.
    """

    precision: str
    matmul_flop_per_s: float | None = None
    conv_flop_per_s: float | None = None
    bandwidth_bytes_per_s: float | None = None

    @property
    def peak_flop_per_s(self) -> float | None:
        """The larger of product and convolution."""
        speeds = (self.matmul_flop_per_s, self.conv_flop_per_s)
        return max((speed for speed in speeds if speed is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a training step has to do, whatever does it; None where it is not known.

    Attributes:
        flops: 2 per multiply-add, as the textbook's convolution has them: an algorithm with fewer (Winograd)
            looks faster than it is.
        bytes: Least memory traffic in fp32, an estimate: see `core.layer_table.training_bytes`.
    """

    flops: float | None = None
    bytes: float | None = None

    def bytes_in(self, precision: str) -> float | None:
        """Return the traffic in a precision, in bytes: 16 bits move half, as if nothing stayed in fp32."""
        return (
            None
            if self.bytes is None
            else self.bytes * PRECISION_BYTES[precision] / PRECISION_BYTES[BASELINE]
        )

    def intensity(self, precision: str = BASELINE) -> float | None:
        """Return FLOPs per byte moved."""
        return _ratio(self.flops, self.bytes_in(precision))


def attainable_flop_per_s(intensity: float | None, ceiling: Ceiling) -> float | None:
    """Return the roof over an intensity (FLOPs per byte): the lower of arithmetic and memory."""
    if None in (intensity, ceiling.peak_flop_per_s, ceiling.bandwidth_bytes_per_s):
        return None
    return min(ceiling.peak_flop_per_s, intensity * ceiling.bandwidth_bytes_per_s)


def mfu(work: Work, step_s: float | None, ceiling: Ceiling | None) -> float | None:
    """Return the achieved FLOP/s as a share of the peak: the model's FLOPs, the peak *measured* here.

    Elsewhere MFU is relative to the peak on paper, and so a smaller number. It can exceed 1: see `Work`.
    """
    return _ratio(_ratio(work.flops, step_s), None if ceiling is None else ceiling.peak_flop_per_s)


def best_step_s(work: Work, ceiling: Ceiling) -> float | None:
    """Return the shortest step that the roof allows, in seconds: arithmetic and traffic side by side."""
    times = _ratio(work.flops, ceiling.peak_flop_per_s), _traffic_s(work, ceiling)
    return None if None in times else max(times)


def matrix_gain(base: Ceiling, candidate: Ceiling) -> float | None:
    """Return the ratio of the peaks, over those of product and convolution that both were measured in."""
    base, candidate = _alike(base, candidate)
    return _ratio(candidate.peak_flop_per_s, base.peak_flop_per_s)


def memory_gain(base: Ceiling, candidate: Ceiling) -> float:
    """Return how many times fewer bytes the candidate moves: 2 from fp32 to 16 bits, 1 to tf32."""
    return PRECISION_BYTES[base.precision] / PRECISION_BYTES[candidate.precision]


def at_best_gain(
    work: Work, base: Ceiling, candidate: Ceiling, matrix_share: float | None = None
) -> float | None:
    """Return the most that a switch of precision could give: base time / candidate time, both ideal.

    With `matrix_share`, by Amdahl's law: that part of a step gains as the peaks do, the rest as its bytes do,
    as if memory limited all of it: 1 / (share / matrix gain + (1 - share) / memory gain). Without it, the
    ratio of the shortest steps under the roofs, where traffic hides behind arithmetic. It is a bound only as
    far as the base comes equally near to its ceiling: a base that wastes more can gain more. None where a
    ceiling or the work is not known.

    Args:
        matrix_share: Share of a step of the base that is matrix work, 0 to 1, by a profiler.
    Source: G. M. Amdahl, AFIPS Conf. Proc. 30 (1967) 483, doi:10.1145/1465482.1465560
    """
    if matrix_share is None:
        base, candidate = _alike(base, candidate)
        return _ratio(best_step_s(work, base), best_step_s(work, candidate))
    gain = matrix_gain(base, candidate)
    if gain is None:
        return None
    return 1 / (matrix_share / gain + (1 - matrix_share) / memory_gain(base, candidate))


# In words.


def gain_sentence(
    framework: str,
    model: str,
    work: Work,
    base: Ceiling,
    candidate: Ceiling,
    judgement: Judgement,
    *,
    matrix_share: float | None = None,
) -> str:
    """Return in a sentence what a switch of precision could give at best, why, and what it gave.

    Args:
        judgement: What it gave: base time / candidate time.
        matrix_share: See `at_best_gain`.
    """
    speedup, low = judgement.speedup, judgement.low
    ends = "no interval" if low is None else interval_of(judgement)
    gained = None if speedup is None else f"{size_of(judgement)} ({ends})"
    versus = f"{candidate.precision} vs {precision_of(base.precision)}"
    name = f"{NAMES.get(framework, framework)}, {model_of(model)}, {versus}"
    most = at_best_gain(work, base, candidate, matrix_share)
    if most is None:
        outcome = "how much was is not known either: not measured" if gained is None else f"{gained} was"
        missing = ", ".join(_missing(work, base, candidate, matrix_share))
        return f"{name}: how much could be gained at best is not known (not measured: {missing}); {outcome}."
    why = _why(work, base, candidate, matrix_share)
    could = f"at best {most:.2f}x could be gained"
    if most <= 1:
        could = f"nothing could be gained, {most:.2f}x at best"
    if gained is None:
        return f"{name}: {could} ({why}); how much was is not known: not measured."
    if (speedup if low is None else low) > most:
        return (
            f"{name}: {gained} was measured, more than the {most:.2f}x that could be gained at best ({why}): the "
            f"bound's assumptions do not hold here. {precision_of(base.precision)} stays further below its ceiling "
            f"than {candidate.precision} does, or something changed beside the arithmetic and the bytes."
        )
    if speedup <= 1 or most <= 1:
        return f"{name}: {could} ({why}), {gained} was measured: no gain."
    if speedup > most:
        return f"{name}: {could} ({why}), {gained} was: all of it, as far as the interval tells."
    share = percent((speedup - 1) / (most - 1))  # no gain at all, 1.00x, is 0 % of it
    return f"{name}: {could} ({why}), {gained} was: {share} of the way from 1x."


def ceiling_sentence(ceilings: Iterable[Ceiling], *, otherwise: str = NO_CEILING) -> str:
    """Return in a sentence how much faster than in fp32 this machine multiplies and convolves; else `otherwise`."""
    by_precision = {ceiling.precision: ceiling for ceiling in ceilings}
    values = (*CEILING_VERBS, "bandwidth_bytes_per_s")
    if all(getattr(ceiling, name) is None for ceiling in by_precision.values() for name in values):
        return otherwise
    base = by_precision.get(BASELINE, Ceiling(precision=BASELINE))
    others = [ceiling for name, ceiling in by_precision.items() if name != BASELINE]
    parts = [_against(base, other) for other in others]
    if not others:
        parts = [_alone(base), "no other precision was measured"]
    elif base.peak_flop_per_s is None:
        parts.append(f"{BASELINE} was not measured")
    speeds = [c.bandwidth_bytes_per_s for c in by_precision.values() if c.bandwidth_bytes_per_s is not None]
    memory = f"memory moves {three(max(speeds) / 1e9)} GB/s" if speeds else "its bandwidth was not measured"
    return f"On this machine {'; '.join([*parts, memory])}."


def _against(base: Ceiling, other: Ceiling) -> str:
    gains = []
    for name, verb in CEILING_VERBS.items():
        fast, slow = getattr(other, name), getattr(base, name)
        if None not in (fast, slow):
            versus = f" as {base.precision}" * (not gains)
            gains.append(f"{verb} {fast / slow:.2f}x as fast{versus} ({_flop_per_s(fast, slow)})")
    return f"{other.precision} {' and '.join(gains)}" if gains else _alone(other)


def _alone(ceiling: Ceiling) -> str:
    speeds = [
        f"{verb} at {_flop_per_s(speed)}"
        for name, verb in CEILING_VERBS.items()
        if (speed := getattr(ceiling, name)) is not None
    ]
    return f"{ceiling.precision} {' and '.join(speeds) or 'was not measured'}"


def _flop_per_s(*values: float) -> str:
    divisor, unit = (1e12, "TFLOP/s") if max(values) >= 10e12 else (1e9, "GFLOP/s")
    return f"{' against '.join(three(value / divisor) for value in values)} {unit}"


def _why(work: Work, base: Ceiling, candidate: Ceiling, matrix_share: float | None) -> str:
    faster = f"matrix work is {matrix_gain(base, candidate):.2f}x as fast here"
    bytes_moved = "half the bytes" if memory_gain(base, candidate) == 2 else "as many bytes"
    if matrix_share is not None:
        share = f"{percent(matrix_share)} of the device's time in {precision_of(base.precision)}"
        return f"{faster} and {share}; the rest moves {bytes_moved}"
    here, there = (_limit(work, ceiling) for ceiling in _alike(base, candidate))
    limits = f"{here} limits a step in {precision_of(base.precision)}, {there} in {candidate.precision}"
    return f"{faster} and {bytes_moved} are moved; by the roofline {limits}"


def _limit(work: Work, ceiling: Ceiling) -> str:
    return "memory" if _traffic_s(work, ceiling) > work.flops / ceiling.peak_flop_per_s else "arithmetic"


def _missing(work: Work, base: Ceiling, candidate: Ceiling, matrix_share: float | None) -> list[str]:
    both = (base, candidate)
    missing = [f"the ceiling of {precision_of(c.precision)}" for c in both if c.peak_flop_per_s is None]
    if not missing and matrix_gain(base, candidate) is None:
        missing = [f"the same ceiling in {precision_of(base.precision)} and {candidate.precision}"]
    if matrix_share is not None:
        return missing
    if precisions := [c.precision for c in both if c.bandwidth_bytes_per_s is None]:
        missing.append(f"the bandwidth in {' and '.join(map(precision_of, precisions))}")
    amounts = {"the model's FLOPs": work.flops, "its memory traffic": work.bytes}
    return missing + [name for name, amount in amounts.items() if amount is None]


def _alike(base: Ceiling, candidate: Ceiling) -> tuple[Ceiling, Ceiling]:
    """Return both without what only one has: a product against a convolution would be no ratio."""
    lacking = {n: None for n in CEILING_VERBS if None in (getattr(base, n), getattr(candidate, n))}
    return replace(base, **lacking), replace(candidate, **lacking)


def _traffic_s(work: Work, ceiling: Ceiling) -> float | None:
    return _ratio(work.bytes_in(ceiling.precision), ceiling.bandwidth_bytes_per_s)


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below
