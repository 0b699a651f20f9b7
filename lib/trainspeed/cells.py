"""Cells and the look of the report's tables: numbers as text, and what stands where there is none.

Knows no column and no frame.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

NOTHING = "—"  # not measured, not there or not known


def clock(seconds: float) -> str:
    """Return h:mm:ss, rounded to the second: 3661.2 -> 1:01:01."""
    if math.isnan(seconds):
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def or_nothing(value: Any) -> str:
    """Return the value as text; a dash for None and NaN."""
    return NOTHING if value is None or value is pd.NA or value != value else str(value)


def digits(value: float) -> str:
    """Return a number with three digits that count, and all digits before the point."""
    if math.isnan(value):
        return NOTHING
    decimals = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(decimals, 0), 6)}f}"


def fixed(value: float, decimals: int, unit: str = "") -> str:
    """Return a number with so many decimals, and its unit."""
    return NOTHING if math.isnan(value) else f"{value:.{decimals}f}{unit}"


def styled(table: pd.DataFrame, kind: str, caption: str) -> Styler:
    """Return the table as every report shows it: no index, a caption, text left and numbers right.

    The id is made of the kind and the caption, so that two reports of the same data are the same HTML.
    """
    texts = [place for place, name in enumerate(table) if not table[name].map(_is_number).all()]
    left = [{"selector": f".col{place}", "props": "text-align: left"} for place in texts]
    heading = {"selector": "caption", "props": "caption-side: top; text-align: left; font-weight: bold"}
    styler = Styler(table, uuid=f"{kind}_{zlib.crc32(caption.encode()):08x}", cell_ids=False)
    return (
        styler.hide(axis="index")
        .format(escape="html")
        .set_caption(caption)
        .set_table_styles([heading, *left])
    )


def _is_number(cell: object) -> bool:
    return cell == NOTHING or str(cell).lstrip("-").replace(",", "")[:1].isdigit()
