"""What is asked first of a report is answered on the first screen of its front page, or one click further."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from nbconvert.filters.markdown import markdown2html_mistune

from browser_helper import executable, opened
from first_screen import OUTCOME, QUESTIONS, SCREEN, WIDTHS_PX, Question, where_answered
from front_data import NOTHING, report_of, runs_of, verdicts_of
from study_data import MACHINE, control_runs, make_run
from trainspeed.core.notes import CoresBusy
from trainspeed.judge.comparison import controls
from trainspeed.report.export import TEMPLATES
from trainspeed.studies.summary.glance import fact_sentences, study_sentences
from trainspeed.studies.summary.headline import headline
from trainspeed.studies.summary.notebooks import ReportNotebook

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


def test_the_lines_of_two_searches_leave_room_for_the_other_answers_on_a_phone(chromium, tmp_path):
    """The page's first lines alone, in its own style: they have to fit above the fold, and the links of the rest."""
    whole, layout, amp = (verdicts_of(runs_of("layout", ratio))[0] for ratio in (1.7, 1.2, 1.5))
    (twice,) = controls(control_runs([1.3, 1.0, 0.96, 0.96, 0.96, 0.96, 0.96, 0.96, 1.1]))
    in_both = [of for one in (whole, twice) for of in (one, _in_tensorflow(one))]
    searched = [replace(one, study="switches") for one in in_both]
    searched[:2] = (
        replace(one, factor="recipe", candidate=replace(one.candidate, precision="bf16"))
        for one in searched[:2]
    )
    several = [replace(amp, study="amp", factor="precision"), replace(layout, study="layout")]
    several.insert(1, _in_tensorflow(several[0]))
    on_cpu = MACHINE | {"device": "cpu", "memory_bytes": 10**10}
    about = {"peak_memory_bytes": 10**9, "machine": on_cpu, "study": "amp", "started_at": "2026-11-20T10:00"}
    network = {"model": "resnet50", "image_size": 32, "part": "compute"}
    runs = [make_run(notes=(CoresBusy(cores=2.5),), **about, **network)]
    notebooks = tuple(
        ReportNotebook(name=name, title="", status="ok", page=f"{name}.html", seconds=600.0)
        for name in ("layout", "amp", "switches")
    )
    report = report_of(*searched, *several, runs=runs, notebooks=notebooks, budget_s=900.0)
    facts = [*fact_sentences(report, NOTHING), *study_sentences(report)]
    lines = "\n\n".join([*headline(report), "\n".join(f"* {said}" for said in facts)])
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    title = "<h1>What makes training faster here?</h1>"
    (tmp_path / "index.html").write_text(
        f"<style>{style}</style><main>{title}<section class=answer><div class='output markdown'>"
        f"{markdown2html_mistune(lines)}</div></section></main>"
    )
    with opened(chromium, tmp_path / "index.html", min(WIDTHS_PX)) as page:
        seen = page.evaluate(SCREEN)

    links = {
        "#pytorch-cnn10",
        "#keras-on-tensorflow-cnn10",
        "#doubts",
        "layout.html",
        "#what-was-not-measured",
    }
    assert links <= {*seen["links"]}
    assert sum("measured as a set" in line for line in seen["lines"]) == 2
    for name in ("how sure is that?", "was memory a problem?", "how long did it take?"):
        assert any(re.search(QUESTIONS[name].answer, line) for line in seen["lines"]), name


def _in_tensorflow(verdict):
    sides = ("baseline", "candidate")
    return replace(
        verdict, **{side: replace(getattr(verdict, side), framework="tensorflow") for side in sides}
    )


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
