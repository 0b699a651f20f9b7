"""What torch.compile makes of convolutions is asked of the compiler, never of the module that it compiles."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(shared_worker, tmp_path_factory):
    """What the probe saw of a model with two convolutions, in channels_first and fp32."""
    out = tmp_path_factory.mktemp("compiled") / "found.json"
    shared_worker("torch").probed("probes.compiled_probe", out)
    return json.loads(out.read_text())


def test_the_compiler_may_run_another_layout_than_its_module(found):
    """On a CPU with oneDNN, Inductor runs every convolution with channels last."""
    assert found["eager"]["layout"] == {"channels_first": 2}
    assert found["compiled"]["layout"] == {"channels_last": 2}


def test_the_precision_is_that_of_the_convolutions_that_were_lowered(found):
    assert found["compiled"]["dtypes"] == {"float32": 2}
    assert found["bf16"]["dtypes"] == {"bfloat16": 2}


def test_a_compiled_training_says_what_the_compiler_did_and_not_its_module(found):
    """Its module's convolutions would run with channels first."""
    assert found["training"] == {"layout": {"channels_last": 9}, "dtypes": {"float32": 9}, "notes": 0}


def test_what_was_seen_needs_no_note(found):
    assert found["compiled"]["notes"] == found["bf16"]["notes"] == []


def test_a_model_without_convolutions_has_neither_and_no_note(found):
    assert found["without"] == {"layout": None, "dtypes": None, "notes": []}


@pytest.mark.parametrize(
    ("case", "error"), [("nothing seen", "NotLowered"), ("broken", "NotImplementedError")]
)
def test_what_the_compiler_does_not_show_is_not_known_and_says_so(found, case, error):
    """Neither is it what the module would have run, nor does it end the training."""
    assert found[case] == {"layout": None, "dtypes": None, "notes": [error]}
