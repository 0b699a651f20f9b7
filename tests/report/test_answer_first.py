"""A page shows all that its notebook shows, once, and the answer first."""

import pytest

from exported import displayed, export
from tiny_notebooks import code, text

SHOWN = ("result 1", "parameters 1", "answer 1", "paste 1", "limits 1")


def shows(what, *tags):
    return code("x", *tags, outputs=[displayed("text/markdown", f"{what} 1")])


def cells():
    def begins(words, tag):
        cell = text(words)
        cell.metadata.tags = [tag]
        return cell

    return [
        text("# A question"),
        begins("## The question\n\nWhy it could go either way.", "appendix"),
        shows("parameters"),
        text("## Result"),
        shows("result"),
        begins("## Answer", "answer"),
        shows("answer"),
        code("explore()", "remove_cell", outputs=[displayed("text/plain", "hidden 1")]),
        text("### What to paste"),
        shows("paste"),
        begins("## Limits", "appendix"),
        shows("limits"),
        code("explore()", "remove_cell"),
    ]


@pytest.fixture
def page(tmp_path):
    return export(tmp_path, *cells())[:2]


def test_nothing_is_shown_twice_or_lost(page):
    html, soup = page

    assert {what: soup.get_text().count(what) for what in SHOWN} == dict.fromkeys(SHOWN, 1)
    assert "hidden 1" not in html
    headings = [heading.get_text() for heading in soup.select("h1, h2, h3")]
    assert headings == ["A question", "Answer", "What to paste", "Result", "The question", "Limits"]


def test_the_answer_is_a_part_of_its_own_and_comes_before_the_contents(page):
    _, soup = page

    answer, evidence, appendix = soup.select("main > section.part")
    assert "answer 1" in answer.get_text() and "paste 1" in answer.get_text()
    assert evidence.h2.get_text() == "Result" and appendix.h2.get_text() == "The question"
    assert answer.find_next_sibling().name == "nav"
    assert [link.get_text() for link in soup.select("nav.contents a")] == [
        "Answer",
        "Result",
        "The question",
        "Limits",
    ]


def test_what_stopped_half_way_keeps_the_order_in_which_it_ran(tmp_path):
    """Its answer was never computed."""
    ending = {"status": "interrupted", "error": "Ctrl-C", "cell": 4}
    _, soup, _ = export(tmp_path, *cells(), metadata={"trainspeed": ending})

    assert not soup.select(".part")
    assert [heading.get_text() for heading in soup.select("h2")] == [
        "The question",
        "Result",
        "Answer",
        "Limits",
    ]
    assert soup.select_one("#stopped-here").get_text().strip().endswith("result 1")


def test_a_part_that_could_not_be_shown_is_marked_where_it_stands_now(tmp_path):
    gap = {"cell": 6, "section": "Answer", "error": "ValueError: x"}
    ending = {"status": "incomplete", "error": "1 part could not be shown", "gaps": [gap]}
    _, soup, _ = export(tmp_path, *cells(), metadata={"trainspeed": ending})

    assert "answer 1" in soup.select_one(".answer #gap-6").get_text()
