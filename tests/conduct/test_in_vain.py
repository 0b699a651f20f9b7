"""What failed for good is not measured on, nor what was to be compared with it: workers only pretend."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asking_study import trial_of
from study_data import make_run, make_trial
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.in_vain import is_in_vain
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.coverage import Coverage, GroupCoverage
from trainspeed.core.programs import SHARE
from trainspeed.core.result import Turn
from trainspeed.core.run import Role, Status
from trainspeed.show.coverage import coverage_sentences

NO = RunOutcome(status=Status.UNSUPPORTED, reason="no such arithmetic")


def pairs(*models: str, blocks: int = 15, controls: int = 0, **changed) -> TrialSet:
    """Return a comparison of two precisions for each model; the first ones have an A/A control."""
    trials = [
        trial_of(model=model, precision=precision, images_per_epoch=64, **changed)
        for model in models
        for precision in ("default", "bf16")
    ]
    twice = tuple(trials[: 2 * controls : 2])
    return TrialSet(trials=tuple(trials), blocks=blocks, controls=twice, factors=("precision",))


@pytest.fixture
def without(workers):
    """Return a function that lets trials end as unsupported."""
    well = workers.ends

    def fail(fails):
        workers.ends = lambda request: NO if fails(request.trial) else well(request)

    return fail


def measured(out, *parts, budget_s=None, **options):
    context = Context(id="s1", out=out, **options)
    return study.measure(
        "s", Plan(others=parts), timeout_s=1, interval_s=1, budget_s=budget_s, context=context
    )


def blocks_of(runs, **fields) -> list[int]:
    """Return the blocks in which a trial with these fields ended well, once for each of its arms."""
    ok = (run for run in runs if run.status is Status.OK)
    return [r.block for r in ok if all(getattr(r.trial, name) == value for name, value in fields.items())]


# A comparison of which one side is gone.


@pytest.mark.parametrize("controls", [0, 1])
def test_what_is_left_alone_has_six_blocks_and_so_has_its_control(workers, without, tmp_path, controls):
    without(lambda trial: trial.precision == "bf16")

    runs = measured(tmp_path, pairs("cnn10", "wrn28_1", controls=controls), budget_s=1e6)

    assert blocks_of(runs, model="cnn10") == [number for number in range(6) for _ in range(1 + controls)]
    assert blocks_of(runs, model="wrn28_1") == [*range(6)]
    assert [(group.blocks, group.failed) for group in runs.coverage.groups] == [(6, True)] * 2
    assert len(coverage_sentences(runs.coverage)) == 1, "no time was lacking"


def test_a_resumed_session_leaves_out_the_same(workers, without, tmp_path):
    without(lambda trial: trial.precision == "bf16")
    before = measured(tmp_path, pairs("cnn10", "wrn28_1", controls=1)).runs
    workers.requests.clear()

    after = measured(tmp_path, pairs("cnn10", "wrn28_1", controls=1), resume=True, budget_s=1e6)

    assert (workers.requests, after.runs) == ([], before)
    assert [(group.blocks, group.failed) for group in after.coverage.groups] == [(6, True)] * 2


@pytest.mark.parametrize("changed", [{"label": Role.RECIPE}, {"part": "compute"}])
def test_what_no_other_report_is_compared_with_is_measured_once(workers, without, tmp_path, changed):
    """A search's own runs, and parts of a step."""
    without(lambda trial: trial.precision == "bf16")
    of_set = {name: value for name, value in changed.items() if name == "label"}
    of_trial = {name: value for name, value in changed.items() if name == "part"}

    runs = measured(tmp_path, replace(pairs("cnn10", **of_trial), **of_set), budget_s=1e6)

    assert blocks_of(runs) == [0]


def test_a_control_goes_on_while_something_else_is_compared(workers, without, tmp_path):
    """What noise does to another model of the framework is read from it."""
    without(lambda trial: (trial.model, trial.precision) == ("cnn10", "bf16"))

    runs = measured(tmp_path, pairs("cnn10", "wrn28_1", blocks=9, controls=1))

    assert blocks_of(runs, model="cnn10") == [number for number in range(9) for _ in range(2)]
    assert blocks_of(runs, model="wrn28_1", precision="bf16") == [*range(9)]


