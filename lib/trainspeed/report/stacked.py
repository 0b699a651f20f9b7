"""Tables that a phone shows as a list: in each row its values below each other, each with its heading."""

from __future__ import annotations

from bs4 import Tag

STACKED, LABEL = "stacked", "data-label"  # the style sheet knows both
FEWEST_COLUMNS = 3
MOST_LETTERS = 34  # of a row, that a phone has side by side
COLUMN_LETTERS = 24  # a longer text is broken
COMPARED = "T_layers"  # its id begins so: compared down the columns


def label_cells(table: Tag) -> None:
    """Give each value of a table that is too wide for a phone the heading of its column.

    A row of one cell is a heading of those below it; the first value of a row needs none, where it is not a number.
    """
    headings = [
        cell.get_text(" ", strip=True) for row in table.select("thead tr") for cell in row.find_all("th")
    ]
    rows = [row.find_all(["th", "td"], recursive=False) for row in table.select("tbody > tr")]
    whole = [row for row in rows if len(row) == len(headings)]
    is_plain = len(table.select("thead tr")) == 1 and all(len(row) == 1 for row in rows if row not in whole)
    if not is_plain or not whole or len(headings) < FEWEST_COLUMNS:
        return
    texts = [headings, *([cell.get_text(" ", strip=True) for cell in row] for row in whole)]
    letters = sum(min(max(map(len, column)), COLUMN_LETTERS) for column in zip(*texts, strict=True))
    if letters <= MOST_LETTERS or str(table.get("id", "")).startswith(COMPARED):
        return
    table["class"] = [*table.get("class", []), STACKED]
    for row in whole:
        for column, (heading, cell) in enumerate(zip(headings, row, strict=True)):
            if heading and (column or cell.get_text(strip=True).isdecimal()):
                cell[LABEL] = heading
