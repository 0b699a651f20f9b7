"""Which switches verdicts speak for, and which are tried untold."""

from dataclasses import replace

import pytest

from recipe_world import FIELDS, start_of
from scaling_data import make_runs, make_verdict
from study_data import make_run
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.errors import UserError
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.studies.summary.recipe import searches
from trainspeed.studies.summary.switches import (
    Switch,
    extra_verdicts,
    plain_trial,
    switches_that_won,
    untested_switches,
)

START = plain_trial("torch", "cnn10", **FIELDS)
LAYOUT = {"factor": "layout", "values": ("channels_first", "channels_last"), "devices": 1}
PRECISION = {"factor": "precision", "values": ("default", "bf16"), "devices": 1}
BATCH = {"factor": "batch_size", "values": (16, 64), "devices": 1}


def won(*verdicts, start=START, **more):
    return [(s.factor, dict(s.fields)[s.factor], s.alone) for s in switches_that_won(verdicts, start, **more)]


# The plain trial.


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_plain_is_what_the_framework_does_by_itself(framework):
    trial = plain_trial(framework, "cnn10", **FIELDS)
    assert trial.layout == ("channels_first" if framework == "torch" else "channels_last")
    assert trial.compile == (framework == "jax")
    assert (trial.precision, trial.devices, trial.strategy) == ("default", 1, "single")


def test_an_unknown_framework_is_a_users_mistake():
    with pytest.raises(UserError, match="unknown framework 'pytorch'"):
        plain_trial("pytorch", "cnn10", **FIELDS)


# What won.


def test_a_faster_candidate_is_a_switch():
    assert won(make_verdict(1.5, **LAYOUT)) == [("layout", "channels_last", 1.5)]


def test_a_slower_candidate_switches_the_other_way():
    """The plain trial of TensorFlow is channels_last, which lost here."""
    verdict = make_verdict(0.5, **LAYOUT, framework="tensorflow")
    assert won(verdict, start=start_of("tensorflow")) == [("layout", "channels_first", 2.0)]


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.01])
def test_what_the_plain_trial_has_already_is_no_switch(ratio):
    """channels_last lost, or did nothing, and the plain trial of torch does not have it."""
    assert won(make_verdict(ratio, **LAYOUT)) == []


def test_a_winner_over_something_else_than_the_plain_setting_is_no_switch():
    assert won(make_verdict(2.0, factor="precision", values=("fp16", "bf16"), devices=1)) == []
    assert won(make_verdict(2.0, factor="batch_size", values=(64, 256), devices=1)) == []
    assert (
        won(make_verdict(2.0, devices=1, factor="pipeline", values=("generator", "threads"), augment=True))
        == []
    )


def test_too_few_blocks_are_no_verdict():
    assert won(make_verdict(3.0, **LAYOUT, blocks=5)) == []


def test_another_framework_speaks_for_itself_only():
    assert won(make_verdict(1.5, **LAYOUT), start=start_of("jax")) == []
    assert won(make_verdict(1.5, factor="framework", values=("torch", "jax"), devices=1)) == []


def test_the_same_model_counts_first_and_then_the_larger_gain():
    other = make_verdict(3.0, **LAYOUT, model="wrn28_1")
    same = make_verdict(1.2, **LAYOUT)
    larger = make_verdict(1.4, **LAYOUT, precision="bf16")
    for several in ((other, same, larger), (larger, same, other)):
        assert won(*several) == [("layout", "channels_last", 1.4)]
    assert won(other) == [("layout", "channels_last", 3.0)]
    assert [s.model for s in switches_that_won([other], START)] == ["wrn28_1"]
    assert [s.model for s in switches_that_won([other, same], START)] == [None]


def test_the_largest_gain_is_tried_first():
    found = won(make_verdict(1.2, **LAYOUT), make_verdict(2.5, **BATCH), make_verdict(1.7, **PRECISION))
    assert [factor for factor, *_ in found] == ["batch_size", "precision", "layout"]


def test_weak_scaling_is_no_gain_of_devices():
    """Each of the two devices has the whole batch: an epoch has half the steps."""
    weak = make_verdict(1.9, devices=(1, 2), values=(1, 2), batch_size=(16, 32))
    strong = make_verdict(1.6, batch_size=16)
    assert won(weak) == []
    (switch,) = switches_that_won([weak, strong], START)
    assert (switch.fields, switch.alone) == ((("devices", 2), ("strategy", "ddp")), 1.6)


def test_devices_that_are_not_here_are_no_switch():
    """Verdicts may be of another machine."""
    verdicts = [
        make_verdict(1.6, values=(1, 2), batch_size=16),
        make_verdict(3.0, values=(1, 8), batch_size=16),
    ]
    assert won(*verdicts, devices=2) == [("devices", 2, 1.6)]
    assert won(*verdicts, devices=8) == [("devices", 8, 3.0)]
    assert won(*verdicts) == [("devices", 8, 3.0)]


