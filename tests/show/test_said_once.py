"""What is equal in all rows of a table stands in its caption, and not in a column."""

from bs4 import BeautifulSoup

from trainspeed.show.cells import said_once, styled

ROWS = [{"model": name, "layout": "channels_last", "batch": 16, "ms": n} for n, name in enumerate("abc")]


def test_equal_columns_are_dropped_and_said():
    rows, equal = said_once(ROWS)

    assert rows == [{"model": name, "ms": n} for n, name in enumerate("abc")]
    assert equal == ["layout channels_last", "batch 16"]


def test_the_first_column_names_the_rows_and_stays():
    rows, equal = said_once([{"model": "a", "ms": n} for n in range(3)])

    assert [row["model"] for row in rows] == ["a"] * 3 and equal == []


def test_a_table_of_two_rows_stays_whole():
    assert said_once(ROWS[:2]) == (ROWS[:2], [])
    assert said_once([]) == ([], [])


def test_the_caption_says_it_escaped_and_the_id_does_not_depend_on_it():
    hostile = [row | {"layout": "<img src=x>"} for row in ROWS]
    pages = [styled(rows, "kind", "Times", say_once=True).to_html() for rows in (ROWS, hostile)]
    captions = [BeautifulSoup(page, "html.parser").caption.get_text() for page in pages]

    assert captions[0] == "Times. In all rows: layout channels_last, batch 16"
    assert "<img" not in pages[1] and "<img src=x>" in captions[1]
    assert len({BeautifulSoup(page, "html.parser").table["id"] for page in pages}) == 1
