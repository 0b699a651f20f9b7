"""Charts over batch size: time, memory, framework against framework; a panel per model.

Knows neither how a number was measured nor what it means: what was found comes as the title.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from trainspeed.core.errors import check_name
from trainspeed.core.format import model_of
from trainspeed.show import dot_rows
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
    line_note,
    memory_unit,
    name_arms,
    on_lines,
    require,
    shared_factors,
    succeeded,
)
from trainspeed.show.series import handles, mark_failures, nudged, series, series_legend
from trainspeed.show.theme import (
    FILLS,
    LAYOUT_STYLES,
    VARIANT_STYLES,
    Look,
    framework_colour,
    framework_name,
    status_name,
)

COLUMNS = ("framework", "layout", "model", "status", "label", "batch_size")
# What y may be: the title, and the axis with the direction that is better.
TIMES = {
    "median_epoch_s": ("Time per epoch", "seconds per epoch\n(less is better)"),
    "first_epoch_s": ("Time of the first epoch", "seconds\n(less is better)"),
    "training_s": ("Training time (100 epochs)", "seconds\n(less is better)"),
    "images_per_s": ("Training throughput", "images per second\n(more is better)"),
}
EPOCHS_NOTE = "; of a run, the median of its later epochs"
LINES_IN = 3.0  # height of a panel of lines
SMALL_NUDGE = 1.03  # from arm to arm: enough to tell the arms' dots at one batch size apart


def plot_time_vs_batch(frame: pd.DataFrame, *, y: str = "median_epoch_s", title: str = "") -> Figure:
    """Draw time against batch size: a line per framework and layout, a dot per run, a panel per model.

    A model that ran with one batch size has rows of dots in place of lines.

    Args:
        title: What the chart says (see `show.messages`), by default what it shows.
        y: A column in seconds, or images_per_s: see `TIMES`.
    """
    check_name("y", y, TIMES)
    require(frame, (*COLUMNS, y))
    shown, ylabel = TIMES[y]
    data = data_rows(on_lines(frame)).assign(value=lambda rows: rows[y])
    return _titled(data, title, shown, ylabel, line_note(frame))


def plot_memory(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw peak memory against batch size: a line per framework and layout, OOM at the top edge.

    The unit is MB (1e6 bytes), or GB (1e9 bytes) from 10 GB on. The title is as in `plot_time_vs_batch`.
    """
    require(frame, (*COLUMNS, "peak_memory_bytes"))
    data = data_rows(frame)
    divisor, unit = memory_unit(data["peak_memory_bytes"])
    data["value"] = data["peak_memory_bytes"].astype(float) / divisor
    return _titled(data, title, "Peak memory", f"peak memory in {unit}\n(less is better)")


