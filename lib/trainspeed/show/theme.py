"""The look of all figures: colours, line styles, markers, names. Knows no frame and no measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import display
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

from trainspeed.core.errors import UserError
from trainspeed.core.format import NAMES
from trainspeed.show.seaborn_alone import sns

# Eight colours that colour-blind readers can tell apart.
# Source: https://jfly.uni-koeln.de/color/ (Okabe and Ito, 2008)
OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}
GREY = "#767676"  # the lightest grey that is still readable as text on white (contrast 4.5)
PALE = "#E4E4E4"  # bands behind the data

WIDTH_IN = 6.5  # prints on A4 and Letter unscaled; on a phone of 360 px an 11-point letter keeps about 8 px
FONT_PT = 11
SMALL_PT = 9.5  # for notes and run counts

Look = Mapping[str, Any]  # colour, linestyle, marker, hatch, … of what is drawn, as matplotlib names them
# The darkest three: a framework is drawn as thin lines, which need contrast.
FRAMEWORK_COLOURS = {
    "tensorflow": OKABE_ITO["vermillion"],
    "torch": OKABE_ITO["blue"],
    "jax": OKABE_ITO["green"],
}
LAYOUT_STYLES: Mapping[str, Look] = {
    "channels_first": {"linestyle": "-", "marker": "o"},
    "channels_last": {"linestyle": (0, (4, 2)), "marker": "s"},
}
FILLS = ("full", "none", "left", "right", "top", "bottom")  # marker fill of the first, second, … variant
# No colour of a framework. The edge tells fp16 from bf16, which are alike in brightness; bars have a hatch.
PRECISION_STYLES: Mapping[str, Look] = {
    "default": {"color": OKABE_ITO["black"], "linestyle": "-", "edge": "white", "hatch": ""},
    "fp32": {"color": GREY, "linestyle": (0, (8, 2, 2, 2)), "edge": "white", "hatch": "--"},
    "tf32": {"color": OKABE_ITO["purple"], "linestyle": (0, (6, 2)), "edge": "black", "hatch": "//"},
    "fp16": {"color": OKABE_ITO["sky blue"], "linestyle": (0, (4, 1, 1, 1)), "edge": "white", "hatch": ".."},
    "bf16": {"color": OKABE_ITO["orange"], "linestyle": (0, (2, 1)), "edge": "black", "hatch": "xx"},
}
# No colour of a framework: a blue triangle must not read as PyTorch.
OUTCOME_STYLES: Mapping[str, Look] = {
    "faster": {"color": OKABE_ITO["sky blue"], "marker": ">", "markeredgecolor": ".25"},
    "slower": {"color": OKABE_ITO["purple"], "marker": "<", "markeredgecolor": ".25"},
    "same": {"color": OKABE_ITO["black"], "marker": "s", "markeredgecolor": ".25"},
    "undecided": {"color": GREY, "marker": "o", "markeredgecolor": ".25"},
}


def framework_name(framework: str) -> str:
    """Return the name as its makers write it, and an unknown one unchanged."""
    return NAMES.get(framework, str(framework))


def framework_colour(framework: str) -> str:
    """Return the framework's colour in every figure; grey for a library that trains nothing."""
    return FRAMEWORK_COLOURS.get(framework, GREY)


def status_name(status: str) -> str:
    """Return a status as readers write it: OOM in capitals, the others unchanged."""
    return "OOM" if status == "oom" else str(status)


def set_theme() -> None:
    """Set the look of all later figures: call it once per notebook, before the first figure.

    In IPython, figures become retina PNGs: sharp, and smaller than SVG where there are many points.
    """
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=list(OKABE_ITO.values()),
        rc={
            "figure.figsize": (WIDTH_IN, 4.0),
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "font.size": FONT_PT,
            "axes.labelsize": FONT_PT,
            "axes.titlesize": FONT_PT,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "figure.titlesize": FONT_PT + 1,
            "figure.titleweight": "bold",
            "xtick.labelsize": FONT_PT,
            "ytick.labelsize": FONT_PT,
            "legend.fontsize": FONT_PT - 1,
            "legend.frameon": False,
            "grid.color": ".88",
            "axes.edgecolor": ".6",
            "text.parse_math": False,  # a dollar in a name is no formula
        },
    )
    if get_ipython() is not None:
        set_matplotlib_formats("retina")


def show(drawing: Figure | Artist, alt: str) -> None:
    """Display a figure, or the figure of an Axes, with a text for readers who cannot see it, and close it.

    An open figure would be shown a second time by the inline backend, at the end of the cell.

    Args:
        alt: What the figure shows, in a sentence or two.
    """
    if not alt.strip():
        raise UserError("alt is empty: say in a sentence what the figure shows.")
    figure = drawing if isinstance(drawing, Figure) else drawing.get_figure(root=True)
    display(figure, metadata={"image/png": {"alt": alt}})
    plt.close(figure)
