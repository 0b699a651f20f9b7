"""What HTML a page may hold: everything that a report shows stays, everything else goes or becomes text."""

import base64
import os

import pandas as pd
import pytest
from bs4 import BeautifulSoup

import hostile_ledger
from exported import displayed, export
from tiny_notebooks import code, text
from trainspeed.report.clean import clean_declarations, clean_html, is_link
from trainspeed.show.cells import styled

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ('<meta http-equiv="refresh" content="0;url=https://evil.example/">', ""),
        ("<b onclick=go()>bold</b>", "<b>bold</b>"),
        ("<script>go()</script><iframe src=x></iframe><svg><a href=x>in</a></svg>", ""),
        ("<marquee>moves</marquee><center><i>x</i></center>", "moves<i>x</i>"),
        ("<form action=x><input name=a>text</form>", "text"),
        ("<!-- <b> --><![CDATA[<b>]]><?php x ?><!DOCTYPE x>text", "text"),
        ('<a href="https://x.org/p?q=1#f" style="position:fixed;inset:0" target=_top>x</a>', '<a href="https://x.org/p?q=1#f">x</a>'),
        ('<a href="javascript:go()">x</a>', "x"),
        ('<a href="//x.org/">x</a>', "x"),
        ('<img src="https://x.org/p.png" alt="a picture">', "a picture"),
        ('<img src="/etc/hostname">', "image"),
        ('<p class="skip banner contents number" id="content">x</p>', '<p class="number">x</p>'),
        ('<td style="color: red; position: fixed; background: url(x)">x</td>', '<td style="color: red">x</td>'),
        ("<style>* { position: fixed }</style><style>@import 'x'; #T_a td { color: red; inset: 0 }</style>x", "x"),
        ("<style>#T_a b, #T_a i /* c */ { top: 0; color: red }</style>", "<style>#T_a b, #T_a i {color: red}</style>"),
        ("<style>#T_a { color: red }</style><style>p, #T_a { color: red }</style>", "<style>#T_a {color: red}</style>"),
        ("</div></main></body></html><b>x</b>", "<b>x</b>"),
        ("<details open><summary>s</summary>x</details>", '<details open=""><summary>s</summary>x</details>'),
    ],
)  # fmt: skip
def test_what_is_not_on_the_lists_goes(html, left):
    assert clean_html(html) == left


@pytest.mark.parametrize("html", hostile_ledger.MARKUP, ids=range(len(hostile_ledger.MARKUP)))
def test_cleaning_leaves_nothing_that_acts_or_asks_and_is_done_after_once(html):
    once = clean_html(html)
    tree = BeautifulSoup(once, "html.parser")

    assert clean_html(once).split() == once.split()
    assert not tree.find_all(["meta", "script", "iframe", "style", "link", "img"])
    for tag in tree.find_all(True):
        assert set(tag.attrs) <= {"href"} and is_link(tag.get("href", "#x")), tag


def test_a_table_as_reports_make_it_stays_as_it_is():
    table = styled([{"layer": "conv", "s": 1.5}], "kind", "A caption").to_html()
    before, after = BeautifulSoup(table, "html.parser"), BeautifulSoup(clean_html(table), "html.parser")

    def looks(tree):
        return [(tag.name, tag.get("class"), tag.get("id")) for tag in tree.find_all(True)]

    assert looks(before) == looks(after) and before.get_text().split()[-4:] == after.get_text().split()[-4:]
    for rule in ("caption-side: top", "text-align: right", "#T_kind_"):
        assert rule in after.style.get_text()
    assert clean_html(pd.DataFrame({"a": [1]}).to_html()).count("<td>1</td>") == 1


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        *[("#verdict", True), ("layout.html#result-2", True), ("runs.csv", True), ("http://x.org", True)],
        *[
            ("https://doi.org/10.1145/1498765", True),
            ("amp.html#%C3%BC", True),
            ("", False),
            ("../x.html", False),
        ],
        *[
            ("/etc/passwd", False),
            ("file:///etc/passwd", False),
            ("//x.org/a.html", False),
            ("a/b.html", False),
        ],
        *[
            ("data:text/html,x", False),
            ("https:x.org", False),
            ("https://a@x.org/", False),
            ("http://[", False),
        ],
        *[(" javascript:go()", False), ("run.sh", False), ("evil.example", False)],
    ],
)
def test_a_link_leads_into_the_report_or_to_the_web(target, allowed):
    assert is_link(target) == allowed


@pytest.mark.parametrize(
    "style", ["top: 0", "color: url(x)", "width: -9px", "width: 99999px", "color: \\72 ed", "--x: 1"]
)
def test_no_style_moves_anything_or_asks_for_anything(style):
    assert clean_declarations(style) == ""
    assert clean_declarations(f"color: #fff; {style}; width: auto") == "color: #fff; width: auto"


@pytest.fixture
def folder(tmp_path):
    """Pictures of a report, one beyond it, and what is no picture."""
    pictures = tmp_path / "notebooks"
    pictures.mkdir()
    for place in (pictures / "a photo.png", tmp_path / "beyond.png"):
        place.write_bytes(base64.b64decode(PIXEL))
    (pictures / "link.png").symlink_to(tmp_path / "beyond.png")
    (pictures / "secret.txt").write_text("secret")
    os.mkfifo(pictures / "pipe.png")
    return pictures


@pytest.mark.parametrize(
    "source", ["../beyond.png", "link.png", "secret.txt", "pipe.png", "/dev/zero", "x" * 5000, "%00.png"]
)
def test_only_pictures_below_the_folder_of_pictures_are_embedded(folder, source):
    _, soup, missing = export(folder, text(f"![seen](<{source}>) ![good](<a photo.png>)"))

    (picture,) = soup.find_all("img")
    assert picture["alt"] == "good" and picture["src"] == f"data:image/png;base64,{PIXEL}"
    (doubt,) = missing
    assert doubt.startswith("an image is missing, as a page holds no outside picture: ") and len(doubt) < 300


def test_what_was_measured_shows_no_picture_of_a_file(folder):
    outputs = [
        displayed("text/markdown", "![x](<a photo.png>)"),
        displayed("text/html", '<img src="a photo.png">'),
    ]

    html, soup, missing = export(folder, code("x", outputs=outputs))

    assert not soup.find_all("img") and PIXEL not in html and len(missing) == 2


@pytest.mark.parametrize("kind", ["text/html", "text/markdown", "text/latex", "text/plain"])
def test_a_page_survives_any_output(tmp_path, kind):
    hostile = "\n\n".join(hostile_ledger.MARKUP)

    html, soup, _ = export(
        tmp_path, text("# Title"), code("x", outputs=[displayed(kind, hostile)]), text("## After")
    )

    assert [tag["http-equiv"] for tag in soup.find_all("meta", attrs={"http-equiv": True})] == [
        "Content-Security-Policy"
    ]
    assert not soup.find_all(["script", "iframe", "img"]) and soup.footer and soup.find(id="after")
    assert [tag.parent.name for tag in soup.find_all("style")] == ["head"]
    assert all(is_link(tag["href"]) for tag in soup.find_all("a"))
    assert not any(character in html for character in "\u202e\u2066\x1b\x00\x07\ufeff")
