"""What a pasted program says of its precision: nothing, but where a recipe switched it."""

import itertools

import pytest

from program_text import FIELDS
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.snippets import code
from trainspeed.snippets.code import program_of

PRECISION_LINES = ("fp32_precision", "tensor_float_32", "matmul_precision", "dtype_policy", "autocast")


def a_trial(framework, **changed):
    return Trial(framework=framework, **{"model": "cnn10", "layout": "channels_last", **FIELDS, **changed})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_program_says_nothing_of_a_precision_that_was_not_switched(framework):
    """A line that forbids TF32 makes a script slower than it was; recipes of older reports began in strict fp32."""
    plain = a_trial(framework)
    strict = a_trial(framework, precision="fp32")
    old_recipe = program_of(a_trial(framework, layout="channels_first", precision="fp32"), strict)

    for program in (program_of(plain), program_of(plain, plain), old_recipe):
        assert not any(line in program for line in PRECISION_LINES), program
    assert any(line in program_of(strict, plain) for line in PRECISION_LINES), "it was switched"


def test_16_bits_leave_the_switches_for_tf32_alone():
    for framework, precision in itertools.product(FRAMEWORKS, ("fp16", "bf16")):
        program = program_of(a_trial(framework, precision=precision))
        assert not any(line in program for line in PRECISION_LINES[:3]), program


def test_a_program_that_forbids_xla_says_that_keras_would_choose_for_itself():
    """On TensorFlow that may be faster than what was measured."""
    hint = '"auto", compiles with XLA'
    assert hint in program_of(a_trial("tensorflow")) and hint not in program_of(
        a_trial("tensorflow", compile=True)
    )


def test_16_bits_come_with_what_they_do_to_the_numbers():
    for framework, line in (("torch", "with torch.autocast("), ("jax", "keras.config.set_dtype_policy(")):
        lines = [line.strip() for line in program_of(a_trial(framework, precision="bf16")).splitlines()]
        (at,) = [number for number, text in enumerate(lines) if text.startswith(line)]
        assert lines[at - 1] == "# precision: bf16: other rounding"


@pytest.mark.parametrize(("precision", "need"), [("bf16", "digits"), ("fp16", "range")])
def test_what_the_loss_needs_is_what_the_precision_lacks(precision, need):
    """bf16 has the range of fp32, and fewer digits."""
    lines = code.lines("precision", framework="tensorflow", precision=precision)
    assert f'dtype="float32")(x)  # the loss needs the {need}' in "".join(lines)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_switches_that_an_older_compiler_refuses_come_with_the_version(precision):
    """Only where the program compiles: without, every version that has these switches takes them."""
    said = "# torch 2.13 or newer"
    compiled = program_of(a_trial("torch", precision=precision, compile=True)).splitlines()
    (at,) = [number for number, line in enumerate(compiled) if line.startswith(said)]
    assert "fp32_precision" in compiled[at + 1]
    assert said not in program_of(a_trial("torch", precision=precision))
    assert said not in program_of(a_trial("torch", compile=True))
