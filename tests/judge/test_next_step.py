"""What would decide what is undecided."""

from dataclasses import replace

import pytest

from conv2d_data import make_run as make_convolution
from conv2d_data import make_trial
from study_data import layout_pair
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.run import Role
from trainspeed.core.runs import RunSet
from trainspeed.judge.blocks_needed import MOST_BLOCKS, blocks_for_margin, blocks_to_decide, is_at_edge
from trainspeed.judge.comparison import compare, verdict_between
from trainspeed.judge.next_step import more_seconds, next_step, others_seconds
from trainspeed.judge.verdict import Judgement, Outcome
from trainspeed.show.next_steps import decided_by, step_sentences

LAYOUTS = ("layout", "channels_first", "channels_last")


def judgement(speedup, low, high, blocks=6):
    numbers = {"speedup": speedup, "low": low, "high": high, "blocks": blocks}
    return Judgement(**numbers, confidence=0.95, outcome=Outcome.UNDECIDED)


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ((None, None, None, 0), 6),
        ((1.5, None, None, 2), 6),
        ((1.05, 1.018, 1.08, 6), 9),  # all but decided
        ((1.10, 1.0, 1.2, 6), 12),  # its lower half is 1.27 times as long as the way to the margin
        ((1 / 1.10, 1 / 1.2, 1.0, 6), 12),  # the same, slower
        ((1.0, 0.97, 1.03, 6), 15),  # the same within 2 %, with an interval of 3 %
        ((1.0, 0.97, 1.03, 12), 30),
        ((1.021, 1.0, 1.04, 6), None),  # the margin itself
        ((1.05, 0.9, 1.2, 15), None),  # it would take hundreds
    ],
)
def test_an_interval_narrows_with_the_square_root_of_the_blocks(given, blocks):
    assert blocks_to_decide(judgement(*given)) == blocks
    assert blocks is None or blocks <= MOST_BLOCKS


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ((None, None, None, 0), 6),
        ((-0.1, None, None, 3), 6),
        ((0.0, -0.6, 0.9, 6), 9),  # the end towards the margin is 1.2 times as far away
        ((0.0, -1.0, 0.4, 9), 36),  # twice
        ((0.5, -1.0, 2.0, 9), 21),  # 1.5 times the way from where it looks to be
        ((-1.0, -1.2, -0.2, 6), 18),  # worse, by the other end
        ((-0.5, -1.0, 0.0, 6), None),  # the margin itself
        ((0.0, -2.2, 2.2, 15), None),  # hundreds
    ],
)
def test_an_accuracy_is_decided_where_its_interval_is_as_narrow_as_the_way_to_the_margin(given, blocks):
    assert blocks_for_margin(judgement(*given), 0.5) == blocks
    assert blocks_for_margin(replace(judgement(*given), bounds=(-0.5, 0.5))) == blocks


def test_the_step_counts_the_blocks_that_are_missing_and_what_they_take():
    """Both arms of a block take 3 s and 1 s an epoch and more here: two of them are measured, four are missing."""
    runs = RunSet(tuple(layout_pair([1.5] * 2)))
    step = next_step(compare(runs, *LAYOUTS, question="?"), runs)

    assert (len(step.open), step.near, step.blocks) == (1, (), 6)
    assert step.more_s == pytest.approx(runs.wall_s * 2)


@pytest.mark.parametrize(
    ("blocks", "most", "others"),
    [
        (
            6,
            15,
            6 * 3,
        ),  # the core's other group, of three arms, has its six blocks too; the survey comes later
        (9, 15, 9 * 3 + 10),  # and the survey's ten arms one
        (24, 15, 24 * 3 + 10),  # asked for as many, the core has them; the survey has one at most
        (24, 30, 24 * 3 + 10),
    ],
)
def test_what_others_are_given_before_is_counted_in_the_time(blocks, most, others):
    """An arm takes as long as one of the pair: nothing of the others has run."""
    runs = RunSet(tuple(layout_pair([1.5] * 4)))
    other, survey = (
        [replace(runs[0].trial, batch_size=8 * n) for n in range(3, 3 + arms)] for arms in (3, 10)
    )
    survey[:2] = runs.by_trial()  # which are points of a line, too
    groups = [
        GroupCoverage(part="", core=core, trials=tuple(t.as_dict() for t in trials), blocks=had, most=asked)
        for core, trials, had, asked in (
            (True, runs.by_trial(), 4, most),
            (True, other, 0, most),
            (False, survey, 0, 1),
        )
    ]
    coverage = Coverage(session="s", study="layout", budget_s=60.0, spent_s=60.0, groups=tuple(groups))
    verdicts = compare(runs, *LAYOUTS, question="?")

    assert others_seconds(verdicts, runs, coverage, blocks) == pytest.approx(others * runs.wall_s / 8)


def test_arms_that_take_turns_with_an_undecided_pair_are_measured_again_with_it():
    """A third arm in each of the two blocks: what is missing has it, too. What other groups measured has no part."""
    pair = [replace(run, group=0) for run in layout_pair([1.5] * 2)]
    third = [replace(run, trial=replace(run.trial, precision="bf16")) for run in pair[::2]]
    others = [*(replace(run, group=1) for run in third), *(replace(run, group=2) for run in pair[:2])]
    runs = RunSet((*pair, *third, *others))

    step = next_step(compare(pair, *LAYOUTS, question="?"), runs)
    assert step.more_s == pytest.approx(2 * RunSet((*pair, *third)).wall_s)