@pytest.mark.parametrize(("across", "times"), [((), 6), (("framework",), 9), (("model",), 6)])
def test_a_trial_that_is_compared_across_groups_goes_on(workers, without, tmp_path, across, times):
    """Framework against framework, for one."""
    without(lambda trial: trial.framework == "tensorflow" and trial.precision == "bf16")
    of_two = [*pairs("cnn10").trials, *pairs("cnn10", framework="tensorflow").trials]

    part = replace(pairs("cnn10", blocks=9), trials=tuple(of_two), across=across)
    runs = measured(tmp_path, part)

    assert blocks_of(runs, framework="tensorflow") == [*range(times)]
    assert blocks_of(runs, framework="torch", precision="bf16") == [*range(9)]


def test_no_trial_goes_on_for_one_of_another_group_that_failed_too():
    part = pairs("cnn10", blocks=7)
    of_two = (*part.trials, *pairs("cnn10", framework="tensorflow").trials)
    groups = groups_of([replace(part, trials=of_two, across=("framework",))], [""], [True], seed=0)

    def vain(*fails):
        return [
            is_in_vain(groups[0], number, groups=groups, is_no_use=lambda one: fails_for(one.trial, fails))
            for number in (5, 6)
        ]

    def fails_for(trial, fails):
        return (trial.framework, trial.precision) in fails

    own = ("torch", "bf16") if groups[0].framework == "torch" else ("tensorflow", "bf16")
    other = "tensorflow" if own[0] == "torch" else "torch"
    assert vain() == [False, False]
    assert vain(own) == [False, False]
    assert vain(own, (other, "default")) == [False, True]
    assert vain(own, (own[0], "default")) == [True, True]


@pytest.mark.parametrize(("label", "vain"), [("", False), (f"{Role.TOGGLE}2", True)])
def test_a_block_of_what_is_gone_off_and_on_tells_a_search_nothing(label, vain):
    """Each of its blocks is the first one of its group."""
    trials = tuple(make_trial(precision=name) for name in ("default", "bf16"))
    groups = groups_of(
        [TrialSet(trials=trials, blocks=1, label=label, factors=("precision",))], [""], [True], seed=0
    )
    fails = {"bf16"}

    def is_no_use(one):
        return one.trial.precision in fails

    assert is_in_vain(groups[0], 0, groups=groups, is_no_use=is_no_use) == vain
    fails.clear()
    assert not is_in_vain(groups[0], 0, groups=groups, is_no_use=is_no_use)


# What a record and an expectation are made of.


def test_a_block_without_a_result_tells_nothing_of_how_long_others_take():
    part = TrialSet(trials=tuple(make_trial(batch_size=size) for size in (8, 16)), blocks=6)
    gone, other = groups_of([part], [""], [True], seed=0)
    pace = Pace((), "cpu")
    before_s = pace.block_s(other)
    pace.learn(gone, 0.0, [make_run(status=Status.CRASHED)])

    assert (pace.block_s(gone), pace.block_s(other)) == (0.0, before_s)
    pace.learn(gone, 2 * before_s, [make_run()])
    assert pace.block_s(other) > before_s


JAX_TRIALS = tuple(make_trial(framework="jax", compile=True, batch_size=size) for size in (8, 16))


def test_what_a_first_block_compiles_counts_for_first_blocks_alone():
    """A report of four minutes had no time for five more blocks of half a minute, which take eight seconds each."""
    own, other = groups_of([TrialSet(trials=JAX_TRIALS, blocks=6)], [""], [True], seed=0)
    of_jax = {"stages_s": {"build": 10.0, "train": 15.0}, "machine": {"device": "cpu"}}
    run = make_run(trial=JAX_TRIALS[0], epoch_s=(11.0, 1.0, 1.0, 1.0), **of_jax)
    pace = Pace((), "cpu")
    pace.learn(own, 30.0, [run])

    assert pace.block_s(own) == pytest.approx(30.0 - 20.0 * SHARE["jax"])
    assert (pace.first_s(own), pace.first_s(other)) == pytest.approx((30.0, 30.0))
    assert 1.0 < pace.block_s(other) < 20.0
    assert pace.decided_s([other]) == pytest.approx(30.0 + 5 * pace.block_s(other))
    pace.learn(own, 12.0, [run])
    assert pace.block_s(own) == 12.0


def test_a_session_that_goes_on_knows_others_by_its_later_blocks():
    own, other = groups_of([TrialSet(trials=JAX_TRIALS, blocks=6)], [""], [True], seed=0)
    pace = Pace((), "cpu")
    expected_s = pace.block_s(other)
    pace.learn(own, 2 * expected_s, [make_run(trial=JAX_TRIALS[0], compiled_anew=False)])

    assert pace.block_s(other) == pytest.approx(2 * expected_s)


