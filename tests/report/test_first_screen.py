"""What is asked first of a report is answered on the first screen of its front page, or one click further."""

from __future__ import annotations

import pytest

from browser_helper import executable
from first_screen import OUTCOME, QUESTIONS, WIDTHS_PX, Question, where_answered

ON_THE_PAGE_OF_THE_LAYOUT = {
    "is channels_last worth it for PyTorch here?": QUESTIONS["is channels_last worth it for PyTorch here?"],
    "how sure is that?": Question(
        rf"{OUTCOME} for .*PyTorch.* \(\d\.\d\dx, \d\.\d\d to \d\.\d\d(, so not \w+)?\)", "#how-sure"
    ),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(executable() is None, reason="no Chromium here: see test_browser.py"),
]


@pytest.mark.parametrize("width_px", WIDTHS_PX)
def test_six_questions_are_answered_from_the_front_pages_first_screen(chromium, report_folder, width_px):
    found = where_answered(chromium, report_folder / "index.html", width_px, QUESTIONS)

    assert "nowhere" not in found.values(), found
    assert (
        found["was memory a problem?"]
        == found["how long did it take?"]
        == found["how sure is that?"]
        == "here"
    )


@pytest.mark.parametrize("width_px", WIDTHS_PX)
def test_a_studys_page_says_its_answer_and_how_sure_it_is_on_the_first_screen(
    chromium, report_folder, width_px
):
    found = where_answered(chromium, report_folder / "layout.html", width_px, ON_THE_PAGE_OF_THE_LAYOUT)

    assert set(found.values()) == {"here"}, found


def test_an_answer_counts_only_on_the_screen_or_behind_a_link_that_is_there(chromium, tmp_path):
    """So that the tests above can fail."""
    page, asked = tmp_path / "page.html", {"memory": Question("Memory: ", "#memory")}
    below = (
        '<p id="memory" style="margin: 2000px 0">Memory: 1 GB<p id="far" style="margin-top: 2000px">the end'
    )

    for link, found in (("#far", "nowhere"), ("#memory", "#memory")):
        page.write_text(f'<a href="{link}">more</a>{below}')
        assert where_answered(chromium, page, 360, asked) == {"memory": found}
    page.write_text(f'{below}<a href="#memory">a link out of sight</a>')
    assert where_answered(chromium, page, 360, asked) == {"memory": "nowhere"}
