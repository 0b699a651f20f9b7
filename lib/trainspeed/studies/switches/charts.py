"""Charts of what a step's time goes into, and of what each switch does to it. Computes nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.bars import cut_of, patches, stack
from trainspeed.show.forest import HOLLOW, LABEL_LETTERS, ROW_IN, forest, show_zero_and
from trainspeed.show.rows import require
from trainspeed.show.series import handles
from trainspeed.show.theme import GREY, OKABE_ITO, PALE, SMALL_PT, Look

WHERE_LETTERS = 22  # of a name beside its bar
BAR_ROW_IN, PANEL_EDGES_IN = 0.55, 0.7  # height of a bar's row; of a panel's title and labels
LEAST_END = 1.0  # percent: of the axis of effects

TIME_COLUMNS = ["where", "epoch_s", "compute_s", "waiting_s", "rest_s", "validation_s"]
# In the order of the stack; the hatch tells the pieces apart without colour.
PIECES: Mapping[str, Look] = {
    "compute": {"facecolor": OKABE_ITO["sky blue"]},
    "waiting for input": {"facecolor": OKABE_ITO["orange"], "hatch": "///"},
    "the rest of a step": {"facecolor": PALE, "hatch": "..", "edgecolor": GREY},
    "validation and checkpoint": {"facecolor": OKABE_ITO["purple"], "hatch": "\\\\"},
}

EFFECTS_QUESTION = "What does each switch do to a step?"
ENDS = ["value", "low", "high"]
EFFECT_COLUMNS = ["where", "lever", "label", "kind", "value", "low", "high", "band"]
KEPT, DROPPED, UNDECIDED = "kept", "not kept", "undecided"
ALREADY_ON, BRAKE = "already on: losing it", "a brake: having it"
OWN = "Trainspeed's own: as in a script"
# The shape of the mark tells the kinds apart without colour.
KINDS: Mapping[str, Look] = {
    KEPT: {"color": OKABE_ITO["sky blue"], "marker": "o", "markeredgecolor": ".25"},
    DROPPED: {"color": GREY, "marker": "X", "markeredgecolor": GREY},
    UNDECIDED: {"color": OKABE_ITO["green"], "marker": "v", "markeredgecolor": ".25"},
    ALREADY_ON: {"color": OKABE_ITO["black"], "marker": "s", "markeredgecolor": ".25"},
    OWN: {"color": OKABE_ITO["orange"], "marker": "^", "markeredgecolor": ".25"},
    BRAKE: {"color": OKABE_ITO["purple"], "marker": "D", "markeredgecolor": ".25"},
}


def plot_time(parts: pd.DataFrame) -> Figure:
    """Draw what an epoch of the plain setting is made of, in percent: a stacked bar per framework and model.

    Args:
        parts: As returned by `step_parts.time_parts`; rows without compute_s or epoch_s are left out.
    """
    require(parts, TIME_COLUMNS)
    known = parts[parts["compute_s"].notna() & parts["epoch_s"].notna()]
    if known.empty:
        return nothing("Nothing to draw: the parts of a step were not measured here.").get_figure()
    figure, (ax,) = panels(
        1, "Where does the time of an epoch go?", height_in=PANEL_EDGES_IN + BAR_ROW_IN * len(known)
    )
    shares = 100 * known[TIME_COLUMNS[2:]].astype(float).div(known["epoch_s"].astype(float), axis="index")
    names = [textwrap.fill(str(where), WHERE_LETTERS) for where in known["where"]]
    ends = stack(shares.set_axis(list(PIECES), axis="columns").set_axis(names), looks=PIECES, ax=ax)
    ax.set_xlim(0, max(100.0, ends.max()))
    validated = known["validation_s"].notna().any()
    ax.set_xlabel("% of an epoch with validation" if validated else "% of an epoch")
    note_below(ax, "compute: the same batch again and again; medians over the blocks")
    drawn = {container.get_label() for container in ax.containers}
    legend_below(figure, patches({name: look for name, look in PIECES.items() if name in drawn}))
    return figure


def plot_effects(effects: pd.DataFrame, *, title: str = EFFECTS_QUESTION) -> Figure:
    """Draw what each switch does to the time of a step: a panel per framework and model, what saves most on top.

    Args:
        effects: As returned by `views.effect_rows`: a value is a change in % of a step's time, so that less than 0 is
            faster; `band` is half the width of the band that noise alone fills, None where it is not known.
        title: What was found, or else the question.
    """
    require(effects, EFFECT_COLUMNS)
    known = effects[effects["value"].notna()]
    if known.empty:
        return nothing("No switch has an effect to draw: the screen was not measured here.").get_figure()
    rows = known.astype(dict.fromkeys(("value", "low", "high", "band"), float))
    rows = rows.sort_values("value", kind="stable")
    names = list(dict.fromkeys(known["where"]))
    lines = {name: _lines(rows[rows["where"] == name]["label"]) for name in names}
    heights = [PANEL_EDGES_IN + ROW_IN * lines[name] for name in names]
    figure, axes = panels(len(names), title, height_in=heights, share_y=False)
    most = _most(rows)
    for ax, name in zip(axes, names, strict=True):
        own = rows[rows["where"] == name]
        forest(own.assign(**own[ENDS].clip(upper=most)), looks=KINDS, ax=ax)
        _write_cut(ax, own["value"], most)
        _draw_band(ax, own["band"])
        ax.axvline(0, color=".3", linewidth=1.2, zorder=1.5, gid="zero")
        ax.set_title(name)
    ends = rows[ENDS].clip(upper=most).stack()
    ends = pd.concat([ends, rows["band"], -rows["band"]])
    show_zero_and(ends, axes[-1], least=LEAST_END)
    axes[-1].set_xlabel("change of a step's time in % (less is better)")
    entries: list[Artist] = handles(
        {kind: {**look, "linestyle": "none"} for kind, look in KINDS.items() if kind in set(rows["kind"])}
    )
    if rows["low"].isna().any():
        entries += handles({"no interval": HOLLOW})
    if rows["band"].notna().any():
        entries.append(Patch(color=PALE, label="noise alone"))
    legend_below(figure, entries)
    return figure


def _most(rows: pd.DataFrame) -> float | None:
    """Return where the axis ends, if some slow-downs are cut off there; no interval of another one is cut."""
    cut = cut_of(rows["value"].abs())
    if cut is None or not (rows["value"] > cut).any():
        return None
    return max(cut, rows.loc[rows["value"] <= cut, ENDS].max(axis=None))


def _write_cut(ax: Axes, values: pd.Series, most: float | None) -> None:
    """Write the value beside each mark that is not where it belongs."""
    for y, value in zip(ax.get_yticks(), values, strict=True):
        if most is not None and value > most:
            where = {"xytext": (-8, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
            ax.annotate(f"+{value:.0f} % →", (most, y), fontsize=SMALL_PT, gid="cut", **where)


def _lines(labels: pd.Series) -> float:
    """Return the height of these labels in lines, as `forest` sets them."""
    return sum(textwrap.fill(str(label), LABEL_LETTERS).count("\n") + 1.5 for label in labels)


def _draw_band(ax: Axes, bands: pd.Series) -> None:
    if len(known := bands.dropna()):
        ax.axvspan(-known.max(), known.max(), color=PALE, linewidth=0, zorder=0.5, gid="noise")
