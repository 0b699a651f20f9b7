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


class Anchored(str):
    """The text of a cell that a link may lead to: its row has the id, which is unique in a page."""

    __slots__ = ("anchor",)
    anchor: str

    def __new__(cls, text: str, anchor: str) -> Anchored:
        cell = super().__new__(cls, text)
        cell.anchor = anchor
        return cell

    def __html__(self) -> str:  # what pandas shows, and takes for escaped
        return f'<span id="{html.escape(self.anchor)}">{html.escape(self, quote=False)}</span>'


def styled(
    rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | pd.DataFrame,
    kind: str,
    caption: str,
    *,
    columns: Sequence[str] | None = None,
    say_once: bool = True,
) -> Styler:
    """Return the table as every report shows it: no index, a caption, text left and numbers right.

    The id is made of the kind and the caption, so that two reports of the same data are the same HTML.

    Args:
        rows: The rows, or the columns by their headings.
        columns: The headings of a table without rows.
        say_once: Whether what is equal in all rows stands in the caption and not in a column.
    """
    name = caption
    if say_once and not isinstance(rows, (Mapping, pd.DataFrame)):
        rows, said = said_once(rows)
        caption = with_sentences(caption, said)
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
    """Return the rows without the columns that are equal in all of them, and what those say, in sentences.

    What names the rows stays: the first column, unless the next one that differs has words too. So does all in a
    table of few rows.
    """
    if len(rows) < SAY_ONCE_FROM or any(row.keys() != rows[0].keys() for row in rows):
        return rows, []
    columns = {name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]}
    differ = [name for name, cells in columns.items() if cells.map(str).nunique() > 1]
    first = next(iter(columns))
    if not differ or _are_numbers(columns[differ[0]]):
        differ = list(dict.fromkeys([first, *differ]))
    equal = {name: str(rows[0][name]) for name in columns if name not in differ}
    known = [f"{name}: {text}" if name else text for name, text in equal.items() if text not in ("", MISSING)]
    unknown = [name for name, text in equal.items() if text == MISSING]
    said = [f"In all rows, {'; '.join(known)}"] if known else []
    said += [f"Not known in any row: {', '.join(unknown)}"] if unknown else []
    return [{name: row[name] for name in differ} for row in rows], said


def with_sentences(caption: str, sentences: Sequence[str]) -> str:
    """Return a caption that goes on with sentences; a question stays one."""
    end = " " if caption.endswith("?") else ". "
    return end.join([caption.rstrip("."), ". ".join(sentences)]) if sentences else caption


def styled_failures(
    rows: Sequence[Mapping[str, Any]], *, caption: str = "Runs without a result", name: str = "count"
) -> Styler | None:
    """Return a row per way to give no result, with the number of runs under `name`; None where every run gave one.

    Among them are trials that cannot run here, and so never began.
    """
    if not rows:
        return None
    counts = pd.DataFrame(rows).groupby(list(rows[0]), sort=False).size().reset_index(name=name)
    return styled(counts, "failures", caption)


def _are_numbers(cells: pd.Series) -> bool:
    known = [cell for cell in cells if cell != MISSING]
    return bool(known) and all(isinstance(cell, (Number, numbers.Number)) for cell in known)
