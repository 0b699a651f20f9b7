"""What the front page says first."""

from dataclasses import replace
from statistics import median

import pytest

from front_data import report_of, runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.run import Role
from trainspeed.judge.verdict import Outcome, judge_difference
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import recipe_sentences
from trainspeed.studies.summary.headline import (
    HeadlineOutcome,
    finding_of,
    headline,
    nearest_gain,
    nothing_to_paste,
    to_paste,
)
from trainspeed.studies.summary.notebooks import ReportNotebook


def verdict(ratio=1.3, *, study="layout", blocks=6, **more):
    return replace(verdicts_of(runs_of(study, ratio, blocks=blocks))[0], **more)


UNDECIDED = verdict(1.02, judgement=replace(verdict(1.02).judgement, outcome=Outcome.UNDECIDED))
OPEN = "[What would decide the rest](#undecided-and-what-would-decide-it)."


def test_what_pays_together_is_the_headline_and_leads_to_its_code():
    (said,) = headline(report_of(verdict(3.0), verdict(1.5, study="layout", factor="recipe")))

    assert said == (
        "PyTorch, cnn10, batch 32, 16 px: **1.50 times as fast** (1.50 to 1.51) in 6 fresh blocks with "
        "channels\\_last ([code](#pytorch-cnn10)); accuracy not checked."
    )


def test_of_several_that_were_measured_together_alone_it_says_that_nothing_is_known_of_each():
    plain = verdict().baseline
    best = replace(plain, layout="channels_last", precision="bf16")
    whole = verdict(1.5, factor="recipe", candidate=best)
    without = replace(plain, precision="bf16")
    fresh = [make_run(trial=trial, label=Role.RECIPE) for trial in (plain, best, without)]
    told = "channels\\_last and bf16 ([code](#pytorch-cnn10); measured as a set); accuracy"

    assert told in headline(report_of(whole, runs=fresh[:2]))[0]
    on_cpu = [replace(run, machine={"device": "cpu"}) for run in fresh[:2]]
    assert "batch 32, 16 px, on 1 core: **1.50 times" in headline(report_of(whole, runs=on_cpu))[0]
    assert "as a set" not in headline(report_of(whole, runs=fresh))[0]
    part = verdict(1.2, baseline=without, candidate=best)
    assert "as a set" not in headline(report_of(whole, part))[0]


@pytest.mark.parametrize(
    ("low", "margin", "said"),
    [
        (-0.1, 0.5, "at most 0.5 points lower"),
        (0.1, 0.5, "not lower"),
        (-1.7, 0.5, "undecided"),
        (-0.1, 0.05, "undecided"),
        (-1.7, 2.0, "at most 2 points lower"),
    ],
)
def test_what_pays_together_is_told_with_its_accuracy_as_the_search_says_it(low, margin, said):
    """Proved to be kept where the whole interval lies above minus the margin, whether or not it is called better."""
    whole = verdict(1.5, factor="recipe")
    size = {"speedup": 1.2, "low": low, "high": 3.3, "bounds": (-margin, margin)}
    points = replace(whole, quantity="accuracy")
    points = replace(points, judgement=replace(whole.judgement, **size, outcome=Outcome.UNDECIDED))

    (front,) = headline(report_of(whole, points))
    assert front.endswith(
        f" in 6 fresh blocks with channels\\_last ([code](#pytorch-cnn10)); accuracy {said}."
    )
    (below,) = recipe_sentences(report_of(whole, points))
    assert below.endswith(f"; accuracy {said} (+1.2 points, {low:+.1f} to +3.3).")


def test_an_open_accuracy_is_told_with_its_size_and_what_its_interval_rules_out():
    whole = verdict(1.5, factor="recipe")
    lost = judge_difference([80.0] * 9, [77.8, 77.8, *[78.6] * 5, 80.0, 80.0])
    points = replace(whole, quantity="accuracy", judgement=lost)

    (below,) = recipe_sentences(report_of(whole, points))
    assert below.endswith("; accuracy undecided (-1.4 points, -2.2 to +0.0, so not higher).")
    (front,) = headline(report_of(whole, points))
    assert front.endswith("; accuracy undecided, not higher.")


def test_a_gain_has_the_throughput_that_it_starts_from_where_its_runs_are_there():
    runs = runs_of("layout")
    best = verdicts_of(runs)[0]
    rates = [run.images_per_s for run in runs if run.trial.spec == best.baseline.spec]
    best = replace(best, baseline=replace(best.baseline, dataset="auto"))  # as it was asked for

    (said,) = headline(report_of(best, runs=tuple(runs)))
    assert f"**1.30 times as fast** (1.30 to 1.31), plain {median(rates):.3g} images/s: " in said
    whole = report_of(best, verdict(1.5, factor="recipe"), runs=tuple(runs))
    assert "images/s" not in headline(whole)[0], "it is short, for a phone"
    assert f"; plain {median(rates):.3g} images/s" in recipe_sentences(whole)[0]
    assert "images/s" not in headline(report_of(verdict(9.0, study="conv2d"), runs=tuple(runs)))[0]
    assert "images/s" not in headline(report_of(best))[0]


