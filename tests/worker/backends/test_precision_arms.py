"""What ran is what a run says ran: every precision in each framework, on a CPU said to have 16 bits."""

from __future__ import annotations

import pytest

from shared_workers import SharedWorkers
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.notes import ConvolutionsNotSeen, LossNotFinite, PrecisionNotAsked
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.sensors.cpu import FLAGS_VARIABLE
from trainspeed.sensors.machine import logical_cores
from trainspeed.worker.hlo import convolutions

FLAGS = "avx512_bf16 avx512_fp16"
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
KERAS = ("tensorflow", "jax")
ARMS = [
    (framework, precision, False, model)
    for framework, model in (("tensorflow", "cnn_keras"), ("torch", "cnn10"))
    for precision in DTYPES
]
# Without fp16, in which a step that overflows is trained below: compiling takes seconds.
ARMS += [("jax", precision, True, "cnn_keras") for precision in DTYPES if precision != "fp16"]
ARMS += [("tensorflow", "bf16", True, "cnn_keras")]  # with XLA, whose program is read in another way
# Depthwise and normalised, of others; what Keras has of that kind trains in `test_library_models.py`.
ARMS += [("torch", "bf16", False, "mobilenet")]


def run(
    shared_worker: SharedWorkers,
    framework: str,
    precision: str,
    plant: str = "nothing",
    *,
    flags: str = FLAGS,
    evaluate: bool = False,
    **changes,
) -> RunOutcome:
    """Small, and few held out: without 16-bit instructions torch needs 6 s for a step of cnn10 at 32 pixels."""
    fields = {"model": "cnn_keras", "layout": "channels_last", "image_size": 12, "dataset": "digits"}
    fields |= {"batch_size": 2, "images_per_epoch": 2, "epochs": 4, "pipeline": "resize", "folds": 90}
    fields |= {"compile": framework == "jax", **changes}
    trial = Trial(framework=framework, precision=precision, **fields).in_block(0)
    environment = {"TRAINSPEED_TEST_PLANT": plant, FLAGS_VARIABLE: flags}
    planted = {"plant": "probes.precision_probe", "environment": environment}
    return shared_worker(framework).run(trial, evaluate=evaluate, inspect=True, **planted)


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "precision", "compiled", "model"), ARMS)
def test_an_arm_trains_and_says_in_what_its_convolutions_ran(
    shared_worker, framework, precision, compiled, model
):
    """A compiler may widen 16 bits on a CPU: such a run is no measurement of them."""
    size = {"mobilenet": 32, "cnn_keras": 12}.get(model, 8)
    shape = {"model": model, "image_size": size, "epochs": 3, "compile": compiled}
    done = run(shared_worker, framework, precision, evaluate=True, **shape)
    if compiled and done.status == Status.UNSUPPORTED:
        assert done.reason == f"{precision} was asked for, but the convolutions ran in float32"
        return
    assert done.status == Status.OK, done.reason
    result, asked = done.result, DTYPES[precision]

    assert result.profile["finite"]
    assert 0 <= result.test_accuracy <= 1
    assert result.profile["weight_dtypes"] == ["float32"]
    assert (result.skipped_steps is None) == (precision != "fp16")
    assert (set(result.effective_precision.dtypes), result.effective_precision.asked) == ({asked}, False)
    assert not [note for note in result.notes if isinstance(note, PrecisionNotAsked | ConvolutionsNotSeen)]


