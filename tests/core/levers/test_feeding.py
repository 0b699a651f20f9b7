"""The levers of feeding, as values: ladders of loaders and batch sizes, and what goes together."""

from __future__ import annotations

import pytest

from study_data import make_trial
from trainspeed.core.errors import UserError
from trainspeed.core.levers.feeding import RESIDENT_PIPELINES, batch_ladder, loader_ladder
from trainspeed.core.levers.registry import LEVERS
from trainspeed.search.switch import Switch
from trainspeed.worker.pipelines.batches import PLAIN


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
@pytest.mark.parametrize("cores", [1, 2, 3, 8, 64])
def test_every_rung_of_a_loader_is_a_trial_and_none_comes_twice(framework, cores):
    rungs = loader_ladder(framework, cores, augment=True)

    trials = [make_trial(framework=framework, augment=True, **rung) for rung in rungs]
    assert len(set(trials)) == len(trials)
    assert rungs[0]["pipeline"] == "in_model" and {"pipeline": "generator", "workers": 0} in rungs
    assert max(trial.workers for trial in trials) == cores


def test_as_many_workers_as_cores_beside_that_of_the_training_come_first():
    workers = [r["workers"] for r in loader_ladder("torch", 8, augment=False) if r["pipeline"] == "processes"]

    assert workers == [7, 4, 8, 1]


def test_many_workers_have_room_for_two_batches_each_and_half_as_many_for_four():
    rungs = [r for r in loader_ladder("torch", 16, augment=False) if r["workers"]]

    assert [(r["pipeline"], r["workers"], r["queue"]) for r in rungs[:6]] == [
        *((kind, 15, 30) for kind in ("processes", "threads")),
        *((kind, 8, 32) for kind in ("processes", "threads")),
        *((kind, 16, 32) for kind in ("processes", "threads")),
    ]


def test_a_batch_doubles_as_long_as_an_epoch_has_four_steps():
    assert batch_ladder(32, 512) == (32, 64, 128)
    assert batch_ladder(32, 511) == (32, 64)
    assert batch_ladder(32, 64) == (32,)


def test_images_stay_on_a_device_in_the_pipelines_that_leave_them_unchanged():
    assert RESIDENT_PIPELINES == PLAIN


def test_a_way_to_the_device_needs_images_that_are_uploaded():
    with pytest.raises(UserError, match="needs resident=off"):
        make_trial(levers=(("transfer", "pinned"),))
    assert make_trial(levers=(("transfer", "pinned"), ("resident", "off"))).levers


def test_what_a_framework_lacks_has_a_reason_of_its_own():
    for name in ("transfer", "device_prefetch", "loader_persistent", "loader_context", "private_threads"):
        lever = LEVERS[name]
        lacking = {"torch", "tensorflow", "jax"} - set(lever.frameworks)
        assert lacking == set(lever.missing), name


def test_augmentation_on_the_device_is_called_what_it_is():
    switch = Switch(lever="pipeline", value="in_model", fields=(("pipeline", "in_model"), ("workers", 0)))

    assert switch.words == "augmentation on the device"
