import pytest

from trainspeed.core.trial import PRECISIONS
from trainspeed.sensors.cpu import FLAGS_VARIABLE
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.precision import check_precision

PASCAL, VOLTA, TURING, AMPERE, HOPPER = (6, 1), (7, 0), (7, 5), (8, 0), (9, 0)
NOTHING = "avx2 avx512f"


def reason(precision, capability):
    """Return why a device lacks a precision; None where it has it."""
    try:
        check_precision(precision, capability)
    except Unsupported as problem:
        return str(problem)
    return None


@pytest.mark.parametrize(
    ("capability", "has"),
    [
        (PASCAL, {"fp32"}),
        (VOLTA, {"fp32", "fp16"}),
        (TURING, {"fp32", "fp16"}),
        (AMPERE, set(PRECISIONS)),
        (HOPPER, set(PRECISIONS)),
        ((10, 0), set(PRECISIONS)),
    ],
)
def test_a_gpu_has_the_precisions_of_its_generation(capability, has):
    assert {p for p in PRECISIONS if reason(p, capability) is None} == has


def test_a_gpu_that_is_too_old_is_told_with_its_number():
    assert reason("bf16", TURING) == "bf16 needs compute capability 8.0; this GPU has 7.5"
    assert reason("fp16", PASCAL) == "fp16 needs compute capability 7.0; this GPU has 6.1"


@pytest.mark.parametrize(
    ("flags", "has"),
    [
        (NOTHING, {"fp32"}),
        ("", {"fp32"}),
        (f"{NOTHING} avx512_bf16", {"fp32", "bf16"}),
        (f"{NOTHING} amx_bf16", {"fp32", "bf16"}),
        (f"{NOTHING} avx512_fp16", {"fp32", "fp16"}),
        ("asimd fphp bf16", {"fp32", "fp16", "bf16"}),
    ],
)
def test_a_cpu_has_the_precisions_of_its_instructions_and_never_tf32(monkeypatch, flags, has):
    monkeypatch.setenv(FLAGS_VARIABLE, flags)

    assert {p for p in PRECISIONS if reason(p, None) is None} == has


def test_what_a_cpu_lacks_is_named(monkeypatch):
    monkeypatch.setenv(FLAGS_VARIABLE, NOTHING)

    assert reason("tf32", None) == "TF32 is a mode of NVIDIA GPUs; this is a CPU"
    assert reason("bf16", None) == (
        "this CPU has no bf16 arithmetic (none of the flags avx512_bf16, amx_bf16, bf16)"
    )
