"""The largest gains, measured again: which, with which seeds, and what is said of them."""

from collections import Counter
from dataclasses import replace

import pytest

from scaling_data import make_verdict
from study_data import make_run
from trainspeed.conduct.schedule import schedule
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.run import Role, Status
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.confirmation import (
    CONFIRM_SEED_OFFSET,
    confirmed,
    confirming,
    gain,
    largest,
    next_largest,
    seed_of,
)

LAYOUT = {"factor": "layout", "values": ("channels_first", "channels_last"), "devices": 1}


def verdict(ratio=1.5, study="layout", **more):
    return replace(make_verdict(ratio, **{**LAYOUT, **more}), study=study)


def convolutions(ratio=1.5, same=False):
    trials = [
        Conv2dTrial(library=name, mode=mode, images=8, height=8, width=8)
        for name, mode in (("torch", "eager"), ("jax", "xla"))
    ]
    pair = {"baseline": trials[0], "candidate": trials[0 if same else 1]}
    factor = "residency" if same else "library"
    return replace(make_verdict(ratio), study="conv2d", factor=factor, **pair)


def again(verdicts, ratio=1.4, blocks=6, status=lambda planned: Status.OK):
    """Return the runs that `confirming` asks for: the baseline takes ratio times as long."""
    runs = []
    baselines = [v.baseline.spec for v in verdicts]
    for planned in schedule(confirming(verdicts, blocks), 0):
        about = {"trial": planned.trial, "block": planned.block, "label": planned.label, "study": "summary"}
        seconds = ratio if planned.trial.spec in baselines else 1.0
        if isinstance(planned.trial, Conv2dTrial):
            run = replace(make_run(), **about, call_s=(seconds,) * 3, epoch_s=(), images_per_epoch=None)
            runs.append(replace(run, versions={}))
        else:
            runs.append(make_run(seconds, status=status(planned), **about))
    return runs


def one(verdict, runs):
    (found,) = confirmed([verdict], runs)
    return found


# Which.


@pytest.mark.parametrize(("ratio", "size"), [(2.0, 2.0), (0.25, 4.0), (1.0, 1.0)])
def test_a_gain_counts_in_both_directions(ratio, size):
    assert gain(verdict(ratio)) == size


def test_accuracy_is_no_gain():
    assert gain(verdict(3.0, quantity="accuracy")) == 1.0


def test_the_largest_of_each_study_are_chosen_the_largest_first():
    layout = [verdict(1.2), verdict(0.4, precision="bf16"), verdict(1.7, compile=True)]
    amp = [verdict(1.3, study="amp", factor="precision", values=("fp32", "bf16"))]
    chosen = largest([*layout, *amp], of_each=2)
    assert [(v.study, gain(v)) for v in chosen] == [("layout", 2.5), ("layout", 1.7), ("amp", 1.3)]
    assert largest(layout, of_each=0) == []


def test_what_is_not_decided_or_no_switch_is_not_chosen():
    several = [
        verdict(1.0),
        verdict(3.0, blocks=5),
        verdict(3.0, quantity="accuracy"),
        verdict(3.0, factor="framework", values=("torch", "jax")),
        replace(verdict(3.0), factor="control"),
    ]
    assert largest(several, of_each=5) == []


def test_two_times_of_the_same_runs_are_no_pair_to_measure_again():
    """Calls with and without transfers: measured again as a pair, both would be the same."""
    assert largest([convolutions(9.0, same=True), convolutions(2.0)], of_each=1) == [convolutions(2.0)]


def test_a_pair_that_two_studies_compared_is_measured_once():
    chosen = largest([verdict(1.5), verdict(1.6, study="amp"), verdict(1.2, compile=True)], of_each=1)
    assert [(v.study, v.speedup) for v in chosen] == [("amp", 1.6), ("layout", 1.2)]


def test_what_needs_more_devices_than_there_are_is_not_chosen():
    several = [make_verdict(3.0, values=(1, 8)), make_verdict(1.5, values=(1, 2))]
    assert [v.candidate.devices for v in largest(several, 1, devices=2)] == [2]
    assert [v.candidate.devices for v in largest(several, 1)] == [8]


