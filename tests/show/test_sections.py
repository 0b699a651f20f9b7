"""What a section shows beside its chart: of what is drawn, and of nothing else."""

from functools import partial
from pathlib import Path

import pytest

from study_data import control_runs, layout_pair, make_run
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.run import Status
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import compare, controls
from trainspeed.judge.verdict import Outcome
from trainspeed.show import sections
from trainspeed.show.no_answer import lack_of


def judged(*runs):
    several = [run for some in runs for run in some]
    return compare(several, "layout", "channels_first", "channels_last", question="Does it?")


SURE, FEW = layout_pair([1.3] * 6), layout_pair([1.5], batch_size=64)


@pytest.fixture
def shown(monkeypatch):
    """A function that calls a section, and returns the title of its chart and what is written beside it."""

    def call(section, *verdicts, **more):
        said, titles = [], []
        monkeypatch.setattr(sections, "display", lambda one, **_: said.append(str(one.data)))
        monkeypatch.setattr(sections, "show", lambda ax, alt: titles.append(ax.figure.get_suptitle()))
        section(*verdicts, alt="a chart", **more)
        (title,) = titles
        return " ".join(title.split()), " ".join(said)

    return call


def test_the_title_of_an_answers_chart_counts_what_is_drawn(shown):
    title, said = shown(sections.answer, judged(SURE, FEW), [])

    assert title == "channels_last vs channels_first: faster"
    assert "hollow" not in said and "a first look" in said and "1.50x" in said
    on_cores, _ = shown(partial(sections.answer, on_cores=True), judged(SURE), [])
    assert on_cores == f"{title} (a device is one core)"


def test_what_cannot_be_answered_here_is_said_first(shown):
    _, said = shown(sections.answer, judged(FEW), [], unanswered=["Not measured here."])
    assert said.startswith("Not measured here.\n\nNothing is decided")


@pytest.mark.parametrize(
    ("verdicts", "control"),
    [(judged(FEW), []), (judged(SURE), controls(control_runs([1.0])))],
    ids=["no interval at all", "a control of one block"],
)
def test_a_hollow_mark_is_explained_where_one_is_drawn(shown, verdicts, control):
    assert "a hollow mark has too few blocks for one. Inside" in shown(sections.answer, verdicts, control)[1]


def test_controls_are_explained_only_where_there_is_one(shown):
    assert "controls" not in shown(sections.answer, judged(SURE), [])[1]
    assert "The controls are" in shown(sections.answer, judged(SURE), controls(control_runs([1.0] * 6)))[1]


def test_speedups_explain_a_hollow_mark_only_where_one_is_drawn(shown):
    assert "hollow" not in shown(sections.speedups, judged(SURE))[1]
    assert "hollow" in shown(sections.speedups, judged(SURE, FEW))[1]


def learned(gains):
    """Return the verdicts on accuracy of blocks with these gains, in points."""
    runs = [
        make_run(layout=layout, block=block, test_accuracy=0.8 + points / 100)
        for block, gain in enumerate(gains)
        for layout, points in (("channels_first", 0.0), ("channels_last", gain))
    ]
    return compare(runs, "layout", "channels_first", "channels_last", question="", quantity="accuracy")


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ([], "Accuracy: not compared."),
        ([2.0, -2.0] * 2, "accuracy: +0.0 points, a first look (at most 4 blocks, no interval)."),
        (
            [2.0, -2.0] * 3,
            "Accuracy: undecided for PyTorch, cnn10 (+0.0 points, -2.0 to +2.0), and no reasonable number of blocks "
            "decides it.",
        ),
        (
            [5.0, -1.0, 5.0, 5.0, 5.0, 6.0],
            "Accuracy: undecided for PyTorch, cnn10 (+5.0 points, -1.0 to +6.0): `accuracy_blocks: 9` would decide it, "
            "if the difference is as large as it looks now.",
        ),
        ([0.1, -0.1] * 3, "channels_last vs channels_first, accuracy: the same within 0.5 points."),
    ],
)
def test_an_answer_says_what_is_known_of_accuracy_where_it_may_suffer(shown, gains, said):
    _, text = shown(partial(sections.answer, accuracy=learned(gains)), judged(SURE), [])
    assert said in text
    assert "ccuracy" not in shown(sections.answer, judged(SURE), [])[1]


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            [0.1, -0.1] * 3,
            "the same within 0.5 points; not compared for mobilenet in PyTorch, which had not learned.",
        ),
        ([], "Accuracy: not compared for mobilenet in PyTorch, which had not learned."),
    ],
)
def test_an_answer_names_what_had_not_learned_and_has_no_accuracy_to_lose(shown, gains, said):
    section = partial(sections.answer, accuracy=learned(gains), untrained=["mobilenet in PyTorch"])
    assert said in shown(section, judged(SURE), [])[1]


