"""Seeded runs, monitor samples and verdicts for the tests of plots and tables, and how to find artists."""

from __future__ import annotations

import numpy as np
import pandas as pd

from trainspeed.core.frame import to_frame
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import Trial

SPEED = {"tensorflow": 1.0, "torch": 0.8, "jax": 0.9}
SIZES = (8, 16, 32, 64)
START = pd.Timestamp("2026-11-20T10:00:00Z")


def make_run(
    framework="torch", model="cnn10", layout="channels_last", batch_size=32, *, block=0, rng=None, **more
):
    """Return one finished run; `more` is fields of the run, or of the trial where a trial has them."""
    rng = rng or np.random.default_rng(0)
    of_trial = {name: more.pop(name) for name in list(more) if name in Trial.__dataclass_fields__}
    trial = Trial(
        framework=framework,
        model=model,
        layout=layout,
        batch_size=batch_size,
        **{"images_per_epoch": 2048, "epochs": 5, "compile": framework == "jax", "seed": block} | of_trial,
    )
    base = SPEED[framework] * (2.5 if model == "wrn28_2" else 1) * (0.8 if layout == "channels_last" else 1)
    epoch = base * (1 + 12 / batch_size) * rng.normal(1, 0.02)
    epochs = (3 * epoch, *(epoch * rng.normal(1, 0.01, size=4)))
    fields = {
        "session": "s1",
        "study": "layout",
        "trial": trial,
        "block": block,
        "epoch_s": tuple(float(value) for value in epochs),
        "images_per_epoch": trial.images_per_epoch,
        "compiled_anew": True,
        "test_accuracy": float(rng.normal(0.93, 0.01)),
        "peak_memory_bytes": int(2e8 + 6e6 * batch_size * base),
        "effective_layout": {"channels_last" if framework == "tensorflow" else layout: 9},
    }
    return Run(**fields | more)


def failed_run(status, reason, **more):
    """Return a run that measured nothing."""
    nothing = {"epoch_s": (), "test_accuracy": None, "peak_memory_bytes": None}
    return make_run(status=Status(status), reason=reason, **nothing, effective_layout=None, **more)


def make_runs():
    """Return a study: 6 blocks at batch 32 and 1 elsewhere, an OOM, a timeout, a control, a memory run."""
    rng = np.random.default_rng(1)
    runs = []
    for framework in SPEED:
        for model in ("cnn10", "wrn28_2"):
            for layout in ("channels_first", "channels_last"):
                for size in SIZES:
                    for block in range(6 if size == 32 else 1):
                        control = (framework, model, layout, size) == ("torch", "cnn10", "channels_first", 32)
                        arm = {"framework": framework, "model": model, "layout": layout, "batch_size": size}
                        if (framework, model, size) == (
                            "tensorflow",
                            "wrn28_2",
                            64,
                        ) and layout == "channels_first":
                            runs.append(failed_run("oom", "12.1 GB asked for, 0.4 GB free", **arm))
                        elif (framework, model, size, layout) == ("jax", "wrn28_2", 8, "channels_last"):
                            runs.append(failed_run("timeout", "longer than 300 s", **arm))
                        else:
                            runs.append(make_run(**arm, block=block, rng=rng, label="A" if control else ""))
                        if control:
                            twin = make_run(**arm, block=block, rng=rng, label="A again")
                            runs.append(twin)
    runs.append(make_run("torch", "cnn10", "channels_last", 64, label="default allocation", rng=rng))
    return runs


def make_frame():
    """Return the tidy frame of `make_runs`."""
    return to_frame(make_runs())


def make_ratios():
    """Return framework against framework, a row per block."""
    rng = np.random.default_rng(2)
    pairs = (("tensorflow", "torch", 1.25), ("tensorflow", "jax", 1.1), ("torch", "jax", 0.88))
    return pd.DataFrame(
        [
            {
                "baseline": baseline,
                "candidate": candidate,
                "layout": layout,
                "model": model,
                "batch_size": size,
                "ratio": middle * (1 + size / 400) * rng.normal(1, 0.015),
            }
            for baseline, candidate, middle in pairs
            for layout in ("channels_first", "channels_last")
            for model in ("cnn10", "wrn28_2")
            for size in SIZES
            for _ in range(6 if size == 32 else 1)
        ]
    )


