"""Numbers and names in words: durations, sizes, shares, intervals, counts; what readers call models and devices.

A value that is None or NaN was not measured: it is `MISSING`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

LONG_S = 3 * 86_400  # a duration from which on a reader wants days
MISSING = "—"  # not measured, not there or not known
MAX_DECIMALS = 6
LINE_LENGTH = 300  # longest error for the banner and the front page
NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX", "scipy": "SciPy and OpenCV"}
DEFAULT_PRECISION = "default"  # the framework's flags left alone
DATA_SET_NAMES = {"own": "your own data"}


class Number(str):
    """The text of a number: a column of nothing else is set to the right."""

    __slots__ = ()


def or_nothing(value: Any) -> str:
    """Return the value as text."""
    return MISSING if _absent(value) else str(value)


def minutes(seconds: float) -> str:
    """Return a duration as a reader says it: 45 s, 3 min 20 s, 2 h 05 min, 12 days."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole >= LONG_S:
        return f"{whole / 86_400:.0f} days"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def clock(seconds: float | None) -> str:
    """Return h:mm:ss, rounded to the second: 3661.2 -> 1:01:01."""
    if _absent(seconds):
        return MISSING
    whole, rest = divmod(round(seconds), 60)
    return Number(f"{whole // 60}:{whole % 60:02}:{rest:02}")


def digits(value: float | None) -> str:
    """Return a number for a column: three significant digits, even zeros, and all digits before the point."""
    if _absent(value):
        return MISSING
    decimals = 2 - math.floor(math.log10(abs(value))) if value else 0
    return Number(f"{value:,.{min(max(decimals, 0), MAX_DECIMALS)}f}")


def whole(value: float | None) -> str:
    """Return a whole number with commas."""
    return MISSING if _absent(value) else Number(f"{value:,.0f}")


def three(value: float) -> str:
    """Return a number for a sentence: three significant digits without zeros at the end, all before the point."""
    return f"{value:,.0f}" if value >= 100 else significant(value, 3)


def significant(value: float, figures: int) -> str:
    """Return a number with so many significant digits at most, never with an exponent: "120", not "1.2e+02"."""
    return f"{Decimal(f'{value:.{figures}g}'):f}"


def fixed(value: float | None, decimals: int, unit: str = "", *, sign: str = "") -> str:
    """Return a number with its unit, never as "-0.0"; with the sign "+", positive numbers show it too."""
    if _absent(value):
        return MISSING
    return Number(f"{round(float(value), decimals) + 0.0:{sign}.{decimals}f}{unit}")


def interval(low: float | None, high: float | None, decimals: int = 2, *, sign: str = "") -> str:
    """Return both ends of an interval: "1.31 to 1.37"; with a decimal more where they are alike without it."""
    if _absent(low) or _absent(high):
        return MISSING
    decimals = _decimals(low, high, decimals)
    return " to ".join(fixed(end, decimals, sign=sign) for end in (low, high))


def fixed_to_interval(
    value: float | None,
    low: float | None,
    high: float | None,
    decimals: int,
    unit: str = "",
    *,
    sign: str = "",
) -> str:
    """Return a number with as many decimals as the ends of its interval have in `interval`; see `fixed`."""
    known = not (_absent(low) or _absent(high))
    return fixed(value, _decimals(low, high, decimals) if known else decimals, unit, sign=sign)


def _decimals(low: float, high: float, decimals: int) -> int:
    """Return one decimal more where that tells two numbers apart, and these do not."""
    alike, alike_finer = (fixed(low, n) == fixed(high, n) for n in (decimals, decimals + 1))
    return decimals + (alike and not alike_finer)


def percent(share: float, *, sign: str = "") -> str:
    """Return a share of 1 in whole percent, never as "-0 %": "95 %"."""
    shown = 0.0 if -0.005 <= share <= 0 else share
    return f"{shown:{sign}.0%}".replace("%", " %")


def percent_used(share: float) -> str:
    """Return a share of 1 that is more than nothing in whole percent: "30 %" for 0.301, "less than 1 %" for 0.004."""
    return percent(share) if round(100 * share) else "less than 1 %"


def hundredths(number: float) -> str:
    """Return a number with two decimals at the most: "1.33", "0.5", "4"."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def gigabytes(size_bytes: float | None, decimals: int = 0) -> str:
    """Return a size in GB of 1e9 bytes."""
    return MISSING if _absent(size_bytes) else f"{size_bytes / 1e9:,.{decimals}f} GB"


def usd(amount: float | None) -> str:
    """Return an amount to the cent; below a dollar with three significant digits."""
    if _absent(amount):
        return MISSING
    decimals = 2 if amount >= 1 else 2 - math.floor(math.log10(amount))
    return f"{amount:,.{decimals}f} USD"


def one_line(text: str) -> str:
    """Return the first line that is not blank, shortened where it is very long."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return first if len(first) <= LINE_LENGTH else first[: LINE_LENGTH - 1] + "…"


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun, in the plural unless it is one: "1 block", "6 blocks"."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(values: Iterable[object], last: str = "and") -> str:
    """Return values as a list in words: "2, 4 and 8"."""
    *first, end = map(str, values)
    return f"{', '.join(first)} {last} {end}" if first else end


def model_of(model: str) -> str:
    """Return a model's name in a sentence or a chart: a user's model goes without its folder."""
    return model.rpartition("/")[2] if ":" in model else model


def precision_of(precision: str) -> str:
    """Return a precision in a sentence or a label."""
    return f"{precision} precision" if precision == DEFAULT_PRECISION else precision


def pipeline_of(trial: Any) -> str:
    """Return an input pipeline and its workers in words."""
    return f"{trial.pipeline} ({counted(trial.workers, 'worker')})" if trial.workers else trial.pipeline


def devices_of(trial: Any) -> str:
    """Return the number of devices, on how many nodes they are, and what spreads the batch over them, in words."""
    if trial.devices == 1:
        return "1 device"
    nodes = trial.nodes or 1  # None of a switch, which says nothing of nodes
    on_each = counted(trial.devices // nodes, "device")
    return f"{f'{nodes} nodes x ' if nodes > 1 else ''}{on_each} ({trial.strategy})"


def _absent(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value