@pytest.mark.parametrize("verdicts", [judged(SURE), judged(FEW)], ids=["decided", "nothing decided"])
def test_an_answer_with_a_gain_leads_to_what_fresh_blocks_say_of_it(shown, verdicts):
    said = shown(sections.answer, verdicts, [])[1]

    gained = any(verdict.outcome is Outcome.FASTER for verdict in verdicts)
    assert ("(index.html#measured-again-in-fresh-blocks)" in said) is gained


def test_by_hand_an_answer_names_the_notebook_that_measures_a_gain_again(shown):
    measured = Measured((), "layout", "s", out=Path(), folder=Path(), by_hand=True)
    said = shown(partial(sections.answer, measured=measured), judged(SURE), [])[1]

    assert "`summary.ipynb` measures the largest gains again" in said and "index.html" not in said


@pytest.mark.parametrize("verdicts", [judged(SURE), judged(FEW)], ids=["decided", "nothing decided"])
def test_an_answer_names_the_comparison_that_it_had_no_time_for(shown, verdicts):
    arm = make_run(framework="tensorflow").trial.as_dict()
    group = GroupCoverage(part="core", core=True, trials=(arm,), blocks=0, most=6)
    covered = Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=(group,))

    measured = Measured((), "layout", "s", out=Path(), folder=Path(), coverage=covered)

    said = shown(partial(sections.answer, measured=measured), verdicts, [])[1]

    assert (
        "TensorFlow, cnn10: no time for its own blocks here: `make report NOTEBOOKS=layout BUDGET=3m`."
        in said
    )


def test_where_no_run_gave_a_result_the_answer_is_why(shown):
    """It said that no comparison has 6 blocks, so that a reader asked for more of them."""
    broken = make_run(status=Status.CRASHED, reason="train.py:build raised KeyError")
    refused = make_run(block=1, status=Status.UNSUPPORTED, reason="this CPU has no bf16 arithmetic")

    def said(*runs):
        measured = Measured(runs, "layout", runs[0].session, out=Path(), folder=Path())
        return shown(partial(sections.answer, measured=measured), judged(FEW), [])[1]

    assert said(broken).startswith(
        "Nothing was measured: 1 of 1 run gave no result: crashed: train.py:build raised KeyError."
    )
    some = said(broken, refused, make_run(block=2))
    assert some.startswith("Nothing is decided: ") and "Not to be had here: this CPU has no bf16" in some
    assert "1 of 3 runs gave no result: crashed: train.py:build raised KeyError." in some


def test_where_nothing_can_be_compared_here_no_more_blocks_are_asked_for(shown):
    refused = make_run(status=Status.UNSUPPORTED, reason="this CPU has no bf16 arithmetic")
    runs = (refused, make_run(block=1))
    measured = Measured(runs, "amp", refused.session, out=Path(), folder=Path())
    said = shown(partial(sections.answer, measured=measured), [], [])[1]
    assert said.startswith("Not to be had here: this CPU has no bf16 arithmetic.")


def test_reasons_that_differ_in_a_word_are_one():
    """The first screen of a report said that a CPU had no bf16 arithmetic; that it had no fp16 arithmetic."""
    runs = [
        make_run(status=Status.UNSUPPORTED, reason=f"this CPU has no {name} arithmetic (no flag {name})")
        for name in ("bf16", "fp16")
    ]
    assert lack_of(runs, brief=True) == "Not to be had here: this CPU has no bf16 or fp16 arithmetic."


def test_controls_stand_below_the_doubts_and_are_none_of_them(monkeypatch):
    said = []
    for module in (sections, sections.notebook):
        monkeypatch.setattr(module, "display", lambda one, **_: said.append(one.data))
    runs = tuple(control_runs([0.99, 1.01] * 3))
    measured = Measured(runs, "layout", runs[0].session, out=Path(), folder=Path())

    sections.doubts(measured, controls(runs))
    assert said[1:3] == ["None found.", sections.HOW_TO_READ_CONTROLS] and "vs itself" in said[3]
    said.clear()
    sections.doubts(measured, controls(runs[:2]))
    assert len(said) == 2, "too few blocks for an interval is a doubt, and shows no noise"
