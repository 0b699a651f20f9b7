"""Every library's convolution through a real worker: its child compares it with the float64 reference."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fake_conv2d import Buggy, Dying, Elsewhere, Flipped, NotHere, Right, WithoutMemory, behaving
from shared_workers import SharedWorkers
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.convolution import CPU_LIBRARIES, FIRST_STAGES, LIBRARIES, Conv2dTrial
from trainspeed.core.run import Status
from trainspeed.sensors.processes import usable_cores
from trainspeed.worker.convolution.calls import STAGES
from trainspeed.worker.convolution.reference import WrongResult
from trainspeed.worker.request import Request
from trainspeed.worker.validity import check_placement

pytestmark = pytest.mark.slow

EVERY = [(library, mode) for library, modes in LIBRARIES.items() for mode in modes]
SLOW = ("tensorflow", "keras")  # half a second a run: they have fewer examples, in each of their five modes
ENVIRONMENT = {"TRAINSPEED_MEMORY_BYTES": str(3 * 10**9)}
TIMEOUT_S = 120
MAX_DEVICES = min(2, len(usable_cores()) or 2)


def measure(shared_worker: SharedWorkers, trial: Conv2dTrial) -> RunOutcome:
    return shared_worker(trial.framework).run(trial, environment=ENVIRONMENT, timeout_s=TIMEOUT_S)


def a_trial(library: str, mode: str, *, devices: int = 1, each: int = 1, **sizes: int) -> Conv2dTrial:
    """Return a trial with `each` images on each device; a CPU library has one device."""
    devices = 1 if library in CPU_LIBRARIES else min(devices, MAX_DEVICES)
    return Conv2dTrial(library=library, mode=mode, devices=devices, images=devices * each, calls=3, **sizes)


def assert_measured(outcome: RunOutcome, trial: Conv2dTrial) -> None:
    """Right, on as many CPU devices as asked for, with every kind of call and every stage."""
    assert outcome.status == Status.OK, f"{trial}: {outcome.reason}"
    result = outcome.result
    places = result.placement.split(", ")
    assert len(places) == trial.devices, places
    assert all("cpu" in place.lower() for place in places), places
    assert trial.framework == "torch" or len(set(places)) == trial.devices, "torch calls every core `cpu`"
    assert list(result.stages_s) == ["start", "data", *FIRST_STAGES, "check", "warm"]
    assert all(seconds >= 0 for seconds in result.stages_s.values())
    assert len(result.call_s) >= trial.calls
    assert all(seconds > 0 for seconds in result.call_s)
    assert result.peak_memory_bytes is None or result.peak_memory_bytes >= 0
    if trial.library in CPU_LIBRARIES:
        assert (result.warm_s, result.resident_s) == ({}, ())
        return
    assert list(result.warm_s) == list(STAGES)
    assert len({len(times) for times in result.warm_s.values()}) == 1
    assert len(result.resident_s) >= 1


SIZES = st.fixed_dictionaries(
    {
        "each": st.integers(1, 4),
        "height": st.integers(1, 20),
        "width": st.integers(1, 20),
        "channels": st.integers(1, 4),
        "filters": st.integers(1, 4),
        "filter_size": st.integers(1, 7),
        "devices": st.integers(1, 2),
        "seed": st.integers(0, 1000),
    }
)
EVEN = {"each": 3, "height": 17, "width": 12, "channels": 3, "filters": 4, "filter_size": 4, "devices": 2}
WIDER_THAN_THE_IMAGE = {"each": 2, "height": 2, "width": 1, "channels": 2, "filters": 3, "filter_size": 7}
ONE_PIXEL = {"each": 1, "height": 1, "width": 1, "channels": 4, "filters": 1, "filter_size": 2, "devices": 2}


HARD = (EVEN, WIDER_THAN_THE_IMAGE, ONE_PIXEL)


def shapes(count: int):
    """Call a test with the hard shapes and with random ones, which are the same every time."""

    def decorate(test):
        for sizes in HARD:
            test = example(sizes=sizes)(test)
        return settings(derandomize=True, deadline=None, max_examples=count)(given(sizes=SIZES)(test))

    return decorate


@pytest.mark.parametrize(("library", "mode"), [pair for pair in EVERY if pair[0] not in SLOW])
@shapes(12)
def test_a_library_agrees_with_the_reference_in_every_shape(shared_worker, library, mode, sizes):
    trial = a_trial(library, mode, **sizes)

    assert_measured(measure(shared_worker, trial), trial)


@pytest.mark.parametrize(("library", "mode"), [pair for pair in EVERY if pair[0] in SLOW])
@shapes(4)
def test_so_does_one_that_is_slow_to_trace(shared_worker, library, mode, sizes):
    trial = a_trial(library, mode, **sizes)

    assert_measured(measure(shared_worker, trial), trial)


@pytest.mark.parametrize("filter_size", [10, 11, 12, 31])
@pytest.mark.parametrize("library", CPU_LIBRARIES)
def test_a_large_filter_is_right_where_a_library_changes_its_algorithm(shared_worker, library, filter_size):
    """OpenCV takes a Fourier transform from 11x11 on."""
    trial = a_trial(library, LIBRARIES[library][0], each=2, height=24, width=40, filter_size=filter_size)

    assert_measured(measure(shared_worker, trial), trial)


@pytest.mark.parametrize(("library", "mode"), [pair for pair in EVERY if pair[0] not in CPU_LIBRARIES])
def test_the_articles_other_filter_is_right_with_many_channels(shared_worker, library, mode):
    """Sums of 1,600 terms: float32 still passes, whatever algorithm is chosen for them."""
    trial = a_trial(library, mode, each=2, height=16, width=16, channels=16, filters=16, filter_size=10)

    assert_measured(measure(shared_worker, trial), trial)


def test_more_devices_than_cores_are_a_row_with_the_reason(shared_worker):
    there = len(usable_cores())
    trial = Conv2dTrial(library="torch", mode="eager", images=1024, height=1, width=1, devices=1024)
    outcome = measure(shared_worker, trial)

    assert outcome.status == Status.UNSUPPORTED
    assert f"1024 devices asked for; this machine has {there} CPU cores" in outcome.reason


# What goes wrong, planted.


@pytest.fixture(scope="module")
def fake_worker():
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{Path(__file__).parents[3] / 'lib'}"}
    worker = WorkerProcess(sys.executable, "fake_conv2d", environment=environment)
    yield worker
    worker.close()


def behave(worker: WorkerProcess, behaviour: type[Right], **changed) -> RunOutcome:
    request = Request(trial=behaving(behaviour, **changed), device="cpu", requested_at=time.monotonic())
    return worker.run(request, TIMEOUT_S)


def test_the_made_up_library_is_measured_like_any_other(fake_worker):
    assert_measured(behave(fake_worker, Right), behaving(Right))


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        (Flipped, Status.INVALID, "the result differs from a float64 reference by "),
        (Elsewhere, Status.INVALID, "but ran on CPU:0, GPU:0"),
        (WithoutMemory, Status.OOM, "MemoryError in stage 'kernel': Unable to allocate 9.00 GiB"),
        (Buggy, Status.CRASHED, "KeyError in stage 'from_device': 'a bug in a library'"),
        (NotHere, Status.UNSUPPORTED, "this device has no such arithmetic"),
        (Dying, Status.CRASHED, "the run was killed by SIGABRT in stage 'kernel'"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_goes_wrong_is_a_row_with_a_reason_and_no_times(fake_worker, behaviour, status, reason):
    outcome = behave(fake_worker, behaviour)

    assert outcome.status == status
    assert reason in outcome.reason
    assert "\n" not in outcome.reason
    assert outcome.result.call_s == ()
    assert behave(fake_worker, Right).status == Status.OK, "the worker goes on"


@pytest.mark.parametrize(
    ("placement", "device"),
    [
        ("cpu", "cpu"),
        ("cpu, cpu", "cpu"),
        ("CPU:0, CPU:1", "cpu"),
        ("TFRT_CPU_0, TFRT_CPU_1", "cpu"),
        ("cuda:0, cuda:1", "gpu"),
        ("GPU:0", "gpu"),
    ],
)
def test_devices_are_known_by_the_names_that_libraries_give_them(placement, device):
    check_placement(placement, device, len(placement.split(", ")))


@pytest.mark.parametrize(
    ("placement", "device", "strange"),
    [
        ("CPU:0", "gpu", "CPU:0"),
        ("GPU:0, CPU:0", "gpu", "CPU:0"),
        ("cpu", "gpu", "cpu"),
        ("TFRT_CPU_0", "gpu", "TFRT_CPU_0"),
        ("GPU:0", "cpu", "GPU:0"),
        ("cuda:0, cuda:1", "cpu", "cuda:0, cuda:1"),
        ("TPU:0", "gpu", "TPU:0"),
        ("", "cpu", ""),
    ],
)
def test_a_convolution_elsewhere_than_told_is_refused_with_the_names(placement, device, strange):
    with pytest.raises(WrongResult, match=rf"^it was told to run on the {device}, but ran on {strange}$"):
        check_placement(placement, device, len(placement.split(", ")))


def test_a_device_that_was_not_used_is_told():
    with pytest.raises(WrongResult, match=r"^it was told to use 2 devices, but ran on CPU:0$"):
        check_placement("CPU:0", "cpu", 2)
