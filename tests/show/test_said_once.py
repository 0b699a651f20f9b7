"""What is equal in all rows of a table stands in its caption, and not in a column."""

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from trainspeed.core.format import MISSING, digits
from trainspeed.show.cells import Anchored, said_once, styled

ROWS = [{"model": name, "layout": "channels_last", "batch": 16, "ms": n} for n, name in enumerate("abc")]


def table_of(rows, caption="Times", **options):
    return BeautifulSoup(styled(rows, "kind", caption, **options).to_html(), "html.parser").table


def test_equal_columns_are_dropped_and_said():
    rows, said = said_once(ROWS)

    assert rows == [{"model": name, "ms": n} for n, name in enumerate("abc")]
    assert said == ["In all rows, layout: channels_last; batch: 16"]


def test_a_column_that_nothing_is_known_of_is_said_to_be_that():
    rows, said = said_once([row | {"memory": MISSING} for row in ROWS])

    assert [*rows[0]] == ["model", "ms"]
    assert said[1:] == ["Not known in any row: memory"]


@pytest.mark.parametrize(
    ("others", "columns"),
    [({"ms": digits}, ["model", "ms"]), ({"layout": "layout {}".format, "ms": digits}, ["layout", "ms"])],
)
def test_what_names_the_rows_stays(others, columns):
    """The first column, unless the next one has words too."""
    rows, _ = said_once(
        [{"model": "a"} | {name: cell(n + 1) for name, cell in others.items()} for n in range(3)]
    )

    assert [*rows[0]] == columns


def test_a_table_of_two_rows_stays_whole():
    assert said_once(ROWS[:2]) == (ROWS[:2], [])
    assert said_once([]) == ([], [])


def test_columns_that_are_given_as_such_stay():
    assert "In all rows" not in table_of(pd.DataFrame(ROWS)).caption.get_text()
    assert "In all rows" not in table_of(ROWS, say_once=False).caption.get_text()


def test_the_caption_says_it_escaped_and_the_id_does_not_depend_on_it():
    hostile = [row | {"layout": "<img src=x>"} for row in ROWS]
    tables = [table_of(rows) for rows in (ROWS, hostile)]

    assert tables[0].caption.get_text() == "Times. In all rows, layout: channels_last; batch: 16"
    assert not tables[1].find("img") and "<img src=x>" in tables[1].caption.get_text()
    assert tables[0]["id"] == tables[1]["id"]


@pytest.mark.parametrize(
    ("caption", "said"), [("In effect?", "In effect? In all rows"), ("Fair.", "Fair. In all rows")]
)
def test_a_caption_that_is_a_sentence_goes_on_with_another(caption, said):
    assert table_of(ROWS, caption).caption.get_text().startswith(said)


def test_a_cell_that_links_lead_to_has_its_id_and_its_text_escaped():
    cells = table_of([{"what": Anchored("<b>a</b> & b", 'verdict-a"b'), "ms": 1}]).select("td")

    assert cells[0].span["id"] == 'verdict-a"b' and cells[0].get_text() == "<b>a</b> & b"
