"""What is decided about convolutions, on planted seconds."""

from __future__ import annotations

import pytest

from conv2d_data import (
    ARTICLE_LIBRARIES,
    ARTICLE_SIZE,
    BLOCKS,
    SECONDS,
    make_run,
    make_runs,
    make_trial,
    shared,
)
from study_data import make_run as make_training
from trainspeed.core.run import Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.conv2d.findings import (
    cpu_verdicts,
    device_verdicts,
    fastest,
    library_verdicts,
    residency_verdicts,
)
from trainspeed.studies.conv2d.trials import core_trials

CORE = core_trials(ARTICLE_LIBRARIES, ["tensorflow", "torch"], [1, 2, 4], **ARTICLE_SIZE)


def speedups_of(verdicts):
    return {(v.candidate.library, v.baseline.library): v.speedup for v in verdicts}


# Who is compared with whom.


def test_frameworks_are_held_against_the_first_one_on_one_device():
    verdicts = library_verdicts(make_runs(CORE, shared), CORE)

    assert speedups_of(verdicts) == {("torch", "tensorflow"): 4.0}
    assert [(v.low, v.high, v.outcome, v.blocks) for v in verdicts] == [(4.0, 4.0, Outcome.FASTER, BLOCKS)]
    assert {(v.baseline.devices, v.candidate.devices) for v in verdicts} == {(1, 1)}


def test_another_mode_is_another_library():
    core = core_trials(["tensorflow", "tensorflow eager"], [], [], **ARTICLE_SIZE)
    (verdict,) = library_verdicts(make_runs(core, lambda t, _: 2.0 if t.mode == "eager" else 1.0), core)

    assert (verdict.candidate.mode, verdict.speedup, verdict.outcome) == ("eager", 0.5, Outcome.SLOWER)


def test_frameworks_are_held_against_every_baseline_of_the_cpu():
    verdicts = cpu_verdicts(make_runs(CORE, shared), CORE)

    assert speedups_of(verdicts) == {
        ("tensorflow", "scipy_signal"): 0.5,
        ("tensorflow", "opencv"): 0.125,
        ("torch", "scipy_signal"): 2.0,
        ("torch", "opencv"): 0.5,
    }
    assert {v.candidate.devices for v in verdicts} == {1}


def test_a_framework_on_the_cpu_is_a_baseline():
    core = core_trials(["torch", "torch cpu"], [], [], **ARTICLE_SIZE)
    runs = make_runs(core, lambda t, _: 8.0 if t.processor == "cpu" else 1.0)

    assert library_verdicts(runs, core) == []
    (verdict,) = cpu_verdicts(runs, core)
    assert (verdict.speedup, verdict.baseline.processor, verdict.candidate.processor) == (
        8.0,
        "cpu",
        "device",
    )


def test_several_devices_are_held_against_one_of_the_same_library():
    verdicts = device_verdicts(make_runs(CORE, shared))

    speedups = {(v.candidate.library, v.candidate.devices): v.speedup for v in verdicts}
    assert speedups == {
        ("tensorflow", 2): 4.0 / 2.5,
        ("tensorflow", 4): 4.0 / 1.5,
        ("torch", 2): 2.0,
        ("torch", 4): 4.0,
    }
    assert all((v.baseline.library, v.baseline.devices) == (v.candidate.library, 1) for v in verdicts)


def test_several_devices_are_held_against_one_of_the_same_mode():
    trials = [make_trial(f"tensorflow {mode}", devices=n) for mode in ("graph", "eager") for n in (1, 2)]
    runs = make_runs(trials, lambda t, _: {"graph": 2.0, "eager": 9.0}[t.mode] / t.devices**2)

    assert {(v.baseline.mode, v.candidate.mode, v.speedup) for v in device_verdicts(runs)} == {
        ("graph", "graph", 4.0),
        ("eager", "eager", 4.0),
    }


def test_several_devices_without_one_are_no_verdict():
    assert device_verdicts(make_runs([make_trial(devices=2), make_trial("torch")], 1.0)) == []


@pytest.mark.parametrize("field", ["images", "height", "channels", "filters", "filter_size"])
def test_different_sizes_are_never_compared(field):
    other = {field: 24}
    runs = make_runs(
        [make_trial("tensorflow"), make_trial("torch", **other), make_trial(devices=2, **other)], 1.0
    )
    core = [run.trial.spec for run in runs[:3]]

    assert device_verdicts(runs) == []
    assert library_verdicts(runs, CORE) == cpu_verdicts(runs, CORE) == []
    assert residency_verdicts(runs, [core[2]]) == [], "on two devices it is not asked"


def test_only_blocks_of_both_are_compared():
    """TensorFlow failed in a block and torch in another; what they took there alone does not count."""
    runs = [
        run
        for run in make_runs(CORE[:2], lambda t, b: {0: 100.0, 1: 0.01}.get(b, SECONDS(t, b)), blocks=8)
        if (run.trial.library, run.block) not in {("tensorflow", 0), ("torch", 1)}
    ]
    runs.append(make_run(CORE[0], block=0, status=Status.CRASHED))
    (verdict,) = library_verdicts(runs, CORE)

    assert (verdict.blocks, verdict.low, verdict.high) == (6, 4.0, 4.0)


