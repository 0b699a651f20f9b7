"""Models of timm and keras.applications by their own names: they train, and the lists are the libraries' own."""

from __future__ import annotations

import json

import pytest

from trainspeed.core.library_model import models_of
from trainspeed.core.notes import ConvolutionsNotSeen, LossNotFinite, PrecisionNotAsked
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.sensors.cpu import FLAGS_VARIABLE

pytestmark = pytest.mark.slow


def trial(framework: str, model: str, **changes) -> Trial:
    fields = {
        "layout": "channels_last",
        "batch_size": 4,
        "images_per_epoch": 8,
        "epochs": 3,
        "image_size": 32,
    }
    fields |= {"dataset": "digits", "pipeline": "resize", "compile": framework == "jax"}
    return Trial(framework=framework, model=model, **fields | changes)


@pytest.mark.parametrize(("framework", "library"), [("torch", "timm"), ("tensorflow", "keras")])
def test_the_list_is_that_of_the_installed_library(framework, library, shared_worker, tmp_path):
    """Else write it anew: `requirements/record_models.py`."""
    file = tmp_path / "names.json"
    shared_worker(framework).probed("probes.library_probe", framework, file)

    assert set(models_of(library)) == set(json.loads(file.read_text()))


# Model -> its image size, its precision, and its trainable weights: those for 1000 classes, with a layer for ten.
TRAINED = {
    "timm/resnet18": (32, "default", 11_689_512 - 1000 * 513 + 10 * 513),
    "timm/pit_ti_224": (224, "default", 4_847_272 - 1000 * 257 + 10 * 257),  # a class token
    "keras/MobileNetV3Small": (32, "bf16", 2_542_856 - 1000 * 1025 + 10 * 1025),  # depthwise, and normalised
}


@pytest.mark.parametrize("model", TRAINED)
def test_a_model_of_a_library_trains(model, shared_worker):
    framework = "torch" if model.startswith("timm") else "tensorflow"
    px, precision, parameters = TRAINED[model]
    small = {"batch_size": 2, "images_per_epoch": 4, "image_size": px, "precision": precision}

    outcome = shared_worker(framework).run(
        trial(framework, model, **small), environment={FLAGS_VARIABLE: "avx512_bf16"}, inspect=True
    )

    assert outcome.status == Status.OK, outcome.reason
    result = outcome.result
    assert len(result.epoch_s) == 3 and result.parameters == parameters
    assert set(result.effective_layout) == {"channels_last"}
    assert set(result.effective_precision.dtypes) == {"bfloat16" if precision == "bf16" else "float32"}
    assert not result.effective_precision.asked
    doubts = PrecisionNotAsked | ConvolutionsNotSeen | LossNotFinite
    assert not [note for note in result.notes if isinstance(note, doubts)]


NOT_HERE = [
    ("tensorflow", "timm/resnet18", "channels_last", "is for PyTorch, not for TensorFlow"),
    ("torch", "keras/VGG16", "channels_last", "is for TensorFlow and JAX, not for PyTorch"),
    ("tensorflow", "keras/DenseNet121", "channels_first", "has it in channels_last alone"),
]


@pytest.mark.parametrize(("framework", "model", "layout", "reason"), NOT_HERE)
def test_what_a_library_does_not_have_is_a_row_with_the_reason(
    framework, model, layout, reason, shared_worker
):
    outcome = shared_worker(framework).run(trial(framework, model, layout=layout))

    assert outcome.status == Status.UNSUPPORTED
    assert outcome.reason.startswith(f"{model}: ") and reason in outcome.reason
