"""The articles' ratios on several GPUs and this machine's, as tables and charts. Decides nothing."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from pandas.io.formats.style import Styler

from trainspeed.axes import batch_axis, ratio_axis
from trainspeed.cells import NOTHING, fixed, styled
from trainspeed.published_views import MARKERS, OTHER_MARKER
from trainspeed.rows import require
from trainspeed.theme import GREY, PALE, SMALL_PT, WIDTH_IN, framework_colour
from trainspeed.verdict import MARGIN

FAIR = "Machine, images and libraries differ: compare the ratios only."
WORKERS = {"threads": "thread", "processes": "process"}


def speedups_table(data: pd.DataFrame) -> Styler:
    """Return a row per model and batch size: the speed-up of 2 devices over 1, the article's and ours.

    Args:
        data: As `published_beside.speedups_beside` returns it.
    """
    require(data, ("series", "model", "batch_size", "speedup", "low", "high", "blocks"))
    rows = [
        {
            "where": row["series"],
            "model": row["model"],
            "batch": str(row["batch_size"]),
            "speed-up": fixed(row["speedup"], 2, "x"),
            "95 % interval": _range(row, 2),
            "runs": str(row["blocks"]),
        }
        for row in data.sort_values(["model", "batch_size", "kind"]).to_dict("records")
    ]
    columns = ["where", "model", "batch", "speed-up", "95 % interval", "runs"]
    caption = f"PyTorch: 2 devices against 1, the same global batch. {FAIR}"
    return styled(pd.DataFrame(rows, columns=columns), "published_speedups", caption)


def pipelines_table(data: pd.DataFrame) -> Styler:
    """Return a row per arm: epoch time and accuracy relative to one device fed by threads, ms per step.

    Args:
        data: As `published_beside.pipelines_beside` returns it.
    """
    require(data, ("series", "devices", "pipeline", "workers", "relative_time", "low", "high"))
    rows = [
        {
            "where": row["series"],
            "arm": _arm(row),
            "batch": str(row["batch_size"]),
            "epoch time, relative": fixed(row["relative_time"], 2),
            "as far as rounding tells": _range(row, 2),
            "ms per step": fixed(row["ms_per_step"], 0 if row["ms_per_step"] >= 10 else 1),
            "accuracy": fixed(row["accuracy"], 4),
            "points": f"{row['accuracy_points']:+.2f}" if pd.notna(row["accuracy_points"]) else NOTHING,
        }
        for row in data.to_dict("records")
    ]
    columns = ["where", "arm", "batch", "epoch time, relative", "as far as rounding tells", "ms per step"]
    table = pd.DataFrame(rows, columns=[*columns, "accuracy", "points"])
    caption = f"TensorFlow, cnn_keras: relative to one device fed by threads. {FAIR}"
    return styled(table, "published_pipelines", caption)


def plot_speedups(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of 2 devices over 1 against batch size: hollow markers are the article's.

    Args:
        data: As `published_beside.speedups_beside` returns it.
    """
    require(data, ("series", "kind", "model", "batch_size", "speedup", "low", "high"))
    ax = ax or plt.figure(figsize=(WIDTH_IN, 4), layout="constrained").gca()
    ax.axhspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, gid="margin")
    ax.axhline(1, color=GREY, linewidth=1)
    ax.axhline(2, color=GREY, linewidth=1, linestyle="--")
    ax.annotate("ideal", (1, 2), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=GREY)
    for (series, kind, model), rows in data.groupby(["series", "kind", "model"]):
        rows = rows.sort_values("batch_size")
        look = _look(kind, "torch") | {"marker": MARKERS.get(model, OTHER_MARKER), "gid": kind}
        ax.plot(rows["batch_size"], rows["speedup"], label=f"{model}, {series}", **look)
        ax.vlines(rows["batch_size"], rows["low"], rows["high"], color=look["color"])
    batch_axis(ax, sorted(data["batch_size"].unique()))
    values = data[["speedup", "low", "high"]]
    ratio_axis(ax.yaxis, values.min().min(), max(2.1, values.max().max()))
    ax.set(
        xlabel=f"batch size, summed over the devices\n{FAIR}",
        ylabel="speed-up (more is better)",
        title="PyTorch: 2 devices against 1",
    )
    _legend_below(ax)
    return ax


def plot_pipelines(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw epoch times relative to one device fed by threads: hollow markers are the article's.

    Args:
        data: As `published_beside.pipelines_beside` returns it. A line spans low to high.
    """
    require(data, ("series", "kind", "devices", "pipeline", "workers", "relative_time", "low", "high"))
    rows = data.assign(arm=[_arm(row) for row in data.to_dict("records")]).to_dict("records")
    ax = ax or plt.figure(figsize=(WIDTH_IN, 1.8 + 0.32 * len(rows)), layout="constrained").gca()
    named: set[str] = set()
    for place, row in enumerate(rows):
        look = _look(row["kind"], "tensorflow") | {"linestyle": "none", "marker": "o", "gid": row["kind"]}
        label = None if row["series"] in named else row["series"]
        named.add(row["series"])
        ax.hlines(place, row["low"], row["high"], color=look["color"])
        ax.plot(row["relative_time"], place, label=label, **look)
    ax.axvline(1, color=GREY, linewidth=1, zorder=0)
    ax.set_yticks(range(len(rows)), [row["arm"] for row in rows])
    ax.set(
        xlabel="relative epoch time (less is better)\n" + FAIR.replace(": ", ":\n"),
        ylim=(len(rows) - 0.5, -0.5),
        xlim=(0, 1.1 * data[["relative_time", "high"]].max().max()),
        title="Epoch time relative to 1 device with threads",
    )
    _legend_below(ax)
    return ax


def _legend_below(ax: Axes) -> None:
    ax.get_figure(root=True).legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", fontsize=SMALL_PT
    )


def _look(kind: str, framework: str) -> dict[str, Any]:
    """Filled, in the framework's colour and joined by a line: ours. Hollow, grey and dotted: an article's."""
    if kind == "measured":
        return {"color": framework_colour(framework), "linestyle": "-"}
    return {"color": ".35", "markerfacecolor": "none", "linestyle": ":"}


def _arm(row: dict[str, Any]) -> str:
    devices = f"{row['devices']} device{'' if row['devices'] == 1 else 's'}"
    count = row["workers"]
    if row["pipeline"] not in WORKERS or pd.isna(count):
        return f"{devices}, {row['pipeline']}"
    plural = "" if count == 1 else "es" if row["pipeline"] == "processes" else "s"
    return f"{devices}, {count:g} {WORKERS[row['pipeline']]}{plural}"


def _range(row: dict[str, Any], decimals: int) -> str:
    if pd.isna(row["low"]):
        return NOTHING
    return f"{row['low']:.{decimals}f} to {row['high']:.{decimals}f}"
