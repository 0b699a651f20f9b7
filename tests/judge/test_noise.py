"""What A/A controls say against the differences that a study called."""

from dataclasses import replace

import pytest

from study_data import control_runs, layout_pair, make_trial
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.judge.comparison import compare, controls
from trainspeed.judge.noise import control_doubts, noise_doubts
from trainspeed.judge.text import size_of
from trainspeed.judge.verdict import Outcome

WIDE = (0.86, 0.95, 1.0, 1.0, 1.0, 1.03)  # at most 1 / 0.86 = 1.163


def control_of(*ratios):
    return controls(control_runs(ratios))


def test_without_a_control_nothing_shows_the_noise():
    (doubt,) = control_doubts([])
    assert doubt.startswith("No A/A control ran")


def test_a_control_that_there_was_no_time_for_is_not_to_be_added_but_given_time():
    plain, other = (make_trial(precision=name).as_dict() for name in ("default", "bf16"))
    for trials, doubt in (
        ((plain, plain, other), "There was no time for the A/A control, so"),
        ((plain, other), "No A/A control ran"),
    ):
        group = GroupCoverage(part="core", core=True, trials=trials, blocks=0, most=6)
        covered = Coverage(session="s", study="amp", budget_s=60.0, spent_s=60.0, groups=(group,))
        (said,) = control_doubts([], covered)
        assert said.startswith(doubt)
        assert said.endswith(
            "`make report NOTEBOOKS=amp BUDGET=3m`."
            if "no time" in said
            else "Add one: name a framework in `controls`."
        )


def test_a_control_that_covers_1_is_no_doubt():
    assert control_doubts(control_of(0.99, 1.0, 1.0, 1.01, 1.0, 1.0)) == {}


@pytest.mark.parametrize(
    ("ratios", "interval"),
    [
        ((1.01, 1.02, 1.02, 1.02, 1.02, 1.03), "1.010 to 1.030"),
        ((1.00002, 1.02, 1.02, 1.02, 1.02, 1.03), "1.00002 to 1.03000"),  # with 3 digits it would cover 1
        ((0.97, 0.98, 0.98, 0.98, 0.98, 0.99), "0.970 to 0.990"),
    ],
)
def test_a_control_that_misses_1_on_either_side_is_a_doubt_not_a_failure(ratios, interval):
    (doubt,) = control_doubts(control_of(*ratios))
    assert doubt.startswith(
        f"The A/A control (PyTorch, cnn10, channels_first, batch 32, 16 px) misses 1: {interval}. "
        "That happens about once in 20 by chance"
    )
    assert doubt.endswith("Measure again.")


def test_a_control_that_misses_1_within_the_margin_is_the_same_twice():
    (verdict,) = control_of(1.000015, 1.01, 1.01, 1.01, 1.01, 1.019)
    assert verdict.outcome is Outcome.SAME and verdict.low > 1
    assert control_doubts([verdict]) == {}


def test_a_control_of_few_blocks_asks_for_more():
    (doubt,) = control_doubts(control_of(1.0, 1.0))
    assert "has 2 of the 6 blocks that an interval needs: raise blocks." in doubt


@pytest.mark.parametrize(
    ("most", "said"), [(15, "give it more time, `make report NOTEBOOKS="), (2, "raise blocks.")]
)
def test_a_control_whose_time_ended_needs_time_and_no_other_number_of_blocks(most, said):
    (verdict,) = control_of(1.0, 1.0)
    trials = (verdict.baseline.as_dict(), verdict.candidate.as_dict())
    group = GroupCoverage(part="core", core=True, trials=trials, blocks=2, most=most)
    covered = Coverage(session="s", study="amp", budget_s=60.0, spent_s=60.0, groups=(group,))

    assert f"needs: {said}" in next(iter(control_doubts([verdict], covered)))


def called(*ratios, **more):
    return compare(layout_pair(ratios, **more), "layout", "channels_first", "channels_last", question="?")


@pytest.mark.parametrize(("ratio", "doubted"), [(1.1, True), (1 / 1.1, True), (1.2, False), (1 / 1.2, False)])
def test_a_difference_that_its_control_does_not_rule_out_is_doubted(ratio, doubted):
    (verdict,) = called(*(ratio + hair for hair in (0.0, 0.001, 0.001, 0.001, 0.001, 0.002)))
    doubts = noise_doubts([verdict], control_of(*WIDE))
    assert bool(doubts) is doubted
    for doubt in doubts:
        assert doubt == (
            f"{verdict.name}: {size_of(verdict)}, but the same setting measured twice may differ as much: "
            "0.86 to 1.03 in 6 blocks. Believe it once fresh blocks confirm it."
        )


def test_the_control_of_what_is_most_alike_counts_and_is_named_where_it_is_another_setting():
    (verdict,) = called(*[1.1] * 6, framework="tensorflow")
    (others,), (quiet,) = control_of(*WIDE), control_of(*[1.0] * 6)
    of_framework = replace(quiet, baseline=replace(quiet.baseline, framework="tensorflow", model="wrn28_1"))
    own = replace(others, baseline=replace(others.baseline, framework="tensorflow"))
    (doubt,) = noise_doubts([verdict], [others])
    assert "but one setting (PyTorch, cnn10, channels_first, batch 32, 16 px) measured twice may" in doubt
    assert noise_doubts([verdict], [others, of_framework]) == {}
    assert len(noise_doubts([verdict], [others, of_framework, own])) == 1


def test_what_is_from_fresh_blocks_already_is_not_told_to_wait_for_them():
    (verdict,) = called(*[1.1] * 6)
    whole = replace(verdict, factor="recipe")
    doubts = noise_doubts([whole, verdict], control_of(*WIDE))
    assert [doubt.rpartition("blocks. ")[2] for doubt in doubts] == ["Measure more blocks."] * 2


def test_what_is_not_called_and_a_control_itself_are_not_doubted():
    undecided = called(0.9, 1.1, 1.0, 1.0, 1.0, 1.0)
    off = control_of(1.05, 1.05, 1.05, 1.05, 1.05, 1.06)
    assert noise_doubts([*undecided, *off], control_of(*WIDE)) == {}


def test_a_control_without_an_interval_rules_nothing_out():
    assert noise_doubts(called(*[1.1] * 6), control_of(1.0, 1.0)) == {}
    assert noise_doubts(called(*[1.1] * 6), []) == {}
