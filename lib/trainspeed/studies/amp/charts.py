"""Bars per model and precision, as article 003 drew them: training time, peak memory. Decides nothing."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.format import model_of
from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.trial import ZOO
from trainspeed.core.user_model import is_user_model
from trainspeed.show.axes import NOTE_LETTERS, legend_below, note_below, nothing, panels
from trainspeed.show.bars import bars, cut_of, patches
from trainspeed.show.rows import data_rows, memory_unit, require, succeeded
from trainspeed.show.theme import PRECISION_STYLES, SMALL_PT, framework_name, status_name

BAR_COLUMNS = ("framework", "model", "layout", "compile", "precision", "status", "label", "epochs")
EFFICIENTNETS = tuple(model for model in ZOO if model.startswith("efficientnet"))
TIMES_S = ((3600.0, "hours"), (60.0, "minutes"))  # a unit is used from two of it on
SMALL_NAMES_FROM, TURNED_NAMES_FROM = 5, 7  # models: more names do not fit side by side
TIME_QUESTION = "Does a lower precision train faster?"
MEMORY_QUESTION = "Does a lower precision need less memory?"
MEMORY_NOTE = "by the framework's own allocator; on a CPU what the process added to its memory"


def families(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows for a chart of model families: those of the smallest EfficientNet stand for all."""
    measured = set(frame["model"])
    scaled = [model for model in EFFICIENTNETS if model in measured]
    return frame[~frame["model"].isin(scaled[1:])]


def plot_training_times(frame: pd.DataFrame, *, title: str = TIME_QUESTION) -> Figure:
    """Draw a bar per model and precision, a panel per framework: medians over the blocks, a dot per run.

    Args:
        frame: As returned by `core.frame.to_frame`. Several layouts, and both compiled and uncompiled runs, have
            panels of their own. An arm without a result is a word in the place of its bar.
        title: What was found, or else the question.
    """
    return _draw(frame, "training_s", title)


def plot_peak_memory(frame: pd.DataFrame, *, title: str = MEMORY_QUESTION) -> Figure:
    """Draw the peak memory of each model and precision; everything else as in `plot_training_times`."""
    return _draw(frame, "peak_memory_bytes", title)


def _draw(frame: pd.DataFrame, column: str, title: str) -> Figure:
    if len(frame):
        require(frame, (*BAR_COLUMNS, column))
    data = data_rows(frame) if len(frame) else frame
    if data.empty:
        return nothing("Nothing to draw: not measured on this machine.", title=title).get_figure()
    known = data[column].astype(float).where(succeeded(data))
    if column == "training_s":
        (divisor, unit), note = _time_unit(known), _time_note(data)
    else:
        (divisor, unit), note = memory_unit(known), MEMORY_NOTE
    why = data["status"].map(lambda status: "not known" if status == "ok" else status_name(status))
    data = data.assign(value=known / divisor, kind=data["precision"], group=data["model"], why=why)
    models = sorted(set(data["model"]), key=lambda name: (ZOO.index(name) if name in ZOO else len(ZOO), name))
    looks = {
        name: {"facecolor": style["color"], "hatch": style["hatch"], "edgecolor": "white"}
        for name, style in PRECISION_STYLES.items()
        if name in set(data["precision"])
    }
    height_in = 2.6 if len(models) < TURNED_NAMES_FROM else 3.2
    groups = _groups(data)
    figure, axes = panels(len(groups), title, height_in=height_in, share_x=False, share_y=False)
    cut = False
    for ax, (name, rows) in zip(axes, groups.items(), strict=True):
        most = cut_of(rows.dropna(subset="value").groupby(["group", "kind"])["value"].median().tolist())
        own = [model for model in models if model in set(rows["model"])]
        bars(rows, groups=own, looks=looks, ax=ax, most=most)
        _name_models(ax, own)
        cut = cut or most is not None
        ax.set(title=name, ylabel=f"{unit} (less is better)")
    note += "; bars: medians; dots: runs" + "; ↑: cut off, with its value" * cut
    note_below(axes[-1], textwrap.fill(note, NOTE_LETTERS))
    drawn = set(
        data["precision"][data["value"].notna()]
    )  # the others say in their place why they have no bar
    legend_below(figure, patches({name: look for name, look in looks.items() if name in drawn}))
    return figure


def _time_unit(seconds: pd.Series) -> tuple[float, str]:
    return next(((size, name) for size, name in TIMES_S if seconds.max() > 2 * size), (1.0, "seconds"))


def _time_note(data: pd.DataFrame) -> str:
    projected = (data["epochs"] < ARTICLE_EPOCHS).any()
    source = "projected from the first epoch and the median of the others" if projected else "measured"
    return f"{ARTICLE_EPOCHS} epochs, {source}"


def _groups(data: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each panel, by its name: framework, and layout and compiler where they vary."""
    layouts = data["layout"].nunique() > 1
    # JAX always compiles: it has no choice that its name would have to tell.
    chosen = data.loc[data["framework"] != "jax", "compile"].nunique() > 1
    groups = {}
    for (framework, layout, compiled), rows in data.groupby(["framework", "layout", "compile"], sort=False):
        parts = [framework_name(framework), *[layout] * layouts]
        if chosen and framework != "jax":
            parts.append("compiled" if compiled else "not compiled")
        groups[", ".join(parts)] = rows
    return groups


def _name_models(ax: Axes, models: list[str]) -> None:
    """Name the groups of bars; many names are smaller, and more are turned."""
    names = [_on_lines(model) for model in models]
    if len(models) < TURNED_NAMES_FROM:
        look = {"fontsize": SMALL_PT} if len(models) >= SMALL_NAMES_FROM else {}
    else:
        names = [name.replace("\n", " ") for name in names]
        look = {"rotation": 30, "ha": "right", "rotation_mode": "anchor", "fontsize": SMALL_PT}
    ax.set_xticks(range(len(models)), names, **look)


def _on_lines(model: str) -> str:
    return model_of(model).replace(":", ":\n") if is_user_model(model) else model.replace("_", "\n")
