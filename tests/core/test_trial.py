import json
import re
from dataclasses import fields

import pytest

import setup_environments as environments
from study_data import TRIAL, make_trial
from trainspeed.core import trial
from trainspeed.core.errors import UserError
from trainspeed.core.trial import Trial, grid

# What is wrong -> what the sentence says about it.
WHOLE = "must be a whole number of at least"
MISTAKES = {
    "framework=pytorch": ": did you mean 'torch'? Known: tensorflow, torch, jax.",
    "framework=caffe": ". Known: tensorflow, torch, jax.",
    "model=cnn": ": did you mean 'cnn10'? Known: cnn10, cnn_keras, wrn28_10, vgg16,",
    "model=wrn28_0": ": did you mean 'wrn28_10'?",
    "model=wrn28_100": "wrn28_<width> for widths from 1 to 99",
    "model=None": ". Known: cnn10",
    "model=10": ". Known: cnn10",
    "layout=channel_last": ": did you mean 'channels_last'?",
    "layout=NHWC": ". Known: channels_first, channels_last.",
    "precision=float16": "Known: default, fp32",
    "precision=bf61": ": did you mean 'bf16'?",
    "strategy=mirrored": "is not one of torch's: it has single, ddp, data_parallel.",
    "dataset=cifar": ": did you mean 'cifar10'?",
    "pipeline=file": "Known: arrays",
    "pipeline=threads": "needs workers of at least 1, not 0.",
    "pipeline=tf_data": "needs TensorFlow, not torch.",
    "batch_size=0": f"{WHOLE} 1.",
    "batch_size=-8": f"{WHOLE} 1.",
    "batch_size=True": f"{WHOLE} 1.",
    "batch_size=32.0": f"{WHOLE} 1.",
    "batch_size='32'": f"{WHOLE} 1.",
    "batch_size=None": f"{WHOLE} 1.",
    "batch_size=129": "is larger than the epoch: images_per_epoch (=128). Lower",
    "devices=0": f"{WHOLE} 1.",
    "queue=0": f"{WHOLE} 1.",
    "part=inputs": ": did you mean 'input'?",
    "images_per_epoch=0": f"{WHOLE} 1.",
    "model='nets/my.py'": "must be file.py:function, such as 'examples/small_cnn.py:build_torch'.",
    "model='my.py:2'": "must be file.py:function",
    "model='/nets/my.py:build'": "must be a path below the folder that you work in",
    "model='../my.py:build'": "must be a path below the folder that you work in, without '..'",
    "image_size=1025": "must be a whole number from 8 to 1024.",
    "image_size=100000": "must be a whole number from 8 to 1024.",
    "image_size=4": "must be a whole number from 8 to 1024.",
    "epochs=2": f"{WHOLE} 3: the first is shown apart",
    "epochs=True": f"{WHOLE} 3",
    "seed=-1": f"{WHOLE} 0.",
    "seed='a'": f"{WHOLE} 0.",
    "workers=-1": "must be a whole number from 0 to 512.",
    "workers=513": "must be a whole number from 0 to 512.",
    "compile='false'": "must be true or false.",
    "augment=1": "must be true or false.",
}


def parse(mistake):
    """Return the field and the value of "field=value"; a bare word is a string."""
    field, _, text = mistake.partition("=")
    known = {"None": None, "True": True}
    if text in known:
        return {field: known[text]}
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return {field: float(text) if "." in text else int(text)}
    return {field: text.strip("'")}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_names_it_and_a_way_out(mistake):
    ((field, value),) = parse(mistake).items()
    with pytest.raises(UserError) as caught:
        make_trial(**{field: value})

    sentence = str(caught.value)
    assert re.match(rf"(unknown )?{field} ", sentence) and repr(value) in sentence
    assert MISTAKES[mistake] in sentence and "\n" not in sentence


def test_one_strategy_is_for_one_device():
    with pytest.raises(
        UserError, match=r"^strategy 'single' uses one device, not 3: choose ddp or data_para"
    ):
        make_trial(devices=3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 0}, "nodes (=0) must be a whole number of at least 1."),
        ({"nodes": True}, "nodes (=True) must be a whole number of at least 1."),
        ({"strategy": "single", "nodes": 2}, "strategy 'single' runs on one node, not on 2: choose ddp."),
        (
            {"strategy": "data_parallel", "devices": 2, "nodes": 2},
            "strategy 'data_parallel' runs on one node, not on 2: choose ddp.",
        ),
        (
            {"strategy": "ddp", "devices": 3, "nodes": 2, "batch_size": 36},
            "devices (=3) must be divisible by nodes (=2): try 2 or 4.",
        ),
    ],
)
def test_nodes_have_equally_many_devices_and_a_strategy_that_spans_them(fields, message):
    with pytest.raises(UserError) as caught:
        make_trial(**fields)

    assert str(caught.value) == message