# Fresh blocks.


def test_the_seeds_are_those_of_no_block_of_a_study():
    plan = schedule(confirming([verdict()], 6), 0)
    seeds = sorted({planned.trial.seed for planned in plan})
    assert seeds == [seed_of(verdict()) + block for block in range(6)] and seeds[0] > CONFIRM_SEED_OFFSET
    assert {planned.label for planned in plan} == {Role.CONFIRMATION}
    assert len(plan) == 12


def test_both_arms_of_a_block_have_the_same_seed_and_fold_and_run_side_by_side():
    both = [verdict(folds=3), verdict(1.2, precision="bf16")]
    plan = schedule(confirming(both, 4), 0)
    for first, second in zip(plan[::2], plan[1::2], strict=True):
        assert first.block == second.block
        assert {first.trial.layout, second.trial.layout} == {"channels_first", "channels_last"}
        assert replace(first.trial, layout="channels_last") == replace(second.trial, layout="channels_last")
    folds = {planned.trial.fold for planned in plan if planned.trial.folds}
    assert folds == {0, 1, 2}


def test_two_pairs_with_a_trial_in_common_take_turns_each_by_itself():
    """Else one of the four arms would be measured alone, minutes from what it is compared with."""
    pairs = [
        verdict(precision="bf16"),
        verdict(1.2, factor="precision", values=("fp32", "bf16"), layout="channels_last"),
    ]
    assert pairs[0].candidate == pairs[1].candidate
    plan = schedule(confirming(pairs, 6), 0)
    groups = Counter((planned.block, planned.group) for planned in plan)
    assert len(groups) == 12 and {*groups.values()} == {2}

    runs = again(pairs, ratio=1.5)
    assert [found.again.blocks for found in confirmed(pairs, runs)] == [6, 6]
    assert [found.again.blocks for found in confirmed(pairs[:1], runs, pairs[1:])] == [6, 6]
    assert len(confirmed(pairs[:1], again(pairs[:1]), pairs[1:])) == 1


def test_runs_of_an_earlier_version_are_found_whose_pairs_had_the_same_seeds():
    runs = [
        replace(run, trial=replace(run.trial, seed=CONFIRM_SEED_OFFSET + run.block))
        for run in again([verdict()])
    ]
    assert one(verdict(), runs).holds


def test_no_blocks_leave_it_out():
    assert schedule(confirming([verdict()], 0), 0) == ()


def test_convolutions_are_measured_again_too():
    found = one(convolutions(), again([convolutions()]))
    assert (found.again.speedup, found.holds) == (1.4, True)


def test_a_pair_is_found_again_among_others():
    first, second = verdict(1.5), verdict(0.5, precision="bf16")
    runs = again([first, second], ratio=1.4)
    assert [found.holds for found in confirmed([first, second], runs)] == [True, False]
    others = [replace(run, label="recipe") for run in again([first], ratio=9.0)]
    assert one(first, [*others, *runs]).again.speedup == pytest.approx(1.4)


def test_a_verdict_that_was_read_from_its_file_finds_its_runs():
    first = Verdict.from_dict(verdict(folds=3).as_dict())
    assert one(first, again([first])).holds


# What is said.

SAYS = "channels_last vs channels_first, PyTorch, cnn10, batch 64: 1.50x (1.50 to 1.50) at first"


def test_a_confirmed_gain():
    found = one(verdict(), again([verdict()], ratio=1.5))
    assert found.sentence == f"{SAYS}, 1.50x (1.50 to 1.50) in 6 fresh blocks: confirmed."


def test_a_gain_whose_fresh_interval_lies_below_the_first_one_was_partly_luck():
    found = one(verdict(), again([verdict()]))
    assert found.sentence == f"{SAYS}, 1.40x (1.40 to 1.40) in 6 fresh blocks: confirmed, but smaller."


@pytest.mark.parametrize(("ratio", "outcome"), [(1.0, "same"), (0.5, "slower")])
def test_a_gain_that_is_gone_says_what_came_instead(ratio, outcome):
    found = one(verdict(), again([verdict()], ratio=ratio))
    assert not found.holds
    assert found.sentence.endswith(f"in 6 fresh blocks: not confirmed, but {outcome}.")


