"""The front page's sentences: each computed, each readable, whatever was or was not measured."""

from dataclasses import replace

import pytest

from front_data import OLDER, SESSION, report_of, runs_of, verdicts_of
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import (
    MAX_SENTENCES,
    shared_sentences,
    shared_words_of,
    slower_sentences,
    switch_sentences,
    unsaid_words,
)
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.undecided import nothing_undecided, undecided_sentences


def verdict(ratio=1.3, *, study="layout", blocks=6, **more):
    made = verdicts_of(runs_of("layout" if study == "switches" else study, ratio, blocks=blocks))[0]
    return replace(made, study=study, **more)


def accuracy(points):
    """Return a verdict on accuracy."""
    runs = [
        replace(run, test_accuracy=0.9 + (points / 100 if run.trial.layout == "channels_last" else 0))
        for run in runs_of("layout")
    ]
    return verdicts_of(runs)[1]


# What to switch on.


def test_the_largest_gain_comes_first_with_its_interval_and_its_place():
    first, second = switch_sentences(report_of(verdict(1.2), verdict(2.0)))

    assert first == (
        "**2.00x** (2.00 to 2.01), faster: channels\\_last vs channels\\_first, PyTorch, cnn10, batch 32 "
        "([layout](layout.html))."
    )
    assert second.startswith("**1.20x**")


def test_a_verdict_without_a_page_is_named_without_a_link_and_an_older_one_says_so():
    front = report_of(
        verdict(session=OLDER),
        notebooks=(ReportNotebook(name="x", title="", status="ok", session=SESSION),),
    )
    assert switch_sentences(front)[0].endswith("(layout, from an earlier session).")


def test_many_gains_are_cut_to_those_that_a_reader_takes_in():
    sentences = switch_sentences(report_of(*(verdict(1.1 + step / 10) for step in range(MAX_SENTENCES + 2))))

    assert len(sentences) == MAX_SENTENCES + 1
    assert sentences[-1] == "2 smaller gains: in the [table](#every-verdict)."
    one_more = switch_sentences(report_of(*(verdict(1.1 + step / 10) for step in range(MAX_SENTENCES + 1))))
    assert one_more[-1] == "1 smaller gain: in the [table](#every-verdict)."


def test_a_gain_that_fresh_blocks_did_not_show_again_does_not_pass_for_one():
    held, lost, failed = verdict(2.0), verdict(1.5), verdict(1.2)
    confirmed = [
        Confirmed(first=held, again=verdict(2.0)),
        Confirmed(first=lost, again=verdict(0.9)),
        Confirmed(first=failed, again=None, reason="oom"),
    ]
    report = report_of(held, lost, failed)
    first, third = switch_sentences(report, confirmed)

    place = " in [fresh blocks](#measured-again-in-fresh-blocks)"
    assert first.endswith(f"([layout](layout.html)); confirmed{place}, 2.00x at first.")
    assert third.endswith("([layout](layout.html)).")
    open_, *_ = undecided_sentences(report, confirmed)
    assert "1.50x (1.50 to 1.51) at first, 0.902x (0.900 to 0.904) in 6 fresh blocks: not confirmed" in open_
    assert open_.endswith(" A longer BUDGET has more fresh blocks.")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "Nothing is decided: a verdict needs 6 blocks or more."),
        ([verdict(2.0, blocks=5)], "Nothing is decided: a verdict needs 6 blocks or more."),
        ([verdict(2.0, factor="control")], "Nothing is decided: a verdict needs 6 blocks or more."),
        ([verdict(0.5)], "Nothing that was compared was found to be faster here than a plain script."),
        ([verdict(1.0)], "Nothing that was compared was found to be faster here than a plain script."),
    ],
)
def test_without_a_gain_it_says_whether_anything_is_decided(verdicts, sentence):
    assert switch_sentences(report_of(*verdicts)) == [sentence]


def test_what_has_an_interval_and_is_undecided_is_not_said_to_lack_blocks():
    assert switch_sentences(report_of(verdict(1.02))) == ["What was compared is undecided."]
    report = report_of(verdict(1.02), verdict(1.1, factor="recipe"))
    assert switch_sentences(report) == ["What else was compared is undecided."]
    assert switch_sentences(report_of(verdict(2.0, blocks=5), verdict(1.1, factor="recipe"))) == []


def test_beside_a_search_that_found_something_nothing_else_is_said_to_be_faster():
    report = report_of(verdict(0.5), verdict(1.1, factor="recipe"))
    assert report.recipes
    said = [
        "Beside what the search kept, nothing that was compared was found to be faster here than a plain script."
    ]
    assert switch_sentences(report) == said


