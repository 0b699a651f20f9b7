"""The look of all figures: colours, line styles, markers, names. Knows no frame and no measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import display
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

from trainspeed.core.errors import UserError
from trainspeed.core.format import NAMES
from trainspeed.show.fitting import NARROW, SVG, Drawing, fit_figure, render_figure
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

WIDTH_IN = 6.5  # of a figure as it is made; `show` fits it to these two:
WIDE_IN = 9.4  # as wide as the text of a page
NARROW_IN = 4.6  # for screens below 720 px; on one of 360 px an 11-point letter keeps 12 px
FONT_PT = 11
SMALL_PT = 9.5  # for notes and run counts
# The first one is what matplotlib measures texts with, wherever it runs. Where a reader lacks it, Verdana is as wide
# and the others are narrower, so that no text grows into another.
FONTS = ("DejaVu Sans", "Verdana", "Segoe UI", "Helvetica", "Arial", "sans-serif")

Look = Mapping[str, Any]  # colour, linestyle, marker, hatch, … of what is drawn, as matplotlib names them
# The darkest three: a framework is drawn as thin lines, which need contrast.
FRAMEWORK_COLOURS = {
    "tensorflow": OKABE_ITO["vermillion"],
    "torch": OKABE_ITO["blue"],
    "jax": OKABE_ITO["green"],
}
# Of what convolves on the CPU only, by its library in `core.convolution`: no colour of a framework, not the grey of the
# articles, and dark enough for thin lines: wine, purple and olive are of Paul Tol's "muted" scheme, olive darker.
CPU_LIBRARY_COLOURS = {
    "scipy_signal": OKABE_ITO["black"],
    "scipy_ndimage": "#AA4499",
    "scipy_fft": "#7A7A1F",
    "scipy_oaconvolve": GREY,
    "opencv": "#882255",
}
LAYOUT_STYLES: Mapping[str, Look] = {
    "channels_first": {"linestyle": "-", "marker": "o"},
    "channels_last": {"linestyle": (0, (4, 2)), "marker": "s"},
}
# Of the first, second, … variant of a framework, where all lines have one layout.
VARIANT_STYLES: tuple[Look, ...] = (
    {"linestyle": "-", "marker": "o"},
    {"linestyle": (0, (4, 2)), "marker": "s"},
    {"linestyle": (0, (1, 1)), "marker": "^"},
    {"linestyle": (0, (6, 2, 1, 2)), "marker": "D"},
    {"linestyle": (0, (8, 3)), "marker": "v"},
    {"linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "P"},
)
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
    """Return the colour of a framework, or of a library of the CPU, in every figure; grey for anything else."""
    return (FRAMEWORK_COLOURS | CPU_LIBRARY_COLOURS).get(framework, GREY)


def status_name(status: str) -> str:
    """Return a status as readers write it: OOM in capitals, the others unchanged."""
    return "OOM" if status == "oom" else str(status)


def set_theme() -> None:
    """Set the look of all later figures: call it once per notebook, before the first figure.

    Letters of an SVG stay letters; figures that IPython shows by itself become retina PNGs. What a user's own
    matplotlibrc sets does not count: a report would look otherwise, or fail, by `text.usetex` where there is no LaTeX.
    """
    mpl.rcdefaults()
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
            "font.sans-serif": FONTS,
            "svg.fonttype": "none",
            "svg.hashsalt": "trainspeed",  # two reports of the same data are the same bytes
        },
    )
    if get_ipython() is not None:
        set_matplotlib_formats("retina")


def show(drawing: Figure | Artist, alt: str = "") -> None:
    """Display a figure, or the figure of an Axes, with a text for readers who cannot see it, and close it.

    It is drawn twice, as wide as a page and for a narrow screen: a page shows the one that fits, JupyterLab the wide
    one. An open figure would be shown a second time by the inline backend, at the end of the cell.

    Args:
        alt: What the figure shows, in a sentence or two; its title comes before it.
    Raises:
        UserError: Without that.
    """
    if not alt.strip():
        raise UserError("alt is empty: say in a sentence what the figure shows.")
    figure = drawing if isinstance(drawing, Figure) else drawing.get_figure(root=True)
    drawings = {}
    for width_in in (WIDE_IN, NARROW_IN):
        fit_figure(figure, width_in)
        drawings[width_in] = render_figure(figure)
    wide, narrow = drawings.values()
    data = {wide.mime: _in_notebook(wide), NARROW: narrow.source}
    sizes = {
        mime: {"width": d.width_px, "height": d.height_px}
        for mime, d in zip(data, (wide, narrow), strict=True)
    }
    sizes[wide.mime]["alt"] = _with_title(figure, alt)
    display(data, raw=True, metadata=sizes)
    plt.close(figure)


def _in_notebook(drawing: Drawing) -> str:
    """Return a picture as notebooks hold it: SVG as text, PNG as base64."""
    return drawing.data.decode() if drawing.mime == SVG else drawing.source.partition(",")[2]


def _with_title(figure: Figure, alt: str) -> str:
    """Return the text with the figure's title before it, which says what was found, as a sentence."""
    title = " ".join(figure.get_suptitle().split())
    end = "" if not title or title[-1] in ".?!" else "."
    return f"{title}{end} {alt}".strip()
