"""What the default precision was, told from runs of made-up GPUs."""

import pytest

from study_data import MACHINE, make_run
from trainspeed.core.result import EffectivePrecision
from trainspeed.judge.arithmetic import default_sentences, onednn_sentences

CONVOLUTIONS, BOTH = ("convolutions",), ("convolutions", "matrix products")


def test_each_framework_says_where_it_allows_tf32():
    runs = [make_run(framework=name, tf32=BOTH) for name in ("tensorflow", "jax")]
    runs += [make_run(framework="torch", tf32=CONVOLUTIONS, block=block) for block in range(2)]

    assert default_sentences(runs) == [
        "Default precision: TensorFlow and JAX trained in 32 bits, with TF32 allowed.",
        "Default precision: PyTorch trained in 32 bits, with TF32 allowed in convolutions.",
    ]


def test_where_there_is_no_tf32_the_default_precision_is_strict():
    assert default_sentences([make_run(tf32=())]) == [
        "Default precision: PyTorch trained in 32 bits, with no TF32, as in strict fp32."
    ]


def test_runs_in_other_precisions_and_ceilings_tell_nothing_of_it():
    runs = [make_run(precision="fp32", tf32=()), make_run(precision="bf16", tf32=CONVOLUTIONS), make_run()]
    assert default_sentences([*runs, make_run(part="copy", tf32=())]) == []


def test_a_model_whose_file_sets_its_dtypes_did_not_train_in_32_bits():
    """Where nothing was asked for and no lever does it."""
    ran = EffectivePrecision(dtypes={"bfloat16": 4})
    (said,) = default_sentences([make_run(tf32=(), effective_precision=ran)])
    assert said.startswith("Default precision: PyTorch computed in bfloat16, which nothing here asked for: ")
    switched = make_run(tf32=(), effective_precision=ran, levers=[("pure_bf16", "on")])
    assert default_sentences([switched]) == []
    plain = make_run(tf32=(), effective_precision=EffectivePrecision(dtypes={"float32": 4}))
    assert "in 32 bits" in default_sentences([plain, switched])[0]


OFF = MACHINE | {"device": "cpu", "onednn_by_itself": False}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, True),
        ({"framework": "torch"}, False),
        ({"levers": [("onednn", "on")]}, False),
        ({"machine": OFF | {"onednn_by_itself": True}}, False),
        ({"machine": OFF | {"environment": {"TF_ENABLE_ONEDNN_OPTS": "1"}}}, False),
        ({"machine": OFF | {"device": "gpu"}}, False),
    ],
)
def test_that_tensorflow_leaves_onednn_off_by_itself_is_said_with_what_switches_it_on(fields, said):
    """Otherwise it is taken for a slow framework: its convolution took nine times as long as PyTorch's."""
    run = make_run(**{"framework": "tensorflow", "machine": OFF} | fields)
    assert [*map(bool, onednn_sentences([run]))] == [True] * said
