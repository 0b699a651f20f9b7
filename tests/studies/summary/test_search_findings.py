"""What a search found, on the front page: what pays together, what can be pasted, and what is not confirmed twice."""

from dataclasses import replace

import pytest

from front_data import OLDER, SESSION, report_of, runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.runs import RunSet
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.gains import recipe_sentences, slower_sentences, switch_sentences
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.undecided import undecided_sentences


def found(ratio=2.4, *, study="switches", **more):
    """Return a verdict on all that a search kept: channels_last and the fused optimizer."""
    verdict = verdicts_of(runs_of("layout", ratio))[0]
    best = verdict.candidate.pulled("optimizer", "fused")
    return replace(verdict, factor="recipe", study=study, candidate=best, **more)


def in_accuracy(difference, outcome):
    judged = replace(
        found().judgement, speedup=difference, low=difference - 1, high=difference + 1, outcome=outcome
    )
    return replace(found(), quantity="accuracy", judgement=judged)


def test_what_pays_together_names_every_switch_and_leads_to_its_page():
    notebooks = (ReportNotebook(name="switches", title="", status="ok", page="switches.html"),)
    (sentence,) = recipe_sentences(report_of(found(), notebooks=notebooks))

    assert sentence.startswith("**2.41x** (2.40 to 2.41), ")
    assert "faster: channels\\_last vs channels\\_first, fused optimizer, PyTorch, cnn10" in sentence
    assert "([switches](switches.html))." in sentence


def test_its_accuracy_stands_beside_it():
    (sentence,) = recipe_sentences(report_of(found(), in_accuracy(-0.25, Outcome.SAME)))
    assert "; accuracy undecided (" in sentence and "0.2 points, -1.2 to +0.8)" in sentence


def test_it_is_no_gain_of_a_single_switch():
    assert switch_sentences(report_of(found())) == []
    assert recipe_sentences(report_of(verdicts_of(runs_of("layout"))[0])) == []


@pytest.mark.parametrize(
    ("verdicts", "pasted"),
    [
        ([found()], 1),
        ([found(1.0)], 0),
        ([found(0.5)], 0),
        ([found(), in_accuracy(-3.0, Outcome.WORSE)], 0),
        ([found(), in_accuracy(-0.2, Outcome.UNDECIDED)], 1),
    ],
)
def test_only_what_is_faster_and_no_worse_is_pasted(verdicts, pasted):
    kept = report_of(*verdicts).kept
    assert len(kept) == pasted
    assert all(verdict.candidate.levers == (("optimizer", "fused"),) for verdict in kept)


def test_an_older_search_says_so():
    notebooks = (ReportNotebook(name="x", title="", status="ok", session=SESSION),)
    (sentence,) = recipe_sentences(report_of(found(session=OLDER), notebooks=notebooks))
    assert "from an earlier session" in sentence


def test_a_search_that_confirmed_nothing_says_so():
    runs = RunSet(
        tuple(make_run(study="switches", label="feasible", framework=f) for f in ("torch", "tensorflow"))
    )
    notebooks = (ReportNotebook(name="switches", title="", status="ok", page="switches.html"),)
    first, second = recipe_sentences(report_of(found(), runs=runs, notebooks=notebooks))

    assert first.startswith("**2.41x**")
    assert second == (
        "TensorFlow, cnn10: nothing that pays together was confirmed in fresh blocks ([switches](switches.html))."
    )


def test_a_set_that_is_not_faster_is_told_among_its_kind_and_not_among_what_to_switch_on():
    open_ = replace(found(1.01), judgement=replace(found(1.01).judgement, outcome=Outcome.UNDECIDED))
    report = report_of(open_)

    assert recipe_sentences(report) == [
        "PyTorch, cnn10: nothing that pays together was confirmed in fresh blocks (switches)."
    ]
    assert (
        undecided_sentences(report)[0].startswith("**1.0") and "undecided" in undecided_sentences(report)[0]
    )
    (loss,) = slower_sentences(report_of(found(0.5)))
    assert loss.startswith("**0.5") and "slower" in loss
