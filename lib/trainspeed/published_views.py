"""The articles' claims and ratios beside this machine's, as a table and a chart. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from pandas.io.formats.style import Styler

from trainspeed.axes import batch_axis
from trainspeed.cells import styled
from trainspeed.published import Claim
from trainspeed.rows import require
from trainspeed.theme import framework_colour

MARKERS = {"cnn10": "o", "wrn28_10": "s"}
OTHER_MARKER = "D"


def claims_table(checked: Iterable[tuple[Claim, str, str]]) -> Styler:
    """Return a row per claim: what the article found, whether this machine agrees, and why.

    Args:
        checked: (claim, "agrees" or "disagrees" or "cannot tell", reason).
    """
    rows = [
        {
            "article": ", ".join(str(part) for part in (claim.source, claim.gpu, claim.year) if part),
            "found there": f"{claim.claim} ({claim.size})",
            "this machine": answer,
            "why": reason,
        }
        for claim, answer, reason in checked
    ]
    columns = ["article", "found there", "this machine", "why"]
    return styled(pd.DataFrame(rows, columns=columns), "claims", "The articles' findings, checked here")


def plot_relative_time(data: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw epoch time relative to a series' smallest batch: hollow markers are the article's.

    Args:
        data: series, kind ("published" or "measured"), model, batch_size, relative_time.
    """
    require(data, ("series", "kind", "model", "batch_size", "relative_time"))
    ax = ax or plt.figure(figsize=(7, 3.2), layout="constrained").gca()
    for (series, kind, model), rows in data.groupby(["series", "kind", "model"]):
        rows = rows.sort_values("batch_size")
        measured = kind == "measured"
        colour = framework_colour("torch") if measured else ".35"
        ax.plot(
            rows["batch_size"],
            rows["relative_time"],
            marker=MARKERS.get(model, OTHER_MARKER),
            color=colour,
            markerfacecolor=colour if measured else "none",
            linestyle="-" if measured else ":",
            label=f"{model}, {series}",
        )
    batch_axis(ax, sorted(data["batch_size"].unique()))
    ax.set(
        xlabel="batch size",
        ylabel="epoch time / that of\nthe smallest batch (less is better)",
        title="PyTorch, channels_first: epoch time relative to the smallest batch",
        ylim=(0, 1.1 * data["relative_time"].max()),
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return ax
