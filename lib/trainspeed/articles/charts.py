"""The articles' ratios and this machine's as charts; the articles' are hollow, grey and dotted.

The title is what was measured here, or the question where nothing was.
"""

from __future__ import annotations

from collections import Counter

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from trainspeed.articles import messages
from trainspeed.articles.numbers import BAND
from trainspeed.articles.ratios import COLUMNS
from trainspeed.core.format import percent
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS
from trainspeed.show.axes import (
    batch_axis,
    legend_below,
    log_axis,
    name_figure,
    note_below,
    nothing,
    ratio_axis,
)
from trainspeed.show.forest import forest
from trainspeed.show.rows import require
from trainspeed.show.series import handles
from trainspeed.show.theme import GREY, PALE, WIDTH_IN, framework_colour

FAIRNESS_NOTE = "Machine, images and libraries differ: compare the ratios only."
CONVOLUTIONS_QUESTION = "Does one convolution take less time on more devices?"
ARTICLE_GREY = ".4"
MARKERS = ("o", "s", "^", "D", "v", "P")
STYLES = ("-", (0, (4, 2)), (0, (1, 1)), (0, (6, 2, 1, 2)))  # of the first, second, … line of a colour
LOG_FROM = 3.0  # a share beyond this would squeeze the article's band on a linear axis


def plot_batch_sizes(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw epoch time relative to that of the smallest batch, as returned by `ratios.batch_sizes`."""
    question = "How much time does a larger batch save? (PyTorch, channels_first)"
    ax = _lines(data, ax, messages.of_batch_sizes(data) or question)
    batch_axis(ax, sorted(data["x"].unique()))
    ax.set(
        xlabel="batch size",
        ylabel="epoch time / that of\nthe smallest batch (less is better)",
        ylim=(0, 1.1 * data["value"].max()),
    )
    return ax


def plot_second_device(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of 2 devices over 1 against batch size, as returned by `ratios.second_device`."""
    question = "How much faster are 2 devices than 1? (PyTorch)"
    ax = _lines(data, ax, messages.of_second_device(data) or question)
    ax.axhspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, gid="margin")
    ax.axhline(1, color=GREY, linewidth=1)
    ax.axhline(2, color=GREY, linewidth=1, linestyle="--")
    ax.annotate("ideal", (1, 2), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=GREY)
    batch_axis(ax, sorted(data["x"].unique()))
    ends = data[["value", "low", "high"]]
    ratio_axis(ax.yaxis, ends.min().min(), max(2.1, ends.max().max()))
    ax.set(
        xlabel="batch size, summed over the devices",
        ylabel="speed-up (more is better)",
    )
    note_below(ax, FAIRNESS_NOTE)
    return ax


def plot_convolutions(
    data: pd.DataFrame, *, title: str = CONVOLUTIONS_QUESTION, on_cores: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the time of one convolution over the devices, as returned by `ratios.convolution_times`.

    Args:
        title: What was found.
        on_cores: Whether a device of this machine is a CPU core, which the note says.
    """
    ax = _lines(data, ax, title)
    ends = data[["value", "low", "high"]]
    log_axis(ax.yaxis, ends.min().min() / 1.4, 1.4 * ends.max().max())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlabel="devices",
        ylabel="time in ms, log scale\n(less is better)",
    )
    note_below(ax, "horizontal: not split over devices" + "; a device here is a CPU core" * on_cores)
    return ax


def plot_published_pipelines(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw epoch times relative to one device fed by threads, as returned by `ratios.input_pipelines`."""
    require(data, COLUMNS)
    looks = {
        "published": {"color": "white", "markeredgecolor": ARTICLE_GREY, "marker": "o"},
        "measured": {"color": framework_colour("tensorflow"), "marker": "o"},
    }
    filled = data.assign(low=data["low"].fillna(data["value"]), high=data["high"].fillna(data["value"]))
    ax = forest(filled, looks=looks, ax=ax)
    ax.axvline(1, color=GREY, linewidth=1, zorder=0)
    ax.set(
        xlabel="epoch time / that of 1 device with threads\n(less is better)",
        xlim=(0, 1.1 * filled["high"].max()),
    )
    _name(ax, messages.of_pipelines(data) or "How long does an epoch take with other input pipelines?")
    note_below(ax, FAIRNESS_NOTE)
    dots = {
        name: {**looks[kind], "linestyle": "none"}
        for name, kind in zip(data["series"], data["kind"], strict=True)
    }
    legend_below(ax.get_figure(root=True), handles(dots))
    return ax


def plot_shares(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of FP32's time over article 003's band, as returned by `ratios.precision_shares`."""
    require(data, COLUMNS)
    title = messages.of_shares(data) or "How much of FP32's time does a lower precision take?"
    highest = data[["value", "high"]].max().max()
    if data.empty:
        return nothing("Nothing to draw: no precision was compared with fp32.", title=title, ax=ax)
    looks = {name: {"color": framework_colour(name), "marker": "o"} for name in data["framework"]}
    ax = forest(data.assign(kind=data["framework"]), looks=looks, ax=ax)
    _name(ax, title)
    ax.axvspan(*BAND, color=PALE, linewidth=0, zorder=0.5, gid="band")
    ax.axvline(1, color=GREY, linewidth=1.2, zorder=1, gid="fp32")
    if highest > LOG_FROM:
        log_axis(ax.xaxis, 0.85 * min(data[["value", "low"]].min().min(), BAND[0]), 1.2 * highest)
    else:
        ax.set_xlim(0, max(1.1, 1.06 * highest))
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
    ax.set_xlabel("share of FP32's time in % (less is better)")
    band = f"band: article 003, {100 * BAND[0]:g} to {percent(BAND[1])} (Tesla T4)"
    note_below(ax, f"{band}\nhollow: under {MIN_BLOCKS} blocks, no interval")
    return ax


def _name(ax: Axes, title: str) -> None:
    """Write the title over the whole figure: an Axes may be narrow."""
    name_figure(ax.get_figure(root=True), title)


def _lines(data: pd.DataFrame, ax: Axes | None, title: str) -> Axes:
    """Draw a line per label and series over x, with its intervals; what has no x is a horizontal line.

    A framework's lines share its colour; those of one colour differ in line and marker.
    """
    require(data, COLUMNS)
    names = (data["label"] + ", " + data["series"]).str.removeprefix(", ")
    ax = ax or plt.figure(figsize=(WIDTH_IN, 3.6), layout="constrained").gca()
    used = Counter()
    for name, rows in data.groupby(names, sort=False):
        kind, framework = rows[["kind", "framework"]].iloc[0]
        look = {"color": ARTICLE_GREY, "linestyle": ":", "fillstyle": "none"}
        if kind == "measured":
            colour = framework_colour(framework)
            look = {"color": colour, "linestyle": STYLES[used[colour] % len(STYLES)]}
        look["marker"] = MARKERS[used[look["color"]] % len(MARKERS)]
        used[look["color"]] += 1
        if rows["x"].isna().all():
            ax.axhline(rows["value"].iloc[0], label=name, gid=f"{kind} flat", **look | {"marker": ""})
            ax.axhspan(*rows[["low", "high"]].iloc[0], color=look["color"], alpha=0.15, linewidth=0)
            continue
        rows = rows.sort_values("x")
        ax.plot(rows["x"], rows["value"], label=name, gid=kind, **look)
        ax.vlines(rows["x"], rows["low"], rows["high"], color=look["color"], gid=f"{kind} interval")
    legend_below(ax.get_figure(root=True), ax.get_legend_handles_labels()[0])
    _name(ax, title)
    return ax
