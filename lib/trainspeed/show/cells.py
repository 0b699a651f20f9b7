"""The look of the report's tables. Knows no column."""

from __future__ import annotations

import html
import numbers
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, Number
from trainspeed.core.markdown import visible

SAY_ONCE_FROM = 3  # rows


def styled(
    rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | pd.DataFrame,
    kind: str,
    caption: str,
    *,
    columns: Sequence[str] | None = None,
    say_once: bool = False,
) -> Styler:
    """Return the table as every report shows it: no index, a caption, text left and numbers right.

    The id is made of the kind and the caption, so that two reports of the same data are the same HTML.

    Args:
        rows: The rows, or the columns by their headings.
        columns: The headings of a table without rows.
        say_once: Whether what is equal in all rows stands in the caption and not in a column; takes rows.
    """
    name = caption
    if say_once:
        rows, equal = said_once(rows)
        caption += f". In all rows: {', '.join(equal)}" if equal else ""
    # The type object keeps cells as they are.
    table = pd.DataFrame(rows, columns=None if len(rows) else columns, dtype=object)
    table.columns = [html.escape(visible(str(heading)), quote=False) for heading in table.columns]
    sides = ["right" if _are_numbers(table.iloc[:, n]) else "left" for n in range(table.shape[1])]
    styles = [{"selector": "caption", "props": "caption-side: top; text-align: left; font-weight: bold"}]
    styles += [{"selector": f".col{n}", "props": f"text-align: {side}"} for n, side in enumerate(sides)]
    row = ["number" if side == "right" else "" for side in sides]
    classes = pd.DataFrame([row] * len(table), index=table.index, columns=table.columns)
    styler = Styler(table, uuid=f"{kind}_{zlib.crc32(name.encode()):08x}", cell_ids=False)
    styler = (
        styler.hide(axis="index")
        .format(escape="html")
        .set_caption(html.escape(visible(caption), quote=False))
    )
    return styler.set_table_styles(styles).set_td_classes(classes)


def said_once(rows: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], list[str]]:
    """Return the rows without the columns that are equal in all of them, and what those say: "layout channels_last".

    The first column names the rows and stays; and so does all in a table of few rows.
    """
    if len(rows) < SAY_ONCE_FROM or any(row.keys() != rows[0].keys() for row in rows):
        return rows, []
    equal = [name for name in [*rows[0]][1:] if all(str(row[name]) == str(rows[0][name]) for row in rows)]
    kept = [{name: value for name, value in row.items() if name not in equal} for row in rows]
    return kept, [f"{name} {rows[0][name]}" for name in equal]


def styled_failures(
    rows: Sequence[Mapping[str, Any]], *, caption: str = "Runs that failed", name: str = "count"
) -> Styler | None:
    """Return a row per way to fail, with the number of runs under `name`; None where no run failed."""
    if not rows:
        return None
    counts = pd.DataFrame(rows).groupby(list(rows[0]), sort=False).size().reset_index(name=name)
    return styled(counts, "failures", caption)


def _are_numbers(cells: pd.Series) -> bool:
    known = [cell for cell in cells if cell != MISSING]
    return bool(known) and all(isinstance(cell, (Number, numbers.Number)) for cell in known)
