"""The front page's tables, as a browser gets them."""

from dataclasses import replace

import pytest
from bs4 import BeautifulSoup

from front_data import OLDER, SESSION, runs_of, verdicts_of, write_report
from trainspeed.core.factors import CONTROL, RECIPE
from trainspeed.core.run import Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary, in_order, read_report
from trainspeed.studies.summary.confirmation import counts_of
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.tables import all_verdicts_table, notebook_table, other_verdicts

HOSTILE = 'x"><img src=//evil onerror=go()>'


@pytest.fixture
def front(tmp_path):
    write_report(tmp_path, [*runs_of("layout", 1.5), *runs_of("amp", 0.5, blocks=2)])
    return read_report(tmp_path, tmp_path)


def rows_of(styler):
    soup = BeautifulSoup(styler.to_html(), "html.parser")
    return [row.find_all("td") for row in soup.select("tbody tr")], soup


def texts(styler):
    return [[cell.get_text(" ") for cell in row] for row in rows_of(styler)[0]]


def test_every_verdict_has_a_row_with_size_outcome_interval_blocks_and_notebook(front):
    assert texts(all_verdicts_table(in_order(front.verdicts), front)) == [
        [
            "channels_last vs channels_first, PyTorch, cnn10, batch 32",
            "1.50x",
            "faster",
            "1.50 to 1.51",
            "6",
            "layout",
        ],
        ["bf16 vs fp32, PyTorch, cnn10, channels_first, batch 32", "0.50x", "undecided", "—", "2", "amp"],
        [
            "channels_last vs channels_first, PyTorch, cnn10, batch 32",
            "+0.0 points",
            "the same within 0.5 points",
            "+0.0 to +0.0",
            "6",
            "layout",
        ],
        [
            "bf16 vs fp32, PyTorch, cnn10, channels_first, batch 32",
            "+0.0 points",
            "undecided",
            "—",
            "2",
            "amp",
        ],
    ]


def test_the_table_of_the_others_is_called_after_what_is_in_it(front):
    """A report without verdicts on frameworks said "Frameworks, all switches together, controls: 8"."""
    whole = replace(front.headlines[0], factor=RECIPE)
    control = replace(whole, candidate=whole.baseline, factor=CONTROL)

    assert [*other_verdicts(replace(front, verdicts=(control,)))] == ["Controls: 1"]
    assert [*other_verdicts(replace(front, verdicts=(whole, control)))] == [
        "All switches together, controls: 2"
    ]


def test_verdicts_on_accuracy_have_a_table_of_their_own_in_points_that_says_what_the_headline_says(front):
    """An accuracy that is kept, and may be higher, is not "undecided" in one place and kept in another."""
    (points,) = (v for v in front.verdicts if v.quantity == "accuracy" and v.blocks == 6)
    size = {"speedup": 2.2, "low": -0.3, "high": 23.1, "outcome": Outcome.UNDECIDED}
    kept = replace(points, judgement=replace(points.judgement, **size))
    several = other_verdicts(replace(front, verdicts=(kept,)))

    assert several == {"Accuracy: 1": [kept]}
    styler = all_verdicts_table([kept], front, caption="Accuracy")
    assert "difference in points" in [cell.get_text() for cell in rows_of(styler)[1].thead("th")]
    assert texts(styler)[0][1:4] == ["+2.2", "at most 0.5 points lower", "-0.3 to +23.1"]
    assert counts_of([kept, points]) == [
        "1 with an accuracy the same within 0.5 points",
        "1 with an accuracy at most 0.5 points lower",
    ]


def test_every_row_leads_to_where_the_verdict_comes_from(front):
    _, soup = rows_of(all_verdicts_table(in_order(front.verdicts), front))
    links = [link["href"] for link in soup.find_all("a")]
    assert links == ["layout.html#speed-up", "amp.html#speed-up", "layout.html#accuracy", "amp.html#accuracy"]


