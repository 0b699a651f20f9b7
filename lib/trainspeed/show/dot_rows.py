"""Rows of dots: a row per arm with its name at the left, a dot per run, the median and its interval.

Knows numbers and Axes; what the numbers are is the caller's to say.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.axes import Axes

from trainspeed.judge import verdict
from trainspeed.show.rows import count_failures
from trainspeed.show.theme import GREY, SMALL_PT, Look

ROW_IN, LINE_IN = 0.3, 0.17  # height of a row whose name has one line, and of each further line
EDGES_IN = 0.9  # height of what is above and below the rows
NAME_LETTERS = 30  # in a line of an arm's name
MEDIAN = {"marker": "|", "markersize": 15, "markeredgewidth": 2, "linestyle": "none", "color": ".15"}


def height_in(arms: Iterable[str]) -> float:
    """Return how high a panel with these rows is, in inches."""
    lines = [len(textwrap.wrap(arm, NAME_LETTERS)) for arm in arms]
    return EDGES_IN + sum(ROW_IN + LINE_IN * (count - 1) for count in lines)


def looks_in(data: pd.DataFrame, looks: Mapping[str, Look]) -> dict[str, Look]:
    """Return the looks of the arms that these runs have: an arm of another model is no row of a panel."""
    return {arm: look for arm, look in looks.items() if arm in {*data["arm"]}}


def dot_rows(
    data: pd.DataFrame, *, looks: Mapping[str, Look], ax: Axes, unknown: str, alike: bool = True
) -> Axes:
    """Draw a row per arm, the first on top; one of which runs failed says how many, and how.

    Args:
        data: One row per run: arm (of `looks`), value, status.
        looks: Arm -> colour and marker, in the order of the rows; each has a run.
        unknown: What a row says whose runs ended well and have no value.
        alike: Whether a row's runs measured the same thing, so that their median tells something.
    """
    for y, (arm, look) in enumerate(looks.items()):
        runs = data[data["arm"] == arm]
        values = runs["value"].dropna().astype(float)
        if values.empty:
            write_in_row(ax, y, count_failures(runs) or unknown)
            continue
        if failures := count_failures(runs):
            write_in_row(ax, y, failures, right=True)
        if alike and (interval := verdict.median_interval(values.tolist())):
            band = {"linewidth": 9, "alpha": 0.25, "color": look["color"]}
            ax.hlines(y, *interval, gid="interval", **band)
        dots = {"color": look["color"], "marker": look.get("marker", "o"), "s": 36, "alpha": 0.8}
        ax.scatter(values, [y] * len(values), gid="runs", zorder=2.5, **dots)
        if alike:
            ax.plot([values.median()], [y], gid="median", **MEDIAN)
    ax.set_ylim(len(looks) - 0.5, -0.5)
    ax.set_yticks(range(len(looks)), [textwrap.fill(arm, NAME_LETTERS) for arm in looks], fontsize=SMALL_PT)
    ax.set_ylabel("")
    ax.grid(axis="y", visible=False)
    return ax


def dot_rows_legend(data: pd.DataFrame, *, alike: bool = True) -> str:
    """Return what the marks mean; the interval only where an arm has enough runs for one."""
    if not alike:
        return "dot: one run"
    sure = (data.dropna(subset="value").groupby("arm")["value"].count() >= verdict.MIN_BLOCKS).any()
    return "dot: one run; bar: median" + ("; band: its 95 % interval" if sure else "")


def write_in_row(ax: Axes, y: float, text: str, *, right: bool = False) -> None:
    """Write at the left of a row why it has no mark, or beside it why some are missing."""
    look = {"fontsize": SMALL_PT, "color": GREY, "bbox": {"facecolor": "white", "linewidth": 0, "pad": 1}}
    ax.text(
        1.01 if right else 0.01,
        y,
        text,
        transform=ax.get_yaxis_transform(),
        va="center",
        gid="missing",
        **look,
    )
