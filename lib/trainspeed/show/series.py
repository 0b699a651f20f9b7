"""Lines over a size: a dot per run, the median, its interval; what failed stands above the panel.

Knows numbers and Axes; which rows of a frame make a line is the caller's decision. Axes are made logarithmic
after drawing: seaborn would take medians of the logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from trainspeed.judge import verdict
from trainspeed.show.seaborn_alone import sns
from trainspeed.show.theme import SMALL_PT, Look

STEP_PT, IN_A_ROW = 9, 4  # between the marks of runs that failed, and how many fit side by side


def series_legend(panels: Iterable[pd.DataFrame]) -> str:
    """Return what the marks of `series` mean; the interval only where an arm has enough runs at some x."""
    styles = {
        _interval_style(arm["x"]) for rows in panels for _, arm in rows.dropna(subset="value").groupby("arm")
    }
    names = [name for style, name in (("band", "band"), ("bars", "pale bar")) if style in styles]
    return "dot: one run; line: median" + (
        f"; {' or '.join(names)}: 95 % interval of the median" if names else ""
    )


def _interval_style(x: pd.Series) -> str | None:
    """Return how `series` draws the intervals of an arm: "band", "bars", or None where no x has enough runs.

    Args:
        x: Of each run.
    """
    counts = x.value_counts()
    if counts.empty or counts.max() < verdict.MIN_BLOCKS:
        return None
    return "band" if len(counts) > 1 and counts.min() >= verdict.MIN_BLOCKS else "bars"


def nudged(data: pd.DataFrame, arms: Sequence[str], factor: float) -> pd.DataFrame:
    """Return the rows with the arms' x a factor apart, so that no dot hides another."""
    steps = data["arm"].map({arm: index - (len(arms) - 1) / 2 for index, arm in enumerate(arms)})
    return data.assign(x=data["x"] * factor ** steps.astype(float))


def series(data: pd.DataFrame, *, looks: Mapping[str, Look], ax: Axes) -> Axes:
    """Draw a line per arm: a dot per run, the median as line, the 95 % interval as band.

    Where only some sizes have enough runs for an interval, a band would have no width, so bars are drawn.

    Args:
        data: One row per run: arm, x, value. Rows without a value are left out.
    """

    def interval(values: Sequence[float]) -> tuple[float, float]:
        return verdict.median_interval(values) or (math.nan, math.nan)

    for arm, rows in data.dropna(subset="value").groupby("arm", sort=False):
        look = dict(looks[arm])
        dots = look | {"linestyle": "none", "markersize": 5, "alpha": 0.8}
        ax.plot(rows["x"], rows["value"], gid="runs", **dots)
        style = _interval_style(rows["x"])
        band = style == "band"
        bars = {"elinewidth": 7, "ecolor": to_rgba(look["color"], 0.3), "gid": "interval"}
        errors = {
            "errorbar": interval if style else None,
            "err_style": "band" if band else "bars",
            "err_kws": {"alpha": 0.18, "linewidth": 0, "gid": "interval"} if band else bars,
        }
        line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.8, "gid": "median"}
        names = {"x": "x", "y": "value", "label": arm, "legend": False, "ax": ax}
        sns.lineplot(rows, estimator="median", **names, **errors, **line)
    return ax


def marks(ax: Axes, rows: pd.DataFrame, *, along: str, look: Look, gid: str = "estimate") -> None:
    """Draw a mark per row with its interval as a bar; hollow where there is no interval.

    Args:
        rows: x, y, low, high.
        along: The axis of the intervals, "x" or "y".
        look: Colour and marker, and `markeredgecolor` where edge and interval have a colour of their own.
    """
    draw, across = (ax.hlines, "y") if along == "x" else (ax.vlines, "x")
    sure, edge = rows["low"].notna() & rows["high"].notna(), look.get("markeredgecolor", look["color"])
    style = {"marker": look["marker"], "markersize": 7, "linestyle": "none"}
    if len(bars := rows[sure]):
        draw(bars[across], bars["low"].astype(float), bars["high"].astype(float), color=edge, gid="interval")
        ax.plot(bars["x"], bars["y"], color=look["color"], markeredgecolor=edge, gid=gid, **style)
    if len(alone := rows[~sure]):
        hollow = {"color": look["color"], "markerfacecolor": "white", "gid": "hollow"}
        ax.plot(alone["x"], alone["y"], **hollow, **style)


def handles(looks: Mapping[str, Look]) -> list[Line2D]:
    """Return a legend entry for each name."""
    return [Line2D([], [], label=name, **look) for name, look in looks.items()]


def mark_failures(data: pd.DataFrame, *, looks: Mapping[str, Look], ax: Axes) -> float:
    """Mark above the panel which arms failed at which size, and how; return the height it takes, in points.

    Where all that failed is one arm of several, the word has its name.

    Args:
        data: One row per run: arm, x (a size, the same for all arms), failure (OOM, …, or None).
    """
    cells = []
    failing = data.loc[data["failure"].notna(), "arm"].unique()
    name = f"{failing[0]}: " if len(failing) == 1 and data["arm"].nunique() > 1 else ""
    first, last = data["x"].min(), data["x"].max()
    for x, rows in data.groupby("x"):
        failed = rows[rows["failure"].notna()]
        arms = list(failed["arm"].unique())
        _mark_arms(ax, x, [looks[arm] for arm in arms])
        cells.append((x, math.ceil(len(arms) / IN_A_ROW), "\n".join(failed["failure"].unique())))
    highest = 0.0
    # Neighbouring sizes at which runs failed alike share the text.
    for (text, rows_of_marks), group in groupby(cells, key=lambda cell: (cell[2], cell[1])):
        if not text:
            continue
        sizes, up_pt = [x for x, *_ in group], rows_of_marks * STEP_PT + 4
        above = {"xycoords": ax.get_xaxis_transform(), "xytext": (0, up_pt), "textcoords": "offset points"}
        middle = math.sqrt(sizes[0] * sizes[-1])
        if name:  # which takes room
            share = math.log(middle / first) / math.log(last / first) if last > first else 0.5
            above["ha"] = "left" if share < 1 / 3 else "right" if share > 2 / 3 else "center"
        look = {"ha": "center", "fontsize": SMALL_PT, "color": ".15", "gid": "failure"}
        ax.annotate(name + text, (middle, 1), **{**look, **above})
        highest = max(highest, up_pt + (text.count("\n") + 1) * 1.3 * SMALL_PT)
    return highest


def _mark_arms(ax: Axes, x: float, looks: Sequence[Look]) -> None:
    """Draw a mark per arm, side by side, in points: two arms that failed at one size stay two marks."""
    inch = ax.get_figure(root=True).dpi_scale_trans
    for index, look in enumerate(looks):
        row, column = divmod(index, IN_A_ROW)
        in_row = min(IN_A_ROW, len(looks) - row * IN_A_ROW)
        right_pt, up_pt = (column - (in_row - 1) / 2) * STEP_PT, (row + 0.7) * STEP_PT
        where = ax.get_xaxis_transform() + ScaledTranslation(right_pt / 72, up_pt / 72, inch)
        hollow = {"linestyle": "none", "fillstyle": "none", "markeredgewidth": 1.6, "markersize": 6}
        ax.plot([x], [1], transform=where, clip_on=False, gid="failed", **{**look, **hollow})
