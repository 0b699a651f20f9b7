"""Article 003's tables, and this machine's shares of FP32's time beside its band. Decides nothing."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from pandas.io.formats.style import Styler

from trainspeed.axes import note_below, say
from trainspeed.cells import NOTHING, fixed, styled
from trainspeed.published_amp import BAND
from trainspeed.rows import require
from trainspeed.theme import GREY, PALE, SMALL_PT, WIDTH_IN, framework_colour, framework_name
from trainspeed.verdict import CONFIDENCE, LEAST_BLOCKS
from trainspeed.wording import model_of

PRECISION_MARKERS = {"fp16": "o", "bf16": "s", "tf32": "^"}
OTHER_MARKER = "D"
UNITS_ORDER = ("fp16", "bf16", "tf32", "fp64", "int8", "int4", "int1")
ROW_IN = 0.26
LOG_FROM = 3.0  # a share beyond this would squeeze the band on a linear axis
LOG_TICKS = tuple(digit * 10.0**decade for decade in (-2, -1, 0, 1, 2) for digit in (1, 2, 5))


def matrix_units_table(data: pd.DataFrame) -> Styler:
    """Return a row per generation of GPUs: which precisions its matrix units compute.

    Args:
        data: As `published_amp.matrix_units` returns it.
    """
    require(data, ("source", "architecture", "gpu", "precision", "printed", "compute_capability"))
    rows = []
    for architecture, group in data.groupby("architecture", sort=False):
        has, first = set(group["precision"]), group.iloc[0]
        rows.append(
            {
                "generation": architecture,
                "example": first["gpu"],
                "compute capability": first["compute_capability"],
                **{name: "yes" if name in has else NOTHING for name in UNITS_ORDER},
            }
        )
    slips = [
        f"“{printed}” for {meant}"
        for printed, meant in [
            *zip(data["printed_architecture"], data["architecture"], strict=True),
            *zip(data["printed"], data["precision"].str.upper(), strict=True),
        ]
        if printed != meant
    ]
    caption = (
        f"Precisions of the matrix units (Tensor Cores), article {data['source'].iloc[0]}"
        + (f" (printed there: {', '.join(dict.fromkeys(slips))})" if slips else "")
        + f". Compute capability: {data['capability_source'].iloc[0]}"
    )
    columns = ["generation", "example", "compute capability", *UNITS_ORDER]
    return styled(pd.DataFrame(rows, columns=columns), "matrix_units", caption)


def accuracies_table(data: pd.DataFrame) -> Styler:
    """Return a row per model: accuracy in FP32 and in mixed precision, as NVIDIA reported it.

    Args:
        data: As `published_amp.mixed_accuracy` returns it.
    """
    require(data, ("task", "dataset", "model", "metric", "fp32", "mixed", "points", "decimals", "cited"))
    rows = [
        {
            "task": f"{row['task']}, {row['dataset']}",
            "model": row["model"],
            "metric": row["metric"],
            "FP32": fixed(row["fp32"], row["decimals"], " %"),
            "mixed": fixed(row["mixed"], row["decimals"], " %"),
            "points": f"{row['points']:+.{row['decimals']}f}",
            "note": row["note"],
        }
        for row in data.to_dict("records")
    ]
    columns = ["task", "model", "metric", "FP32", "mixed", "points", "note"]
    caption = (
        f"Accuracy in mixed precision: {data['cited'].iloc[0]}, as cited by article {data['source'].iloc[0]}"
    )
    return styled(pd.DataFrame(rows, columns=columns), "nvidia_accuracies", caption)


def prices_table(data: pd.DataFrame) -> Styler:
    """Return a row per cloud instance: TFLOPS on paper, the price of an hour, TFLOPS for a dollar an hour.

    Args:
        data: As `published_amp.tflops_per_dollar` returns it.
    """
    require(data, ("family", "gpu", "usd_per_hour", "fp32_tflops_per_usd", "mixed_tflops_per_usd"))
    rows = [
        {
            "instance": f"{row['family']} ({row['size']})",
            "GPU": row["gpu"],
            "FP32 TFLOPS": fixed(row["fp32_tflops"], 2),
            "mixed TFLOPS": fixed(row["mixed_tflops"], 0),
            "mixed / FP32": fixed(row["mixed_over_fp32"], 1, "x"),
            "USD per hour": fixed(row["usd_per_hour"], 3),
            "FP32 TFLOPS per USD/h": fixed(row["fp32_tflops_per_usd"], 1),
            "mixed TFLOPS per USD/h": fixed(row["mixed_tflops_per_usd"], 1),
        }
        for row in data.to_dict("records")
    ]
    first = data.iloc[0]
    caption = (
        f"What the GPUs can do on paper, and its price: {first['pricing']}, {first['region']}, "
        f"{first['as_of']} (article {first['source']})"
    )
    return styled(pd.DataFrame(rows), "ec2_prices", caption)


def plot_shares(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of FP32's time: a row per model, framework and precision; the article's band behind.

    Args:
        data: As `published_amp.shares_beside` returns it. Without low and high the mark is hollow.
    """
    require(data, ("framework", "model", "precision", "share", "low", "high", "blocks"))
    rows = data[data["share"].notna()].to_dict("records")
    if ax is None:
        size = (WIDTH_IN, ROW_IN * max(len(rows), 1) + 2.3)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.set_title("Training time relative to FP32's", pad=34 if rows else None)
    if not rows:
        say(ax, "Nothing to draw: no precision was compared with fp32 on this machine.")
        ax.set(xticks=[], yticks=[])
        return ax
    ax.axvspan(*BAND, color=PALE, linewidth=0, zorder=0.5, gid="band")
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5, gid="fp32")
    _named_above(
        ax, sum(BAND) / 2, 17, f"article 003: {100 * BAND[0]:.0f} to {100 * BAND[1]:.0f} %", "band name"
    )
    _named_above(ax, 1, 3, "FP32", "fp32 name")
    for place, row in enumerate(rows):
        _share_row(ax, row, place)
        if place and row["model"] != rows[place - 1]["model"]:
            ax.axhline(place - 0.5, color=".75", linewidth=0.8, zorder=0.7, gid="divider")
    ax.text(1.02, 1, "blocks", transform=ax.transAxes, fontsize=SMALL_PT, color=GREY, va="bottom")
    ax.set_yticks(range(len(rows)), [_name(row) for row in rows], fontsize=SMALL_PT)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ends = pd.DataFrame(rows)[["share", "low", "high"]].astype(float)
    _percent_axis(ax, ends.min().min(), ends.max().max())
    ax.set_xlabel("share of FP32's time in % (less is better)")
    note_below(ax, _note(rows))
    return ax