def make_verdicts():
    """Return one verdict of each outcome, one hollow, one without any pair."""
    rows = (
        ("TensorFlow cnn10, batch 32: channels_last vs channels_first", 0.93, 0.9, 0.95, "slower", 6),
        ("PyTorch cnn10, batch 32: channels_last vs channels_first", 1.34, 1.31, 1.37, "faster", 6),
        ("JAX cnn10, batch 32: channels_last vs channels_first", 1.004, 0.99, 1.012, "same", 6),
        ("PyTorch wrn28_2, batch 32: channels_last vs channels_first", 1.05, 0.97, 1.12, "undecided", 6),
        ("PyTorch cnn10, batch 64: channels_last vs channels_first", 1.21, None, None, "undecided", 1),
        ("TensorFlow wrn28_2, batch 64: channels_last vs channels_first", None, None, None, "undecided", 0),
        ("A/A control: PyTorch cnn10, batch 32", 1.001, 0.992, 1.009, "same", 6),
    )
    names = ("label", "speedup", "low", "high", "outcome", "blocks")
    return [dict(zip(names, row, strict=True)) for row in rows]


def make_samples(*, devices=("host", "gpu0"), seconds=240, step=1.0):
    """Return monitor samples; the GPU is throttled for 20 s in the middle."""
    rng = np.random.default_rng(3)
    rows = []
    for device in devices:
        host = device == "host"
        for t in np.arange(-5, seconds + 5, step):
            busy = 0 < t < seconds and (t % 40) > 6
            hot = not host and seconds / 2 < t < seconds / 2 + 20
            rows.append(
                {
                    "utc": START + pd.Timedelta(seconds=float(t)),
                    "device": device,
                    "name": "AMD EPYC 9454" if host else "NVIDIA H200",
                    "load_percent": float(np.clip(rng.normal((25 if host else 90) * busy + 4, 4), 0, 100)),
                    "memory_used_bytes": (12e9 if host else 30e9) * (0.6 + 0.4 * busy),
                    "memory_total_bytes": 128e9 if host else 141e9,
                    "power_w": None if host else 120 + 480 * busy + rng.normal(0, 15),
                    "temperature_c": None if host else 40 + 25 * busy + rng.normal(0, 1),
                    "sm_clock_mhz": None if host else 1980 - 400 * hot,
                    "throttle_reasons": "sw_power_cap" if hot else (None if host else ""),
                }
            )
    return pd.DataFrame(rows)


def make_spans(count=6, *, seconds=240):
    """Return the runs of the monitor's chart, one after the other, with a wait and four epoch ends each."""
    length = seconds / count
    rows = pd.DataFrame(
        [
            {
                "start": START + pd.Timedelta(seconds=k * length),
                "end": START + pd.Timedelta(seconds=(k + 0.9) * length),
                "active": [
                    tuple(START + pd.Timedelta(seconds=(k + end) * length) for end in (begun, begun + 0.4))
                    for begun in (0.0, 0.5)
                ],
                "name": f"{list(SPEED)[k % 3]} cnn10 channels_last 32",
                "framework": list(SPEED)[k % 3],
                "devices": 1,
                "epoch_ends": [START + pd.Timedelta(seconds=(k + 0.2 * e) * length) for e in range(1, 5)],
            }
            for k in range(count)
        ]
    )
    return rows.assign(timed=rows["active"], others=[[] for _ in range(count)])


def found(ax, gid):
    """Return the artists of an Axes that carry this name."""
    return [artist for artist in ax.findobj() if artist.get_gid() == gid]


def texts(ax, gid):
    return [artist.get_text() for artist in found(ax, gid)]


def legend(figure):
    """Return the names in the legend below the panels, in order."""
    (below,) = figure.legends
    return [text.get_text() for text in below.get_texts()]


def dots(ax, gid="run"):
    """Return (x, y) of every dot that seaborn drew under this name."""
    return [tuple(point) for artist in found(ax, gid) for point in artist.get_offsets().tolist()]


def select(frame, **values):
    """Return the rows with these values."""
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame


def rows(styler):
    """Return the table as a list of dicts of text."""
    return styler.data.astype(str).to_dict("records")


def cells(styler, **where):
    """Return the only row with these cells."""
    (row,) = [row for row in rows(styler) if all(row[name] == value for name, value in where.items())]
    return row
