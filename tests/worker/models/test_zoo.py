"""The models of others are what the amp notebook says of them: size, head, FLOPs, enlarging, weights."""

from __future__ import annotations

import json

import pytest

from shared_workers import SharedWorker
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial

MODELS = ("vgg16", "mobilenet", "resnet50", "efficientnet_b0")
SAME_ARCHITECTURE = ("vgg16", "mobilenet", "efficientnet_b0")
KERAS = "tensorflow" if find_interpreter("tensorflow") else "jax"  # models are the same; JAX compiles longer
EPOCHS = 4  # of the probe's training
NOWHERE = "http://127.0.0.1:9"  # refuses at once
# Convolutions of VGG16 at 224 px, and its three dense layers, by hand from table 1, column D, of
# https://arxiv.org/abs/1409.1556: together the 15.5 billion multiply-adds of the literature.
VGG16_CONV_MACS = 15_346_630_656
VGG16_DENSE_MACS = 25_088 * 4096 + 4096 * 4096 + 4096 * 1000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outputs(shared_worker, tmp_path_factory):
    """What every installed framework makes of the models, each from its own environment."""
    folder = tmp_path_factory.mktemp("probe")
    models = dict.fromkeys(("torch", KERAS), MODELS)
    files = shared_worker.probed("probes.zoo_probe", folder, ".json", models)
    return {framework: json.loads(file.read_text()) for framework, file in files.items()}


def of(outputs, framework: str):
    if framework not in outputs:
        pytest.skip(f"{framework} is not installed here")
    return outputs[framework]


def model_of(outputs, framework: str, model: str):
    return of(outputs, framework)["models"][model]


# Size and head.


@pytest.mark.parametrize("framework", ["torch", KERAS])
@pytest.mark.parametrize("model", MODELS)
def test_the_head_is_dropout_and_a_dense_layer_on_the_pooled_features(outputs, framework, model):
    """In evaluation, when dropout does nothing, the logits are those of the pooled features."""
    facts = model_of(outputs, framework, model)

    assert facts["logits"] == [2, 10]
    assert facts["dropout"] == 0.15
    assert facts["head_error"] < 1e-4


@pytest.mark.parametrize("framework", ["torch", KERAS])
def test_vgg16_comes_without_its_two_dense_layers(outputs, framework):
    """They hold 120 of its 138 million weights; the published convolutions have 14,714,688."""
    assert model_of(outputs, framework, "vgg16")["parameters"] == 14_714_688 + 512 * 10 + 10


@pytest.mark.parametrize("model", MODELS)
def test_timm_and_keras_mean_models_of_the_same_size(outputs, model):
    theirs = model_of(outputs, KERAS, model)["parameters"]

    assert theirs == pytest.approx(model_of(outputs, "torch", model)["parameters"], rel=0.02)


# FLOPs.


@pytest.mark.parametrize("model", MODELS)
def test_torchs_count_is_that_of_its_layers(outputs, model):
    facts = model_of(outputs, "torch", model)

    assert facts["flops"] == facts["analytic_flops"]


@pytest.mark.parametrize("model", SAME_ARCHITECTURE)
def test_the_same_architecture_has_the_same_flops_in_keras(outputs, model):
    """ResNet50 is not: timm halves the image in a block's 3x3 convolution, Keras in the 1x1 before it."""
    theirs = model_of(outputs, KERAS, model)["flops"]

    assert theirs == pytest.approx(model_of(outputs, "torch", model)["flops"], rel=0.01)


def test_vgg16_has_the_published_flops(outputs):
    """A convolution's grow with the pixels, so 224 px have 49 times those of 32 px."""
    small, large = (model_of(outputs, "torch", name) for name in ("vgg16", "vgg16 at 224"))
    head = 512 * 10

    assert large["forward_flops"] == 2 * (VGG16_CONV_MACS + head)
    assert 49 * (small["forward_flops"] / 2 - head) == VGG16_CONV_MACS
    published = pytest.approx(15.5e9, rel=0.005)
    assert published == VGG16_CONV_MACS + VGG16_DENSE_MACS


def test_the_backward_pass_is_counted_as_torch_counts_it(outputs):
    """Where no convolution is depthwise: three passes, without the gradient of the images."""
    facts = model_of(outputs, "torch", "cnn10")

    assert facts["flops"] == facts["counted_flops"]


# Input and epochs.


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_device_enlarges_images_as_the_host_does(outputs, framework):
    errors = of(outputs, framework)["enlarging"]

    assert len(errors) == 4, "one or three channels in both layouts"
    assert max(errors.values()) < 1e-5, errors


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_epoch_of_fit_validates_and_saves_what_is_better_than_before(outputs, framework):
    fit = of(outputs, framework)["fit"]
    scores = fit["scores"]
    better = [score for n, score in enumerate(scores) if score > max(scores[:n], default=-1.0)]

    assert len(fit["epoch_s"]) == len(scores) == EPOCHS
    assert len(fit["saved_bytes"]) == len(better)
    assert all(count > 0 for count in fit["saved_bytes"])
    assert fit["best"] == max(scores)


# Through a worker.


def trial(framework: str, **changes) -> Trial:
    fields = {
        "model": "mobilenet",
        "layout": "channels_last",
        "batch_size": 16,
        "images_per_epoch": 32,
        "epochs": 3,
        "dataset": "digits",
        "pipeline": "resize",
        "folds": 5,
    }
    return Trial(framework=framework, **fields | changes).in_block(0)


def run(worker: SharedWorker, a_trial: Trial, **asked):
    return worker.run(a_trial, evaluate=True, **asked)


@pytest.fixture(scope="module", params=["torch", "tensorflow"])
def worker(request, shared_worker):
    """Knows no weights and reaches no network."""
    return shared_worker(request.param)


def test_small_grey_images_train_a_model_of_others_which_is_validated_and_saved(worker):
    """Keras's, as whole steps alone, train in `test_library_models.py`."""
    outcome = run(worker, trial(worker.framework, part="fit"), inspect=True)

    assert outcome.status == Status.OK, outcome.reason
    assert len(outcome.result.epoch_s) == 3
    assert outcome.result.parameters == 3_217_226
    assert set(outcome.result.effective_precision.dtypes) == {"float32"}
    assert 0 <= outcome.result.test_accuracy <= 1
    assert outcome.result.step_flops > 16 * 3 * 2 * 10e6
    if worker.framework == "torch":
        assert set(outcome.result.effective_layout) == {"channels_last"}
        alone = run(worker, trial(worker.framework), inspect=True)
        assert 0 < alone.result.profile["matrix_share"] < 1


def test_weights_that_cannot_be_downloaded_are_a_row_with_a_line(worker):
    outcome = run(worker, trial(worker.framework, weights="imagenet"))

    assert outcome.status == Status.UNSUPPORTED, outcome.reason
    assert outcome.reason.startswith("imagenet weights of mobilenet could not be downloaded (")
    assert outcome.reason.endswith("): use weights = null")
    assert "\n" not in outcome.reason