def test_an_interval_that_says_neither():
    runs = again([verdict()])
    runs = [replace(r, epoch_s=(5.0,) * 3) if r.block == 0 and r.epoch_s[1] == 1.0 else r for r in runs]
    found = one(verdict(), runs)
    assert found.again.outcome is Outcome.UNDECIDED
    assert found.sentence.endswith("in 6 fresh blocks: not confirmed, undecided.")


def test_too_few_fresh_blocks_neither_confirm_nor_refute():
    found = one(verdict(), again([verdict()], blocks=1))
    assert not found.holds
    assert found.sentence.endswith(
        "1.40x in 1 fresh block: neither confirmed nor refuted, measure 6 blocks or more."
    )


def oom(planned):
    return Status.OOM if planned.trial.layout == "channels_last" else Status.OK


def test_a_pair_of_which_one_failed_says_why():
    found = one(verdict(), again([verdict()], status=oom))
    assert (found.again, found.holds) == (None, False)
    assert found.sentence == f"{SAYS}; not measured again: oom: for a test."


def test_a_block_that_failed_is_told_with_those_that_did_not():
    runs = again([verdict()], blocks=7, status=lambda p: Status.CRASHED if p.block == 3 else Status.OK)
    found = one(verdict(), runs)
    assert (found.holds, found.again.blocks) == (True, 6)
    assert found.sentence.endswith("in 6 fresh blocks: confirmed, but smaller (crashed: for a test).")


def test_what_was_not_measured_again_is_not_called_a_failure():
    """Such as with 0 blocks, or in a report that was interrupted."""
    assert one(verdict(), []).sentence == f"{SAYS}; not measured again."


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (
            {"factor": "batch_size", "values": (16, 64)},
            "batch 64 vs batch 16, PyTorch, cnn10, channels_first",
        ),
        ({"factor": "precision", "values": ("fp32", "bf16")}, "bf16 vs fp32, PyTorch"),
        ({"factor": "devices", "values": (1, 2), "devices": (1, 2)}, "2 devices (ddp), PyTorch"),
        ({"factor": "compile", "values": (False, True)}, "compiled vs not compiled, PyTorch"),
    ],
)
def test_the_sentence_says_what_is_compared(changed, name):
    given = {**LAYOUT, **changed}
    if changed["factor"] == "devices":
        given.pop("devices")
    first = replace(make_verdict(1.5, **given), study="s")
    assert one(first, []).sentence.startswith(name)


# In time that is left.


def undecided(ratio, **more):
    one = verdict(ratio or 1.0, **more)
    return replace(one, judgement=replace(one.judgement, outcome=Outcome.UNDECIDED, speedup=ratio))


def test_after_the_largest_gains_come_the_others_then_what_is_undecided_then_what_is_slower():
    first, second = verdict(1.5), verdict(1.2, batch_size=128)
    small, large = undecided(1.05, batch_size=16), undecided(0.8, batch_size=8)
    unknown = undecided(None, batch_size=4)

    slower, convolution = verdict(0.5, batch_size=2), convolutions(9.0)

    found = next_largest([convolution, slower, small, second, unknown, large, first], [first])

    assert found == [second, large, small, slower, convolution]
    assert next_largest([first, first], []) == [first]
    assert next_largest([undecided(1.1, devices=4)], [], devices=1) == []


@pytest.mark.parametrize(
    ("ratio", "word"),
    [(1.4, "undecided at first, faster here"), (1.0, "undecided at first, the same within the margin here")],
)
def test_what_was_undecided_is_told_with_what_fresh_blocks_say(ratio, word):
    (found,) = confirmed([], again([undecided(1.1)], ratio), [undecided(1.1), verdict(1.3, batch_size=128)])

    assert (found.word, found.holds) == (word, False)
    assert found.sentence.endswith(f" in 6 fresh blocks: {word}.")


def test_what_stays_undecided_is_not_called_confirmed():
    (found,) = confirmed([], again([undecided(1.1)], 1.1, blocks=5), [undecided(1.1)])

    assert (found.word, found.holds) == ("undecided here, too", False)
