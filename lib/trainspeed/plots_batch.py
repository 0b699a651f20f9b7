"""Charts over batch size: time, memory, framework against framework; a panel per model.

Knows neither how a number was measured nor what it means: titles say what is shown, not what was found.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.axes import batch_axis, note_below, panels, ratio_axis, say, title_above
from trainspeed.errors import UserError
from trainspeed.lines import (
    MOST_END_LABELS,
    Line,
    draw_failures,
    draw_line,
    failure_strip,
    has_interval,
    label_ends,
    legend_below,
)
from trainspeed.rows import (
    count_failures,
    data_rows,
    memory_unit,
    name_arms,
    require,
    shared_factors,
    succeeded,
)
from trainspeed.theme import FILLS, framework_colour, framework_name, layout_style, status_name
from trainspeed.wording import model_of

ARM = ("framework", "layout", "model", "status", "label")
# What y may be: the title, and the axis with the direction that is better.
TIMES = {
    "median_epoch_s": ("Time per epoch", "seconds, median of epochs 2…\n(less is better)"),
    "first_epoch_s": ("Time of the first epoch", "seconds\n(less is better)"),
    "training_s": ("Training time (100 epochs)", "seconds\n(less is better)"),
    "images_per_s": ("Training throughput", "images per second\n(more is better)"),
}
NUDGE = 1.14  # from arm to arm, where one batch size leaves the width of the panel free
SMALL_NUDGE = 1.03  # else: enough to tell the arms' dots at one batch size apart


def plot_time_vs_batch(
    frame: pd.DataFrame, *, y: str = "median_epoch_s", share_y: bool = True, ax: Axes | None = None
) -> Figure | Axes:
    """Draw time against batch size: a line per framework and layout, a dot per run, a panel per model.

    Args:
        y: A column in seconds, or images_per_s.
        share_y: One scale for all models; False where a slow model would flatten a fast one.
        ax: Only for a frame of one model; then it is returned, instead of a Figure.
    """
    if y not in TIMES:
        raise UserError(f"y (={y!r}) must be one of {', '.join(TIMES)}.")
    require(frame, (*ARM, "batch_size", y))
    title, ylabel = TIMES[y]
    data = data_rows(frame).assign(value=lambda rows: rows[y])
    return _by_batch(data, title=title + shared_factors(data), ylabel=ylabel, share_y=share_y, ax=ax)


def plot_memory(frame: pd.DataFrame, *, share_y: bool = True, ax: Axes | None = None) -> Figure | Axes:
    """Draw peak memory against batch size: a line per framework and layout, OOM at the top edge.

    The unit is MB (1e6 bytes), or GB (1e9 bytes) from 10 GB on.
    """
    require(frame, (*ARM, "batch_size", "peak_memory_bytes"))
    data = data_rows(frame)
    divisor, unit = memory_unit(data["peak_memory_bytes"])
    data["value"] = data["peak_memory_bytes"].astype(float) / divisor
    title = "Peak memory" + shared_factors(data)
    return _by_batch(
        data, title=title, ylabel=f"peak memory in {unit}\n(less is better)", share_y=share_y, ax=ax
    )


def plot_ratio_trend(frame: pd.DataFrame, *, share_y: bool = True, ax: Axes | None = None) -> Figure | Axes:
    """Draw framework against framework over batch size: a dot per block, the median as line.

    Args:
        frame: One row per block: baseline, candidate (framework names), layout, model, batch_size and
            ratio, the baseline's time divided by the candidate's. Rows without a ratio are left out. Of no
            rows at all, as of one framework alone, the chart is a sentence.
    """
    if frame.empty:
        figure, (panel,) = panels(1) if ax is None else (ax.get_figure(), [ax])
        say(panel, "No two frameworks ran with the same model, layout and batch size.")
        panel.set_axis_off()
        return figure if ax is None else ax
    require(frame, ("baseline", "candidate", "layout", "model", "batch_size", "ratio"))
    data = frame.reset_index(drop=True).assign(status="ok", value=frame["ratio"].to_numpy())
    data["framework"] = data["candidate"]
    data["variant"] = "vs " + data["baseline"].map(framework_name)
    data = name_arms(data)
    versus = data["candidate"].map(framework_name) + " " + data["variant"]
    data["arm"] = versus + (" " + data["layout"] if data["layout"].nunique() > 1 else "")
    title = "Speed-up of one framework over another"
    if data["layout"].nunique() == 1:
        title += f": {data['layout'].iloc[0]}"
    ylabel = "speed-up, log scale\n(above 1: first named faster)"
    return _by_batch(data, title=title, ylabel=ylabel, share_y=share_y, ax=ax, ratio=True)


def _by_batch(
    data: pd.DataFrame, *, title: str, ylabel: str, share_y: bool, ax: Axes | None, ratio: bool = False
) -> Figure | Axes:
    """Draw the column `value` over batch size: what the three charts above share."""
    data = data.assign(value=data["value"].astype(float).where(succeeded(data)))
    models, sizes = list(data["model"].unique()), sorted(data["batch_size"].unique())
    if not models:
        raise UserError("the frame has no rows to draw: measure first.")
    if ax is not None and len(models) > 1:
        raise UserError(
            f"ax takes one model, the frame has {', '.join(models)}: leave ax out for a panel each."
        )
    figure, axes = (ax.get_figure(), [ax]) if ax is not None else panels(len(models), share_y=share_y)
    groups = [_lines(data, model) for model in models]
    drawn = [line for lines in groups for line in lines if line.values]
    for panel, model, lines in zip(axes, models, groups, strict=True):
        batch_axis(panel, sizes)
        for line in lines:
            if line.values:
                draw_line(panel, line)
        if not any(line.values for line in lines):
            say(panel, _nothing(data[data["model"] == model]))
        panel.set(title=model_of(model), ylabel=ylabel)
    axes[-1].set_xlabel("batch size (log scale)")
    if drawn:
        note_below(axes[-1], _how_to_read(drawn))
    if ax is None:
        title_above(figure, title)
    else:
        ax.set_title(f"{title}\n{model_of(models[0])}")
    at_ends = max(sum(bool(line.values) for line in lines) for lines in groups) <= MOST_END_LABELS
    if not at_ends:
        legend_below(figure, drawn)
    by_panel = list(zip(axes, groups, strict=True))
    # The labels take their room first: what is left decides how the strip of failures and they are placed.
    labels = [text for panel, lines in by_panel if at_ends for text in label_ends(panel, lines)]
    figure.draw_without_rendering()
    for text in labels:
        text.remove()
    _limit(axes, groups, share_y=share_y, ratio=ratio)
    for panel, lines in by_panel:
        if any(line.failures for line in lines):
            draw_failures(panel, lines, sizes)
        if at_ends:
            label_ends(panel, lines)
    return figure if ax is None else ax


def _lines(data: pd.DataFrame, model: str) -> list[Line]:
    """Return one line per arm of a model's panel."""
    several = data["framework"].nunique() > 1
    nudge = NUDGE if data["batch_size"].nunique() == 1 else SMALL_NUDGE
    arms = list(data["arm"].unique())
    lines = []
    for arm, rows in data[data["model"] == model].groupby("arm", sort=False):
        row, good, bad = rows.iloc[0], rows[rows["value"].notna()], rows[~succeeded(rows)]
        lines.append(
            Line(
                label=arm,
                short=framework_name(row["framework"]) if several else "",
                color=framework_colour(row["framework"]),
                fillstyle=FILLS[row["fill"] % len(FILLS)],
                **layout_style(row["layout"]),
                values={size: list(group["value"]) for size, group in good.groupby("batch_size")},
                failures={
                    size: [status_name(status) for status in group["status"].unique()]
                    for size, group in bad.groupby("batch_size")
                },
                nudge=nudge ** (arms.index(arm) - (len(arms) - 1) / 2),
            )
        )
    return lines