def _named_above(ax: Axes, x: float, points: float, text: str, gid: str) -> None:
    """Two heights above the axes, so that the names stay apart however near each other band and line are."""
    where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center"}
    ax.annotate(text, (x, 1), xytext=(0, points), fontsize=SMALL_PT, color=GREY, gid=gid, **where)


def _share_row(ax: Axes, row: dict, place: int) -> None:
    colour, sure = framework_colour(row["framework"]), pd.notna(row["low"]) and pd.notna(row["high"])
    if sure:
        ax.hlines(place, row["low"], row["high"], color=colour, linewidth=2, gid="interval")
    ax.plot(
        [row["share"]],
        [place],
        marker=PRECISION_MARKERS.get(row["precision"], OTHER_MARKER),
        markersize=7,
        markerfacecolor=colour if sure else "white",
        markeredgecolor=colour,
        color=colour,
        linestyle="none",
        gid="share" if sure else "hollow",
    )
    look = {"fontsize": SMALL_PT, "va": "center", "gid": "blocks"}
    ax.text(1.02, place, f"{row['blocks']:g}", transform=ax.get_yaxis_transform(), **look)


def _percent_axis(ax: Axes, low: float, high: float) -> None:
    """From 0 and linear; logarithmic where a precision is so slow that the band would be a thread."""
    if high > LOG_FROM:
        ax.set_xscale("log")
        ax.set_xlim(0.85 * min(low, BAND[0]), 1.2 * high)
        ax.xaxis.set_major_locator(FixedLocator(LOG_TICKS))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xlim(0, max(1.1, 1.06 * high))
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")


def _name(row: dict) -> str:
    compiled = ", compiled" if row.get("compile") and row["framework"] != "jax" else ""
    fit = ", with validation" if row.get("part") == "fit" else ""
    return f"{model_of(row['model'])}, {framework_name(row['framework'])} {row['precision']}{compiled}{fit}"


def _note(rows: list[dict]) -> str:
    """One mark per line: a wide note would take the room of the chart."""
    sure = [pd.notna(row["low"]) and pd.notna(row["high"]) for row in rows]
    parts = [f"line: {100 * CONFIDENCE:.0f} % interval"] if any(sure) else []
    if not all(sure):
        parts.append(f"hollow: fewer than {LEAST_BLOCKS} blocks, no interval")
    return "\n".join([*parts, "band: TensorFlow on a Tesla T4, all models"])