def test_blocks_are_paired_so_that_drift_cancels():
    runs = make_runs(CORE[:2], lambda t, b: SECONDS(t, b) * 3.0**b)
    (verdict,) = library_verdicts(runs, CORE)

    assert (verdict.low, verdict.high) == (4.0, 4.0)


def test_too_few_blocks_have_a_size_and_no_interval():
    verdicts = cpu_verdicts(make_runs(CORE, shared, blocks=5), CORE)

    assert {(v.low, v.outcome, v.blocks) for v in verdicts} == {(None, Outcome.UNDECIDED, 5)}


def test_the_interval_is_between_the_second_and_the_last_but_one_of_nine_blocks():
    ratios = [0.9, 1.3, 1.1, 1.5, 1.2, 1.4, 1.6, 1.7, 9.0]
    runs = make_runs(CORE[:2], lambda t, b: ratios[b] if t.library == "tensorflow" else 1.0, blocks=9)
    (verdict,) = library_verdicts(runs, CORE)

    assert (verdict.low, verdict.speedup, verdict.high) == (1.1, 1.4, 1.7)
    assert verdict.outcome == Outcome.FASTER


def test_the_controls_second_half_is_used_nowhere():
    runs = make_runs(CORE, shared)
    again = make_runs(CORE, 1e6, label="A again")

    for judge in (library_verdicts, cpu_verdicts, residency_verdicts):
        assert judge([*again, *runs], CORE) == judge(runs, CORE)
    assert device_verdicts([*again, *runs]) == device_verdicts(runs)
    assert fastest([*runs, *again], CORE) == fastest(runs, CORE)


def test_trainings_among_the_runs_are_left_alone():
    """The ceilings of the roofline are measured in the same study."""
    runs = make_runs(CORE, shared)
    mixed = [*runs, make_training(part="copy", precision="fp32")]

    assert device_verdicts(mixed) == device_verdicts(runs)
    assert library_verdicts(mixed, CORE) == library_verdicts(runs, CORE)
    assert fastest(mixed, CORE) == fastest(runs, CORE)


def test_a_seed_of_the_notebook_changes_nothing():
    core = core_trials(ARTICLE_LIBRARIES, ["torch"], [1, 2], **ARTICLE_SIZE, seed=5)
    runs = make_runs(core, SECONDS)

    assert speedups_of(library_verdicts(runs, core)) == {("torch", "tensorflow"): 4.0}
    assert len(cpu_verdicts(runs, core)) == 4
    assert len(device_verdicts(runs)) == 1
    assert len(residency_verdicts(runs, core)) == 2
    assert {trial.library for trial in fastest(runs, core).values()} == {"torch", "opencv"}


# Data that stay on the device.


def test_staying_is_held_against_whole_calls_of_the_same_runs():
    runs = [
        *make_runs([CORE[0]], lambda t, b: 1.0 + b, resident=0.25),
        *make_runs([CORE[1]], 1.0, resident=1.0),
        *make_runs([CORE[2]], 1.0),
    ]
    verdicts = residency_verdicts(runs, CORE)

    assert [(v.candidate.library, v.low, v.high, v.outcome) for v in verdicts] == [
        ("tensorflow", 4.0, 4.0, Outcome.FASTER),
        ("torch", 1.0, 1.0, Outcome.SAME),
    ]
    assert all(v.baseline == v.candidate for v in verdicts)


def test_without_calls_that_stay_there_is_no_verdict():
    assert residency_verdicts(make_runs(CORE, 1.0, resident=None), CORE) == []


# The fastest.


def test_the_fastest_is_by_the_median_call_on_the_device_and_on_the_cpu():
    best = fastest(make_runs(CORE, shared), CORE)

    assert {where: trial.library for where, trial in best.items()} == {"device": "torch", "cpu": "opencv"}
    assert best["device"].devices == 1, "several devices are another question"


def test_one_lucky_block_wins_nothing():
    runs = make_runs(CORE[:2], lambda t, b: 1e-3 if (t.library, b) == ("tensorflow", 0) else SECONDS(t, b))

    assert fastest(runs, CORE)["device"].library == "torch"


def test_the_fastest_has_the_smallest_median_of_the_table():
    took = {"tensorflow": (1, 1, 1, 3, 3, 3), "torch": (2.5,) * 6}  # medians 2 and 2.5
    runs = make_runs(CORE[:2], lambda t, b: took[t.library][b])

    assert fastest(runs, CORE)["device"].library == "tensorflow"


def test_what_never_ran_well_is_not_the_fastest():
    runs = [*make_runs(CORE[:1], 9.0), make_run(CORE[1], status=Status.OOM)]

    assert fastest(runs, CORE) == {"device": CORE[0]}
    assert fastest([], CORE) == {}
