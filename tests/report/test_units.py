"""Numbers stay with their units on a narrow page, and nothing else of it changes."""

import pytest
from bs4 import BeautifulSoup

from exported import displayed, export
from page_text import page_text
from tiny_notebooks import code, text
from trainspeed.report.units import NO_BREAK, keep_units, kept_together


@pytest.mark.parametrize(
    "kept",
    [
        "2.1_GB",
        "9_blocks",
        "1.4_%",
        "1.75x as fast (1.71_to_1.78, 9_blocks), 1.26_times",
        "peak −3.4_% of 1,024_images/s",
        "1.2_to_2.4_%, and ≥_6_blocks",
        "1_block. 14_min 53_s",
        "12_µs later",
    ],
)
def test_a_number_its_unit_and_the_ends_of_an_interval_stay_together(kept):
    assert kept_together(kept.replace("_", " ")) == kept.replace("_", NO_BREAK)


@pytest.mark.parametrize(
    "left",
    ["in 2019 the article", "wrn28_2 blocks", "A 1 and B 2", "from 1 to the end", "2 hostile", "a - 5"],
)
def test_other_words_may_break_as_before(left):
    assert kept_together(left) == left


def test_code_attributes_and_names_of_places_keep_the_spaces_that_were_written():
    html = (
        '<p id="6 blocks" title="6 blocks">6 blocks <code>6 blocks</code></p><pre><span>sleep 5 s</span></pre>'
        "<style>p { margin: 1 px }</style><!-- 6 blocks -->"
    )
    soup = BeautifulSoup(html, "html.parser")
    keep_units(soup)
    assert str(soup) == html.replace(">6 blocks <code", f">6{NO_BREAK}blocks <code")


def test_a_whole_page_keeps_them_together_and_reads_as_before(tmp_path):
    table = "<table><caption>In 9 blocks</caption><tr><td>2.1 GB/s</td></tr></table>"
    cells = (
        text("## After 9 blocks\n\n`sleep 5 s` takes 5 s"),
        code("t", outputs=[displayed("text/html", table)]),
    )
    _, plain, _ = export(tmp_path, *cells)
    html = (tmp_path / "layout.html").read_text()
    soup = BeautifulSoup(html, "html.parser")

    assert soup.h2["id"] == "after-9-blocks" and soup.h2.get_text() == f"After 9{NO_BREAK}blocks"
    assert soup.p.get_text() == f"sleep 5 s takes 5{NO_BREAK}s"
    assert soup.td.get_text() == f"2.1{NO_BREAK}GB/s"
    assert soup.select_one(".scroll")["aria-label"] == "In 9 blocks"
    assert plain.td.get_text() == "2.1 GB/s" and "In 9 blocks" in page_text(tmp_path / "layout.html")


def test_a_table_of_many_columns_may_break_them_else_it_is_wider_than_paper(tmp_path):
    table = f"<table><caption>After 2.1 s</caption><tr>{'<td>2.1 s</td>' * 15}</tr></table>"
    export(tmp_path, code("t", outputs=[displayed("text/html", table)]))
    soup = BeautifulSoup((tmp_path / "layout.html").read_text(), "html.parser")

    assert {cell.get_text() for cell in soup.find_all("td")} == {"2.1 s"}
    assert soup.caption.get_text() == f"After 2.1{NO_BREAK}s"
