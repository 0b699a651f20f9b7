"""What ran is what a run says ran: every precision in each framework, on a CPU said to have 16 bits."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from trainspeed import interpreters
from trainspeed.child import Request
from trainspeed.detect import logical_cores
from trainspeed.hlo import convolution_dtypes
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS, Trial
from trainspeed.worker_process import WorkerProcess

PROBES = Path(__file__).parent / "probes"
PLANTS = (
    "nothing",
    "no flags",
    "overflow",
    "infinite weights",
    "hidden convolutions",
    "float32 convolutions",
)
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
KERAS = ("tensorflow", "jax")
ARMS = [
    (framework, precision, framework == "jax", "cnn10") for framework in FRAMEWORKS for precision in DTYPES
]
ARMS += [("tensorflow", "bf16", True, "cnn_keras")]  # with XLA, whose program is read in another way
ARMS += [
    (framework, "bf16", False, "mobilenet") for framework in ("tensorflow", "torch")
]  # depthwise, of others


@pytest.fixture(scope="module")
def worker():
    """Starts each framework once, when it is first asked for."""
    started: dict[str, WorkerProcess] = {}

    def of(framework: str) -> WorkerProcess:
        if framework not in started:
            if (python := interpreters.find(framework)) is None:
                pytest.skip(f"{framework} is not installed here")
            environment = {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(PROBES)}
            environment |= {
                "TRAINSPEED_TEST_FRAMEWORK": framework,
                "TRAINSPEED_TEST_PLANTS": ",".join(PLANTS),
            }
            started[framework] = WorkerProcess(python, "precision_probe", environment=environment)
        return started[framework]

    yield of
    for process in started.values():
        process.close()


def run(worker, framework: str, precision: str, plant: str = "nothing", *, evaluate=False, **changes):
    """Small, and few held out: without 16-bit instructions torch needs 6 s for a step of cnn10 at 32 pixels."""
    fields = {"model": "cnn_keras", "layout": "channels_last", "image_size": 12, "dataset": "digits"}
    fields |= {"batch_size": 4, "images_per_epoch": 4, "epochs": 4, "pipeline": "resize", "folds": 20}
    fields |= {"compile": framework == "jax", "seed": PLANTS.index(plant), **changes}
    trial = Trial(framework=framework, precision=precision, **fields).in_block(0)
    request = Request(
        trial=trial, device="cpu", requested_at=time.monotonic(), evaluate=evaluate, inspect=True
    )
    return worker(framework).run(request, 300)


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "precision", "compiled", "model"), ARMS)
def test_an_arm_trains_and_says_in_what_its_convolutions_ran(worker, framework, precision, compiled, model):
    """A compiler may widen 16 bits on a CPU: such a run is no measurement of them."""
    size = 32 if model == "mobilenet" else 12
    shape = {"model": model, "image_size": size, "images_per_epoch": 8, "epochs": 3, "compile": compiled}
    done = run(worker, framework, precision, evaluate=True, **shape)
    if compiled and done.status == Status.UNSUPPORTED:
        assert done.reason == f"{precision} was asked for, but the convolutions ran in float32"
        return
    assert done.status == Status.OK, done.reason
    found, asked = done.result, DTYPES[precision]

    assert math.isfinite(found["final_loss"])
    assert 0 <= found["test_accuracy"] <= 1
    assert found["weight_dtypes"] == ["float32"]
    assert (found["skipped_steps"] is None) == (precision != "fp16")
    assert (found["effective_precision"], found.get("inspect_note")) == (asked, None)


@pytest.mark.slow
@pytest.mark.parametrize("framework", KERAS)
def test_what_keras_was_asked_is_not_taken_for_what_ran(worker, framework):
    unknown = run(worker, framework, "bf16", "hidden convolutions")
    widened = run(worker, framework, "bf16", "float32 convolutions")

    assert unknown.result["effective_precision"] == "bfloat16 (asked)"
    assert (widened.status, widened.reason) == (
        Status.UNSUPPORTED,
        "bf16 was asked for, but the convolutions ran in float32",
    )


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("precision", "plant", "reason"),
    [
        ("bf16", "no flags", "this CPU has no bf16 arithmetic"),
        ("fp16", "no flags", "this CPU has no fp16 arithmetic"),
        ("tf32", "nothing", "TF32 is a mode of NVIDIA GPUs"),
    ],
)
def test_a_precision_that_the_cpu_lacks_is_a_row_with_the_reason(worker, framework, precision, plant, reason):
    done = run(worker, framework, precision, plant)

    assert done.status == Status.UNSUPPORTED
    assert reason in done.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "changes"),
    [*((framework, {}) for framework in FRAMEWORKS), ("tensorflow", {"strategy": "mirrored", "devices": 2})],
)
def test_a_step_whose_gradient_overflows_is_left_out_and_counted(worker, framework, changes):
    """Planted in the second of five steps."""
    if logical_cores() < changes.get("devices", 1):
        pytest.skip("two devices need two CPU cores")
    size = {"model": "cnn10", "batch_size": 8, "images_per_epoch": 8}  # no other gradient overflows
    done = run(worker, framework, "fp16", "overflow", epochs=5, **size, **changes)

    assert done.status == Status.OK, done.reason
    assert done.result["moved"] == [True, False, True, True, True]
    assert done.result["skipped_steps"] == 1
    assert math.isfinite(done.result["final_loss"])
    assert not [note for note in done.result["notes"] if "loss" in note]


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_training_that_turns_nan_is_a_row_with_a_note(worker, framework):
    done = run(worker, framework, "fp32", "infinite weights")

    assert done.status == Status.OK, done.reason
    assert any("The training loss ended as nan" in note for note in done.result["notes"])


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
    assert convolution_dtypes(hlo) == dtypes


def test_a_name_means_what_was_defined_last_before_it():
    """Two computations of a program may both name their parameter param_0."""
    first = CPU.replace("OPERAND", "param_0")

    assert convolution_dtypes(first + first.replace("bf16", "f16")) == ["bfloat16", "float16"]