@pytest.mark.parametrize(("framework", "strategy"), [("jax", "data_parallel"), ("tensorflow", "mirrored")])
def test_devices_are_those_of_all_nodes_together(framework, strategy):
    trial = make_trial(framework=framework, strategy=strategy, devices=4, nodes=2)

    assert (trial.devices_per_node, trial.cores) == (2, 2)
    assert f"2 nodes x 2 devices ({strategy})" in trial.describe()
    one_each = make_trial(framework=framework, strategy=strategy, devices=2, nodes=2)
    assert f"2 nodes x 1 device ({strategy})" in one_each.describe()


@pytest.mark.parametrize(("devices", "near"), [(3, "30 or 33"), (64, "64")])
def test_a_batch_that_the_devices_cannot_share_is_refused_with_one_that_they_can(devices, near):
    with pytest.raises(UserError) as caught:
        make_trial(strategy="ddp", devices=devices)

    assert str(caught.value) == f"batch_size (=32) must be divisible by devices (={devices}): try {near}."


def test_a_function_in_a_file_is_a_model_whether_the_file_is_there_or_not():
    assert make_trial(model="my nets/net.py:build_2").model == "my nets/net.py:build_2"


def test_every_width_of_wide_resnet_from_1_to_99_is_a_model():
    assert [make_trial(model=f"wrn28_{width}").model for width in (1, 2, 10, 99)]


def test_the_grid_is_every_combination_of_the_lists_in_their_order():
    trials = grid(**{**TRIAL, "layout": ["channels_first", "channels_last"], "batch_size": (8, 16, 32)})
    assert [(t.layout, t.batch_size) for t in trials] == [
        (layout, size) for layout in ("channels_first", "channels_last") for size in (8, 16, 32)
    ]


def test_a_value_named_twice_is_measured_once():
    assert grid(**{**TRIAL, "batch_size": [32, 32]}) == (make_trial(),)


def test_a_range_is_a_list_and_a_text_is_not():
    trials = grid(**{**TRIAL, "batch_size": range(8, 10), "framework": "torch"})
    assert [t.batch_size for t in trials] == [8, 9]


def test_jax_is_always_compiled_and_measured_once():
    trials = grid(**{**TRIAL, "framework": ["torch", "jax"], "compile": [False, True]})
    assert [(t.framework, t.compile) for t in trials] == [("torch", False), ("torch", True), ("jax", True)]
    assert grid(**{**TRIAL, "framework": "jax"}) == (make_trial(framework="jax", compile=True),)


@pytest.mark.parametrize("empty", [[], ()])
@pytest.mark.parametrize("field", ["framework", "model", "layout", "precision", "batch_size", "compile"])
def test_an_empty_list_is_refused_by_its_field(field, empty):
    with pytest.raises(UserError, match=f"^{field} is an empty list: name at least one"):
        grid(**{**TRIAL, field: empty})


def test_an_unknown_factor_is_named_with_a_suggestion():
    with pytest.raises(UserError, match="unknown factor 'batchsize': did you mean 'batch_size'"):
        grid(**TRIAL, batchsize=32)


def test_one_bad_combination_spoils_the_grid_before_anything_runs():
    with pytest.raises(UserError, match=re.escape("batch_size (=256) is larger than the epoch")):
        grid(**{**TRIAL, "batch_size": [32, 256]})


def test_json_and_back_gives_the_same_trial():
    original = make_trial(model="wrn28_2", compile=True, fold=3, weights="weights.npz", seed=7)
    assert list(original.as_dict()) == [field.name for field in fields(Trial)]
    assert Trial.from_dict(json.loads(json.dumps(original.as_dict()))) == original


def test_fields_of_a_later_trainspeed_are_ignored_and_missing_ones_have_their_default():
    line = make_trial().as_dict()
    assert Trial.from_dict({**line, "gradient_accumulation": 2}) == make_trial()
    del line["pipeline"]
    assert Trial.from_dict(line) == make_trial()


def test_the_plain_precision_is_the_frameworks_own_and_a_line_without_one_was_strict():
    """It was fp32 before there was another plain one."""
    line = make_trial().as_dict()
    assert line.pop("precision") == "default"
    assert Trial.from_dict(line) == make_trial(precision="fp32") != make_trial()


def test_equal_trials_are_one_key_of_a_dictionary():
    assert {make_trial(): 1}[Trial(**TRIAL)] == 1
    assert len({make_trial(), make_trial(seed=1), make_trial(layout="channels_last")}) == 3


def test_without_its_seed_a_trial_is_the_same_in_every_block():
    assert make_trial(seed=5).spec == make_trial(seed=9).spec == make_trial()


def test_a_last_partial_batch_is_no_step():
    assert make_trial(batch_size=32, images_per_epoch=100).steps_per_epoch == 3


def test_the_environments_are_built_for_the_frameworks_that_can_be_measured():
    assert environments.FRAMEWORKS == trial.FRAMEWORKS
