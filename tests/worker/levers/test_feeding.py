"""Levers of feeding, in the frameworks: each is seen in effect only where it is, and images arrive as they were."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from probes.feeding_probe import BY_EMPTY_HOOKS, CORES, PIPELINES, TRAININGS, as_bytes, images
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import FRAMEWORKS

pytestmark = pytest.mark.slow

ASKED = [(name, arm) for name, arms in TRAININGS.items() for arm, (levers, _) in arms.items() if levers]
FED = [(name, pipeline) for name in FRAMEWORKS for pipeline in PIPELINES]
FED = [(name, pipeline) for name, pipeline in FED if pipeline != "tf_data" or name == "tensorflow"]
HALF = 0.5001 / 255  # to which bytes are rounded


@pytest.fixture(scope="module")
def outputs(shared_worker, tmp_path_factory):
    """What the probe of every installed framework found: its words, and its batches."""
    files = shared_worker.probed("probes.feeding_probe", tmp_path_factory.mktemp("probe"), ".npz")
    arrays = {framework: dict(np.load(file)) for framework, file in files.items()}
    return {framework: (json.loads(str(of.pop("found"))), of) for framework, of in arrays.items()}


def found(outputs, framework):
    if framework not in outputs:
        pytest.skip(f"{framework} is not installed here")
    return outputs[framework][0]


def batches(outputs, framework, *names):
    if framework not in outputs:
        pytest.skip(f"{framework} is not installed here")
    return outputs[framework][1]["/".join(names)]


@pytest.mark.parametrize(("framework", "arm"), ASKED)
def test_what_is_asked_for_is_seen_in_effect(outputs, framework, arm):
    levers, _ = TRAININGS[framework][arm]
    seen = found(outputs, framework)[arm]["in_effect"]

    assert {name: seen[name][0] for name, _ in levers} == dict(levers), seen


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_hook_that_does_nothing_is_seen_to_do_nothing(outputs, framework):
    """The check of the test above: what is seen comes from what was trained, not from what was asked."""
    arms = zip(BY_EMPTY_HOOKS[framework], found(outputs, framework)["by empty hooks"], strict=True)

    for arm, seen in arms:
        for name, value in TRAININGS[framework][arm][0]:
            assert seen[name][0] not in (None, value), (arm, seen)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_images_that_reach_the_model_from_0_to_255_are_not_in_effect(outputs, framework):
    """The classic silent error: it trains, and learns badly."""
    value, how = found(outputs, framework)["unnormalised"]

    assert value == "off" and re.search(r"input has mean 12[5-9]\.", how)


@pytest.mark.parametrize(
    ("framework", "one", "other"),
    [
        *((name, "plain", "uint8") for name in FRAMEWORKS),
        *(("torch", "workers", arm) for arm in ("uint8 from workers", "started again", "spawned")),
    ],
)
def test_the_same_images_teach_the_same(outputs, framework, one, other):
    of = found(outputs, framework)
    rel = 1e-2 if "uint8 " in other else 1e-3  # images that were moved are rounded again

    assert of[other]["numbers"] == pytest.approx(of[one]["numbers"], rel=rel, abs=0.05)
    if other in ("started again", "spawned"):
        assert of[other]["numbers"] == of[one]["numbers"], "class =: not a bit differs"


@pytest.mark.parametrize(("framework", "pipeline"), FED)
def test_batches_of_bytes_are_those_of_floats_rounded(outputs, framework, pipeline):
    """The same images in the same order, shifted and mirrored alike."""
    floats, as_uint8 = (batches(outputs, framework, pipeline, kind, "x") for kind in ("floats", "bytes"))
    labels = [batches(outputs, framework, pipeline, kind, "y") for kind in ("floats", "bytes")]

    assert (floats.dtype, as_uint8.dtype) == (np.float32, np.uint8)
    assert np.abs(floats - as_uint8 / 255).max() <= HALF
    np.testing.assert_array_equal(*labels)
    assert len(as_uint8) == 2 * len(images().train_x)
    assert as_uint8.std() > 30, "not all the same"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_augmentation_on_the_device_is_seen_by_its_random_numbers(outputs, framework):
    arms = found(outputs, framework)
    seen = {arm: arms[arm]["in_effect"].get("pipeline", [None])[0] for arm in TRAININGS[framework]}

    asked = {arm: fields.get("pipeline") for arm, (_, fields) in TRAININGS[framework].items()}
    assert seen == {arm: of or "arrays" for arm, of in asked.items()}
    told = {arm: arms[arm]["in_effect"]["pipeline"][1] for arm, of in asked.items() if of == "in_model"}
    assert told and all("random numbers" in how for how in told.values())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_pipeline_is_seen_by_who_made_its_batches(outputs, framework):
    arms = found(outputs, framework)

    assert {asked: of["pipeline"][0] for asked, of in arms["by pipeline"].items()} == {
        asked: asked for asked in arms["by pipeline"]
    }
    if framework != "tensorflow":
        workers = arms["workers"]["in_effect"] if framework == "torch" else arms["by pipeline"]["processes"]
        assert workers["workers"][0] == "2" and "2 living worker processes" in workers["pipeline"][1]


@pytest.mark.parametrize(
    ("framework", "made"), [("torch", "generator"), ("tensorflow", "arrays"), ("jax", "generator")]
)
def test_a_pipeline_that_is_made_otherwise_is_not_in_effect(outputs, framework, made):
    """The check of the test above: a loader without its workers, a data set that maps nothing in parallel."""
    seen = found(outputs, framework)["made otherwise"]

    assert seen["pipeline"][0] == made and "workers" not in seen, seen


def test_a_data_set_of_tensorflow_is_told_by_its_operations(outputs):
    arms = found(outputs, "tensorflow")

    assert "ParallelMap(AUTOTUNE), Prefetch(AUTOTUNE)" in arms["data set"]["in_effect"]["pipeline"][1]
    assert "Map, Prefetch(1); it yields float32" in arms["plain"]["in_effect"]["pipeline"][1]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_can_do_nothing_here_is_refused(outputs, framework):
    """A lever of a GPU on a CPU, and one of tf.data with a pipeline of Keras's."""
    assert set(found(outputs, framework)["refused"]) == {"refused"}