def test_what_all_names_share_is_said_once_above_the_list():
    verdicts = [verdict(2.0), verdict(1.5), replace(verdict(1.2), candidate=verdict().candidate)]
    shared = shared_words_of(verdicts)

    assert shared_sentences(report_of(*verdicts)) == ["All trainings below: PyTorch, cnn10, batch 32."]
    first, *_ = switch_sentences(report_of(*verdicts), unsaid=shared)
    assert first.startswith("**2.00x** (2.00 to 2.01), faster: channels\\_last vs channels\\_first (")
    assert shared_sentences(report_of(*verdicts[:2])) == []  # so few lines are no list
    (said,) = shared_sentences(report_of(*verdicts, runs=runs_of("layout")))
    assert said.startswith("All trainings below: Test CPU (1 core), PyTorch 2.15.0, cnn10")


def test_of_no_gain_in_the_list_nothing_is_said_to_be_shared():
    """Where a search alone found gains, or only losses are listed: these have their whole names then."""
    slower = [verdict(0.5, baseline=replace(verdict().baseline, batch_size=size)) for size in (8, 16, 32)]
    report = report_of(verdict(1.5, factor="recipe"), *slower)

    assert shared_sentences(report) == unsaid_words(report) == []
    assert unsaid_words(report_of(verdict(1.5), *slower)) != []


def test_undecided_comes_with_the_blocks_the_time_and_the_command():
    runs = runs_of("layout", 1.3, blocks=2)
    (said,) = undecided_sentences(report_of(*verdicts_of(runs)[:1], runs=runs))

    assert said.startswith(
        "layout: channels_last vs channels_first, PyTorch, cnn10, batch 32. 6 blocks in all, about "
    )
    assert "`make report NOTEBOOKS=layout BUDGET=" in said and said.endswith(
        "m PARAMS='layout: {blocks: 6}'`."
    )
    assert undecided_sentences(report_of(verdict(2.0))) == undecided_sentences(report_of()) == []
    assert nothing_undecided(report_of(verdict(2.0))) == "All that was compared in enough blocks is decided."
    assert nothing_undecided(report_of()).startswith("Nothing was compared in enough blocks: see ")
    open_ = replace(verdict(blocks=2), study="switches", factor="recipe")
    assert undecided_sentences(report_of(open_))[0].endswith(
        ": `make report NOTEBOOKS=switches BUDGET=1m PARAMS='switches: {confirm_blocks: 6}'`."
    )


def test_what_no_number_of_blocks_decides_is_one_sentence_for_all_studies():
    near = replace(verdict(1.02).judgement, speedup=1.019, low=1.0, high=1.04, outcome=Outcome.UNDECIDED)
    verdicts = [replace(verdict(study=study), judgement=near) for study in ("layout", "amp")]

    assert undecided_sentences(report_of(*verdicts)) == [
        "Differences that the noise here hides, for which more than 45 blocks would be needed: layout (1), amp (1). "
        "Take what is simpler."
    ]


def test_what_lies_at_the_edge_of_the_margin_is_told_with_its_size_and_not_as_noise():
    edge = replace(verdict(1.02).judgement, speedup=0.98, low=0.9783, high=0.9828, outcome=Outcome.UNDECIDED)
    (said,) = undecided_sentences(report_of(replace(verdict(), judgement=edge)))

    assert said.startswith("layout: channels_last vs channels_first, ")
    assert "0.980x (0.978 to 0.983), about 2 % slower, at the edge of the 2 % margin" in said


def test_what_is_too_small_by_itself_and_pays_with_others_is_not_to_be_left_out():
    near = replace(verdict(1.02).judgement, speedup=1.019, low=1.0, high=1.04, outcome=Outcome.UNDECIDED)
    alone = replace(verdict(), judgement=near)
    whole = replace(verdict(1.7), study="switches", factor="recipe")

    assert undecided_sentences(report_of(alone, whole)) == [
        "Differences that the noise here hides, for which more than 45 blocks would be needed: layout (1); by "
        "themselves: they are part of what pays together."
    ]


