"""Charts over batch size: time, memory, framework against framework; a panel per model.

Knows neither how a number was measured nor what it means: titles say what is shown, not what was found.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.errors import check_name
from trainspeed.core.format import model_of
from trainspeed.show.axes import (
    batch_axis,
    legend_below,
    note_below,
    nothing,
    panels,
    ratio_axis,
    write_sentence,
)
from trainspeed.show.rows import (
    count_failures,
    data_rows,
    memory_unit,
    name_arms,
    on_lines,
    require,
    shared_factors,
    succeeded,
)
from trainspeed.show.series import handles, how_to_read, mark_failures, nudged, series
from trainspeed.show.theme import FILLS, LAYOUT_STYLES, framework_colour, framework_name, status_name

COLUMNS = ("framework", "layout", "model", "status", "label", "batch_size")
# What y may be: the title, and the axis with the direction that is better.
TIMES = {
    "median_epoch_s": ("Time per epoch", "seconds, median of epochs 2…\n(less is better)"),
    "first_epoch_s": ("Time of the first epoch", "seconds\n(less is better)"),
    "training_s": ("Training time (100 epochs)", "seconds\n(less is better)"),
    "images_per_s": ("Training throughput", "images per second\n(more is better)"),
}
SMALL_NUDGE = 1.03  # from arm to arm: enough to tell the arms' dots at one batch size apart


def plot_time_vs_batch(frame: pd.DataFrame, *, y: str = "median_epoch_s") -> Figure:
    """Draw time against batch size: a line per framework and layout, a dot per run, a panel per model.

    Args:
        y: A column in seconds, or images_per_s: see `TIMES`.
    """
    check_name("y", y, TIMES)
    require(frame, (*COLUMNS, y))
    title, ylabel = TIMES[y]
    data = data_rows(on_lines(frame)).assign(value=lambda rows: rows[y])
    return _by_batch(data, title + shared_factors(data), ylabel)


def plot_memory(frame: pd.DataFrame) -> Figure:
    """Draw peak memory against batch size: a line per framework and layout, OOM at the top edge.

    The unit is MB (1e6 bytes), or GB (1e9 bytes) from 10 GB on.
    """
    require(frame, (*COLUMNS, "peak_memory_bytes"))
    data = data_rows(frame)
    divisor, unit = memory_unit(data["peak_memory_bytes"])
    data["value"] = data["peak_memory_bytes"].astype(float) / divisor
    return _by_batch(data, "Peak memory" + shared_factors(data), f"peak memory in {unit}\n(less is better)")


def plot_ratio_trend(frame: pd.DataFrame) -> Figure:
    """Draw framework against framework over batch size: a dot per block, the median as line.

    Args:
        frame: One row per block: baseline, candidate (framework names), layout, model, batch_size and
            ratio, the baseline's time divided by the candidate's. Rows without a ratio are left out. Without
            any row, as when one framework ran alone, the chart is a sentence.
    """
    if frame.empty:
        return nothing("No two frameworks ran with the same model, layout and batch size.").get_figure()
    require(frame, ("baseline", "candidate", "layout", "model", "batch_size", "ratio"))
    versus = "vs " + frame["baseline"].map(framework_name)
    data = frame.assign(framework=frame["candidate"], variant=versus, status="ok", value=frame["ratio"])
    data = name_arms(data)
    one_layout = data["layout"].nunique() == 1
    data["arm"] = data["candidate"].map(framework_name) + " " + data["variant"]
    if not one_layout:
        data["arm"] += " " + data["layout"]
    title = "Speed-up of one framework over another" + (f": {data['layout'].iloc[0]}" if one_layout else "")
    return _by_batch(data, title, "speed-up, log scale\n(above 1: first named faster)", ratio=True)


def _by_batch(data: pd.DataFrame, title: str, ylabel: str, *, ratio: bool = False) -> Figure:
    """Draw the column `value` over batch size: what the three charts above share."""
    good = succeeded(data)
    data = data.assign(
        value=data["value"].astype(float).where(good),
        failure=data["status"].map(status_name).where(~good, None),
        x=data["batch_size"].astype(float),
    )
    models, sizes, arms = list(data["model"].unique()), sorted(data["x"].unique()), list(data["arm"].unique())
    looks = {
        row["arm"]: {
            "color": framework_colour(row["framework"]),
            "fillstyle": FILLS[row["fill"] % len(FILLS)],
            **LAYOUT_STYLES[row["layout"]],
        }
        for row in data.drop_duplicates("arm").to_dict("records")
    }
    moved = nudged(data, arms, SMALL_NUDGE)
    figure, axes = panels(len(models), title, share_x=False)
    for ax, model in zip(axes, models, strict=True):
        rows = data["model"] == model
        lone = data.loc[rows, "x"].nunique() == 1
        if lone:  # one size makes no line: the arms stand side by side
            places = data.loc[rows, "arm"].map({arm: place for place, arm in enumerate(arms, 1)})
            data.loc[rows, "x"] = moved.loc[rows, "x"] = places.astype(float)
        above_pt = mark_failures(data[rows], looks=looks, ax=ax)
        figure.set_figheight(figure.get_figheight() + above_pt / 72)
        ax.set_title(model_of(model), pad=6 + above_pt)
        ax.set_ylabel(ylabel)
        if data.loc[rows, "value"].notna().any():
            series(moved[rows], looks=looks, ax=ax)
        else:
            write_sentence(ax, _why_nothing(data[rows]))
        if lone:
            _side_by_side(ax, data[rows], len(arms))
        else:
            batch_axis(ax, sizes)
        named = "batch size" if lone else "batch size (log scale)"
        ax.set_xlabel(named if lone or ax is axes[-1] else "")
    values = data["value"].dropna()
    for ax in axes:
        if values.empty:
            ax.set_yticks([])
        elif ratio:
            ratio_axis(ax.yaxis, values.min(), values.max())
            ax.axhline(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
        else:
            ax.set_ylim(0, values.max() * 1.08)
    if len(values):
        note_below(axes[-1], how_to_read(rows for _, rows in moved.groupby("model")))
    legend_below(figure, handles(looks))
    return figure


def _side_by_side(ax: Axes, data: pd.DataFrame, arms: int) -> None:
    """Make x the arms of one batch size, each with a bar at its median."""
    middles = data.dropna(subset="value").groupby("x")["value"].median()
    ax.hlines(middles, middles.index - 0.3, middles.index + 0.3, color=".35", linewidth=1.5, gid="middle")
    ax.set_xlim(0.4, arms + 0.6)
    ax.set_xticks([(arms + 1) / 2], [f"{data['batch_size'].iloc[0]:g}"])
    ax.grid(visible=False, axis="x")


def _why_nothing(data: pd.DataFrame) -> str:
    if failures := count_failures(data):
        rest = ", the others gave no value." if succeeded(data).any() else "."
        return f"Nothing to draw: {failures}{rest}"
    return "Nothing to draw: not measured on this machine."
