import pytest

from trainspeed.core.trial import PRECISIONS
from trainspeed.sensors.cpu import FLAGS_VARIABLE
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.precision import check_precision, tf32_flag, tf32_work

PASCAL, VOLTA, TURING, AMPERE, HOPPER = (6, 1), (7, 0), (7, 5), (8, 0), (9, 0)
NOTHING = "avx2 avx512f"
PLAIN = {"default", "fp32"}  # every device has 32 bits


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
        (PASCAL, PLAIN),
        (VOLTA, PLAIN | {"fp16"}),
        (TURING, PLAIN | {"fp16"}),
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
        (NOTHING, PLAIN),
        ("", PLAIN),
        (f"{NOTHING} avx512_bf16", PLAIN | {"bf16"}),
        (f"{NOTHING} amx_bf16", PLAIN | {"bf16"}),
        (f"{NOTHING} avx512_fp16", PLAIN | {"fp16"}),
        ("asimd fphp bf16", PLAIN | {"fp16", "bf16"}),
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


# TF32, by what a framework's own switches say: fakes in place of the frameworks.

BOTH = ("convolutions", "matrix products")


def test_only_the_precisions_of_32_bits_touch_the_switches_of_a_framework():
    """A script that trains in 16 bits has them as they are, too."""
    assert {precision: tf32_flag(precision) for precision in PRECISIONS} == {
        "default": None,
        "fp32": False,
        "tf32": True,
        "fp16": None,
        "bf16": None,
    }


@pytest.mark.parametrize(
    ("capability", "allowed", "used"),
    [
        (HOPPER, BOTH, BOTH),  # TensorFlow and JAX, left alone
        (AMPERE, ("convolutions",), ("convolutions",)),  # PyTorch, left alone
        (HOPPER, (), ()),  # strict
        (TURING, BOTH, ()),
        (VOLTA, BOTH, ()),
        (None, BOTH, ()),  # a CPU
    ],
)
def test_tf32_is_used_where_the_framework_allows_it_and_the_gpu_has_it(capability, allowed, used):
    assert tf32_work(allowed, capability, {}) == used


def test_a_user_who_forbids_tf32_to_the_libraries_has_none():
    assert tf32_work(BOTH, HOPPER, {"NVIDIA_TF32_OVERRIDE": "0"}) == ()
    assert tf32_work(BOTH, HOPPER, {"NVIDIA_TF32_OVERRIDE": "1"}) == BOTH