def test_a_gain_of_a_precision_is_told_with_its_accuracy():
    faster, points, *_ = verdicts_of(runs_of("amp"))

    (said,) = switch_sentences(report_of(faster))
    assert said.endswith("; accuracy not compared.")
    (said,) = switch_sentences(report_of(faster, points))
    assert "; accuracy " in said and "not compared" not in said
    assert "accuracy" not in switch_sentences(report_of(verdict(1.3)))[0]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (
            -1.0,
            0.4,
            "switches: the accuracy of PyTorch, cnn10 (+0.0 points, -1.0 to +0.4) is undecided: its whole interval "
            "would have to lie above -0.5 points. 24 blocks in all would decide it, if the difference is as large "
            "as it looks "
            "now: `make report NOTEBOOKS=switches BUDGET=1m PARAMS='switches: {confirm_blocks: 24}'`.",
        ),
        (  # only the end towards the margin counts
            -1.0,
            38.0,
            "switches: the accuracy of PyTorch, cnn10 (+0.0 points, -1.0 to +38.0) is undecided: its whole interval "
            "would have to lie above -0.5 points. 24 blocks in all would decide it, if the difference is as large "
            "as it looks "
            "now: `make report NOTEBOOKS=switches BUDGET=1m PARAMS='switches: {confirm_blocks: 24}'`.",
        ),
        (
            -9.0,
            8.0,
            "switches: the accuracy of PyTorch, cnn10 (+0.0 points, -9.0 to +8.0) is undecided: its whole interval "
            "would have to lie above -0.5 points; no reasonable number of blocks here decides it.",
        ),
    ],
)
def test_an_undecided_accuracy_comes_with_the_blocks_and_the_command(low, high, said):
    whole = verdict(1.5, study="switches", factor="recipe")
    size = {"speedup": 0.0, "low": low, "high": high, "bounds": None, "outcome": Outcome.UNDECIDED}
    points = replace(whole, quantity="accuracy", judgement=replace(whole.judgement, **size))

    assert undecided_sentences(report_of(whole, points)) == [said]
    slower = replace(whole, judgement=replace(whole.judgement, outcome=Outcome.SLOWER))
    assert undecided_sentences(report_of(slower, points)) == [], "nobody switches that on"


def test_what_a_plain_script_has_is_named_as_no_gain_unless_fresh_blocks_refute_it():
    default = replace(verdict(1.3), candidate=replace(verdict().candidate, framework="jax"))
    cores = verdict(1.8, factor="devices")
    left = replace(verdict().baseline, levers=[("malloc_thresholds", "off")])
    own = replace(verdict(1.1, factor="levers"), candidate=left)
    runs = tuple(runs_of("multi_gpu", machine={"device": "cpu", "cpu": "Test CPU"}))
    report = report_of(default, cores, runs=runs)

    (said,) = slower_sentences(report_of(own, runs=runs))
    assert said.endswith("; a plain script has it by itself: nothing to switch on.")
    one, other = slower_sentences(report)
    assert one.endswith(") over one core; a plain script uses all of them, which was not compared.")
    assert other.endswith("; JAX has it by itself: leave it so.")
    assert slower_sentences(report, [Confirmed(first=cores, again=verdict(0.9))]) == [other]
    assert switch_sentences(report) == [
        "Nothing that was compared was found to be faster here than a plain script."
    ]


def test_losses_of_time_come_first_the_largest_on_top_then_of_accuracy_then_what_is_the_same():
    verdicts = [accuracy(-0.9), verdict(1.0), verdict(0.8), verdict(0.3), verdict(3.0), accuracy(0.9)]

    sentences = slower_sentences(report_of(*verdicts))

    starts = [sentence.partition(":")[0] for sentence in sentences]
    assert starts == [
        "**0.301x** (0.300 to 0.301), slower",
        "**0.802x** (0.800 to 0.804), slower",
        "**-0.9 points** (-0.9 to -0.9), worse",
        "**1.002x** (1.000 to 1.005), the same within the margin",
    ]
    assert slower_sentences(report_of(verdict(3.0))) == []


def test_convolutions_lose_after_trainings():
    verdicts = [replace(verdict(0.9, study="conv2d"), judgement=verdict(0.2).judgement), verdict(0.7)]
    (first,) = slower_sentences(report_of(*verdicts))
    *_, fastest = switch_sentences(report_of(*verdicts))
    assert (
        first.startswith("**0.702x**") and fastest.startswith("Single convolutions: ") and "conv2d" in fastest
    )
    _, unsure = slower_sentences(report_of(*verdicts), [Confirmed(first=verdicts[0], again=verdict(1.0))])
    assert unsure.startswith("Single convolutions: 1 undecided (1 not confirmed), the largest")


def test_no_difference_has_a_sign_of_its_own():
    tiny = accuracy(0)
    small = replace(tiny, judgement=replace(tiny.judgement, speedup=-0.01, low=-0.9, high=-0.6))
    worse = replace(small, judgement=replace(small.judgement, outcome=Outcome.WORSE))
    assert slower_sentences(report_of(worse))[0].startswith("**+0.0 points** (-0.9 to -0.6)")
