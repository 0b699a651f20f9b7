"""All pages of a report as one: ids, links, and what is never taken over."""

import pytest
from bs4 import BeautifulSoup

from share_data import write_page
from trainspeed.report.export import POLICY
from trainspeed.report.share_page import one_page, pages_of, read_page

TABLE = "<style>#T_speed td {text-align: right}</style><table id='T_speed'><tr><td>1</td></tr></table>"
LINKS = (
    "[a section](layout.html#speed), [a page](amp.html), [nowhere](layout.html#gone), [here](#speed), "
    "[data](runs.csv), [the web](https://example.org/a#b)"
)


@pytest.fixture(scope="module")
def soup(tmp_path_factory):
    out = tmp_path_factory.mktemp("pages")
    write_page(out, "index", "## Speed", LINKS, TABLE)
    write_page(out, "layout", "## Speed", "[back](index.html#speed)", TABLE)
    write_page(out, "amp", "## Speed", complete=False)
    return joined(out, "index", "layout", "amp")


def joined(out, *names):
    pages = pages_of({f"{name}.html": read_page(out / f"{name}.html") for name in names})
    return BeautifulSoup(one_page(pages), "html.parser")


def test_each_page_is_a_part_with_its_title_in_the_list(soup):
    assert [part["id"] for part in soup.select("main > article.page")] == ["index", "layout", "amp"]
    contents = [(link["href"], link.get_text()) for link in soup.select("nav.pages a")]
    assert contents[:2] == [("#index", "The question of index"), ("#layout", "The question of layout")]
    assert soup.title.get_text() == "The question of index"
    assert len(soup.select("main")) == len(soup.select("a.skip")) == 1
    assert len(soup.select(".page > footer")) == 3


def test_ids_are_unique_and_every_link_leads_within_the_file_or_to_the_web(soup):
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    links = [link["href"] for link in soup.find_all("a")]

    assert len(ids) == len(set(ids)) and {"index--speed", "layout--speed", "amp--speed"} <= set(ids)
    assert [link for link in links if link[1:] not in ids] == ["https://example.org/a#b"]


def test_the_contents_of_each_page_are_told_apart_by_its_title(tmp_path):
    """A screen reader listed seven regions, each "Contents"."""
    for name in ("index", "layout"):
        write_page(tmp_path, name, "## One", "## Two", "## Three", "## Four", "## Five")
    labels = [nav["aria-label"] for nav in joined(tmp_path, "index", "layout").select("nav.contents")]
    assert labels == ["Contents: The question of index", "Contents: The question of layout"]


def test_links_between_pages_become_anchors(soup):
    said = {link.get_text(): link["href"] for link in soup.select("#index a, #layout a")}

    assert said["a section"] == "#layout--speed" and said["a page"] == "#amp" and said["nowhere"] == "#layout"
    assert said["here"] == "#index--speed" and said["back"] == "#index--speed"
    assert said["Back to the front page"] == "#index"


def test_a_link_to_another_file_becomes_text_that_says_so(soup):
    assert "data (not in this file)" in soup.select_one("#index").get_text()


def test_a_table_keeps_its_style(soup):
    for name in ("index", "layout"):
        table = soup.select_one(f"#{name} table")
        assert table["id"] == f"{name}--T_speed"
        assert f"#{name}--T_speed td" in soup.select_one(f"#{name} style").get_text()


def test_banners_and_the_policy_of_the_pages_stay(soup):
    assert "This report is not complete" in soup.select_one("#amp .banner").get_text()
    policies = [tag["content"] for tag in soup.find_all("meta", attrs={"http-equiv": True})]
    assert policies == [POLICY]


def test_what_a_page_of_somebody_else_holds_neither_runs_nor_asks(tmp_path):
    write_page(tmp_path, "index", "## Speed")
    path = tmp_path / "index.html"
    planted = (
        '<script>go()</script><img src="https://evil.example/x.png" alt="x"><p onclick="go()">words</p>'
        '<a href="javascript:go()">click</a><base href="https://evil.example/"><meta http-equiv="refresh" content="0">'
        '<form action="https://evil.example/"><p>in a form</p></form><iframe src="https://evil.example/"></iframe>'
    )
    path.write_text(path.read_text().replace("</main>", f"{planted}</main>"))
    soup = joined(tmp_path, "index")

    text = str(soup.main)
    assert "evil.example" not in text and "go()" not in text and "words" in text
    assert not soup.main.find_all(["script", "meta", "base", "form", "iframe"])


def test_no_page_of_a_report_is_none(tmp_path):
    (tmp_path / "other.html").write_text("<main>not ours</main>")

    assert read_page(tmp_path / "other.html") is None
    with pytest.raises(ValueError, match="no pages"):
        one_page([])


def test_two_names_that_are_alike_get_keys_of_their_own(tmp_path):
    for name in ("a b", "a--b", "a-b"):
        write_page(tmp_path, name, "## Speed")

    parts = joined(tmp_path, "a b", "a--b", "a-b").select("article")
    assert [part["id"] for part in parts] == ["a-b", "a-b-2", "a-b-3"]
