"""Made-up rows of speed-ups over devices and their forecasts, and a line of a chart of them."""

from __future__ import annotations

import math

import pandas as pd

from trainspeed.studies.multi_gpu.scaling_charts import SCALING_COLUMNS

NONE = math.nan


def make_rows():
    """Return torch with intervals on 2, 4 and 8 devices, the others on 2; weak: batch 64 each."""
    rows = [
        ("tensorflow", "mirrored", "strong", 2, 64, 0.9, NONE, NONE),
        ("torch", "ddp", "strong", 2, 64, 1.8, 1.7, 1.9),
        ("torch", "ddp", "strong", 4, 64, 3.0, 2.8, 3.1),
        ("torch", "ddp", "weak", 2, 128, 1.9, 1.85, 1.95),
        ("torch", "ddp", "weak", 4, 256, 3.6, NONE, NONE),
        ("jax", "data_parallel", "weak", 2, 128, 1.5, 1.4, 1.6),
    ]
    return pd.DataFrame(rows, columns=list(SCALING_COLUMNS))


def make_forecasts():
    """Return a forecast of strong scaling for torch."""
    speedups = {2: 1.7, 4: 2.9, 8: 4.0}
    return pd.DataFrame(
        [{"framework": "torch", "scaling": "strong", "devices": p, "speedup": s} for p, s in speedups.items()]
    )


def line(ax, label):
    """Return the one line of this name."""
    (artist,) = [artist for artist in ax.lines if artist.get_label() == label]
    return artist
