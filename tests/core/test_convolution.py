"""One convolution to measure: its JSON, its mistakes, its arithmetic, and its words."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study_data import MACHINE, make_trial
from trainspeed.core.convolution import (
    CPU_LIBRARIES,
    LIBRARIES,
    LIBRARY_NAMES,
    Conv2dTrial,
    library_of,
    trial_from_dict,
)
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.ledger_line import read_run
from trainspeed.core.run import Run, Status
from trainspeed.worker import backends
from trainspeed.worker.request import Request

USUAL = {"library": "tensorflow", "mode": "graph", "images": 840, "height": 100, "width": 100}
EVERY = [(library, mode) for library, modes in LIBRARIES.items() for mode in modes]


def conv2d(**changed) -> Conv2dTrial:
    """Return the article's convolution with these changes; a library without a mode gets its usual one."""
    if "library" in changed and "mode" not in changed:
        changed["mode"] = LIBRARIES.get(changed["library"], ("eager",))[0]
    return Conv2dTrial(**{**USUAL, **changed})


@st.composite
def any_trial(draw):
    library, mode = draw(st.sampled_from(EVERY))
    devices = 1 if library in CPU_LIBRARIES else draw(st.integers(1, 8))
    names = ("height", "width", "channels", "filters", "filter_size")
    sizes = {name: draw(st.integers(1, 255)) for name in names}
    return conv2d(
        library=library,
        mode=mode,
        images=devices * draw(st.integers(1, 1000)),
        devices=devices,
        processor=draw(st.sampled_from(["device", "cpu"])),
        calls=draw(st.integers(3, 100)),
        seed=draw(st.integers(0, 1000)),
        **sizes,
    )


ANY = settings(derandomize=True, deadline=None, max_examples=50)


# JSON.


@ANY
@given(trial=any_trial())
def test_json_and_back_gives_the_same_trial(trial):
    data = json.loads(json.dumps(trial.as_dict()))

    assert list(data) == [field.name for field in fields(Conv2dTrial)]
    assert trial_from_dict(data) == Conv2dTrial.from_dict(data) == trial
    assert hash(trial_from_dict(data)) == hash(trial)


def test_a_line_of_a_training_is_still_one_of_a_training():
    assert trial_from_dict(make_trial().as_dict()) == make_trial()


def test_fields_of_a_later_trainspeed_are_ignored_and_missing_ones_have_their_default():
    line = conv2d().as_dict()
    assert Conv2dTrial.from_dict({**line, "stride": 2}) == conv2d()
    del line["processor"]
    assert Conv2dTrial.from_dict(line) == conv2d()


def conv2d_run(**changed) -> Run:
    """Return a run as the runner makes it: with the lists of the worker's JSON within `warm_s`."""
    measured = {
        "call_s": (0.03, 0.01, 0.02),
        "resident_s": (0.004, 0.002, 0.003),
        "warm_s": {"to_device": [0.01, 0.02], "kernel": [0.5, 0.25]},
        "stages_s": {"start": 1.0, "data": 2.0, "context": 4.0, "kernel": 8.0, "check": 16.0, "warm": 32.0},
        "import_s": 4.5,
        "placement": "CPU:0, CPU:1",
        "peak_memory_bytes": 10**8,
    }
    where = {
        "session": "s",
        "study": "conv2d",
        "block": 2,
        "machine": MACHINE,
        "versions": {"tensorflow": "2"},
    }
    return Run(trial=conv2d(devices=2).in_block(2), **{**measured, **where, **changed})


def test_through_the_ledger_and_back_gives_the_same_run(tmp_path):
    ledger = Ledger(tmp_path)
    failed = conv2d_run(status=Status.INVALID, reason="wrong", call_s=(), resident_s=(), warm_s={}, block=3)
    for run in (conv2d_run(), failed):
        ledger.append(run)

    assert ledger.read() == ((conv2d_run(), failed), ())


def test_a_line_of_a_run_and_back_gives_the_same_run():
    line = json.loads(json.dumps(conv2d_run().as_dict(), allow_nan=False))

    assert line["trial"]["library"] == "tensorflow"
    assert read_run(json.dumps(line).encode(), {}) == conv2d_run()


def test_what_a_run_is_compared_by_is_the_median_of_its_warm_calls():
    run = conv2d_run()
    assert (run.median_s, run.median_call_s, run.median_resident_s) == (0.02, 0.02, 0.003)
    assert run.timed_s == 8.0 + 32.0, "from the first call on, without the start and the check"


