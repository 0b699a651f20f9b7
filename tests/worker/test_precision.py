import pytest

from trainspeed.core.trial import PRECISIONS
from trainspeed.sensors.host import FLAGS_VARIABLE
from trainspeed.worker.precision import unsupported_reason

PASCAL, VOLTA, TURING, AMPERE, HOPPER = (6, 1), (7, 0), (7, 5), (8, 0), (9, 0)
NOTHING = frozenset({"avx2", "avx512f"})


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
    assert {p for p in PRECISIONS if unsupported_reason(p, capability) is None} == has


def test_a_gpu_that_is_too_old_is_told_with_its_number():
    assert unsupported_reason("bf16", TURING) == "bf16 needs compute capability 8.0; this GPU has 7.5"
    assert unsupported_reason("fp16", PASCAL) == "fp16 needs compute capability 7.0; this GPU has 6.1"


@pytest.mark.parametrize(
    ("flags", "has"),
    [
        (NOTHING, {"fp32"}),
        (frozenset(), {"fp32"}),
        (NOTHING | {"avx512_bf16"}, {"fp32", "bf16"}),
        (NOTHING | {"amx_bf16"}, {"fp32", "bf16"}),
        (NOTHING | {"avx512_fp16"}, {"fp32", "fp16"}),
        (frozenset({"asimd", "fphp", "bf16"}), {"fp32", "fp16", "bf16"}),
    ],
)
def test_a_cpu_has_the_precisions_of_its_instructions_and_never_tf32(flags, has):
    assert {p for p in PRECISIONS if unsupported_reason(p, None, flags) is None} == has


def test_what_a_cpu_lacks_is_named():
    assert unsupported_reason("tf32", None, NOTHING) == "TF32 is a mode of NVIDIA GPUs; this is a CPU"
    assert unsupported_reason("bf16", None, NOTHING) == (
        "this CPU has no bf16 arithmetic (none of the flags avx512_bf16, amx_bf16, bf16)"
    )


@pytest.mark.parametrize(("flags", "has"), [("", {"fp32"}), ("avx2 avx512_bf16", {"fp32", "bf16"})])
def test_the_flags_are_those_of_this_machine_where_none_are_given(monkeypatch, flags, has):
    monkeypatch.setenv(FLAGS_VARIABLE, flags)

    assert {p for p in PRECISIONS if unsupported_reason(p, None) is None} == has
