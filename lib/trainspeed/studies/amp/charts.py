"""Bars per model and precision, as article 003 drew them: training time, peak memory. Decides nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.names import model_of
from trainspeed.core.trial import ZOO
from trainspeed.core.user_model import is_user_model
from trainspeed.show.axes import NOTE_LETTERS, legend_below, note_below, nothing, panels
from trainspeed.show.bars import bars, patches
from trainspeed.show.rows import data_rows, memory_unit, require, succeeded
from trainspeed.show.theme import PRECISION_STYLES, SMALL_PT, framework_name, status_name

COLUMNS = ("framework", "model", "layout", "compile", "precision", "status", "label", "epochs")
TIMES_S = ((3600.0, "hours"), (60.0, "minutes"))  # a unit from two of it on
SMALL_NAMES_FROM, TURNED_NAMES_FROM = 5, 7  # models: more names do not fit side by side


@dataclass(frozen=True, kw_only=True)
class Chart:
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


TIME = Chart(column="training_s", title="Training time", unit=_time_unit, note=_projected)
MEMORY = Chart(
    column="peak_memory_bytes",
    title="Peak memory",
    unit=memory_unit,
    note=lambda _: "by the framework's own allocator; on a CPU what the process added to its memory",
)


def plot_training_times(frame: pd.DataFrame, *, title: str | None = None) -> Figure:
    """Draw a bar per model and precision, a panel per framework: medians over the blocks, a dot per run.

    Args:
        frame: As of `trainspeed.core.frame`. Layouts and compilation, where several, have panels of their own.
            An arm without a result is a word in its place.
    """
    return _draw(frame, TIME, title)


def plot_peak_memory(frame: pd.DataFrame, *, title: str | None = None) -> Figure:
    """Draw the peak memory of each model and precision; everything else as `plot_training_times`."""
    return _draw(frame, MEMORY, title)


def _draw(frame: pd.DataFrame, chart: Chart, title: str | None) -> Figure:
    if len(frame):
        require(frame, (*COLUMNS, chart.column))
    data = data_rows(frame) if len(frame) else frame
    if data.empty:
        return nothing(
            "Nothing to draw: not measured on this machine.", title=title or chart.title
        ).get_figure()
    known = data[chart.column].astype(float).where(succeeded(data))
    divisor, unit = chart.unit(known)
    why = data["status"].map(lambda status: "not known" if status == "ok" else status_name(status))
    data = data.assign(value=known / divisor, kind=data["precision"], group=data["model"], why=why)
    models = sorted(set(data["model"]), key=lambda name: (ZOO.index(name) if name in ZOO else len(ZOO), name))
    styles = {name: style for name, style in PRECISION_STYLES.items() if name in set(data["precision"])}
    looks = {
        n: {"facecolor": s["color"], "hatch": s["hatch"], "edgecolor": "white"} for n, s in styles.items()
    }
    groups = _groups(data)
    figure, axes = panels(
        len(groups),
        title or chart.title,
        height_in=2.6 if len(models) < TURNED_NAMES_FROM else 3.2,
        share_y=False,
    )
    for ax, (name, rows) in zip(axes, groups.items(), strict=True):
        bars(rows, groups=models, looks=looks, ax=ax)
        ax.set(title=name, ylabel=f"{unit} (less is better)")
    _name_models(axes[-1], models)
    note_below(axes[-1], textwrap.fill(f"{chart.note(data)}; bars: medians; dots: runs", NOTE_LETTERS))
    legend_below(figure, patches(looks))
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
    return model_of(model).replace(":", ":\n") if is_user_model(model) else model.replace("_", "\n")
