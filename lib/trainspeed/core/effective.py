"""Words for what really ran: layouts and dtypes of a model's convolutions."""

from __future__ import annotations

from collections.abc import Mapping

from trainspeed.core.result import EffectivePrecision
from trainspeed.core.trial import LAYOUTS

UNKNOWN = "unknown"  # a data format of TensorFlow that is neither of the layouts


def layouts_text(layouts: Mapping[str, int | None] | None) -> str | None:
    """Return the words for layout -> number of convolutions; None where none was looked at."""
    if not layouts:
        return None
    if len(layouts) == 1:
        return _layout_text(next(iter(layouts)))
    parts = ", ".join(f"{_layout_text(name)} in {layouts[name]}" for name in sorted(layouts))
    return f"mixed: {parts} of {sum(layouts.values())} convolutions"


def _layout_text(layout: str) -> str:
    """Another order of the dimensions is XLA's: b is the batch, 0 and 1 are height and width, f the channels."""
    return layout if layout in (*LAYOUTS, UNKNOWN) else f"XLA's order {layout}"


def precision_text(precision: EffectivePrecision | None) -> str | None:
    """Return the words for the dtypes that ran; None where none was looked at."""
    if precision is None or not precision.dtypes:
        return None
    return " and ".join(sorted(precision.dtypes)) + (" (asked)" if precision.asked else "")