def plot_ratio_trend(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw framework against framework over batch size: a dot per block, the median as line.

    Args:
        title: What the chart says, by default what it shows.
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
    layout = data["layout"].iloc[0] if one_layout else ""
    shown = "Speed-up of one framework over another" + f": {layout}" * one_layout
    name_suffix = f", {layout}" * (one_layout and bool(title))
    ylabel = "speed-up, log scale\n(more than 1: first named faster)"
    return _by_batch(data, title or shown, ylabel, name_suffix=name_suffix, ratio=True)


def _titled(data: pd.DataFrame, title: str, shown: str, ylabel: str, joined: str = "") -> Figure:
    """Draw under the title, or under what is shown; what all rows share is in the names of the panels, or there."""
    shared = shared_factors(data)
    return _by_batch(
        data,
        title or shown + shared,
        ylabel,
        name_suffix=shared.replace(": ", ", ") if title else "",
        joined=joined,
    )


def _by_batch(
    data: pd.DataFrame,
    title: str,
    ylabel: str,
    *,
    name_suffix: str = "",
    ratio: bool = False,
    joined: str = "",
) -> Figure:
    """Draw the column `value` over batch size: what the three charts above share.

    Args:
        name_suffix: What stands after the name of each panel's model.
        joined: Which runs a line joins, where that has to be said.
    """
    good = succeeded(data)
    data = data.assign(
        value=data["value"].astype(float).where(good),
        failure=data["status"].map(status_name).where(~good, None),
        x=data["batch_size"].astype(float),
    )
    # First what ran most.
    models = list(
        data.groupby("model", sort=False)["model"].count().sort_values(ascending=False, kind="stable").index
    )
    sizes, arms = sorted(data["x"].unique()), list(data["arm"].unique())
    looks = _looks(data)
    moved = nudged(data, arms, SMALL_NUDGE)
    of_model = {model: data["model"] == model for model in models}
    # One size makes no line: the arms are rows of dots.
    lone = {model for model, rows in of_model.items() if data.loc[rows, "x"].nunique() == 1}
    own_looks = {model: dot_rows.looks_in(data[rows], looks) for model, rows in of_model.items()}
    heights = [dot_rows.height_in(own_looks[model]) if model in lone else LINES_IN for model in models]
    figure, axes = panels(len(models), title, height_in=heights, share_x=False, share_y=False)
    values = data["value"].dropna()
    for ax, (model, rows) in zip(axes, of_model.items(), strict=True):
        value_axis = ax.xaxis if model in lone else ax.yaxis
        above_pt = 0.0
        if model in lone:
            name = f"{model_of(model)}, batch {data.loc[rows, 'x'].iloc[0]:g}"
            dot_rows.dot_rows(data[rows], looks=own_looks[model], ax=ax, unknown="not known")
            ax.set_xlabel(ylabel)
        else:
            name = model_of(model)
            above_pt = mark_failures(data[rows], looks=looks, ax=ax)
            figure.set_figheight(figure.get_figheight() + above_pt / 72)
            if data.loc[rows, "value"].notna().any():
                series(moved[rows], looks=looks, ax=ax)
            else:
                write_sentence(ax, _why_nothing(data[rows]))
            batch_axis(ax, sizes)
            ax.set(ylabel=ylabel, xlabel="batch size (log scale)")
        ax.set_title(name + name_suffix, pad=6 + above_pt)
        _limit(value_axis, values, ratio=ratio)
    if len(values):
        if len(lone) == len(models):
            note = dot_rows.dot_rows_legend(data)
        else:
            note = series_legend(rows for _, rows in moved.groupby("model"))
            note = note.replace("line:", "line or bar:") if lone else note
        note += EPOCHS_NOTE if ylabel == TIMES["median_epoch_s"][1] else ""
        note_below(axes[-1], note + f"; {joined}" * bool(joined))
    if len(lone) < len(models):
        legend_below(figure, handles(looks))
    return figure


def _looks(data: pd.DataFrame) -> dict[str, Look]:
    """Return a look per arm: colour by framework; line and marker by layout, or where all have one by variant."""
    by_variant = data["layout"].nunique() == 1 and data["fill"].nunique() > 1
    looks = {}
    for row in data.drop_duplicates("arm").to_dict("records"):
        variant = VARIANT_STYLES[row["fill"] % len(VARIANT_STYLES)]
        looks[row["arm"]] = {
            "color": framework_colour(row["framework"]),
            "fillstyle": FILLS[row["fill"] % len(FILLS)],
            **(variant if by_variant else LAYOUT_STYLES[row["layout"]]),
        }
    return looks


def _limit(axis: Axis, values: pd.Series, *, ratio: bool) -> None:
    """Let the axis of the values reach from 0 up to all values of the chart; one of ratios around 1."""
    name = axis.axis_name
    if values.empty:
        axis.set_ticks([])
    elif ratio:
        ratio_axis(axis, values.min(), values.max())
        one = axis.axes.axvline if name == "x" else axis.axes.axhline
        one(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
    else:
        axis.axes.set(**{f"{name}lim": (0, values.max() * 1.08)})


def _why_nothing(data: pd.DataFrame) -> str:
    if failures := count_failures(data):
        rest = ", the others gave no value." if succeeded(data).any() else "."
        return f"Nothing to draw: {failures}{rest}"
    return "Nothing to draw: not measured on this machine."