@pytest.mark.slow
@pytest.mark.parametrize("framework", KERAS)
def test_what_keras_was_asked_is_not_taken_for_what_ran(shared_worker, framework):
    unknown = run(shared_worker, framework, "bf16", "hidden convolutions")
    widened = run(shared_worker, framework, "bf16", "float32 convolutions")

    effective = unknown.result.effective_precision
    assert (set(effective.dtypes), effective.asked) == ({"bfloat16"}, True)
    assert (widened.status, widened.reason) == (
        Status.UNSUPPORTED,
        "bf16 was asked for, but the convolutions ran in float32",
    )


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("precision", "flags", "reason"),
    [
        ("bf16", "", "this CPU has no bf16 arithmetic"),
        ("fp16", "", "this CPU has no fp16 arithmetic"),
        ("tf32", FLAGS, "TF32 is a mode of NVIDIA GPUs"),
    ],
)
def test_a_precision_that_the_cpu_lacks_is_a_row_with_the_reason(
    shared_worker, framework, precision, flags, reason
):
    done = run(shared_worker, framework, precision, flags=flags)

    assert done.status == Status.UNSUPPORTED
    assert reason in done.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "changes"),
    [
        *((framework, {}) for framework in FRAMEWORKS),
        ("tensorflow", {"strategy": "mirrored", "devices": 2}),
        # Its kernel itself leaves the step out, so that the optimizer is called in each.
        ("torch", {"levers": [("optimizer", "fused")]}),
    ],
)
def test_a_step_whose_gradient_overflows_is_left_out_and_counted(shared_worker, framework, changes):
    """Planted in the second of five steps; turns make them more than the trial's epochs have."""
    if logical_cores() < changes.get("devices", 1):
        pytest.skip("two devices need two CPU cores")
    # One in which no other gradient overflows: torch begins with a larger scale than is planted in Keras.
    size = {"model": "cnn10", "image_size": 8} if framework == "torch" else {}
    done = run(shared_worker, framework, "fp16", "overflow", epochs=3, **size, **changes)

    assert done.status == Status.OK, done.reason
    assert done.result.profile["moved"] == [True, False, True, True, True]
    assert done.result.skipped_steps == 1
    assert done.result.profile["finite"]
    assert not [note for note in done.result.notes if isinstance(note, LossNotFinite)]


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_training_that_turns_nan_is_a_row_with_a_note(shared_worker, framework):
    done = run(shared_worker, framework, "fp32", "infinite weights")

    assert done.status == Status.OK, done.reason
    assert LossNotFinite(loss="nan") in done.result.notes


CPU = """
%fused (param_0: bf16[8,16,16,3]) -> f32[8,16,16,64] {
  %param_0 = bf16[8,16,16,3]{3,2,1,0} parameter(0)
  %convert.1 = f32[8,16,16,3]{3,2,1,0} convert(%param_0)
  ROOT %c = f32[8,16,16,64]{3,2,1,0} convolution(%OPERAND, %w), window={size=3x3}, dim_labels=b01f_01io->b01f
}
"""
CUDNN = (
    "  %conv = (f32[128,64,56,56]{3,2,1,0}, u8[0]{0}) custom-call(f16[128,64,56,56]{3,2,1,0} %x, "
    "f16[64,64,3,3]{3,2,1,0} %w), window={size=3x3}, dim_labels=bf01_oi01->bf01, "
    'custom_call_target="__cudnn$convForward"'
)


@pytest.mark.parametrize(
    ("hlo", "dtypes"),
    [
        (CPU.replace("OPERAND", "param_0"), ["bfloat16"]),
        (CPU.replace("OPERAND", "convert.1"), ["float32"]),
        (CPU.replace("OPERAND", "param_0").replace("%", ""), ["bfloat16"]),
        (CPU.replace("OPERAND", "elsewhere"), [None]),
        (CUDNN, ["float16"]),
        (CUDNN.replace("f16[128", "f8e4m3fn[128"), ["f8e4m3fn"]),
        (CUDNN.replace("3,2,1,0}", "3,2,1,0:T(8,128)}"), ["float16"]),
        (CUDNN + CPU.replace("OPERAND", "convert.1"), ["float16", "float32"]),
        ("dim_labels=bf01_oi01->bf01", [None]),
        ("  %dot.3 = f32[8,10]{1,0} dot(%a, %b), lhs_contracting_dims={1}", []),
    ],
)
def test_the_dtype_of_a_convolution_is_that_of_what_it_takes(hlo, dtypes):
    assert [dtype for _, dtype in convolutions(hlo)] == dtypes


def test_a_name_means_what_was_defined_last_before_it():
    """Two computations of a program may both name their parameter param_0."""
    first = CPU.replace("OPERAND", "param_0")

    both = convolutions(first + first.replace("bf16", "f16"))

    assert [dtype for _, dtype in both] == ["bfloat16", "float16"]
