"""Pages of notebooks that look executed: no kernel is needed to test what a reader gets."""

import base64
import re

import pytest
from nbformat.v4 import new_output

from exported import displayed, export
from tiny_notebooks import PARAMETERS, code, text
from trainspeed.report.export import POLICY
from trainspeed.show.fitting import NARROW

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ALT = 'bars of "speed" & <time>'
TABLE = (
    '<style scoped>.dataframe thead th {text-align: right}</style><table border="1" class="dataframe">'
    '<thead><tr style="text-align: right;"><th></th><th>framework</th><th>seconds</th><th>accuracy</th></tr>'
    "</thead>"
    "<tbody><tr><th>0</th><td>torch 2</td><td>1.25</td><td>71.2 %</td></tr>"
    "<tr><th>1</th><td>12</td><td>−3e-5</td><td>—</td></tr></tbody></table>"
)


def printed(text, name="stdout"):
    return new_output("stream", text=text, name=name)


def requests_of(html):
    """Everything a browser would fetch or run."""
    return re.findall(
        r"""<script|<link|<iframe|@import|url\((?!\s*['"]?data:)|\ssrc(?:set)?=(?!['"]?data:)|\son\w+=""",
        html,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with one of everything."""
    tmp_path = tmp_path_factory.mktemp("page")
    picture = base64.b64decode(PIXEL)
    (tmp_path / "local.png").write_bytes(picture)
    values = {"blocks": 9, "batch_sizes": [32]}
    return export(
        tmp_path,
        text("# Does `channels_last` train faster here?\n\nH<sub>2</sub>O at $5 and $6."),
        code(PARAMETERS, "parameters"),
        code("# Parameters\nblocks = 9", "injected-parameters"),
        code("import secret_setup", "remove_input", outputs=[printed("kept output\n")]),
        code("noisy()", "remove_output", outputs=[printed("dropped output\n")]),
        code("gone()", "remove_cell", outputs=[printed("gone output\n")]),
        text("## Run\n\n![a photo](local.png) ![far](https://example.org/x.png)"),
        code("bar()", outputs=[displayed("application/vnd.jupyter.widget-view+json", {"model_id": "1"})]),
        code(
            "x",
            outputs=[displayed("text/html", "<script src='https://cdn.example/x.js'></script><b>bold</b>")],
        ),
        code("js", outputs=[displayed("application/javascript", "alert(1)")]),
        text("## Result\n\nIn `$x$` code stays; $\\frac{1}{n}$ is mathematics:\n\n$$a_1 * b * c$$"),
        code("t", outputs=[new_output("execute_result", data={"text/html": TABLE, "text/plain": "t"})]),
        code(
            "f", outputs=[displayed("image/png", PIXEL, **{"image/png": {"alt": 'bars of "speed" & <time>'}})]
        ),
        code("long()", outputs=[printed("".join(f"line {n}\n" for n in range(20)))]),
        text("## Result"),
        metadata={
            "papermill": {"parameters": values},
            "trainspeed": {"status": "ok", "session": "20260101T000000Z-abcd", "preset": "quick"},
        },
    )


def test_a_page_asks_nobody_for_anything(page):
    html, soup, _ = page

    assert requests_of(html) == []
    assert soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"] == POLICY
    assert "default-src 'none'" in POLICY


@pytest.mark.parametrize(
    "html",
    [
        "<script>",
        '<img src="x.png">',
        "<a onclick=go()>",
        "@import 'x'",
        "url(https://x)",
        "<img srcset='x 2x'>",
    ],
)
def test_the_scan_for_requests_can_fail(html):
    assert requests_of(html)


def test_the_page_is_a_readable_document(page):
    html, soup, _ = page

    assert soup.html["lang"] == "en"
    assert soup.title.string == "Does channels_last train faster here?"
    assert len(soup.find_all("h1")) == 1 and soup.main is not None
    assert "¶" not in html
    assert "session 20260101T000000Z-abcd · preset quick" in soup.footer.get_text()


def test_sections_are_listed_and_no_two_have_the_same_anchor(page):
    _, soup, _ = page

    links = [link["href"] for link in soup.select("nav.contents a")]
    assert links == ["#run", "#result", "#result-2"]
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids)) and {"run", "result", "result-2"} <= set(ids)


def test_inline_html_in_markdown_survives(page):
    """nbconvert's embed_images empties it (nbconvert#2020)."""
    html, _, _ = page

    assert "H<sub>2</sub>O" in html


def test_tex_becomes_mathml_and_prices_and_code_stay(page):
    html, soup, _ = page

    assert len(soup.find_all("math")) == 2 and soup.find("math", display="block")
    assert soup.find("mfrac")
    assert not soup.find("em")  # the stars of a formula are no emphasis
    assert "$5 and $6" in soup.get_text() and "<code>$x$</code>" in html


def test_tags_are_honoured(page):
    html, _, _ = page

    assert "secret_setup" not in html and "kept output" in html
    assert "noisy" in html and "dropped output" not in html
    assert "gone" not in html


def test_code_is_folded_without_a_script(page):
    _, soup, _ = page

    folded = [details for details in soup.select("details.code") if "noisy" in details.get_text()]
    assert len(folded) == 1 and not folded[0].has_attr("open")


def test_parameters_are_a_folded_table_with_the_values_that_ran(page):
    _, soup, _ = page

    (details,) = soup.select("details.parameters")
    rows = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in details.select("tbody tr")]
    assert details.summary.get_text() == "Parameters of this report"
    assert rows == [["blocks", "9", "repeats; 6 = enough"], ["batch_sizes", "32", "images per step"]]
    assert "# Parameters" not in soup.get_text()


