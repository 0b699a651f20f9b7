"""Where the front page's links lead, in which order its verdicts stand, and what is told apart."""

from dataclasses import replace

import pytest

from conv2d_data import CORE
from conv2d_data import make_run as make_conv2d_run
from front_data import runs_of, shows, verdicts_of, write_notebook, write_report
from trainspeed.judge.comparison import verdict_between
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary, in_order, read_report


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def verdict(ratio=1.3, study="layout", factor="layout", **more):
    """Return a verdict on time with an interval; fields of the verdict among `more` are set."""
    return replace(verdicts_of(runs_of(study, ratio))[0], factor=factor, **more)


# Places.


def test_a_verdict_leads_to_the_section_that_shows_it_first_and_else_to_its_page(out):
    time, accuracy, *_ = write_report(out, runs_of("layout"), studies=["layout"])
    sections = [
        shows("Accuracy", []),
        shows("What is it?", [accuracy]),
        shows("What is it?", [time]),
        shows("Verdict", [time, accuracy]),
    ]
    write_notebook(out, "layout", sections)
    report = read_report(out, out)

    assert report.place_of(accuracy) == "layout.html#what-is-it"
    assert report.place_of(time) == "layout.html#what-is-it-2"
    assert report.place_of(replace(time, factor="compile")) == "layout.html"
    assert report.place_of(replace(time, study="gone")) is None
    write_notebook(out, "layout", [*sections, shows("Table", [time], anchors=[time.anchor])])
    assert read_report(out, out).place_of(time) == f"layout.html#{time.anchor}"
    assert read_report(out, out).place_of(accuracy) == "layout.html#what-is-it"
    (out / "layout.html").unlink()
    assert read_report(out, out).place_of(time) is None


# Order.


def test_decided_come_first_by_size_then_undecided_accuracy_and_controls():
    faster, slower, same = verdict(1.2), verdict(0.5), verdict(1.001)
    fastest = verdict(3.0)
    doubtful = replace(
        verdict(9.0), judgement=replace(fastest.judgement, outcome=Outcome.UNDECIDED, speedup=9.0)
    )
    hollow = replace(
        fastest,
        judgement=replace(
            fastest.judgement, outcome=Outcome.UNDECIDED, low=None, high=None, speedup=20.0, blocks=1
        ),
    )
    nothing = replace(hollow, judgement=replace(hollow.judgement, speedup=None, blocks=0))
    points = replace(verdict(), quantity="accuracy")
    control = verdict(5.0, factor="control")

    mixed = [control, points, nothing, same, hollow, slower, doubtful, fastest, faster]
    assert in_order(mixed) == [fastest, faster, same, slower, doubtful, hollow, nothing, points, control]


def test_what_is_worth_switching_on_is_neither_control_nor_framework_and_convolutions_come_last(out):
    small, large = verdict(1.1), verdict(2.0)
    (convolution, *_) = [v for v in verdicts_of(runs_of("conv2d", 4.0)) if v.outcome is Outcome.FASTER]
    others = [verdict(9.0, factor="control"), verdict(9.0, factor="framework"), verdict(0.5), verdict(1.0)]
    front = ReportSummary(out=out, verdicts=(*others, convolution, small, large))

    assert front.gains == [large, small, convolution]
    assert [v.speedup for v in front.switches if v.study == "layout"] == sorted(
        (v.speedup for v in front.switches if v.study == "layout"), reverse=True
    )
    assert len(front.switches) == 5


def test_only_convolutions_make_a_front_page_too(out):
    write_report(out, runs_of("conv2d"), studies=["conv2d"])
    front = read_report(out, out)

    assert {v.study for v in front.verdicts} == {"conv2d"} and front.gains
    assert all(front.place_of(v) == "conv2d.html#speed-up" for v in front.verdicts)
    assert "scipy" in front.runs.versions


def test_a_convolution_is_no_pair_of_a_training(out):
    """Both kinds of trials in one folder are read."""
    pair = [make_conv2d_run(trial, 1.0 + place, block=0) for place, trial in enumerate(CORE[:2])]
    mixed = verdict_between([pair[0]], [pair[1]], "library", "?")
    write_report(out, [*runs_of("layout")], verdicts=[mixed, *verdicts_of(runs_of("layout"))])

    assert {v.study for v in read_report(out, out).verdicts} == {"layout", "conv2d"}