def test_of_a_search_its_fresh_blocks_count_and_not_what_else_its_trials_ran_in():
    """Two fresh blocks of three runs: four are missing, which take twice as long, whatever was screened."""
    fresh = [replace(run, label=Role.RECIPE) for run in layout_pair([1.5] * 2)]
    again = [replace(run, label=Role.PLAIN_AGAIN) for run in fresh[::2]]
    screened = [replace(run, label=f"{Role.SCREEN}1", block=9 + run.block) for run in layout_pair([1.5] * 9)]
    verdicts = compare(layout_pair([1.5] * 2), *LAYOUTS, question="?")
    step = next_step(verdicts, RunSet((*fresh, *again, *screened)))

    assert step.more_s == pytest.approx(2 * RunSet((*fresh, *again)).wall_s)
    (whole,) = [
        replace(one, factor="recipe", baseline=replace(one.baseline, dataset="auto")) for one in verdicts
    ]
    assert more_seconds([whole], RunSet((*fresh, *again, *screened)), 6) == pytest.approx(step.more_s)


def test_the_blocks_of_single_convolutions_take_time_too():
    arms = [
        [make_convolution(make_trial(library), 1.0, block=block) for block in range(2)]
        for library in ("tensorflow", "torch")
    ]
    runs = RunSet(tuple(run for arm in arms for run in arm))
    step = next_step([verdict_between(*arms, "library", "?")], runs)

    assert (step.blocks, step.more_s) == (6, pytest.approx(2 * runs.wall_s))


@pytest.mark.parametrize(("drifted", "many"), [(0, False), (3, False), (6, True)])
def test_a_step_says_how_many_runs_of_what_is_undecided_drifted(drifted, many):
    runs = [
        replace(run, epoch_s=(1.0, 1.0, 1.0, 1.2 if number < drifted else 1.0))
        for number, run in enumerate(layout_pair([1.0] * 6))
    ]
    elsewhere = replace(runs[0], trial=replace(runs[0].trial, model="wrn28_1"), epoch_s=(1.0, 1.0, 1.0, 1.2))
    undecided = replace(compare(runs, *LAYOUTS, question="?")[0], judgement=judgement(1.0, 0.97, 1.03))
    step = next_step([undecided], RunSet((*runs, elsewhere)))

    assert (step.drifted, step.of, step.many_drifted) == (drifted, 12, many)
    assert (
        any("drifted in 6 of the 12 runs" in said for said in step_sentences(step, "layout", 1.0, None))
        is many
    )


def test_what_is_decided_needs_no_step():
    runs = RunSet(tuple(layout_pair([1.5] * 6)))

    assert next_step(compare(runs, *LAYOUTS, question="?"), runs) is None


def test_what_is_too_small_for_its_noise_is_told_apart():
    runs = RunSet(tuple(layout_pair([1.0, 1.01, 1.02, 1.021, 1.03, 1.04])))
    step = next_step(compare(runs, *LAYOUTS, question="?"), runs)

    assert (step.open, len(step.near), step.blocks, step.more_s) == ((), 1, None, None)
    assert step_sentences(step, "layout", 1.0, None) == [
        "Undecided, and lost in the noise here: 1 comparison, for which more than 45 blocks would "
        "be needed. Take what is simpler."
    ]


def test_a_difference_at_the_edge_of_the_margin_is_not_for_the_noise():
    runs = RunSet(tuple(layout_pair([1 / 1.0215, *[1 / 1.02] * 3, 1 / 1.0195, 1 / 1.018])))
    step = next_step(compare(runs, *LAYOUTS, question="?"), runs)

    assert (step.open, step.near, len(step.at_edge)) == ((), (), 1)
    (said,) = step_sentences(step, "layout", 1.0, None)
    assert said.startswith("Undecided: channels_last vs channels_first, PyTorch") and said.endswith(
        ": 0.980x (0.979 to 0.982), about 2 % slower, at the edge of the 2 % margin: it makes no difference worth a "
        "switch."
    )


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.03), (1.01, 1.2), (0.9, 0.99), (0.99, 1.01), (1.03, 1.04)])
def test_a_wide_interval_or_one_with_1_in_it_is_not_at_the_edge(low, high):
    judged = judgement(1.021, low, high)

    assert not is_at_edge(replace(judged, outcome=Outcome.FASTER) if low > 1.02 else judged)
    assert is_at_edge(judgement(1.021, 1.01, 1.03)) and is_at_edge(judgement(0.98, 0.97, 0.99))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            1,
            "channels_last vs channels_first, PyTorch, cnn10, batch 32. 15 blocks in all would decide it, if the ",
        ),
        (
            2,
            "2 comparisons. 15 blocks in all would decide them, if the differences are as large as they look now: "
            "`make ",
        ),
    ],
)
def test_the_blocks_decide_it_if_the_difference_is_what_it_looks_like(number, said):
    (verdict,) = compare(RunSet(tuple(layout_pair([1.0] * 6))), *LAYOUTS, question="?")
    undecided = replace(verdict, judgement=judgement(1.0, 0.97, 1.03))
    assert decided_by(next_step([undecided] * number, RunSet(())), "layout", 1.0, None).startswith(said)
