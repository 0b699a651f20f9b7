"""Chart of two switches together: which need or spoil each other. Computes nothing."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.show.axes import note_below, nothing, panels
from trainspeed.show.rows import require
from trainspeed.show.theme import SMALL_PT

PAIR_COLUMNS = ["where", "one", "other", "value"]

CELL_IN = 0.36  # height of a row of the heat map
HEAD_IN = 1.9  # for the names below it, its title and its note
NAME_LETTERS = 24
COLOURS = "PuOr_r"  # purple saves, orange costs; told apart in grey by the sign that is written in
PALE_SHARE = 0.6  # of the largest size; beyond, letters are white
LEAST_LARGEST = 5.0  # percent: of the end of the colours, so that noise is not painted like a find


def plot_interactions(pairs: pd.DataFrame) -> Figure:
    """Draw what two switches do together beyond what they do apart: a small heat map per framework and model.

    Args:
        pairs: As returned by `views.pair_rows`: a value is a change in % of a step's time, less than 0 where the two
            save more together.
    """
    require(pairs, PAIR_COLUMNS)
    known = pairs[pairs["value"].notna()].astype({"value": float})
    if known.empty:
        return nothing("No two switches were measured together often enough.").get_figure()
    names = list(dict.fromkeys(known["where"]))
    of_each = [_square(known[known["where"] == name]) for name in names]
    heights = [CELL_IN * len(square) + HEAD_IN for square in of_each]
    title = "Which switches need each other?"
    figure, axes = panels(len(names), title, height_in=heights, share_x=False, share_y=False)
    most = max(LEAST_LARGEST, known["value"].abs().max())
    for ax, name, square in zip(axes, names, of_each, strict=True):
        _heat_map(ax, square, most)
        ax.set_title(name)
    note_below(axes[-1], "% of a step's time; less than 0: together they save more")
    return figure


def _square(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the values below the diagonal, without switches that have none there; rows and columns by name."""
    switches = list(dict.fromkeys([*pairs["one"], *pairs["other"]]))
    square = pd.DataFrame(np.nan, index=switches, columns=switches)
    for one, other, value in pairs[["one", "other", "value"]].itertuples(index=False):
        column, row = sorted((one, other), key=switches.index)
        square.loc[row, column] = value
    return square.dropna(how="all").dropna(how="all", axis="columns")


def _heat_map(ax: Axes, square: pd.DataFrame, most: float) -> None:
    shown = square.to_numpy()
    ax.imshow(shown, cmap=COLOURS, vmin=-most, vmax=most, aspect="auto", gid="pairs")
    for (row, column), value in np.ndenumerate(shown):
        if not np.isnan(value):
            colour = "white" if abs(value) > PALE_SHARE * most else "black"
            look = {"ha": "center", "va": "center", "fontsize": SMALL_PT, "color": colour, "gid": "pair"}
            ax.text(column, row, f"{round(value) + 0:+d}" if round(value) else "0", **look)
    rows, columns = (
        [textwrap.shorten(name, NAME_LETTERS, placeholder=" …") for name in names]
        for names in (square.index, square.columns)
    )
    ax.set_yticks(range(len(rows)), rows, fontsize=SMALL_PT)
    ax.set_xticks(range(len(columns)), columns, fontsize=SMALL_PT, rotation=40, ha="right")
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