@pytest.mark.parametrize(
    ("framework", "arm"), [("torch", "enlarged"), ("tensorflow", "uint8"), ("jax", "uint8")]
)
def test_trainings_on_bytes_are_inspected_without_a_doubt(outputs, framework, arm):
    """Torch's are enlarged, validated and saved, too."""
    assert found(outputs, framework)[arm]["notes"] == 0


# The ways to a GPU, by a device that stands for one.


def test_every_way_to_the_device_is_seen_as_what_it_is(outputs):
    ways = found(outputs, "torch")["ways"]

    assert tuple(ways) == LEVERS["transfer"].values
    assert {way: of["seen"][0] for way, of in ways.items()} == {way: way for way in ways}
    assert {came for of in ways.values() for came in of["came"]} == {"meta"}


def test_batches_that_nobody_pinned_are_not_seen_as_pinned(outputs):
    of = found(outputs, "torch")

    assert of["ways without workers"]["pinned"]["seen"][0] == "non_blocking"
    assert [value for value, _ in of["way of none"]] == ["pinned", "non_blocking"]


def test_only_pageable_batches_are_waited_for(outputs):
    ways = found(outputs, "torch")["ways"]

    assert {way: set(of["non_blocking"]) for way, of in ways.items()} == {
        way: {way != "pageable"} for way in ways
    }


def test_a_batch_is_uploaded_beside_the_step_before_it_and_waited_for_before_its_own(outputs):
    """Each wait is for its own copy: waiting for the newest one would hold up the step until that has come."""
    events = found(outputs, "torch")["ways without workers"]["side_stream"]["events"]

    assert [event for event in events if event != "pin"] == [
        "upload",
        *("upload", "wait for 1", "train"),
        *("upload", "wait for 2", "train"),
        *("wait for 3", "train"),
    ]
    assert events[:3] == ["pin", "pin", "upload"], "of pageable memory nothing is copied beside a step"


# Options of tf.data.


def test_a_data_set_with_threads_of_its_own_starts_one_for_each_core(outputs):
    without, own = found(outputs, "tensorflow")["threads"]

    assert own - without >= CORES - 4


def test_a_prefetched_batch_is_on_the_device_that_it_is_for(outputs):
    of = found(outputs, "tensorflow")

    assert of["prefetched"].endswith("CPU:1") and of["not prefetched"].endswith("CPU:0")


def test_images_as_bytes_are_rounded_and_no_copy_shares_memory():
    """Without a framework."""
    of = images()
    made = as_bytes(of, exact=True)

    assert (made.train_x.dtype, made.test_x.dtype) == (np.uint8, np.uint8)
    assert np.abs(made.train_x / 255 - of.train_x).max() < 1e-6