def test_a_verdict_without_a_page_has_no_link_and_an_older_one_says_so(front):
    (verdict, *_) = front.verdicts
    gone = replace(verdict, study="gone", session=OLDER)
    ((comparison, *_, notebook),), _ = rows_of(all_verdicts_table([gone], front))
    assert comparison.a is None and notebook.get_text() == "gone, earlier session"


def test_a_comparison_without_a_pair_of_runs_has_dashes(front):
    (verdict, *_) = front.verdicts
    nothing = replace(verdict.judgement, speedup=None, low=None, high=None, blocks=0)
    table = [verdict, replace(verdict, judgement=nothing)]
    _, (_, size, _, ends, blocks, _) = texts(all_verdicts_table(table, front))
    assert (size, ends, blocks) == ("—", "—", "0")


def test_where_nothing_has_an_interval_there_is_no_column_for_it_nor_for_the_outcome(front):
    few = [verdict for verdict in front.verdicts if verdict.low is None]
    styler = all_verdicts_table(few, front, caption="First looks")

    assert [cell.get_text() for cell in rows_of(styler)[1].thead("th")] == [
        "comparison",
        "speed-up",
        "blocks",
        "notebook",
    ]
    assert len(texts(styler)) == len(few) == 2


def test_no_verdict_is_a_table_without_rows(front):
    assert texts(all_verdicts_table([], front)) == []


def test_words_from_elsewhere_are_no_html(tmp_path):
    trial = replace(verdicts_of(runs_of("layout"))[0].baseline, model=f"nets/{HOSTILE}.py:build")
    verdict = replace(verdicts_of(runs_of("layout"))[0], baseline=trial, study=HOSTILE)
    ran = ReportNotebook(
        name=HOSTILE, title=HOSTILE, status=HOSTILE, error=HOSTILE, page=f"{HOSTILE}.html", preset=HOSTILE
    )
    front = ReportSummary(
        out=tmp_path,
        verdicts=(verdict,),
        notebooks=(ran, replace(ran, session=OLDER), replace(ran, session=SESSION)),
    )
    for table in (all_verdicts_table([verdict], front), notebook_table(front)):
        soup = BeautifulSoup(table.to_html(), "html.parser")
        assert not soup.find("img") and HOSTILE in soup.get_text()


def test_each_notebook_has_its_question_how_it_ended_and_how_long_it_took(tmp_path):
    notebooks = (
        ReportNotebook(
            name="a", title="Does it pay?", status="ok", seconds=61.0, page="a.html", session=SESSION
        ),
        ReportNotebook(
            name="b", title="b", status="failed", error="KeyError: x", seconds=5.0, session=SESSION
        ),
        ReportNotebook(name="c", title="C?", status="ok", page="c.html", session=OLDER, preset="smoke"),
    )
    table = notebook_table(ReportSummary(out=tmp_path, notebooks=notebooks))

    assert texts(table) == [
        ["ran to its end", "Does it pay?", "1 min 01 s"],
        ["failed", "b KeyError: x", "5 s"],
        ["ran to its end", "C? from an earlier session, preset smoke", "—"],
    ]
    _, soup = rows_of(table)
    assert [link["href"] for link in soup.find_all("a")] == ["a.html", "c.html"]


def test_a_notebook_whose_runs_gave_no_result_says_so_and_why(tmp_path):
    crashed = {"status": Status.CRASHED, "reason": "ValueError: <b>no loss</b>"}
    runs = [*runs_of("layout"), *runs_of("amp", **crashed)]
    write_report(tmp_path, runs, studies=("layout", "amp"), verdicts=[])
    why = "12 of 12 runs gave no result: crashed: ValueError: <b>no loss</b>"
    rows = texts(notebook_table(read_report(tmp_path, tmp_path)))

    assert [row[:2] for row in rows] == [
        ["ran to its end, without a result", f"The question of amp {why}"],
        ["ran to its end", "The question of layout"],
    ]