def test_what_fresh_blocks_confirm_has_the_throughput_of_its_own_study():
    runs = runs_of("layout")
    best = verdicts_of(runs)[0]
    rates = [run.images_per_s for run in runs if run.trial.spec == best.baseline.spec]
    slow = [replace(run, epoch_s=(9.0, 8.0, 8.0)) for run in runs_of("multi_gpu")]
    held = Confirmed(first=best, again=replace(best, study="summary"))

    (said,) = headline(report_of(best, runs=(*runs, *slow)), [held])
    assert f", plain {median(rates):.3g} images/s: " in said


def test_of_what_pays_together_the_throughput_is_that_of_its_fresh_blocks():
    fresh = [replace(run, label=Role.RECIPE, epoch_s=(1.0, 0.5, 0.5)) for run in runs_of("layout")]
    whole = report_of(verdict(1.5, factor="recipe"), runs=(*runs_of("layout"), *fresh))
    rate = median(run.images_per_s for run in fresh)

    assert f"; plain {rate:.3g} images/s" in recipe_sentences(whole)[0]


def test_else_the_largest_gain_that_fresh_blocks_confirm_before_a_larger_one_that_was_found_once():
    once, held, lost = verdict(3.0), verdict(2.0), verdict(4.0)
    confirmed = [Confirmed(first=held, again=verdict(2.0)), Confirmed(first=lost, again=verdict(0.9))]
    less = Confirmed(first=verdict(1.2), again=verdict(1.2))

    (said,) = headline(report_of(once, held, lost), confirmed)
    assert said.endswith("; confirmed in fresh blocks."), "the only one"
    (several,) = headline(report_of(once, held, lost), [*confirmed, less])
    assert several == f"{said} Of those confirmed, it was the largest at first."
    assert said.startswith("**2.00 times as fast**") and "; confirmed in fresh blocks." in said
    (said,) = headline(report_of(once, lost), confirmed)
    assert said.startswith("**3.01 times as fast**") and "not yet confirmed" in said


def test_a_confirmed_gain_has_the_size_of_the_fresh_blocks_and_is_ranked_by_that_of_the_first():
    """To choose among the fresh sizes would be luck once more."""
    lucky, steady = verdict(1.5), verdict(1.3)
    confirmed = [Confirmed(first=lucky, again=verdict(1.12)), Confirmed(first=steady, again=verdict(1.25))]

    (said,) = headline(report_of(lucky, steady), confirmed[:1])
    assert said.startswith("**1.12 times as fast** (1.12 to 1.13)")
    assert "; confirmed, but smaller in fresh blocks." in said
    (said,) = headline(report_of(lucky, steady), confirmed)
    assert said.startswith("**1.12 times as fast**")


def test_too_few_fresh_blocks_refute_nothing():
    first = verdict(1.5)
    again = [Confirmed(first=first, again=verdict(1.5, blocks=2))]

    (said,) = headline(report_of(first), again)

    assert said.startswith("**1.50 times as fast**")
    assert "found once, and in fresh blocks neither confirmed nor refuted, measure 6 blocks or more" in said
    assert to_paste(report_of(first), again) == []


def test_a_gain_that_fresh_blocks_do_not_show_is_no_headline():
    """Its first size was luck, wholly or in part: another one is told, or that none was confirmed."""
    first, other = verdict(1.5), verdict(1.2)
    lost = [Confirmed(first=first, again=UNDECIDED)]

    (said,) = headline(report_of(first), lost)
    assert "what was found first (1 gain) was not confirmed in [fresh blocks]" in said
    assert said.endswith("1 comparison."), "at first it was decided: nothing stands where a link would lead"
    assert finding_of(report_of(first), lost) is HeadlineOutcome.UNDECIDED
    (said,) = headline(report_of(first, UNDECIDED), lost)
    assert said.endswith(OPEN)
    (said,) = headline(report_of(first, other), lost)
    assert said.startswith("**1.20 times as fast**")


@pytest.mark.parametrize(("more", "ends"), [([], "Leave your script as it is."), ([UNDECIDED], OPEN)])
def test_gains_that_fresh_blocks_refuted_are_said_to_be_so(more, ends):
    first = verdict(1.5)

    (said,) = headline(report_of(first, *more), [Confirmed(first=first, again=verdict(1.0))])

    assert "what was found first (1 gain) was not confirmed in [fresh blocks]" in said
    assert said.endswith(ends)


def test_what_is_undecided_is_counted_once_and_is_no_reason_to_leave_all_as_it_is():
    (said,) = headline(report_of(verdict(1.0), UNDECIDED))

    assert "2 comparisons, 1 of them undecided. Nearest to it, and undecided: channels" in said
    assert said.endswith(f"1.02x (1.02 to 1.03). {OPEN}")


