"""A verdict read from `verdicts.json` is the one that was written; what is none is refused."""

import json
from dataclasses import replace

import pytest

from scaling_data import make_verdict
from study_data import layout_pair, make_run
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.run import Status
from trainspeed.judge.comparison import Verdict, as_json, compare, judge_runs, verdict_between

SIX = (1.31, 1.34, 1.34, 1.34, 1.34, 1.37)


def by_layout(runs, **more):
    return compare(runs, "layout", "channels_first", "channels_last", question="Does it?", **more)


def with_accuracy(points, **more):
    runs = layout_pair(SIX, **more)
    shares = {"channels_first": 0.5, "channels_last": 0.5 + points / 100}
    return [replace(run, test_accuracy=shares[run.trial.layout]) for run in runs]


def through_a_file(verdicts):
    return [Verdict.from_dict(element) for element in json.loads(json.dumps(as_json(verdicts)))]


CONVOLUTIONS = [
    Conv2dTrial(library=library, mode=mode, images=8, height=8, width=8)
    for library, mode in (("scipy_signal", "loop"), ("torch", "eager"))
]
VERDICTS = {
    "time": by_layout(layout_pair(SIX)),
    "accuracy": by_layout(with_accuracy(-3), quantity="accuracy"),
    "one block": by_layout(layout_pair([1.5])),
    "folds": by_layout([replace(r, trial=replace(r.trial, folds=3)) for r in layout_pair(SIX)]),
    "devices": [make_verdict(1.8)],
    "convolutions": [
        replace(make_verdict(4.0, factor="devices"), baseline=CONVOLUTIONS[0], candidate=CONVOLUTIONS[1])
    ],
}


@pytest.mark.parametrize("name", VERDICTS)
def test_what_is_read_is_what_was_written(name):
    assert len(VERDICTS[name]) == 1
    assert through_a_file(VERDICTS[name]) == VERDICTS[name]
    assert through_a_file(VERDICTS[name])[0].label == VERDICTS[name][0].label


def test_a_verdict_on_accuracy_says_by_which_margin_it_was_judged():
    (verdict,) = VERDICTS["accuracy"]
    strict = replace(verdict, judgement=replace(verdict.judgement, bounds=(-0.1, 0.1)))

    (read,) = through_a_file([strict])
    assert as_json([strict])[0]["margin"] == 0.1 and read.judgement.bounds == (-0.1, 0.1)
    assert "margin" not in as_json(VERDICTS["time"])[0]


@pytest.mark.parametrize("key", [*as_json(VERDICTS["time"])[0]])
def test_an_element_without_a_key_is_refused(key):
    (element,) = as_json(VERDICTS["time"])
    with pytest.raises((KeyError, TypeError, ValueError)):
        Verdict.from_dict({name: value for name, value in element.items() if name != key})


@pytest.mark.parametrize(
    "changed",
    [
        {"outcome": "quicker"},
        {"without_result": -1},
        {"disturbed": -1},
        {"disturbed": "two"},
        {"without_result": "two"},
        {"margin": 0},
        {"margin": "wide"},
        {"quantity": "accuracy"},
        {"baseline": None},
        {"candidate": {"framework": "torch"}},
        {"candidate": {**as_json(VERDICTS["time"])[0]["candidate"], "layout": "sideways"}},
    ],
)
def test_an_element_of_another_version_is_refused(changed):
    (element,) = as_json(VERDICTS["time"])
    with pytest.raises((KeyError, TypeError, ValueError)):
        Verdict.from_dict({**element, **changed})


@pytest.mark.parametrize("element", [None, [], "a verdict", 3])
def test_what_is_no_mapping_is_refused(element):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Verdict.from_dict(element)


def test_a_field_of_a_later_version_is_ignored():
    (element,) = as_json(VERDICTS["time"])
    element = {**element, "colour": "red", "baseline": {**element["baseline"], "moon": "full"}}
    assert Verdict.from_dict(element) == VERDICTS["time"][0]


