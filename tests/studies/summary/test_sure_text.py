"""The front page's sentences on how sure its verdicts are, and what was measured on, with what, how long."""

from dataclasses import replace

from front_data import NOTHING, OLDER, SESSION, of_runs, report_of, runs_of, verdicts_of
from study_data import control_runs, make_run
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import controls
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.text import (
    chart_rows,
    data_sentences,
    duration_sentences,
    headline_sentences,
    older_sentences,
)


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


# How sure that is.


def test_the_headline_counts_the_outcomes_and_the_false_ones_to_expect():
    verdicts = [*[verdict(2.0)] * 2, verdict(0.5), accuracy(0), verdict(2.0, blocks=5)]

    first, folded, second, third = headline_sentences(report_of(*verdicts))

    assert first == "3 verdicts on switches, with an interval: 2 faster, 1 slower."
    assert folded == (
        "1 more with an interval, in tables of their own below, on accuracy: 1 with an accuracy the same within 0.5 "
        "points."
    )
    assert second.startswith("At this confidence up to 0.2 of these intervals miss")
    assert third.startswith("1 comparison had fewer than 6 blocks and so no interval")
    again = [
        Confirmed(first=verdicts[2], again=verdict(1.0)),
        Confirmed(first=verdicts[0], again=verdicts[0]),
    ]
    told, *_ = headline_sentences(report_of(*verdicts), again)
    assert told == "3 verdicts on switches, with an interval: 2 faster, 1 undecided (1 not confirmed)."


def test_the_headline_knows_one_and_none():
    assert headline_sentences(report_of())[0].startswith("No verdict yet")
    (one,) = headline_sentences(report_of(verdict(blocks=2)))
    assert one.startswith("1 comparison had fewer than 6 blocks and so no interval")
    assert headline_sentences(report_of(verdict()))[0] == "1 verdict on switches, with an interval: 1 faster."


def test_what_is_folded_is_not_counted_among_the_switches():
    """Else "nothing is slower" would stand beside "1 slower", which is a framework."""
    slow = replace(verdict(0.5), factor="framework")
    control = controls(RunSet(tuple(control_runs([1.0] * 6))))
    single = verdicts_of(runs_of("conv2d", 4.0))[0]

    assert headline_sentences(report_of(verdict(), slow, *control, single))[:2] == [
        "1 verdict on switches, with an interval: 1 faster.",
        "3 more with an interval, in tables of their own below, on single convolutions, frameworks and controls: "
        "1 faster, 1 slower, 1 same.",
    ]
    (alone, *_) = headline_sentences(report_of(slow))
    assert alone == "1 verdict with an interval, in tables of their own below, on frameworks: 1 slower."


def test_the_chart_has_times_with_an_interval_under_names_that_stand_alone():
    assert chart_rows([verdict(blocks=2), accuracy(0)]) == []
    (row,) = chart_rows([verdict(1.5)])
    assert row["label"] == "channels_last vs channels_first, PyTorch, cnn10, batch 32"
    assert (row["outcome"], row["blocks"]) == (Outcome.FASTER, 6)
    assert row["low"] <= row["speedup"] <= row["high"]


# What was measured on, with what, how long.


def test_the_time_of_drawing_is_not_that_of_measuring():
    fresh = ReportNotebook(name="a", title="", status="ok", seconds=100.0)
    drawn = ReportNotebook(name="b", title="", status="ok", seconds=300.0, rendered=True)
    unknown = ReportNotebook(name="c", title="", status="interrupted")
    own = make_run(stages_s={"start": 5.0, "train": 40.0})

    assert duration_sentences(report_of(notebooks=(fresh, unknown)), NOTHING) == [
        "1 notebook measured for 1 min 40 s."
    ]
    assert duration_sentences(report_of(notebooks=(drawn,) * 2), of_runs(own)) == [
        "2 notebooks, drawn again from runs that took 10 min 00 s.",
        "The confirmations took 45 s.",
    ]
    summary = ReportNotebook(name="summary", title="", status="failed", seconds=20.0)  # its runs are counted
    assert duration_sentences(report_of(notebooks=(unknown, summary)), NOTHING) == []


def test_the_data_are_those_that_were_trained_on(tmp_path):
    runs = (make_run(dataset="cifar10"), make_run(dataset="mnist", part="matmul"))
    assert data_sentences(
        ReportSummary(out=tmp_path, runs=RunSet(runs)), of_runs(make_run(dataset="digits"))
    ) == ["Trained on: CIFAR-10, the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)."]
    (tmp_path / "runs.csv").write_text("")
    assert data_sentences(ReportSummary(out=tmp_path), NOTHING) == [
        "Nothing was trained in this report.",
        "Beside this page: [runs.csv](runs.csv).",
    ]


def test_confirmations_of_an_earlier_session_says_so_and_a_newer_one_does_not():
    front = report_of(notebooks=(ReportNotebook(name="x", title="", status="ok", session=SESSION),))
    assert older_sentences(front, of_runs(make_run(), session=OLDER)) == [
        f"Measured in an earlier session, {OLDER}."
    ]
    assert older_sentences(front, of_runs(make_run())) == []
    assert older_sentences(front, of_runs(make_run(), session="20270101T000000Z-abcd")) == []
    assert older_sentences(front, of_runs(session=OLDER)) == []  # nothing to be old