def test_a_block_that_a_burst_made_long_makes_none_of_the_others_look_so():
    """Two looks of five beside a neighbour had made six fresh blocks of a search too long for what was left."""
    parts = [TrialSet(trials=(make_trial(batch_size=size),), blocks=6) for size in (8, 16, 32, 64)]
    *begun, other = (groups_of([part], [""], [True], seed=0)[0] for part in parts)
    pace = Pace((), "cpu")
    expected_s = pace.block_s(other)
    for group, longer in zip(begun, (10.0, 1.5, 1.2), strict=True):
        pace.learn(group, longer * pace._estimate_s(group).first_s, [make_run()])

    assert pace.block_s(other) == pytest.approx(1.5 * expected_s)


def test_what_a_burst_made_a_turn_longer_says_nothing_of_further_blocks():
    """Six fresh blocks of another search were not begun, as a burst in the first one made the next five look long."""
    one, other = (
        groups_of([TrialSet(trials=(make_trial(batch_size=size),), blocks=6)], [""], [True], seed=0)[0]
        for size in (8, 16)
    )
    ends_s = (1.0, 9.0, 10.0, 11.0)
    turns = tuple(
        Turn(round=n, place=0, start_s=max(ends_s[:n], default=0.0), end_s=end_s)
        for n, end_s in enumerate(ends_s)
    )
    of_older_lines = tuple(Turn(round=turn.round, place=0, start_s=turn.start_s) for turn in turns)
    pace = Pace((), "cpu")
    pace.learn(one, 12.0, [make_run(turns=turns)])
    pace.learn(other, 12.0, [make_run(turns=turns[:2])])  # of two turns none is known to be the usual one

    burst_s = pace.block_s(other) - pace.block_s(one)
    assert burst_s == pytest.approx(7.0)
    pace.learn(one, 20.0, [make_run(turns=turns), make_run(turns=of_older_lines)])
    assert pace.block_s(one) == 13.0
    for _ in range(2):
        pace.learn(one, 20.0, [make_run(turns=turns)])
    assert pace.block_s(one) == 20.0  # of three later blocks: bursts as they come


def test_what_a_first_block_looked_up_says_nothing_of_further_blocks():
    """Beside a burst that took 13 of 34 s, and six fresh blocks of a search were not begun."""
    one = groups_of([TrialSet(trials=(make_trial(),), blocks=6)], [""], [True], seed=0)[0]
    pace = Pace((), "cpu")
    pace.learn(one, 12.0, [make_run(stages_s={"train": 8.0, "inspect": 4.0})])

    assert (pace.first_s(one), pace.block_s(one)) == (12.0, 8.0)


@pytest.mark.parametrize(("device", "later_s"), [("cpu", 8.0), ("gpu", 4.0)])
def test_what_arms_look_up_at_once_takes_its_time_once(monkeypatch, device, later_s):
    monkeypatch.setattr("trainspeed.conduct.groups.usable_cores", lambda: (0, 1))
    two = groups_of([pairs("cnn10", blocks=6)], [""], [True], seed=0)[0]
    pace = Pace((), device)
    pace.learn(two, 12.0, [make_run(stages_s={"train": 4.0, "inspect": 4.0}) for _ in range(2)])

    assert (pace.first_s(two), pace.block_s(two)) == (12.0, later_s)


def test_a_framework_that_is_missing_has_no_blocks_and_none_for_want_of_time(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "trainspeed.conduct.start.find_interpreter", lambda name: None if name == "tensorflow" else "python"
    )
    of_two = (*pairs("cnn10").trials, *pairs("cnn10", framework="tensorflow").trials)
    runs = measured(tmp_path, replace(pairs("cnn10"), trials=of_two), budget_s=1e6)

    covered = {group.arms[0].framework: group for group in runs.coverage.groups}
    assert [(g.blocks, g.failed) for g in (covered["tensorflow"], covered["torch"])] == [
        (0, True),
        (15, False),
    ]
    assert coverage_sentences(runs.coverage)[0].endswith("the core comparisons had 15 blocks.")
    assert (runs.coverage.left_out, runs.coverage.unequal) == ((), ())


def test_a_record_from_before_says_nothing_of_failures():
    group = GroupCoverage(part="core", core=True, trials=(make_trial().as_dict(),), blocks=0, most=6)
    covered = Coverage(session="s", study="s", budget_s=1.0, spent_s=1.0, groups=(group,))

    assert covered.left_out == (group,)
