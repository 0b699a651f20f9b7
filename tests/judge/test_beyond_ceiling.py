"""Trainings that are faster than their device's own ceiling, with answers worked out by hand."""

import pytest

from study_data import make_run
from trainspeed.judge.beyond_ceiling import beyond_ceiling
from trainspeed.judge.doubts import whole_study_doubts

STEPS = {"batch_size": 2, "images_per_epoch": 10}


def ceiling(epoch_s=(9.0, 5.0, 4.0, 5.0), part="conv", **more):
    """Return a run of 5 steps an epoch: 1 GFLOP/s by its median, 1.25 in its quickest epoch."""
    fields = {"part": part, "precision": "fp32", "step_flops": 1e9, "epoch_s": epoch_s}
    return make_run(**STEPS, **{**fields, **more})


def arm(gflop_per_s, **more):
    return make_run(5.0, **STEPS, **{"precision": "fp32", "step_flops": gflop_per_s * 1e9, **more})


def test_a_training_beyond_the_quickest_epoch_of_a_ceiling_is_found_with_what_it_may_be():
    (found,) = beyond_ceiling([ceiling(), arm(1.5, model="cnn_keras"), arm(1.2)])
    assert (found.trial.model, found.flop_per_s, found.ceiling_flop_per_s) == ("cnn_keras", 1.5e9, 1.25e9)

    (doubt,) = whole_study_doubts([ceiling(), arm(1.5, model="cnn_keras")], None)
    assert "cnn_keras" in doubt and "(1.20 times)" in doubt
    assert "fewer operations than are counted (Winograd, FFT)" in doubt, "it need not be our fault"


def test_the_farthest_beyond_comes_first():
    found = beyond_ceiling([ceiling(), arm(1.5), arm(2.5, model="cnn_keras")])
    assert [one.times for one in found] == pytest.approx([2.0, 1.2])


@pytest.mark.parametrize(
    "runs",
    [
        [arm(9.0)],
        [ceiling(precision="bf16"), arm(9.0)],
        [ceiling(), arm(9.0, step_flops=None)],
        [ceiling(), arm(2.4, devices=2, strategy="ddp")],
        [ceiling(), ceiling(part="matmul", step_flops=9e9), arm(9.0)],
        [ceiling(block=0), ceiling((9.0, 2.0, 2.0, 2.0), block=1), arm(2.4)],
    ],
    ids=[
        "no ceiling",
        "one of another precision",
        "unknown work",
        "two devices",
        "products are faster",
        "a quicker block of the ceiling",
    ],
)
def test_what_is_not_beyond_its_ceiling_or_has_none_is_no_doubt(runs):
    assert beyond_ceiling(runs) == []
