"""Models of the user's own in the real frameworks: what trains, and what is said of what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainspeed.core import user_model
from trainspeed.core.layer_table import forgotten
from trainspeed.core.notes import ConvolutionsNotSeen, NotInspected, SetByFile
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.sensors.cpu import FLAGS_VARIABLE

pytestmark = pytest.mark.slow
PROBES = Path(__file__).parents[2] / "probes"


@pytest.fixture(params=["tensorflow", "torch"])
def worker(request, shared_worker):
    return shared_worker(request.param)


@pytest.fixture(params=["tensorflow", "torch", "jax"])
def example_worker(request, shared_worker):
    return shared_worker(request.param)


def run(worker, model, folder=PROBES, **changes):
    """Measure three epochs of two steps on images of 16 pixels, as on a CPU that has bfloat16."""
    fields = {"batch_size": 8, "images_per_epoch": 16, "epochs": 3, "image_size": 16, "dataset": "digits"}
    fields |= {"layout": "channels_first", "compile": worker.framework == "jax"} | changes
    trial = Trial(framework=worker.framework, model=model, **fields)
    environment = {user_model.FOLDER_VARIABLE: str(folder), FLAGS_VARIABLE: "avx512_bf16"}
    return worker.run(trial, environment=environment, evaluate=True, inspect=True)


def probe(worker, name, **changes):
    return run(worker, f"own_{FILES[worker.framework]}.py:{name}", **changes)


FILES = {"tensorflow": "keras", "torch": "torch"}
# Name of the function -> whether its FLOPs are counted.
TRAINABLE = {
    ("tensorflow", "sequential"): True,
    ("tensorflow", "listed_input"): True,
    ("tensorflow", "of_its_own"): False,
    ("tensorflow", "of_any_size"): False,
    ("tensorflow", "attention"): False,
    ("tensorflow", "step_of_its_own"): True,
    ("tensorflow", "named_output"): True,
    ("tensorflow", "frozen"): False,
    ("torch", "convolution"): True,
    ("torch", "lazy"): True,
    ("torch", "without_convolution"): True,
    ("torch", "attention"): False,
    ("torch", "kept_statistics"): True,
    ("torch", "double_by_default"): True,
    ("torch", "frozen"): False,
}
OTHER_SIZES = "; other sizes: PARAMS='layout: {image_size: 64}'"
BAD = {
    (
        "tensorflow",
        "always_last",
    ): "ignores the layout: its layer mine is channels_last, channels_first was asked for",
    (
        "tensorflow",
        "wrong_axis",
    ): "ignores the layout: its layer norm normalises axis 3 and not 1, channels_first was",
    (
        "tensorflow",
        "fixed_size",
    ): "its model takes (40, 40, 3), and not the input_shape that the function is given, "
    f"(3, 16, 16){OTHER_SIZES}",
    (
        "tensorflow",
        "other_classes",
    ): "its model returns (None, 11): it must be (None, 10), a logit for each class; 10 is the argument `classes`, "
    "that of the data set: use it, or give `data`",
    ("tensorflow", "needs_32_pixels"): f", on images of (3, 16, 16){OTHER_SIZES}",
    ("tensorflow", "untrainable"): "its model has no trainable weights",
    (
        "tensorflow",
        "nan",
    ): "its training loss is nan: the model returns nan or inf, or adam with a learning rate of",
    ("tensorflow", "nothing"): "must return a keras.Model, not None",
    ("tensorflow", "raises"): "raised ValueError in line 95: not for channels_first",
    ("torch", "nan"): "its training loss is nan",
    (
        "torch",
        "other_classes",
    ): "its model returns (2, 11) for images of (2, 3, 16, 16): it must be (2, 10), a logit "
    "for each class; 10 is the argument `classes`, that of the data set: use it, or give `data`",
    ("torch", "two_outputs"): "its model must return one tensor of logits, not tuple",
    ("torch", "two_in_training"): "in training mode its model must return one tensor of logits, not tuple",
    (
        "torch",
        "compiled",
    ): "its model is compiled already: return the module itself, compile is a setting here",
    ("torch", "compiled_in_place"): "its model is compiled already",
    (
        "torch",
        "spread",
    ): "its model is spread over devices already: return the module itself, devices are a setting",
    ("torch", "half"): "; these are torch.float32, its weights torch.float16: precision is a setting here",
    ("torch", "double"): "; these are torch.float32, its weights torch.float64: precision is a setting here",
    ("torch", "wrong_size"): f", on images of (2, 3, 16, 16){OTHER_SIZES}",
    ("torch", "untrainable"): "its model has no trainable weights",
    ("torch", "nothing"): "must return a torch.nn.Module, not int",
    ("torch", "raises"): "raised ValueError in line 74: not for channels_first",
    ("torch", "asks"): "raised EOFError in line 79",
}


def uninspected(result):
    return [note for note in result.notes if isinstance(note, NotInspected | ConvolutionsNotSeen)]


def of(worker, table):
    return [name for framework, name in table if framework == worker.framework]


def test_models_of_every_kind_train_in_both_layouts(worker):
    for name in of(worker, TRAINABLE):
        for layout in ("channels_first", "channels_last"):
            outcome = probe(worker, name, layout=layout)
            result = outcome.result

            assert outcome.status == Status.OK, (name, outcome.reason)
            assert result.parameters > 0 and not uninspected(result), name
            assert result.test_accuracy is not None, name
            assert (result.step_flops is not None) is TRAINABLE[worker.framework, name], name
            assert forgotten(result.layers) == []


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_a_sequential_model_that_begins_with_its_input_trains_and_is_counted_in_order(
    shared_worker, framework
):
    fields = {"layout": "channels_last", "levers": (("uint8", "on"),)}

    outcome = run(shared_worker(framework), "own_keras.py:sequential_with_input", **fields)

    assert outcome.status == Status.OK, outcome.reason
    types = [layer["type"] for layer in outcome.result.layers if layer["type"] != "InputLayer"]
    assert types == ["Conv2D", "GlobalAveragePooling2D", "Dense"]
    convolution, dense = 14 * 14 * 27 * 8, 8 * 10
    assert outcome.result.step_flops == 8 * 2 * (2 * convolution + 3 * dense)
    assert outcome.result.in_effect["uint8"][0] == "on"


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_probabilities_are_no_logits_to_the_loss_wherever_the_softmax_is(shared_worker, framework, tmp_path):
    shared_worker(framework).probed("probes.softmax_probe", framework, tmp_path / "told.json")

    of_logits = json.loads((tmp_path / "told.json").read_text())

    assert {name for name, logits in of_logits.items() if logits} == {"sequential_with_input", "of_its_own"}
    assert {name for name, logits in of_logits.items() if not logits} >= {"probabilities", "behind_a_softmax"}


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_a_model_that_keras_would_train_uncompiled_is_not_measured_as_compiled(shared_worker, framework):
    """Keras warns, where nobody sees it, and goes on."""
    outcome = run(shared_worker(framework), "own_keras.py:uncompilable", layout="channels_last", compile=True)

    assert outcome.status == Status.UNSUPPORTED, outcome
    assert outcome.reason.endswith("uncompiled: layers that do not support it: zoom")


def test_a_model_that_cannot_be_trained_as_asked_is_an_invalid_row_with_one_line(worker):
    for name in of(worker, BAD):
        outcome = probe(worker, name)

        assert outcome.status == Status.INVALID, (name, outcome)
        assert BAD[worker.framework, name] in outcome.reason, outcome.reason
        assert outcome.reason.startswith(f"own_{FILES[worker.framework]}.py:{name}")
        assert "\n" not in outcome.reason and str(PROBES) not in outcome.reason


SET = {
    "tensorflow": [("tf.config.experimental.enable_op_determinism()", "True")],
    "torch": [("torch.get_num_threads()", "3"), ("torch.are_deterministic_algorithms_enabled()", "True")],
}


def test_what_a_file_sets_in_the_whole_process_is_noted(worker):
    """Here it is so in the plain arm and in that of the lever: the same is compared with itself."""
    own, other = (
        [note for note in probe(worker, name).result.notes if isinstance(note, SetByFile)]
        for name in ("own_settings", next(iter(of(worker, TRAINABLE))))
    )

    assert [(note.setting, note.after) for note in own] == SET[worker.framework]
    assert other == []


def test_what_ignores_one_layout_is_fine_in_the_other(worker):
    if worker.framework == "torch":
        pytest.skip("in torch the layout is a memory format, which the model need not heed")
    for name in ("always_last", "wrong_axis"):
        assert probe(worker, name, layout="channels_last").status == Status.OK


def test_several_devices_and_16_bits_take_a_model_of_ones_own_too(worker):
    strategy, names = {
        "tensorflow": ("mirrored", ("sequential", "of_its_own")),
        "torch": ("ddp", ("convolution", "lazy")),
    }[worker.framework]
    for name in names:
        spread = probe(worker, name, strategy=strategy, devices=2)
        narrow = probe(worker, name, precision="bf16", layout="channels_last")

        assert (spread.status, narrow.status) == (Status.OK, Status.OK), (spread, narrow)
        assert set(narrow.result.effective_precision.dtypes) == {"bfloat16"}


def test_a_fault_is_the_same_row_on_several_devices(worker):
    strategy, faults = {
        "tensorflow": ("mirrored", {"raises": "raised ValueError"}),
        "torch": ("ddp", {"raises": "raised ValueError", "two_in_training": "in training mode its model"}),
    }[worker.framework]
    for name, fault in faults.items():
        outcome = probe(worker, name, strategy=strategy, devices=2)

        assert outcome.status == Status.INVALID, outcome
        assert fault in outcome.reason


def test_a_file_of_the_other_framework_says_what_is_missing(worker):
    other = {"tensorflow": "own_torch.py:convolution", "torch": "own_keras.py:sequential"}[worker.framework]

    outcome = run(worker, other)

    if outcome.status == Status.INVALID:
        pytest.skip("one environment has both frameworks here")
    assert outcome.status == Status.UNSUPPORTED
    assert f"install it into the environment of {worker.framework}" in outcome.reason


def test_the_examples_train(example_worker):
    build = "build_torch" if example_worker.framework == "torch" else "build_keras"
    outcome = run(example_worker, f"examples/small_cnn.py:{build}", ROOT)

    assert outcome.status == Status.OK, outcome.reason
    assert outcome.result.classes == 10 and forgotten(outcome.result.layers) == []


def test_the_example_with_data_learns_its_three_classes(example_worker):
    if example_worker.framework != "torch":
        pytest.skip("it is for torch")
    much = {"dataset": "own", "images_per_epoch": 512, "epochs": 6, "image_size": 24}
    outcome = run(example_worker, "examples/shapes.py:build", ROOT, **much)

    assert outcome.status == Status.OK, outcome.reason
    assert outcome.result.classes == 3
    assert outcome.result.test_accuracy > 0.5