def test_widgets_and_javascript_are_dropped(page):
    html, _, _ = page

    assert "model_id" not in html and "alert(1)" not in html and "<b>bold</b>" in html


def test_pictures_have_the_text_that_the_notebook_gave_them(page):
    """nbconvert's lab template ignores it."""
    _, soup, missing = page

    alts = [image["alt"] for image in soup.find_all("img")]
    assert alts == ["a photo", ALT]
    assert missing == ("an image is missing, as a page holds no outside picture: https://example.org/x.png",)


def test_a_picture_without_text_is_told(tmp_path):
    _, _, missing = export(tmp_path, code("f", outputs=[displayed("image/png", PIXEL)]))

    assert missing == ("an image has no description for readers who cannot see it",)


def test_a_picture_too_tall_for_a_page_of_paper_is_marked(tmp_path):
    """In print it goes on over several pages, instead of shrinking to what nobody can read."""
    sizes = [{"alt": "A chart.", "width": 600, "height": height} for height in (1000, 1200)]
    outputs = [
        new_output("display_data", {"image/png": PIXEL}, metadata={"image/png": size}) for size in sizes
    ]
    _, soup, _ = export(tmp_path, code("draw()", outputs=outputs))

    assert [image.get("class") for image in soup.select(".figure img")] == [None, ["tall"]]


@pytest.mark.parametrize(
    ("narrow", "sources"),
    [
        (f"data:image/png;base64,{PIXEL}", ["print, (min-width: 45rem)"]),
        ("https://example.org/x.png", []),
        ('data:image/png;base64,AAAA" onload="alert(1)', []),
    ],
)
def test_a_browser_takes_the_drawing_that_fits_its_width(tmp_path, narrow, sources):
    """What is no picture within the page is none: the other drawing stands alone."""
    data = {"image/png": PIXEL, NARROW: narrow}
    sizes = {
        "image/png": {"alt": "A chart.", "width": 940, "height": 300},
        NARROW: {"width": 460, "height": 900},
    }
    html, soup, missing = export(
        tmp_path, code("draw()", outputs=[new_output("display_data", data, metadata=sizes)])
    )

    (image,) = soup.select(".figure img")
    assert [source["media"] for source in soup.select(".figure source")] == sources
    assert image["width"] == ("460" if sources else "940") and image["alt"] == "A chart."
    assert image.get("class") is None, "a page of paper has the wide one, which is not tall"
    assert not missing and "example.org" not in html and "alert(1)" not in html


def test_a_table_stands_in_a_box_that_scrolls(page):
    _, soup, _ = page

    table = soup.find("table", class_="dataframe")
    assert not table.has_attr("border") and "style scoped" not in str(soup)
    assert not any(row.has_attr("style") for row in table("tr"))
    assert table.parent["class"] == ["scroll"] and table.parent["tabindex"] == "0"


def test_a_page_names_its_maker(page):
    assert page[1].find("meta", attrs={"name": "generator"})["content"] == "Trainspeed"


def test_long_text_is_folded(page):
    _, soup, _ = page

    assert soup.find("summary", string="Text output, 20 lines")


def test_a_complete_page_has_no_banner(page):
    assert not page[1].select(".banner")


def test_a_failed_page_says_so_first_and_marks_the_cell(tmp_path):
    error = new_output(
        "error", ename="RuntimeError", evalue="gone <b>", traceback=["\x1b[31mat line 1\x1b[0m"]
    )
    ending = {"status": "failed", "error": "RuntimeError: gone <b>", "cell": 2}

    html, soup, _ = export(
        tmp_path,
        text("# A question"),
        code("gone()", "remove_cell", outputs=[printed("x")]),
        code("boom()", outputs=[error]),
        code("never_run()"),
        metadata={"trainspeed": ending},
    )

    assert soup.title.string == "FAILED: A question"
    (banner,) = soup.select(".banner")
    assert (
        "this report is not complete" in banner.get_text() and "RuntimeError: gone <b>" in banner.get_text()
    )
    assert html.index("banner") < html.index("<h1")
    assert "boom" in soup.find(id="stopped-here").get_text()
    assert soup.find("summary", string="Traceback")


def test_a_users_mistake_is_one_line_without_a_traceback(tmp_path):
    error = new_output(
        "error", ename="UserError", evalue="blocks (=0) is too few", traceback=["secret trace"]
    )

    html, _, _ = export(
        tmp_path, code("x", outputs=[error]), metadata={"trainspeed": {"status": "interrupted"}}
    )

    assert "blocks (=0) is too few" in html and "a trace" not in html
    assert "INTERRUPTED: " in html and "Interrupted: this report" in html


def test_the_finished_page_is_scrubbed(tmp_path):
    html, _, _ = export(
        tmp_path,
        text("# In /home/ada"),
        code("p", outputs=[printed("/home/ada/x")]),
        scrub=lambda page: page.replace("/home/ada", "~"),
    )

    assert "/home/ada" not in html and "~/x" in html


def test_formulas_that_cannot_be_read_stay_as_they_are(tmp_path):
    _, soup, _ = export(tmp_path, text("$\\left( 1$ and $x$"))

    assert "\\left( 1" in soup.get_text()


def test_a_link_to_the_front_page_is_plain_words_where_there_is_none(tmp_path):
    cell = text("It is on the [front page](index.html#doubts), see [this](#here).")
    for there, links in ((True, ["index.html#doubts", "#here"]), (False, ["#here"])):
        _, soup, _ = export(tmp_path, cell, front_page=there)
        paragraph = next(p for p in soup.find_all("p") if "It is on" in p.get_text())
        assert [link["href"] for link in paragraph.find_all("a")] == links
        assert paragraph.get_text() == "It is on the front page, see this."