def test_a_failed_run_has_no_numbers_and_breaks_on_none_of_them():
    run = conv2d_run(status=Status.OOM, reason="8 GB asked for", call_s=(), resident_s=(), warm_s={})
    of_trainings = (run.first_epoch_s, run.median_epoch_s, run.step_s, run.images_per_s)
    assert {run.median_s, run.median_call_s, run.median_resident_s, *of_trainings} == {None}
    assert run.timed_s == 0


def test_a_request_to_a_worker_comes_back_as_it_was():
    request = Request(trial=conv2d(seed=3), device="gpu", requested_at=1.5, gpu_uuids=("GPU-a",))
    assert Request.from_json(request.as_json()) == request


# Mistakes: what is wrong -> what the sentence says, with a way out.

MISTAKES = [
    ({"library": "tensorflo"}, "unknown library 'tensorflo': did you mean 'tensorflow'? Known: tensorflow, keras,"),
    ({"library": "scipy"}, "unknown library 'scipy': did you mean 'scipy_"),
    ({"library": "matlab"}, "unknown library 'matlab'. Known: tensorflow, keras, torch, jax, scipy_signal,"),
    ({"library": None, "mode": "eager"}, "unknown library None. Known: tensorflow,"),
    ({"library": "torch", "mode": "graph"}, "mode 'graph' is not one of torch's: it has eager."),
    ({"library": "keras", "mode": "xla"}, "mode 'xla' is not one of keras's: it has graph, eager."),
    ({"mode": "grpah"}, "mode 'grpah' is not one of tensorflow's: it has graph, eager, xla."),
    ({"mode": None}, "mode None is not one of tensorflow's: it has graph, eager, xla."),
    ({"library": "opencv", "mode": "batch"}, "mode 'batch' is not one of opencv's: it has loop."),
    ({"processor": "gpu"}, "unknown processor 'gpu': "),
    ({"processor": "CPU"}, "Known: device, cpu."),
    ({"images": 840, "devices": 9}, "images (=840) must be divisible by devices (=9): try 837 or 846."),
    ({"images": 3, "devices": 4}, "images (=3) must be divisible by devices (=4): try 4."),
    ({"library": "scipy_signal", "devices": 2}, "library 'scipy_signal' runs on one CPU core, not on 2"),
    ({"filter_size": 0}, "filter_size (=0) must be a whole number from 1 to 255."),
    ({"filter_size": -3}, "filter_size (=-3) must be a whole number from 1 to 255."),
    ({"filter_size": 3.0}, "filter_size (=3.0) must be a whole number from 1 to 255."),
    ({"filter_size": 256}, "filter_size (=256) must be a whole number from 1 to 255."),
    ({"channels": 0}, "channels (=0) must be a whole number from 1 to 4096."),
    ({"channels": 4097}, "channels (=4097) must be a whole number from 1 to 4096."),
    ({"filters": "1"}, "filters (='1') must be a whole number from 1 to 4096."),
    ({"filters": 10**9}, "filters (=1000000000) must be a whole number from 1 to 4096."),
    ({"images": 0}, "images (=0) must be a whole number from 1 to 10000000."),
    ({"images": 10**7 + 1}, "images (=10000001) must be a whole number from 1 to 10000000."),
    ({"height": 16385}, "height (=16385) must be a whole number from 1 to 16384."),
    ({"width": 10**6}, "width (=1000000) must be a whole number from 1 to 16384."),
    ({"width": None}, "width (=None) must be a whole number from 1 to 16384."),
    ({"devices": 0}, "devices (=0) must be a whole number from 1 to 1024."),
    ({"devices": 1025, "images": 1025}, "devices (=1025) must be a whole number from 1 to 1024."),
    ({"calls": 2}, "calls (=2) must be a whole number from 3 to 10000: fewer have no median."),
    ({"calls": 10**6}, "calls (=1000000) must be a whole number from 3 to 10000: fewer have no median."),
    ({"seed": -1}, "seed (=-1) must be a whole number of at least 0."),
]  # fmt: skip
WHOLE = ("images", "height", "width", "channels", "filters", "filter_size", "devices", "calls", "seed")
MISTAKES += [({name: True}, f"{name} (=True) must be a whole number ") for name in WHOLE]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_is_one_line_that_names_it_and_a_way_out(mistake, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)) as caught:
        conv2d(**mistake)
    assert "\n" not in str(caught.value)