def _limit(axes: list[Axes], groups: list[list[Line]], *, share_y: bool, ratio: bool) -> None:
    """Set y: from 0 with room for the strip of failures, or around 1 for ratios."""
    everything = [line for lines in groups for line in lines]
    sizes = sorted({size for line in everything for size in (*line.values, *line.failures)})
    strips = [failure_strip(ax, lines, sizes) for ax, lines in zip(axes, groups, strict=True)]
    for ax, lines, strip in zip(axes, groups, strips, strict=True):
        shown = everything if share_y else lines
        values = [value for line in shown for several in line.values.values() for value in several]
        if not values:
            ax.set_yticks([])
        elif ratio:
            ratio_axis(ax.yaxis, min(values), max(values))
            ax.axhline(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
        else:
            ax.set_ylim(0, max(values) * 1.08 / (1 - (max(strips) if share_y else strip)))


def _how_to_read(lines: list[Line]) -> str:
    band = "; band: 95 % interval of the median" if any(map(has_interval, lines)) else ""
    return f"dot: one run; line: median{band}"


def _nothing(data: pd.DataFrame) -> str:
    if failed := count_failures(data):
        return f"Nothing to draw: {failed}" + (
            "." if not succeeded(data).any() else ", the others gave no value."
        )
    return "Nothing to draw: not measured on this machine."