def test_a_gain_that_is_no_line_of_a_program_is_said_to_be_so_with_its_page():
    best = verdict(2.0, study="multi_gpu", factor="pipeline")
    page = ReportNotebook(name="multi_gpu", title="", status="ok", page="multi_gpu.html")
    held = [Confirmed(first=best, again=verdict(2.0, study="multi_gpu"))]
    report = report_of(best, notebooks=(page,))

    assert to_paste(report, held) == []
    said = nothing_to_paste(report, held)
    assert "is not a line of a program" in said and "(multi_gpu.html)" in said
    assert "no single gain over a plain script was confirmed" in nothing_to_paste(report)


def test_a_convolution_is_a_headline_only_where_no_training_was_compared():
    convolution = verdict(9.0, study="conv2d")

    assert headline(report_of(convolution, verdict(1.2)))[0].startswith("**1.20 times")
    (said,) = headline(report_of(convolution, UNDECIDED))
    assert said.startswith("Nothing was found that trains faster here") and "1 comparison, 1 of them" in said
    assert headline(report_of(convolution))[0].startswith(f"**{convolution.speedup:.2f} times")
    (said,) = headline(report_of(convolution, UNDECIDED), [Confirmed(first=convolution, again=convolution)])
    assert said.startswith(
        "Nothing was found that trains faster here than a plain script by more than 2 %: 1 comparison"
    )


def test_an_undecided_switch_is_named_only_where_its_interval_lies_above_1():
    about_1 = replace(UNDECIDED, judgement=replace(UNDECIDED.judgement, low=0.99))

    assert "Nearest" not in headline(report_of(about_1))[0]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([], "Nothing is decided yet: no switch was compared in 6 blocks or more."),
        (
            [verdict(2.0, blocks=5)],
            "Nothing is decided yet: no switch was compared in 6 blocks or more. [What would decide it]"
            "(#undecided-and-what-would-decide-it).",
        ),
        (
            [verdict(2.0, blocks=5, factor="recipe")],
            "Nothing is decided yet: no switch was compared in 6 blocks or more. [What would decide the rest]"
            "(#undecided-and-what-would-decide-it).",
        ),
        (
            [verdict(0.5), verdict(1.0)],
            "Nothing was found that trains faster here than a plain script by more than 2 %: 2 comparisons. Leave your "
            "script as it is.",
        ),
    ],
)
def test_without_a_gain_the_headline_says_so(verdicts, said):
    assert headline(report_of(*verdicts)) == [said]


# Cards.


def test_what_to_paste_is_what_the_headline_names_once_it_is_confirmed():
    best, recipe = verdict(2.0), verdict(1.5, factor="recipe")
    held = [Confirmed(first=best, again=verdict(2.0))]

    assert to_paste(report_of(best), held) == [(best.baseline, best.candidate)]
    assert to_paste(report_of(best)) == []
    assert to_paste(report_of(best, recipe), held) == [(recipe.baseline, recipe.candidate)]
    assert to_paste(report_of(verdict(9.0, study="conv2d")), held) == []


def test_the_largest_gain_of_several_searches_comes_first_in_every_list_and_each_leads_to_its_own_lines():
    small, large = (verdict(ratio, factor="recipe") for ratio in (1.3, 1.7))
    sides = {
        side: replace(getattr(small, side), framework="tensorflow") for side in ("baseline", "candidate")
    }
    small = replace(small, **sides)
    report = report_of(small, large)

    one, other = headline(report)
    assert (
        one.startswith("PyTorch, cnn10, batch 32, 16 px: **1.70 times")
        and "channels\\_last ([code](#pytorch-cnn10)" in one
    )
    assert other.startswith("TensorFlow") and "channels\\_last ([code](#keras-on-tensorflow-cnn10))" in other
    assert [trial.framework for _, trial in to_paste(report)] == ["torch", "tensorflow"]
    assert [said[:7] for said in recipe_sentences(report)] == ["**1.70x", "**1.30x"]


@pytest.mark.parametrize(("device", "starts"), [("cpu", "Nothing was found"), ("gpu", "**1.80 times")])
def test_several_cores_are_no_gain_over_a_script_that_has_them_all(device, starts):
    runs = tuple(runs_of("multi_gpu", machine={"device": device, "cpu": "Test CPU"}))

    (said,) = headline(report_of(verdict(1.8, factor="devices"), verdict(1.0), runs=runs))

    assert said.startswith(starts)


def test_what_a_search_found_nearest_to_a_gain_comes_first():
    recipe = replace(UNDECIDED, factor="recipe", study="switches")
    larger = replace(UNDECIDED, judgement=replace(UNDECIDED.judgement, speedup=1.9, high=2.0))

    assert nearest_gain(report_of(larger, recipe)) == recipe
    assert nearest_gain(report_of(larger)) == larger