@ANY
@given(images=st.integers(1, 2000), devices=st.integers(2, 64))
def test_images_that_the_devices_cannot_share_are_refused_with_numbers_that_they_can(images, devices):
    if images % devices == 0:
        assert conv2d(images=images, devices=devices).images == images
        return
    with pytest.raises(UserError, match=r"must be divisible by devices") as caught:
        conv2d(images=images, devices=devices)
    tried = [int(n) for n in re.search(r"try (.*)\.$", str(caught.value))[1].split(" or ")]
    assert all(conv2d(images=n, devices=devices) and abs(n - images) < devices for n in tried)


@pytest.mark.parametrize("library", CPU_LIBRARIES)
def test_no_cpu_library_spreads_over_devices(library):
    assert conv2d(library=library).devices == 1
    with pytest.raises(
        UserError, match=rf"library '{library}' runs on one CPU core, not on 4 devices: use 1\."
    ):
        conv2d(library=library, devices=4)


# Arithmetic.


def test_the_articles_convolution_has_151_million_operations_and_67_mb():
    """8.4 million pixels of one channel; 9 multiply-adds for each."""
    trial = conv2d()
    filter_bytes = 9 * 4

    assert trial.flops == 151.2e6
    assert trial.input_bytes == 33_600_000 + filter_bytes
    assert trial.output_bytes == 33_600_000
    assert trial.bytes == trial.device_bytes == 67_200_000 + filter_bytes


def test_channels_and_filters_count_in_what_is_read_written_and_computed():
    """2 images of 3x5 pixels, 7 channels and 11 filters of 4x4."""
    trial = conv2d(images=2, height=3, width=5, channels=7, filters=11, filter_size=4)

    assert trial.flops == 2 * (2 * 3 * 5) * 11 * 7 * 16
    assert trial.input_bytes == 4 * (2 * 3 * 5 * 7 + 16 * 7 * 11)
    assert trial.output_bytes == 4 * 2 * 3 * 5 * 11


def test_devices_share_images_and_results_and_each_has_all_filters():
    filter_bytes = 9 * 4
    assert conv2d(devices=8).device_bytes == 67_200_000 / 8 + filter_bytes
    assert conv2d(devices=8).bytes == conv2d().bytes
    assert conv2d(devices=8).flops == conv2d().flops


@ANY
@given(trial=any_trial())
def test_the_bytes_of_all_devices_are_those_of_the_call_and_a_copy_of_the_filters_each(trial):
    filter_bytes = 4 * trial.filter_size**2 * trial.channels * trial.filters

    assert trial.devices * (trial.device_bytes - filter_bytes) == trial.bytes - filter_bytes
    assert trial.flops > 0


# Who runs it, and where.


@pytest.mark.parametrize(("library", "mode"), EVERY)
def test_each_library_has_a_python_with_a_backend(library, mode):
    trial = conv2d(library=library, mode=mode)

    own = library if library in ("tensorflow", "torch", "jax") else None
    assert trial.framework == (own or ("tensorflow" if library == "keras" else "scipy"))
    assert trial.framework in backends.MODULES


@pytest.mark.parametrize("library", LIBRARIES)
def test_scipy_and_opencv_run_on_the_cpu_and_a_framework_where_it_is_told_to(library):
    assert conv2d(library=library).on_cpu == (library in CPU_LIBRARIES)
    assert conv2d(library=library, processor="cpu").on_cpu


def test_a_training_runs_on_the_gpu_where_there_is_one():
    assert not make_trial().on_cpu


def test_each_block_has_other_data_and_is_the_same_trial_without_its_seed():
    blocks = [conv2d(seed=7).in_block(block) for block in range(3)]

    assert [trial.seed for trial in blocks] == [7, 8, 9]
    assert {trial.spec for trial in blocks} == {trial.graph_key for trial in blocks} == {conv2d()}


# In words.


def test_it_is_described_by_its_library_and_its_sizes():
    assert conv2d(channels=10, filters=2, filter_size=5, devices=4).describe() == [
        "TensorFlow (graph)",
        "840 images of 100×100",
        "10 channels",
        "2 filters",
        "5×5",
        "4 devices",
    ]
    assert conv2d().describe(without=("library", "images")) == ["1 channel", "1 filter", "3×3"]


def test_every_library_and_mode_has_a_name_of_its_own():
    assert set(LIBRARY_NAMES) == set(LIBRARIES)
    assert len({library_of(conv2d(library=library, mode=mode)) for library, mode in EVERY}) == len(EVERY)
    assert library_of(conv2d(library="torch", processor="cpu")) == "PyTorch on the CPU"
    assert library_of(conv2d(library="opencv")) == "OpenCV filter2D"
