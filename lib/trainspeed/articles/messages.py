"""What a chart beside an article says of this machine, as its title: numbers as they were measured. Decides nothing.

Each returns nothing where this machine has none to say: the chart then asks its question. Numbers without an interval
are told as that.
"""

from __future__ import annotations

import pandas as pd

from trainspeed.articles.numbers import BAND
from trainspeed.core.format import fixed, fixed_to_interval, interval, percent

NO_INTERVAL = "medians, no interval"


def of_batch_sizes(data: pd.DataFrame) -> str:
    """Return what share of the time at the smallest batch an epoch takes at the largest: see `ratios.batch_sizes`."""
    lines = [rows.sort_values("x") for _, rows in _ours(data).groupby("label")]
    if not lines:
        return ""
    shares = _ends([rows["value"].iloc[-1] for rows in lines])
    (first, last), one = lines[0]["x"].iloc[[0, -1]], len(lines) == 1
    larger, smaller = (f"batch {last}", f"batch {first}") if one else ("the largest batch", "the smallest")
    where = ", ".join(["PyTorch", *lines[0]["label"].unique()[: int(one)], "channels_first"])
    share = _range(*map(percent, shares))
    return f"An epoch at {larger} takes {share} of the time at {smaller} ({where}, here; {NO_INTERVAL})"


def of_second_device(data: pd.DataFrame) -> str:
    """Return the speed-ups of 2 devices over 1 that have an interval: see `ratios.second_device`."""
    ours = _ours(data)
    known = ours.dropna(subset=["low"])
    if known.empty:
        return ""
    low, high = known[["low", "high"]].iloc[0] if len(known) == 1 else (None, None)
    least, most = (fixed_to_interval(end, low, high, 2, "x") for end in _ends(known["value"]))
    how = f"95 % interval {interval(low, high)}" if len(known) == 1 else f"{len(known)} comparisons"
    unsure = len(ours) - len(known)
    return f"2 devices vs 1, PyTorch, here: {_range(least, most)} ({how})" + _unsure(unsure)


def of_pipelines(data: pd.DataFrame) -> str:
    """Return how long an epoch takes with other arms than one device with threads: see `ratios.input_pipelines`."""
    ours = _ours(data)
    others = ours[(ours["devices"] > 1) | (ours["pipeline"] != "threads")]
    if others.empty:
        return ""
    least, most = (fixed(end, 2) for end in _ends(others["value"]))
    times = f"{_range(least, most)} times as long as on 1 device with threads"
    return f"Here an epoch takes {times} ({NO_INTERVAL})"


def of_shares(data: pd.DataFrame) -> str:
    """Return how many shares of FP32's time lie in article 003's band with all of their interval, or outside it."""
    known = _ours(data).dropna(subset=["low"])
    if known.empty:
        return ""
    low, high = BAND
    inside = (known["low"] >= low) & (known["high"] <= high)
    outside = (known["high"] < low) | (known["low"] > high)
    counts = {"in": inside.sum(), "outside": outside.sum(), "across the edge of": (~inside & ~outside).sum()}
    said = ", ".join(f"{count} {where}" for where, count in counts.items() if count)
    band = f"the article's {100 * low:g} to {percent(high)}"
    return f"Share of FP32's time here: {said} {band}" + _unsure(len(data) - len(known))


def _ours(data: pd.DataFrame) -> pd.DataFrame:
    return data[data["kind"] == "measured"]


def _ends(values: pd.Series | list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least.removesuffix(' %').removesuffix('x')} to {most}"


def _unsure(count: int) -> str:
    return f"; {count} without an interval" if count else ""
