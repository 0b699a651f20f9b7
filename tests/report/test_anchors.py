"""Places in a page that links lead to, and pictures that keep their room."""

import base64

import pytest
from nbformat.v4 import new_output

from exported import displayed, export
from tiny_notebooks import code, text
from trainspeed.report.picture_size import picture_size

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ROW = '<tr><td><span id="verdict-{}">{}</span></td><td>1.2</td></tr>'


def drawn(alt="A chart.", **size):
    return new_output("display_data", {"image/png": PIXEL}, metadata={"image/png": {"alt": alt, **size}})


def svg(attributes):
    source = f"<?xml version='1.0'?>\n<svg {attributes} viewBox='0 0 9 9'></svg>"
    return f"data:image/svg+xml;base64,{base64.b64encode(source.encode()).decode()}"


def test_a_chart_is_named_after_its_heading_and_links_to_itself(tmp_path):
    _, soup, _ = export(
        tmp_path, text("# A question"), text("## How *fast*?"), code("draw()", outputs=[drawn(), drawn()])
    )

    assert [figure["id"] for figure in soup.select(".figure")] == ["chart-how-fast", "chart-how-fast-2"]
    assert [figure.a["href"] for figure in soup.select(".figure")] == ["#chart-how-fast", "#chart-how-fast-2"]
    assert all(figure.a["aria-label"] and not figure.a.get_text() for figure in soup.select(".figure"))


def test_a_verdicts_row_and_its_sentence_are_places_and_the_first_one_wins(tmp_path):
    rows = "".join(
        ROW.format(name, label) for name, label in (("a", "first"), ("b", "second"), ("a", "third"))
    )
    sentences = '- <span id="verdict-b"></span>said\n- <span id="verdict-größe"></span>said too\n- no verdict'
    outputs = [
        displayed("text/html", f"<table>{rows}</table>"),
        displayed("text/markdown", sentences),
    ]
    _, soup, _ = export(tmp_path, text("# A question"), code("x", outputs=outputs))

    places = [(place.name, place["id"]) for place in soup.select('[id^="verdict-"]')]
    assert places == [("tr", "verdict-a"), ("tr", "verdict-b"), ("li", "verdict-größe")]
    assert [row.td.get_text() for row in soup.select("tr")] == ["first", "second", "third"]
    for name in ("verdict-a", "verdict-b", "verdict-größe"):
        assert soup.find(id=name).find("a", href=f"#{name}")


def test_a_page_leads_back_to_its_top(tmp_path):
    _, soup, _ = export(tmp_path, text("# A question"))

    assert soup.find(id=soup.select_one(".to-top a")["href"].removeprefix("#")) is soup.body


@pytest.mark.parametrize(
    ("source", "size"),
    [
        (f"data:image/png;base64,{PIXEL}", (1, 1)),
        (svg('width="72pt" height="36.0pt"'), (96, 48)),
        (svg("width='300' height='20px'"), (300, 20)),
        (svg('width="100%" height="20"'), None),
        ("data:image/png;base64,AAAA", None),
        ("data:image/png;base64,?", None),
        ("picture.png", None),
    ],
)
def test_a_picture_says_how_large_it_is(source, size):
    assert picture_size(source) == size


def test_a_picture_keeps_its_room_before_it_is_decoded(tmp_path):
    (tmp_path / "dot.png").write_bytes(base64.b64decode(PIXEL))
    _, soup, _ = export(
        tmp_path, text("# A\n\n![dot](dot.png)"), code("x", outputs=[drawn(width=60, height=40), drawn()])
    )

    sizes = [(image["width"], image["height"]) for image in soup.find_all("img")]
    assert sizes == [("1", "1"), ("60", "40"), ("1", "1")]
