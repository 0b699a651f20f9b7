"""Chart of two switches together: which need or spoil each other. Computes nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.show.axes import note_below, nothing, panels
from trainspeed.show.forest import LABEL_LETTERS, ROW_IN, forest, show_zero_and
from trainspeed.show.rows import require
from trainspeed.show.theme import GREY, OKABE_ITO, Look

PAIR_COLUMNS = ["where", "one", "other", "value", "low", "high"]
PAIRS_QUESTION = "Which switches need each other?"
MOST_PAIRS = 8  # of one search: the clearest
EDGES_IN = 1.1  # height of a panel's title, labels and note
LEAST_END = 5.0  # percent: of the axis, so that noise does not look like a find
# The shape of the mark tells the kinds apart without colour.
MORE, LESS, NOISE = "save more together", "save less together", "no more than noise"
KINDS: Mapping[str, Look] = {
    MORE: {"color": OKABE_ITO["sky blue"], "marker": "o", "markeredgecolor": ".25"},
    LESS: {"color": OKABE_ITO["orange"], "marker": "D", "markeredgecolor": ".25"},
    NOISE: {"color": GREY, "marker": "X", "markeredgecolor": GREY},
}


def plot_interactions(pairs: pd.DataFrame) -> Figure:
    """Draw what two switches do together beyond what they do apart: a panel per framework and model, a row per pair.

    Args:
        pairs: As returned by `views.pair_rows`: a value is a change in % of a step's time, less than 0 where the two
            save more together.
    """
    require(pairs, PAIR_COLUMNS)
    known = pairs[pairs["value"].notna()].astype(dict.fromkeys(PAIR_COLUMNS[3:], float))
    if known.empty:
        return nothing("No two switches were measured together often enough.").get_figure()
    known = known.assign(
        label=known["one"] + " + " + known["other"],
        kind=[_kind(low, high) for low, high in zip(known["low"], known["high"], strict=True)],
    )
    known = known.sort_values(
        ["kind", "value"],
        key=lambda cells: cells.map([*KINDS].index) if cells.name == "kind" else -cells.abs(),
    )
    panel_rows = {name: known[known["where"] == name][:MOST_PAIRS] for name in dict.fromkeys(known["where"])}
    heights = [EDGES_IN + ROW_IN * sum(map(_lines, rows["label"])) for rows in panel_rows.values()]
    figure, axes = panels(len(panel_rows), _title(known), height_in=heights, share_y=False)
    for ax, (name, rows) in zip(axes, panel_rows.items(), strict=True):
        forest(rows, looks=KINDS, ax=ax)
        ax.axvline(0, color=".3", linewidth=1.2, zorder=1.5, gid="zero")
        ax.set_title(name)
    ends = known[PAIR_COLUMNS[3:]].stack()
    show_zero_and(ends, axes[-1], least=LEAST_END)
    axes[-1].set_xlabel("change of a step's time in % beyond each alone")
    note_below(axes[-1], "less than 0: together they save more; a line across 0 is no more than noise")
    return figure


def _kind(low: float, high: float) -> str:
    if pd.isna(low) or low <= 0 <= high:
        return NOISE
    return MORE if high < 0 else LESS


def _title(known: pd.DataFrame) -> str:
    """Return what was found of the clearest pair; where none is beyond the noise, the question."""
    first = known.iloc[0]
    if first["kind"] == NOISE:
        return PAIRS_QUESTION
    where = f" ({first['where']})" if known["where"].nunique() > 1 else ""
    return f"{first['one']} and {first['other']} {first['kind']} than apart{where}"


def _lines(label: str) -> float:
    """Return the height of a label in lines, as `forest` sets it."""
    return textwrap.fill(label, LABEL_LETTERS).count("\n") + 1.5
