"""Which library the front page calls the fastest."""

from dataclasses import replace

import pytest

from conv2d_data import make_run, make_trial
from front_data import report_of, runs_of, verdicts_of
from trainspeed.conduct.context import Context
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import verdict_between
from trainspeed.judge.fastest import (
    against_each,
    fastest_against_next,
    fastest_library,
    on_several_devices,
)
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary import plan
from trainspeed.studies.summary.cards import card_rows
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import slower_sentences, switch_sentences
from trainspeed.studies.summary.glance import study_sentences

SCIPY, OPENCV, TORCH, GRAPH = "scipy_signal", "opencv", "torch", "tensorflow"


def compared(baseline, candidate, ratio, **changed):
    """Return a verdict on two libraries: the candidate is so many times as fast."""
    sides = [(make_trial(baseline, **changed), 1.0), (make_trial(candidate, **changed), 1.0 / ratio)]
    arms = [[make_run(trial, seconds, block=block) for block in range(6)] for trial, seconds in sides]
    return replace(verdict_between(*arms, "library", "?"), study="conv2d")


def undecided(verdict):
    return replace(verdict, judgement=replace(verdict.judgement, outcome=Outcome.UNDECIDED))


WORLD = (
    compared(SCIPY, GRAPH, 3.5),
    compared(OPENCV, GRAPH, 1 / 2.6),
    compared(SCIPY, TORCH, 3.4),
    compared(OPENCV, TORCH, 1 / 2.8),
    compared(GRAPH, TORCH, 1.0),
)


def test_the_one_that_loses_to_none_is_told_with_those_that_it_beats():
    found = fastest_library(WORLD)

    assert found.words == (
        "OpenCV filter2D, 2.6x to 2.8x as fast as TensorFlow (graph) and PyTorch, for 840 images of 100×100, 1 "
        "channel, 1 filter, 3×3"
    )
    (said,) = study_sentences(report_of(*WORLD))
    assert "fastest with 1 channel **OpenCV filter2D**, 2.6x to 2.8x as fast as 2 others." in said
    assert fastest_library(WORLD[:1]).times == "3.5x"


@pytest.mark.parametrize(
    "verdicts",
    [
        (),
        (WORLD[0], WORLD[2]),
        (*WORLD, compared(SCIPY, GRAPH, 3.5, images=12)),
        [undecided(verdict) for verdict in WORLD],
        (compared(GRAPH, TORCH, 1.5), undecided(compared(GRAPH, OPENCV, 2.7))),
        (compared(GRAPH, TORCH, 1.0), compared(SCIPY, GRAPH, 3.4), undecided(compared(SCIPY, TORCH, 5.5))),
    ],
    ids=["nothing", "two that beat another", "two sizes", "undecided", "one of three", "equal to another"],
)
def test_without_one_that_all_others_lose_to_none_is_told(verdicts):
    assert fastest_library(verdicts) is None


def test_the_fastest_is_what_to_switch_on_whichever_side_of_its_pairs_it_is():
    report = report_of(*WORLD, *verdicts_of(runs_of("layout", 1.3)))
    (told,) = [said for said in switch_sentences(report) if "Single" in said]

    assert told.startswith(
        "Single convolutions: OpenCV filter2D, 2.6x to 2.8x as fast as TensorFlow (graph) and PyTorch; slowest "
        "scipy.signal.convolve2d: "
    )
    assert told.endswith("; nothing to switch on in a training."), "it has no gradients"
    assert "Single" not in " ".join(slower_sentences(report)), (
        "nobody trains with it, so nobody switches it off"
    )
    refuted = [Confirmed(first=WORLD[0], again=replace(WORLD[0], judgement=WORLD[-1].judgement))]
    (told,) = [said for said in switch_sentences(report, refuted) if "Single" in said]
    assert told.startswith(
        "Single convolutions: 1 faster, 1 undecided (1 not confirmed), the largest difference 3.50x"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ({TORCH: 0.9}, "; by medians PyTorch is faster on 2 cores."),
        ({TORCH: 1.1, GRAPH: 1.2}, "; by medians no other is faster on 2 cores."),
        ({}, "."),
    ],
)
def test_where_the_fastest_holds_on_one_core_it_is_told_what_several_do(seconds, said):
    runs = [make_run(make_trial(OPENCV), 1.0), make_run(make_trial(TORCH), 2.8)]
    runs += [make_run(make_trial(library, devices=2), s) for library, s in seconds.items()]
    runs += [make_run(make_trial(TORCH, devices=2, images=12), 0.1)]

    (line,) = study_sentences(report_of(*WORLD, runs=runs))
    assert line.endswith(f"2.6x to 2.8x as fast as 2 others, on 1 core{said}")
    on_both = [make_run(make_trial(GRAPH, devices=n), 1.0 / n) for n in (1, 2)]
    found = fastest_library([compared(TORCH, GRAPH, 3.0)])
    assert on_several_devices(found, RunSet((*runs[:1], *on_both))) == "", "the same is first there"


def test_the_fastest_against_the_next_is_measured_again_before_larger_differences(monkeypatch, tmp_path):
    """The slowest library tells no reader which one to take."""
    monkeypatch.setattr(plan, "devices_here", lambda study: (1, "CPU core"))
    monkeypatch.setattr(plan, "current", lambda: Context(id="s", out=tmp_path))
    resident = replace(compared(OPENCV, GRAPH, 9.0), factor="residency")

    def chosen(*verdicts):
        report = report_of(*verdicts)
        return plan.plan_summary(report=report, drawn=False, confirm=1, confirm_blocks=6, seed=0).top

    assert fastest_against_next(WORLD) == [WORLD[1]]
    assert chosen(*WORLD) == chosen(*WORLD, resident) == [WORLD[1]]
    assert chosen(*map(undecided, WORLD[1:]), WORLD[0]) == [WORLD[0]], "none is the fastest"


def test_the_chart_of_its_card_is_of_the_fastest_against_each_as_the_words_are():
    """Beside "2.6x to 2.8x as fast" stood marks at 0.36x and 0.38x, of the others against it."""
    drawn = against_each(fastest_library(WORLD), WORLD)
    rows = card_rows(drawn)

    assert [verdict.candidate.library for verdict in drawn] == [OPENCV, OPENCV]
    assert [*rows["label"]] == ["OpenCV filter2D vs PyTorch", "OpenCV filter2D vs TensorFlow (graph)"]
    assert [*rows["value"]] == pytest.approx([2.8, 2.6])
    assert all(rows["low"] <= rows["value"]) and all(rows["value"] <= rows["high"])
    assert {*rows["kind"]} == {str(Outcome.FASTER)}
