"""Load of devices while runs were measured, from samples that each tell of the time since the one before."""

from __future__ import annotations

import numpy as np
import pandas as pd

MOSTLY = 0.8  # of a sample's time: turns may be as short as that, and a neighbour's turn is another load
FEWEST = 5  # samples with a median worth telling


def median_loads(samples: pd.DataFrame, spans: pd.DataFrame) -> pd.Series:
    """Return the median load of each device by the samples of which nearly all lies within spans.

    The host is among them only where there is no other device; a device with few such samples is not.

    Args:
        samples: device, load_percent, and x, when it was taken: it is of the time since the device's sample before.
        spans: x and x_end, on the same axis; they may overlap.
    """
    known = samples.dropna(subset=["load_percent"])
    known = known if set(known["device"]) == {"host"} else known[known["device"] != "host"]
    before = known.groupby("device")["x"].shift()
    within = _covered(spans, known["x"]) - _covered(spans, before)
    loads = known[within >= MOSTLY * (known["x"] - before)].groupby("device")["load_percent"]
    return loads.median()[loads.size() >= FEWEST]


def _covered(spans: pd.DataFrame, moments: pd.Series) -> np.ndarray:
    """Return how much of the time before each moment lies within spans."""
    ordered = spans.sort_values("x")
    ends = ordered["x_end"].cummax()
    apart = (ordered["x"] > ends.shift(fill_value=-np.inf)).cumsum()
    joined = ordered.groupby(apart).agg({"x": "min", "x_end": "max"})
    lengths = (joined["x_end"] - joined["x"]).to_numpy(float)
    if not len(joined):
        return np.zeros(len(moments))
    until = np.cumsum(lengths)
    covered = np.column_stack([until - lengths, until]).ravel()
    return np.interp(moments.to_numpy(float), joined.to_numpy(float).ravel(), covered)
