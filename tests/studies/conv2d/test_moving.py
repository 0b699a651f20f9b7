"""The article's guesses about moving the data: the transfer back, data that stay, memory that swaps."""

from __future__ import annotations

import pytest

from conv2d_data import (
    BLOCKS,
    CORE,
    CPU_MACHINE,
    NOISE,
    SHARES,
    asked,
    make_run,
    make_runs,
    make_trial,
    world,
)
from trainspeed.articles.claims import Result

AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result

# The transfer back.


def with_transfer(share):
    """Return runs whose transfer back takes a share of a warm call of 1 s; by the block, if it is a list."""
    shares = [share] * BLOCKS if isinstance(share, float) else share
    runs = []
    for block, back in enumerate(shares):
        rest = dict.fromkeys(SHARES, (1 - back) / 3)
        runs.append(make_run(make_trial(), 1.0, block=block, shares={**rest, "from_device": back}))
    return runs


@pytest.mark.parametrize(
    ("share", "answer"),
    [(0.75, AGREES), (0.25, DISAGREES), (0.5, DISAGREES), ([0.2, 0.8] * 3, UNDECIDED)],
)
def test_the_transfer_back_is_the_bottleneck_where_it_takes_most_of_a_call(share, answer):
    assert asked("transfer_back", with_transfer(share))[0] == answer


def test_the_transfer_back_is_told_in_milliseconds_and_as_a_share():
    _, why = asked("transfer_back", with_transfer(0.25))

    assert why.endswith(" The transfer back takes 250 ms, 25 % of a warm call of TensorFlow (graph).")


def test_it_is_told_what_is_faster_than_the_transfer():
    _, why = asked("transfer_back", with_transfer(0.75))

    assert why.startswith(
        "Here the rest of a call vs the transfer back: 3.00x (95 % interval 3.00 to 3.00): faster."
    )


def test_without_a_gpu_there_is_no_transfer_and_it_says_how_long_handing_over_takes():
    answer, why = asked("transfer_back", with_transfer(0.75), machine=CPU_MACHINE)

    assert answer == UNMEASURED
    assert why.startswith("There is no GPU")
    assert "750 ms, 75 % of a warm call" in why


def test_without_stages_the_transfer_is_not_measured():
    assert asked("transfer_back", [])[0] == UNMEASURED


# Data that stay on the device.


@pytest.mark.parametrize(("resident", "answer"), [(0.25, AGREES), (1.0, DISAGREES), (2.0, DISAGREES)])
def test_staying_on_the_device_helps_where_its_calls_are_faster(resident, answer):
    got, why = asked("stay_on_device", make_runs(CORE, 1.0, resident=resident))

    assert got == answer
    assert f"TensorFlow (graph): {1 / resident:.2f}x" in why


def test_noise_leaves_it_open_whether_staying_helps():
    runs = [make_run(make_trial(), 1.0, block=b, resident=noise) for b, noise in enumerate(NOISE)]

    assert asked("stay_on_device", runs)[0] == UNDECIDED


def test_staying_that_was_not_measured_is_not_known():
    assert asked("stay_on_device", make_runs(CORE, 1.0, resident=None))[0] == UNMEASURED


# Memory.


def machine_with(host_bytes, gpu_bytes=None):
    gpus = [] if gpu_bytes is None else [{"name": "Test GPU", "memory_bytes": gpu_bytes}]
    device = "cpu" if gpu_bytes is None else "gpu"
    return {**CPU_MACHINE, "device": device, "gpus": gpus, "memory_bytes": host_bytes}


@pytest.mark.parametrize(
    ("machine", "answer", "told"),
    [
        (machine_with(10**6, 80 * 10**9), DISAGREES, "67.2 MB of 80 GB (the GPU)"),
        (machine_with(10**12, 10**8), UNDECIDED, "67.2 MB of 0.1 GB (the GPU)"),
    ],
)
def test_the_memory_needed_is_held_against_that_of_the_gpu(machine, answer, told):
    """840 images of 100x100 and as many results, 4 bytes each."""
    got, why = asked("memory_swap", world(), machine=machine)

    assert got == answer
    assert why.startswith(f"One device needs {told}.")


@pytest.mark.parametrize(
    "machine", [{}, machine_with(None), machine_with(10**12, 0) | {"gpus": [{"name": "x"}]}]
)
def test_memory_that_is_not_known_answers_nothing(machine):
    assert asked("memory_swap", world(), machine=machine) == (
        UNMEASURED,
        "The memory of the device is not known.",
    )


def test_a_first_call_that_takes_longer_is_offered_as_the_reason():
    _, why = asked("memory_swap", make_runs(CORE, 1.0, first=10.0))

    assert why.endswith(" What takes long is the first call: 10.00 times (10.00 to 10.00) a warm one.")


@pytest.mark.parametrize("first", [1.0, 0.9])
def test_a_first_call_that_takes_no_longer_is_no_reason(first):
    _, why = asked("memory_swap", make_runs(CORE, 1.0, first=first))

    assert "first call" not in why


def test_where_the_memory_may_not_do_no_other_reason_is_offered():
    _, why = asked("memory_swap", make_runs(CORE, 1.0, first=10.0), machine=machine_with(0, 10**8))

    assert "first call" not in why
