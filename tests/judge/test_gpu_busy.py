"""How much of a step the GPU waits for the host, with answers worked out by hand."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.judge.gpu_busy import busy_share, busy_share_of, waiting_sentence

STEPS = {"batch_size": 8, "images_per_epoch": 32}  # 4 an epoch


def profiled(device_s, epoch_s=4.0, **more):
    """Return a run whose kernels of a step take so long."""
    return make_run(
        epoch_s, profile={"matrix_share": 0.5, "kernels": [], "device_s": device_s}, **STEPS, **more
    )


@pytest.mark.parametrize(
    ("run", "share"),
    [
        (profiled(0.6), 0.6),
        (profiled(0.6, gpu_load_percent=99.0), 0.6),  # the driver counts a moment as busy that has gaps
        (profiled(1.2, devices=2, strategy="data_parallel"), 0.6),  # the profile has both
        (profiled(1.1), 1.0),  # the step that was profiled took longer than those that were timed
        (profiled(None), None),  # a CPU
        (make_run(gpu_load_percent=75.0), 0.75),
        (profiled(0.6, part="input"), None),
        (make_run(), None),
    ],
)
def test_the_share_is_that_of_the_kernels_of_a_step_else_the_drivers_load(run, share):
    assert busy_share(run) == (share if share is None else pytest.approx(share))


def test_of_several_runs_the_profiled_one_tells():
    assert busy_share_of([make_run(), make_run(gpu_load_percent=99.0), profiled(0.5)]) == 0.5
    assert busy_share_of([make_run(), make_run(gpu_load_percent=99.0)]) == 0.99
    assert busy_share_of([make_run()]) is None


def test_a_gpu_that_waits_is_told_with_what_its_own_work_gained():
    base, candidate = profiled(0.95, precision="fp32"), profiled(0.5, precision="bf16")
    assert waiting_sentence([base], [make_run(precision="bf16", block=1), candidate]) == (
        "In bf16 the GPU computes for 50 % of a step (95 % in fp32) and waits for the host in the rest; its own work "
        "is 1.90x as fast: train larger batches, or compile."
    )
    assert waiting_sentence([make_run()], [candidate]) == (
        "In bf16 the GPU computes for 50 % of a step and waits for the host in the rest: train larger batches, "
        "or compile."
    )


def test_a_gpu_that_is_busy_or_unknown_needs_no_sentence():
    assert waiting_sentence([profiled(0.5)], [profiled(0.9)]) is None
    assert waiting_sentence([profiled(0.5)], [make_run()]) is None
    assert waiting_sentence([], []) is None
