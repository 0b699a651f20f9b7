"""One figure, drawn for several widths: what changes with the width, and the drawing as SVG or PNG. Knows no chart.

A chart registers what it does at another width (`at_width`): its panels stand side by side or one below the other, its
title and its notes break elsewhere. A page holds a wide and a narrow drawing, and the browser takes the one that fits.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

PX_PER_IN = 100  # CSS pixels of a figure's inch
# An SVG of at most so many bytes is not compared with a PNG: of 86 drawings of a report, none had a PNG that was
# smaller by more than a few kB, and a PNG takes twice as long to draw.
SMALL_SVG_BYTES = 150_000
# Coordinates of paths, of which matplotlib writes six decimals: a hundredth of a point is no pixel of any screen.
PATH = re.compile(rb'(?<=<path d=")[^"]*')
FURTHER_DECIMALS = re.compile(rb"(\.\d\d)\d+")
PNG, SVG = "image/png", "image/svg+xml"
NARROW = (
    "image/vnd.trainspeed.narrow"  # of an output: the drawing for narrow screens, as an address with its data
)
# Width of the figure in inches, and its columns of panels -> inches by which the figure is higher than it was made.
Fit = Callable[[float, int], float]
_fits: WeakKeyDictionary[Figure, list[Fit]] = WeakKeyDictionary()
_columns: WeakKeyDictionary[Figure, Callable[[float], int]] = WeakKeyDictionary()
_heights_in: WeakKeyDictionary[Figure, float] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure as it was drawn for one width.

    Attributes:
        mime: `PNG` or `SVG`.
        data: The picture.
        width_px, height_px: Its size on the page at most, in CSS pixels.
    """

    mime: str
    data: bytes
    width_px: int
    height_px: int

    @property
    def source(self) -> str:
        """The picture as an address that needs no file."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"


def at_width(figure: Figure, fit: Fit) -> None:
    """Have this called whenever the figure is fitted to a width; what was registered first is called first."""
    _fits.setdefault(figure, []).append(fit)


def in_columns(figure: Figure, columns: Callable[[float], int]) -> None:
    """Say in how many columns the figure's panels stand, given its width in inches; one by default."""
    _columns[figure] = columns


def fit_figure(figure: Figure, width_in: float) -> None:
    """Make the figure this wide, and as high as its parts then need."""
    height_in = _heights_in.setdefault(figure, figure.get_figheight())
    columns = _columns.get(figure, lambda _width_in: 1)(width_in)
    figure.set_size_inches(width_in, height_in + sum(f(width_in, columns) for f in _fits.get(figure, ())))


def render_figure(figure: Figure) -> Drawing:
    """Return the figure as SVG, or as a PNG of two pixels per CSS pixel where that has fewer bytes."""
    width_px, height_px = (round(PX_PER_IN * inches) for inches in figure.get_size_inches())
    mime, data = SVG, _svg(figure)
    if len(data) > SMALL_SVG_BYTES:
        png = _png(figure)
        mime, data = (PNG, png) if len(png) < len(data) else (mime, data)
    return Drawing(mime=mime, data=data, width_px=width_px, height_px=height_px)


def _svg(figure: Figure) -> bytes:
    """Return the figure as SVG.

    Its canvas lays it out and draws it once; `savefig` would draw it a second time, for the layout alone.
    """
    file, canvas = io.BytesIO(), figure.canvas
    try:
        FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None, "Creator": None})
    finally:
        figure.set_canvas(canvas)
    return PATH.sub(lambda path: FURTHER_DECIMALS.sub(rb"\1", path[0]), file.getvalue())


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=2 * PX_PER_IN)
    return file.getvalue()