def test_blocks_that_others_disturbed_are_in_the_file_where_there_are_any():
    verdict = VERDICTS["time"][0]
    some = replace(verdict, judgement=replace(verdict.judgement, disturbed=3))

    assert through_a_file([some]) == [some] and as_json([some])[0]["disturbed"] == 3
    assert "disturbed" not in as_json([verdict])[0]


# How two trials' runs are judged.


def arms(runs):
    return [[r for r in runs if r.trial.layout == layout] for layout in ("channels_first", "channels_last")]


def test_two_arms_are_judged_block_by_block_as_in_a_verdict():
    runs = layout_pair(SIX)
    (verdict,) = by_layout(runs)
    assert judge_runs(*arms(runs)) == verdict.judgement
    first, last = arms(runs)
    assert judge_runs(first, last[::-1]) == verdict.judgement, "whatever their order"
    assert verdict_between(first, last, "layout", "Does it?") == verdict


def test_blocks_of_which_one_run_failed_are_left_out():
    first, last = arms(layout_pair(SIX))
    last[2] = make_run(block=2, layout="channels_last", status=Status.CRASHED)
    assert (judge_runs(first, last).blocks, judge_runs(first, []).speedup) == (5, None)
    first[4] = make_run(block=4, layout="channels_first", status=Status.TIMEOUT)
    (lost,) = by_layout([*first, *last])
    assert (lost.blocks, lost.without_result) == (4, 2)
    assert lost.sentence.endswith(", 4 blocks, 2 blocks without a result.")
    assert through_a_file([lost]) == [lost] and as_json([lost])[0]["without_result"] == 2


def test_blocks_that_one_trial_alone_was_to_run_or_that_failed_in_both_are_not_counted_as_lost():
    first, last = arms(layout_pair(SIX))
    failed = [
        make_run(block=2, layout=run.trial.layout, status=Status.CRASHED) for run in (first[0], last[0])
    ]
    (verdict,) = by_layout([*first[:2], failed[0], *first[3:], *last[:2], failed[1], *last[3:5]])
    assert (verdict.blocks, verdict.without_result) == (4, 0)
    assert verdict.sentence.endswith(", 4 blocks.") and "without_result" not in as_json([verdict])[0]


@pytest.mark.parametrize(("margin", "outcome"), [(0.5, "worse"), (5.0, "same")])
def test_accuracy_may_have_a_margin_of_its_own(margin, outcome):
    found = judge_runs(*arms(with_accuracy(-3)), "accuracy", margin)
    assert found.speedup == pytest.approx(-3)
    assert found.outcome == outcome


def test_a_verdict_on_accuracy_says_whether_it_was_kept_as_its_sentence_does():
    """Its outcome alone, which wants an interval beside both margins, is undecided where a one-sided claim holds."""
    runs = layout_pair(SIX)
    higher = [0.0, 0.0, 0.02, 0.05, 0.1, 0.2]
    kept = [
        replace(run, test_accuracy=0.8 + higher[run.block] * (run.trial.layout == "channels_last"))
        for run in runs
    ]
    (verdict,) = by_layout(kept, quantity="accuracy")
    (element,) = as_json([verdict])

    assert (element["outcome"], element["equality"], element["baseline_range"]) == (
        "undecided",
        "no worse",
        0,
    )
    assert "not lower" in element["sentence"]
    assert "equality" not in as_json(VERDICTS["time"])[0]


def test_what_is_uneven_is_so_when_read_again_and_a_file_without_the_range_reads():
    (verdict,) = VERDICTS["accuracy"]
    uneven = replace(verdict, judgement=replace(verdict.judgement, high=9.0, baseline_range=30.0))
    (element,) = as_json([uneven])

    assert element["equality"] == "undecided" and through_a_file([uneven])[0].judgement.baseline_range == 30
    del element["baseline_range"], element["equality"]
    assert Verdict.from_dict(element).judgement.baseline_range is None
    with pytest.raises(ValueError):
        Verdict.from_dict({**element, "baseline_range": -1})
