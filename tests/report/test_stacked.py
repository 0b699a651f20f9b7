"""Tables that a phone shows as lists."""

import pytest
from bs4 import BeautifulSoup

from trainspeed.report.stacked import LABEL, STACKED, label_cells

HEADINGS = ("setting", "", "peak memory", "pays after")
ROWS = [("PyTorch, cnn10, bf16", "x" * 9, "0.10 GB", "at once"), ("2", "y", "0.20 GB", "")]


def table_of(headings=HEADINGS, rows=ROWS, *, name="T_costs_1", above=""):
    cells = lambda kind, row: "".join(f"<{kind}>{text}</{kind}>" for text in row)  # noqa: E731
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    html = f"<table id={name}><thead>{above}<tr>{cells('th', headings)}</tr></thead><tbody>{body}</tbody></table>"
    table = BeautifulSoup(html, "html.parser").table
    label_cells(table)
    return table


def test_each_value_has_the_heading_of_its_column_and_the_first_one_where_it_is_a_number():
    table = table_of(rows=[("Compared",), *ROWS])
    assert STACKED in table["class"]
    assert [[cell.get(LABEL) for cell in row.find_all("td")] for row in table.tbody.find_all("tr")] == [
        [None],
        [None, None, "peak memory", "pays after"],
        ["setting", None, "peak memory", "pays after"],
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "T_layers_1"},
        {"headings": HEADINGS[:2], "rows": [("a" * 40, "b" * 40)]},
        {"rows": [("a", "b", "c", "d")]},
        {"rows": []},
        {"above": "<tr><th colspan=4>two rows of headings</th></tr>"},
        {"rows": [*ROWS, ("a", "b")]},
    ],
    ids=[
        "compared down its columns",
        "two columns",
        "narrow",
        "no row",
        "headings of headings",
        "joined cells",
    ],
)
def test_other_tables_stay_as_they_are(given):
    table = table_of(**given)
    assert STACKED not in table.get("class", []) and not table.find_all(attrs={LABEL: True})
