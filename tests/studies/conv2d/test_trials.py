"""Which convolutions are measured."""

from __future__ import annotations

import pytest

from conv2d_data import ARTICLE_SIZE, make_run, make_trial
from study_data import make_run as make_training
from trainspeed.core.convolution import LIBRARIES
from trainspeed.core.errors import UserError
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.trials import (
    call_device_counts,
    core_trials,
    library_trial,
    on_device,
    pair_of,
    that_ran,
)

SIZES = {"images": 12, "height": 100, "width": 100, "filter_size": 3}


# The names of libraries.


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("tensorflow", ("tensorflow", "graph", "device")),
        ("tensorflow xla", ("tensorflow", "xla", "device")),
        ("torch cpu", ("torch", "eager", "cpu")),
        ("tensorflow cpu eager", ("tensorflow", "eager", "cpu")),
        ("  keras   eager ", ("keras", "eager", "device")),
        ("opencv", ("opencv", "loop", "device")),
    ],
)
def test_a_library_is_named_with_its_mode_and_its_processor(spec, expected):
    trial = library_trial(spec, **SIZES)

    assert (trial.library, trial.mode, trial.processor) == expected


def test_a_library_of_the_cpu_is_the_same_trial_whether_or_not_it_is_said():
    assert library_trial("opencv cpu", **SIZES) == library_trial("opencv", **SIZES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_usual_mode_is_the_first(library):
    assert library_trial(library, **SIZES).mode == LIBRARIES[library][0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tensorflwo", "unknown library 'tensorflwo'.*tensorflow"),
        ("tensorflow xl", "unknown mode of tensorflow 'xl'.*xla"),
        ("keras xla", "unknown mode of keras 'xla'"),
        ("torch gpu", "unknown mode of torch 'gpu'"),
        ("", "library '' must be a name"),
        ("   ", "must be a name"),
        (None, "library None must be a name"),
        (3, "library 3 must be a name"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_those_that_do(spec, message):
    with pytest.raises(UserError, match=message):
        library_trial(spec, **SIZES)


def test_two_modes_at_once_are_refused():
    with pytest.raises(UserError, match="two modes, xla and eager"):
        library_trial("tensorflow xla eager", **SIZES)


# The numbers of devices.


@pytest.mark.parametrize(
    ("asked", "available", "images", "most", "expected"),
    [
        ([], 8, 840, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
        ([], 8, 100, 0, [1, 2, 4, 5]),
        ([], 2, 840, 0, [1, 2]),
        ([], 8, 840, 3, [1, 2, 3]),
        ([], 2, 840, 4, [1, 2]),
        ([], 4, 7, 0, [1]),
        ([4], 8, 840, 0, [1, 4]),
        ([4, 2, 4], 8, 840, 2, [1, 2, 4]),
    ],
)
def test_devices_are_those_asked_for_else_all_that_share_the_images_evenly(
    asked, available, images, most, expected
):
    """One is always there to compare with; `most` bounds only what nobody named."""
    assert call_device_counts(asked, available, images, most) == expected


def test_a_negative_bound_on_devices_is_refused():
    with pytest.raises(UserError, match=r"max_devices \(=-1\)"):
        call_device_counts([], 8, 840, -1)


def test_a_number_of_devices_in_quotes_is_refused_in_a_line():
    with pytest.raises(UserError, match="devices"):
        core_trials(["torch"], ["torch"], call_device_counts(["2"], 8, 840), **SIZES)


@pytest.mark.parametrize(("count", "message"), [(0, "devices"), (5, "must be divisible by devices .*try 10")])
def test_devices_that_cannot_share_the_images_are_refused(count, message):
    with pytest.raises(UserError, match=message):
        core_trials(["torch"], ["torch"], call_device_counts([count], 8, 12), **SIZES)


# The trials.


def test_the_core_is_every_library_alone_and_some_on_every_number_of_devices():
    core = core_trials(["torch", "opencv"], ["torch", "tensorflow"], [1, 2], **SIZES)

    assert [(trial.library, trial.devices) for trial in core] == [
        ("torch", 1),
        ("opencv", 1),
        ("tensorflow", 1),
        ("torch", 2),
        ("tensorflow", 2),
    ]


def test_a_library_named_twice_is_one_trial():
    core = core_trials(["torch", "torch eager", "opencv", "opencv cpu"], ["torch"], [1], **SIZES)

    assert len(core) == len(set(core)) == 2


def test_modes_and_processors_of_one_library_are_different_trials():
    assert len(core_trials(["tensorflow", "tensorflow eager", "tensorflow cpu"], [], [], **SIZES)) == 3


def test_a_library_of_the_cpu_on_several_devices_is_refused():
    with pytest.raises(UserError, match="library 'opencv' runs on one CPU core, not on 2 devices"):
        core_trials(["opencv"], ["opencv"], [1, 2], **SIZES)


def test_no_library_at_all_is_refused():
    with pytest.raises(UserError, match="libraries is an empty list"):
        core_trials([], ["torch"], [1], **SIZES)


# What runs on the device.


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("tensorflow", True), ("tensorflow cpu", False), ("scipy_signal", False), ("torch", True)],
)
def test_a_framework_is_on_the_device_unless_it_was_told_to_stay_on_the_cpu(spec, expected):
    assert on_device(make_trial(spec)) is expected


def test_a_training_is_on_no_convolutions_device():
    assert not on_device(make_training().trial)


# The article's pair.


def test_the_pair_is_the_articles_own_on_one_device():
    core = core_trials(
        ["tensorflow", "torch", "scipy_signal", "opencv"], ["tensorflow"], [1, 2], **ARTICLE_SIZE
    )

    assert pair_of(core) == (make_trial("tensorflow"), make_trial("scipy_signal"))


def test_a_library_that_never_ran_stands_for_nothing_where_others_did():
    """TensorFlow may not be installed."""
    core = core_trials(["tensorflow", "torch"], [], [], **ARTICLE_SIZE)
    missing, ran = (
        make_run(trial, status=status)
        for trial, status in zip(core, [Status.UNSUPPORTED, Status.OK], strict=True)
    )

    assert that_ran(core, [missing, ran]) == (core[1],)
    assert that_ran(core, [missing]) == that_ran(core, []) == tuple(core)


def test_without_a_baseline_there_is_half_a_pair():
    assert pair_of(core_trials(["torch"], [], [], **ARTICLE_SIZE)) == (make_trial("torch"), None)


def test_without_a_framework_a_baseline_stands_for_the_device():
    device, _ = pair_of(core_trials(["opencv"], [], [], **ARTICLE_SIZE))

    assert device.library == "opencv"


def test_the_articles_own_libraries_are_the_pair_wherever_they_are_in_the_list():
    """Else "TensorFlow is hardly optimised" is supported by TensorFlow beating PyTorch."""
    core = core_trials(["torch", "opencv", "tensorflow", "scipy_signal"], [], [], **ARTICLE_SIZE)

    assert [trial.library for trial in pair_of(core)] == ["tensorflow", "scipy_signal"]


def test_without_the_articles_own_the_first_of_each_stand_for_them():
    core = core_trials(["jax", "torch", "opencv", "scipy_fft"], [], [], **ARTICLE_SIZE)

    assert [trial.library for trial in pair_of(core)] == ["jax", "opencv"]
