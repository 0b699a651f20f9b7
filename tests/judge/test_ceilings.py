"""The ceilings of the device, with answers worked out by hand."""

import pytest

from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.judge.ceilings import ceiling_frame, ceiling_in, ceiling_trials, ceilings_of
from trainspeed.judge.roofline import Ceiling


def ceiling(part, work, seconds=5.0, **more):
    """Return a run of 5 steps an epoch, so that a step takes a fifth of the seconds."""
    what = {"step_bytes" if part == "copy" else "step_flops": work}
    fields = {"part": part, "precision": "fp32", "batch_size": 1, "images_per_epoch": 5}
    return make_run(seconds, **{**fields, **what, **more})


def test_ceilings_are_measured_in_each_precision_and_the_copy_once():
    found = ceiling_trials(["fp32", "bf16"], dataset="digits", seed=3)

    assert [(t.part, t.precision) for t in found] == [
        ("matmul", "fp32"),
        ("conv", "fp32"),
        ("matmul", "bf16"),
        ("conv", "bf16"),
        ("copy", "fp32"),
    ]
    assert {(t.framework, t.dataset, t.seed, t.folds) for t in found} == {("torch", "digits", 3, None)}


def test_a_ceiling_is_the_work_of_a_step_over_its_time_by_medians():
    runs = [ceiling("matmul", 6e9, seconds, block=b) for b, seconds in enumerate((5.0, 15.0, 50.0))]
    runs += [ceiling("conv", 1e9), ceiling("copy", 4e9), ceiling("matmul", 8e9, precision="bf16")]

    assert ceilings_of(runs) == {
        "fp32": Ceiling(
            precision="fp32", matmul_flop_per_s=2e9, conv_flop_per_s=1e9, bandwidth_bytes_per_s=4e9
        ),
        "bf16": Ceiling(precision="bf16", matmul_flop_per_s=8e9, bandwidth_bytes_per_s=4e9),
    }


def test_what_was_not_measured_has_no_ceiling():
    failed = ceiling("matmul", None, status=Status.UNSUPPORTED, precision="fp16")

    assert ceilings_of([failed, make_run(), ceiling("copy", 4e9)]) == {}
    (found,) = ceilings_of([ceiling("conv", 1e9)]).values()
    assert (found.matmul_flop_per_s, found.bandwidth_bytes_per_s) == (None, None)


def test_the_roofs_are_a_row_per_precision():
    limits = [
        Ceiling(precision="fp32", matmul_flop_per_s=128e9, conv_flop_per_s=64e9, bandwidth_bytes_per_s=10e9),
        Ceiling(precision="bf16", matmul_flop_per_s=512e9),
    ]
    frame = ceiling_frame(limits)

    assert list(frame["precision"]) == ["fp32", "bf16"]
    assert list(frame["peak_flop_per_s"]) == [128e9, 512e9]
    assert frame["bandwidth_bytes_per_s"][0] == 10e9
    assert list(ceiling_frame([])) == list(frame)


# The ceiling of the default precision is that of what the framework allows there.

LIMITS = {
    "fp32": Ceiling(
        precision="fp32", matmul_flop_per_s=50e12, conv_flop_per_s=40e12, bandwidth_bytes_per_s=2e12
    ),
    "tf32": Ceiling(
        precision="tf32", matmul_flop_per_s=400e12, conv_flop_per_s=300e12, bandwidth_bytes_per_s=2e12
    ),
}


@pytest.mark.parametrize(
    ("tf32", "matmul", "conv"),
    [
        ((), 50e12, 40e12),  # a CPU, or a GPU before Ampere
        (("convolutions",), 50e12, 300e12),  # PyTorch
        (("convolutions", "matrix products"), 400e12, 300e12),  # TensorFlow and JAX
    ],
)
def test_the_default_precision_is_limited_by_what_the_framework_allows(tf32, matmul, conv):
    found = ceiling_in("default", tf32, LIMITS)

    assert (found.matmul_flop_per_s, found.conv_flop_per_s) == (matmul, conv)
    assert found.bandwidth_bytes_per_s == 2e12


@pytest.mark.parametrize(("tf32", "limits"), [(None, LIMITS), (("convolutions",), {"fp32": LIMITS["fp32"]})])
def test_a_ceiling_that_is_not_known_is_no_lower_one(tf32, limits):
    """Below strict fp32's alone, a training in TF32 would use more than all of the device."""
    found = ceiling_in("default", tf32, limits)

    assert (found.peak_flop_per_s, found.bandwidth_bytes_per_s) == (None, 2e12)


def test_other_precisions_have_their_own_ceiling_and_the_default_is_measured_as_fp32():
    assert ceiling_in("tf32", None, LIMITS) is LIMITS["tf32"]
    assert ceiling_in("bf16", None, LIMITS) == Ceiling(precision="bf16")
    trials = ceiling_trials(["default", "fp32", "bf16"], dataset="digits", seed=0)
    assert {trial.precision for trial in trials} == {"fp32", "bf16"} and len(trials) == 5
