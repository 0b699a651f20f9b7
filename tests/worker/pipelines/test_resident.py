"""Images that stay on the device: when they do, and that training on them is the same training."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from probes.resident_probe import OF
from study_data import make_trial
from trainspeed.core.levers.feeding import RESIDENT_SHARE, UNKNOWN_BYTES
from trainspeed.core.notes import EpochNotResident
from trainspeed.core.trial import PIPELINES, WITH_WORKERS
from trainspeed.judge.doubts import note_sentence
from trainspeed.worker.levers import keras_feeding
from trainspeed.worker.pipelines.resident import NO_ROOM, is_resident

GPU_BYTES = 8 * 10**9
FITS = int(RESIDENT_SHARE * GPU_BYTES)
NUMBER = 4  # bytes
STEPS, EPOCHS = 4, 3


def decided(needed_bytes=FITS, device="gpu", memory_bytes=GPU_BYTES, **changed):
    return is_resident(make_trial(**changed), device, images(needed_bytes), lambda: memory_bytes)


def images(needed_bytes, dtype=np.float32):
    """Return images that take so many bytes as floats, and here none."""
    return np.broadcast_to(dtype(), (needed_bytes // NUMBER,))


def test_an_epochs_images_stay_on_a_gpu_where_they_take_a_twentieth_of_it():
    """All arms of a comparison are alive together, and each holds its own."""
    assert decided() == (True, ())
    assert decided(FITS + NUMBER) == (
        False,
        (EpochNotResident(images_bytes=FITS + NUMBER, limit_bytes=FITS),),
    )


def test_what_fits_does_not_depend_on_what_is_free_but_on_the_gpu():
    """Else the arm that comes first would keep its images, and the next one would not."""
    assert decided(2 * FITS)[0] is False
    assert decided(2 * FITS, memory_bytes=2 * GPU_BYTES) == (True, ())


def test_of_a_gpu_that_does_not_tell_its_memory_little_is_taken():
    assert decided(UNKNOWN_BYTES, memory_bytes=None) == (True, ())
    assert decided(UNKNOWN_BYTES + NUMBER, memory_bytes=None)[0] is False


def test_on_a_cpu_nothing_is_uploaded_and_nobody_asks_the_driver():
    def asked():
        raise AssertionError("there may be none")

    assert is_resident(make_trial(), "cpu", images(10**12), asked) == (False, ())


def test_a_lever_uploads_what_would_have_stayed_but_not_the_one_batch_of_compute():
    uploading = (("resident", "off"),)

    assert decided(levers=uploading) == (False, ())
    assert decided(levers=uploading, part="compute") == (True, ())


def test_one_batch_computed_again_and_again_is_on_the_device_whatever_an_epoch_takes():
    assert decided(10**12, part="compute") == (True, ())


def test_images_in_8_bits_stay_where_those_of_the_plain_trial_do_and_nowhere_else():
    """Beside a plain trial that uploads, an arm that need not would be called faster for its 8 bits."""

    def as_bytes(needed):
        return is_resident(make_trial(), "gpu", images(needed, np.uint8), lambda: GPU_BYTES)

    assert as_bytes(FITS) == decided(FITS)
    assert as_bytes(FITS + NUMBER) == decided(FITS + NUMBER)


def test_where_an_epoch_does_not_fit_both_arms_of_the_lever_say_so():
    assert decided(2 * FITS, levers=(("resident", "off"),)) == decided(2 * FITS)


@pytest.mark.parametrize(
    ("levers", "needed_bytes", "seen"),
    [
        ((("resident", "off"),), FITS, "off"),
        ((("resident", "off"),), 2 * FITS, None),
        # It is in effect, and needs the other, which the plain trial has already.
        ((("resident", "off"), ("transfer", "pinned")), 2 * FITS, "off"),
    ],
)
def test_a_lever_that_uploads_what_would_be_uploaded_anyway_is_not_seen_in_effect(levers, needed_bytes, seen):
    """Else losing what nobody had would be said to cost nothing."""
    trial = make_trial(levers=levers)
    _, notes = decided(needed_bytes, levers=levers)
    fed = SimpleNamespace(x=np.zeros((8, 4, 4, 3), np.float32))
    training = SimpleNamespace(trial=trial, notes=notes, fed_batch=fed)

    value, how = keras_feeding.HOOKS["resident"].seen("off", training)

    assert value == seen
    assert (how == NO_ROOM) == (seen is None)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_pipelines_that_make_new_images_upload_them(pipeline):
    framework = "tensorflow" if pipeline == "tf_data" else "torch"
    workers = 1 if pipeline in WITH_WORKERS else 0
    resident, notes = decided(pipeline=pipeline, workers=workers, framework=framework)

    assert resident is (pipeline in ("arrays", "in_model", "resize")) and notes == ()


def test_the_note_says_what_a_step_holds_then():
    sentence = note_sentence(EpochNotResident(images_bytes=6.2e9, limit_bytes=4e9))

    assert sentence.startswith(
        "The images of an epoch, up to 6.2 GB as 32-bit floats, did not stay on the GPU, where they may take 4.0 GB"
    )


# The frameworks.


@pytest.fixture(scope="module")
def found(shared_worker, tmp_path_factory):
    """What each installed framework learned from uploaded batches, and from images that stay on its devices."""
    files = shared_worker.probed("probes.resident_probe", tmp_path_factory.mktemp("probe"), ".json")
    return {framework: json.loads(file.read_text()) for framework, file in files.items()}


def of(found, framework):
    if framework not in found:
        pytest.skip(f"{framework} is not installed here")
    return found[framework]


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "arm"), [(name, arm) for name, arms in OF.items() for arm in arms])
def test_images_that_stay_on_the_device_teach_what_uploaded_ones_do(found, framework, arm):
    """In both layouts, enlarged there, validated and saved, and on two devices."""
    uploaded, resident = of(found, framework)[arm]

    assert resident["numbers"] == pytest.approx(uploaded["numbers"], rel=1e-3)
    assert resident["layouts"] == uploaded["layouts"]


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_the_input_alone_ends_on_the_device_whether_it_stays_there_or_is_uploaded(found, framework):
    """As it does in torch; so that the times of one framework's parts mean what those of another's do."""
    assert of(found, framework)["taken"] == [EPOCHS * STEPS] * 2


@pytest.mark.slow
def test_what_is_gathered_from_a_device_is_named_there(found):
    """On a CPU numbers that lie elsewhere are as good; on a GPU what ran was not found out."""
    assert of(found, "torch")["places"] == ["meta"]


def test_torchs_batches_have_their_strides_as_they_are_gathered(found):
    assert of(found, "torch")["strides"] == {"first": True, "last": True}


@pytest.mark.slow
def test_torchs_workers_pin_their_batches_for_a_gpu_and_the_training_thread_pins_none(found):
    """What is pinned there is waited for: it can take longer than a plain copy."""
    pinned = of(found, "torch")["pinned"]

    assert {*pinned["generator"]} == {None}
    assert {*pinned["threads"]} == {*pinned["processes"]} == {False}