def test_parts_of_a_step_controls_and_accuracy_are_no_gain():
    assert won(make_verdict(2.0, **LAYOUT, part="compute")) == []
    assert won(make_verdict(2.0, **LAYOUT, quantity="accuracy")) == []
    assert won(replace(make_verdict(2.0, **LAYOUT), factor="control")) == []


def test_convolutions_are_no_training():
    made = make_verdict(4.0)
    trials = [
        Conv2dTrial(library="torch", mode="eager", images=8, height=8, width=8, devices=n) for n in (1, 2)
    ]
    assert won(replace(made, baseline=trials[0], candidate=trials[1])) == []


def test_a_pipeline_keeps_its_workers_and_its_queue():
    start = start_of(pipeline="generator", augment=True)
    verdict = make_verdict(
        2.0,
        factor="pipeline",
        values=("generator", "threads"),
        workers=(0, 4),
        augment=True,
        devices=1,
        queue=64,
    )
    (switch,) = switches_that_won([verdict], start)
    after = switch.on(start)
    assert (after.pipeline, after.workers, after.queue, after.augment) == ("threads", 4, 64, True)
    assert switches_that_won([verdict], START) == [], "the plain trial has no generator"


def test_switches_can_be_switched_on_one_after_another():
    verdicts = [make_verdict(1.2, **LAYOUT), make_verdict(2.5, **BATCH), make_verdict(1.6, batch_size=16)]
    trial = START
    for switch in switches_that_won(verdicts, START):
        trial = switch.on(trial)
    expected = replace(START, layout="channels_last", batch_size=64, devices=2, strategy="ddp")
    assert trial == expected


# Beside the verdicts.


def test_runs_of_a_study_tell_of_compiling_and_of_batch_sizes():
    runs = [
        *make_runs(1.0, devices=1, batch_size=16),
        *make_runs(0.5, devices=1, batch_size=16, compile=True),
        *make_runs(0.4, devices=1, batch_size=64),
    ]
    assert won(*extra_verdicts(runs)) == [("batch_size", 64, 2.5), ("compile", True, 2.0)]


def test_runs_of_two_studies_are_no_pair():
    runs = make_runs(1.0, devices=1, batch_size=16)
    runs += [replace(r, study="amp") for r in make_runs(0.5, devices=1, batch_size=64)]
    assert extra_verdicts(runs) == []


def test_parts_convolutions_and_ceilings_are_left_out():
    convolution = Conv2dTrial(library="torch", mode="eager", images=8, height=8, width=8)
    runs = [make_run(), replace(make_run(), trial=convolution)]
    runs += make_runs(1.0, devices=1, batch_size=16, part="compute")
    runs += make_runs(0.4, devices=1, batch_size=64, part="compute")
    assert extra_verdicts(runs) == []


# Tried untold.

EVERY = ("layout", "precision", "compile", "pipeline", "batch_size", "devices")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_factor_has_a_value_to_try_that_the_plain_trial_does_not_have(framework):
    start = start_of(framework)
    found = untested_switches(EVERY, start, [], devices=2)
    for switch in found:
        assert switch.on(start) != start
        assert switch.alone is None
    missing = {"compile"} if framework == "jax" else set()  # always compiled
    assert {switch.factor for switch in found} == set(EVERY) - missing


def test_a_batch_is_tried_four_times_as_large():
    (switch,) = untested_switches(["batch_size"], START, [])
    assert switch.on(START).batch_size == 64


def test_one_device_cannot_be_more():
    assert untested_switches(["devices"], START, [], devices=1) == []


def test_what_a_verdict_tells_is_not_tried_again_nor_is_anything_twice():
    told = [Switch(factor="layout", fields=(("layout", "channels_last"),))]
    assert [s.factor for s in untested_switches(["layout", "compile", "compile"], START, told)] == ["compile"]


def test_a_search_tries_what_won_first_and_then_the_rest():
    verdicts = [make_verdict(1.2, **LAYOUT), make_verdict(1.7, **PRECISION), make_verdict(3.0, values=(1, 8))]
    (search,) = searches(
        ["torch"],
        ["cnn10"],
        verdicts,
        switches=["layout", "devices"],
        try_also=["devices", "precision"],
        devices=2,
        blocks=6,
        margin_points=0.5,
        **FIELDS,
    )
    assert [(s.factor, s.alone) for s in search.switches] == [
        ("layout", 1.2),
        ("devices", None),
        ("precision", None),
    ]
    assert search.switches[1].on(search.start).devices == 2


# In words.


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((("layout", "channels_last"),), "channels_last"),
        ((("compile", True),), "compiled"),
        ((("compile", False),), "not compiled"),
        ((("devices", 2), ("strategy", "ddp")), "2 devices (ddp)"),
        ((("batch_size", 64),), "batch 64"),
        ((("pipeline", "in_model"), ("workers", 0)), "in_model"),
        ((("pipeline", "threads"), ("workers", 1), ("queue", 10)), "threads (1 worker)"),
        ((("pipeline", "processes"), ("workers", 8), ("queue", 10)), "processes (8 workers)"),
    ],
)
def test_a_switch_in_words(fields, words):
    assert Switch(factor=fields[0][0], fields=fields).words == words
