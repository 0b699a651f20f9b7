"""Bars per model and precision, as article 003 drew them: training time, peak memory. Decides nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainspeed.axes import panels, say, title_above
from trainspeed.frame import ARTICLE_EPOCHS
from trainspeed.own_model import is_own
from trainspeed.rows import data_rows, memory_unit, require, succeeded
from trainspeed.theme import GREY, PRECISION_STYLES, SMALL_PT, framework_name, status_name
from trainspeed.trial import ZOO
from trainspeed.wording import model_of

COLUMNS = ("framework", "model", "layout", "compile", "precision", "status", "label", "epochs")
BAR = 0.8  # of the room of a model
PANEL_PT = 400.0  # about the width of the bars' room, in points
TIMES_S = ((3600.0, "hours"), (60.0, "minutes"))  # a unit from two of it on
SMALL_NAMES_FROM, TURNED_NAMES_FROM = 5, 7  # models: more names do not fit side by side
NOTE_LETTERS = 74


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What is drawn: a column of the frame, less is better, and how it is read.

    Attributes:
        unit: Of the values: the divisor and the name of the unit that suits them.
        note: Of the rows that are drawn.
    """

    column: str
    title: str
    unit: Callable[[pd.Series], tuple[float, str]]
    note: Callable[[pd.DataFrame], str]


def _time_unit(seconds: pd.Series) -> tuple[float, str]:
    return next(((size, name) for size, name in TIMES_S if seconds.max() > 2 * size), (1.0, "seconds"))


def _projected(data: pd.DataFrame) -> str:
    projected = (data["epochs"] < ARTICLE_EPOCHS).any()
    how = "projected from the first epoch and the median of the others" if projected else "measured"
    return f"{ARTICLE_EPOCHS} epochs, {how}"


TIME = Bars(column="training_s", title="Training time", unit=_time_unit, note=_projected)
MEMORY = Bars(
    column="peak_memory_bytes",
    title="Peak memory",
    unit=memory_unit,
    note=lambda _: "by the framework's own allocator; on a CPU what the process added to its memory",
)


def plot_training_times(frame: pd.DataFrame, *, title: str | None = None) -> Figure:
    """Draw a bar per model and precision, a panel per framework: medians over the blocks, a dot per run.

    Args:
        frame: As of `trainspeed.frame`. Layouts and compilation, where several, have panels of their own.
            An arm without a result is a word in its place.
    """
    return _draw(frame, TIME, title)


def plot_peak_memory(frame: pd.DataFrame, *, title: str | None = None) -> Figure:
    """Draw the peak memory of each model and precision; everything else as `plot_training_times`."""
    return _draw(frame, MEMORY, title)


def _draw(frame: pd.DataFrame, bars: Bars, title: str | None) -> Figure:
    if len(frame):
        require(frame, (*COLUMNS, bars.column))
    data = data_rows(frame) if len(frame) else frame
    title = title or bars.title
    if data.empty:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on this machine.")
        ax.set(xticks=[], yticks=[], title=title)
        return figure
    data = data.assign(value=data[bars.column].astype(float).where(succeeded(data)))
    groups = _groups(data)
    models = sorted(set(data["model"]), key=lambda name: (ZOO.index(name) if name in ZOO else len(ZOO), name))
    height_in = 2.6 if len(models) < TURNED_NAMES_FROM else 3.2
    figure, axes = panels(len(groups), height_in=height_in, share_y=False)
    room = 0.6 if len(models) > 1 else 1.0
    precisions = [name for name in PRECISION_STYLES if name in set(data["precision"])]
    divisor, unit = bars.unit(data["value"])
    width = BAR / len(precisions)
    for ax, (name, rows) in zip(axes, groups.items(), strict=True):
        for place, model in enumerate(models):
            for index, precision in enumerate(precisions):
                arm = rows[(rows["model"] == model) & (rows["precision"] == precision)]
                x = place + width * (index + 0.5) - BAR / 2
                if arm["value"].notna().any():
                    _bar(ax, x, width, arm["value"].dropna() / divisor, precision)
                elif len(arm):
                    _word(ax, x, PANEL_PT * width / len(models), arm.iloc[0])
        ax.set(title=name, ylabel=f"{unit} (less is better)", xlim=(-room, len(models) - 1 + room))
        ax.set_ylim(bottom=0)
        ax.grid(visible=False, axis="x")
        if rows["value"].isna().all():
            ax.set_yticks([])
    _name_models(axes[-1], models)
    note = f"{bars.note(data)}; bars: medians; dots: runs"
    axes[-1].set_xlabel(textwrap.fill(note, NOTE_LETTERS), loc="left", fontsize=SMALL_PT, color=GREY)
    axes[-1].xaxis.label.set(gid="note", ha="left")
    title_above(figure, title)
    handles = [Patch(label=name, edgecolor="white", **_fill(name)) for name in precisions]
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    return figure


def _groups(data: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each panel, by its name: what varies beside model and precision is told apart."""
    layouts = data["layout"].nunique() > 1
    # JAX is always compiled: beside the others that is no choice.
    chosen = data.loc[data["framework"] != "jax", "compile"].nunique() > 1
    groups = {}
    for (framework, layout, compiled), rows in data.groupby(["framework", "layout", "compile"], sort=False):
        words = [framework_name(framework), *[layout] * layouts]
        if chosen and framework != "jax":
            words.append("compiled" if compiled else "not compiled")
        groups[", ".join(words)] = rows
    return groups


def _name_models(ax: Axes, models: list[str]) -> None:
    """Name the places; many names are smaller, and more are turned."""
    if len(models) < TURNED_NAMES_FROM:
        size = {"fontsize": SMALL_PT} if len(models) >= SMALL_NAMES_FROM else {}
        ax.set_xticks(range(len(models)), [_on_lines(model) for model in models], **size)
        return
    turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor", "fontsize": SMALL_PT}
    ax.set_xticks(range(len(models)), [_on_lines(model).replace("\n", " ") for model in models], **turned)


def _on_lines(model: str) -> str:
    return model_of(model).replace(":", ":\n") if is_own(model) else model.replace("_", "\n")


def _fill(precision: str) -> dict[str, str]:
    style = PRECISION_STYLES[precision]
    return {"facecolor": style["color"], "hatch": style["hatch"]}


def _bar(ax: Axes, x: float, width: float, values: pd.Series, precision: str) -> None:
    """Draw the median and a dot per run; the dots have a white edge, or a black bar would hide them."""
    ax.bar(x, values.median(), 0.92 * width, edgecolor="white", linewidth=0.8, gid="bar", **_fill(precision))
    dots = {"color": "black", "markeredgecolor": "white", "markeredgewidth": 0.8, "markersize": 4.5}
    ax.plot([x] * len(values), values, "o", clip_on=False, zorder=3, gid="run", **dots)


def _word(ax: Axes, x: float, room_pt: float, run: pd.Series) -> None:
    """Write why there is no bar, as large as there is room beside the next."""
    why = "not known" if run["status"] == "ok" else status_name(run["status"])
    ax.text(
        x,
        0.02,
        f"{run['precision']} {why}",
        rotation=90,
        ha="center",
        va="bottom",
        fontsize=min(SMALL_PT, 0.95 * room_pt),
        color=GREY,
        transform=ax.get_xaxis_transform(),
        gid="failed",
    )
