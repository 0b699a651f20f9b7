"""Crashes that come again and again are given up, those that come now and then are not."""

from dataclasses import replace

from trainspeed.conduct.crashes import NODE_LOST, Crashes
from trainspeed.conduct.given_up import GivenUp
from trainspeed.conduct.plan import Planned
from trainspeed.core.result import Failure
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import Trial

SEGFAULT = Failure(stage="build", error="SIGSEGV")
OTHER = Failure(stage="train", error="RuntimeError")


def trial(framework="jax", batch_size=8, devices=1):
    return Trial(
        framework=framework,
        devices=devices,
        strategy="data_parallel" if devices > 1 else "single",
        model="cnn10",
        layout="channels_last",
        batch_size=batch_size,
        images_per_epoch=64,
        epochs=3,
    )


def run(failure=SEGFAULT, *, status=Status.CRASHED, block=0, **of_trial):
    failed = status is not Status.OK
    return Run(
        session="s",
        study="layout",
        trial=trial(**of_trial),
        block=block,
        status=status,
        reason="killed" if failed else None,
        failure=failure if failed else None,
    )


def judged(crashes, *runs):
    return [crashes.judged(one, (one.label, one.trial.spec)) for one in runs]


def test_a_trial_that_crashes_three_times_in_a_row_alike_is_not_tried_again():
    runs = judged(Crashes(), *(run(block=block) for block in range(3)))

    assert [one.is_final for one in runs] == [False, False, True]
    assert [one.reason for one in runs[:2]] == ["killed", "killed"]
    assert runs[2].reason == "killed; it ended so 3 times in a row and is not tried again"
    assert (runs[2].failure.stage, runs[2].failure.error) == ("build", "SIGSEGV")


def test_crashes_of_another_kind_or_with_a_good_run_between_are_tried_on():
    others = judged(Crashes(), run(), run(OTHER), run(), run(OTHER), run(), run(OTHER))
    between = judged(Crashes(), run(), run(), run(status=Status.OK), run(), run())

    assert not any(one.is_final for one in [*others, *between])


def test_a_framework_of_which_three_trials_crash_alike_and_none_works_is_given_up():
    crashes = Crashes()

    runs = judged(crashes, *(run(batch_size=size) for size in (8, 16, 32)))

    assert [one.is_final for one in runs] == [False, False, True]
    assert runs[2].reason == "killed; 3 trials of JAX ended so and none well: no other is tried"
    assert crashes.has_given_up(trial(batch_size=64))
    assert not crashes.has_given_up(trial(devices=2))
    assert not crashes.has_given_up(trial("torch"))


def test_arms_that_end_together_are_bad_luck_once_and_a_framework_that_cannot_work_twice():
    """The recorded case: the process of a worker was killed, and its three arms with it."""
    crashes = Crashes()
    arms = [run(batch_size=size) for size in (8, 16, 32)]
    first, second = ([replace(one, block=block, group=0) for one in arms] for block in (0, 1))

    assert not any(one.is_final for one in judged(crashes, *first))
    assert not crashes.has_given_up(trial())
    assert judged(crashes, *second)[0].is_final and crashes.has_given_up(trial())


def test_what_cannot_run_on_several_devices_is_tried_on_one():
    crashes = Crashes()

    runs = judged(crashes, *(run(batch_size=size, devices=2) for size in (8, 16, 32)))

    assert runs[2].reason.endswith(
        "3 trials of JAX on several devices ended so and none well: no other is tried"
    )
    assert crashes.has_given_up(trial(devices=4))
    assert not crashes.has_given_up(trial())


def test_a_framework_that_works_is_not_given_up_for_three_large_models():
    crashes = Crashes()

    runs = judged(crashes, run(status=Status.OK, batch_size=4), *(run(batch_size=n) for n in (8, 16, 32)))

    assert not any(one.is_final for one in runs)
    assert not crashes.has_given_up(trial())


def test_crashes_of_one_framework_do_not_count_for_another():
    crashes = Crashes()

    judged(crashes, run(), run(batch_size=16), run(framework="torch", batch_size=32))

    assert not crashes.has_given_up(trial())
    assert not crashes.has_given_up(trial("torch"))


def test_a_lost_node_never_ends_a_trial_nor_a_framework():
    crashes, lost = Crashes(), Failure(stage="train", error=NODE_LOST)
    runs = judged(crashes, *(run(lost, batch_size=size, devices=2) for size in (8, 8, 8, 8, 16, 32)))

    assert [(one.is_final, one.reason) for one in runs] == [(False, "killed")] * 6
    assert not crashes.has_given_up(trial(devices=2))


def test_a_resumed_session_learns_no_end_from_a_lost_node():
    given_up, lost = GivenUp("cpu"), Failure(stage="start", error=NODE_LOST)
    runs = [replace(run(lost, block=block, devices=2), versions={"jax": "1"}) for block in range(4)]
    given_up.learn_again(runs, ())

    assert not given_up.holds(Planned(block=4, label="", trial=trial(devices=2)))
