"""Why 16 bits gain what they gain, with answers worked out by hand."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from amp_data import accuracies
from study_data import make_pair, make_run
from trainspeed.core.format import MISSING
from trainspeed.core.frame import to_frame
from trainspeed.core.run import Status
from trainspeed.judge.cost import cost_frame
from trainspeed.judge.roofline import Ceiling
from trainspeed.studies.amp import tables
from trainspeed.studies.amp.arms import (
    cost_rows,
    gain_sentences,
    roofline_points,
)
from trainspeed.studies.amp.findings import precision_verdicts

ZOO = {"model": "resnet50", "image_size": 32}
CEILINGS = {
    "fp32": Ceiling(precision="fp32", matmul_flop_per_s=128e9, bandwidth_bytes_per_s=10e9),
    "bf16": Ceiling(precision="bf16", matmul_flop_per_s=512e9, bandwidth_bytes_per_s=10e9),
}


def ceiling(part, work, seconds=5.0, **more):
    """Return a run of 5 steps an epoch, so that a step takes a fifth of the seconds."""
    what = {"step_bytes" if part == "copy" else "step_flops": work}
    fields = {"part": part, "precision": "fp32", "batch_size": 1, "images_per_epoch": 5}
    return make_run(seconds, **{**fields, **what, **more})


def step(seconds=4.0, **more):
    """Return a run of 4 steps an epoch: of 64 GFLOP and 8 GB each, 32 images."""
    looked_up = {"precision": "fp32", "step_flops": 64e9, "step_bytes": 8e9, "parameters": 25_600_000}
    return make_run(seconds, **{**ZOO, **looked_up, **more})


# Points below the roofs.


def test_a_point_is_the_work_of_a_step_over_its_median_time():
    """16 bits move half the bytes, so twice as many FLOPs per byte."""
    runs = [step(seconds, block=block) for block, seconds in enumerate((2.0, 4.0, 40.0))]
    found = roofline_points([*runs, step(1.0, precision="bf16")], CEILINGS)

    arm = {"framework": "torch", "model": "resnet50", "flops_per_image": 2e9, "parameters": 25_600_000}
    assert found.to_dict("records") == [
        arm | {"precision": "fp32", "intensity": 8.0, "flop_per_s": 64e9, "mfu": 0.5},
        arm | {"precision": "bf16", "intensity": 16.0, "flop_per_s": 256e9, "mfu": 0.5},
    ]


def test_a_later_block_that_was_looked_at_tells_for_all():
    (found,) = roofline_points([step(step_flops=None), step(block=1)], CEILINGS).to_dict("records")
    assert found["flop_per_s"] == 64e9


def test_what_is_no_whole_training_or_was_not_looked_at_is_no_point():
    runs = [step(step_flops=None), step(part="compute"), step(status=Status.OOM), ceiling("matmul", 1e9)]
    assert roofline_points(runs, CEILINGS).empty
    assert list(roofline_points([], {})) == list(roofline_points([step()], CEILINGS))


def test_without_a_ceiling_there_is_no_share_of_it():
    (found,) = roofline_points([step()], {}).to_dict("records")
    assert pd.isna(found["mfu"]) and found["intensity"] == 8
    assert tables.roofline_table(roofline_points([step()], {})).data["share of the ceiling"][0] == MISSING


# What could be gained.


def pair(ratios=(2.0,) * 6, **more):
    return make_pair("precision", ("fp32", "bf16"), ratios, **{**ZOO, **more})


def test_the_gain_follows_from_the_ceilings_and_the_share_of_matrix_work():
    """Half of a step gains 4 times, half 2 times: 1 / (0.5 / 4 + 0.5 / 2) = 2.67."""
    runs = pair(profile={"matrix_share": 0.5})

    assert gain_sentences(runs, precision_verdicts(runs), CEILINGS) == [
        "PyTorch, resnet50, bf16 vs fp32: at best 2.67x could be gained (matrix work is 4.00x as fast here and 50 % of "
        "the device's time in fp32; the rest moves half the bytes), 2.00x (2.00 to 2.00) was: 60 % of the way "
        "from 1x."
    ]


def test_a_gpu_that_waits_for_the_host_is_a_reason():
    """Epochs of one step: of 2 s in fp32, of which 0.9 s are kernels, and of 1 s in bf16, of which 0.25 s are."""
    runs = [
        replace(
            run, profile=(run.profile or {}) | {"device_s": {"fp32": 0.9, "bf16": 0.25}[run.trial.precision]}
        )
        for run in pair(profile={"matrix_share": 0.5}, images_per_epoch=32, batch_size=32)
    ]
    (sentence,) = gain_sentences(runs, precision_verdicts(runs), CEILINGS)

    assert " the GPU computes for " in sentence and sentence.endswith("train larger batches, or compile.")


def test_without_a_profile_the_roofline_tells():
    """8 FLOPs per byte lie left of both knees: memory limits, and half the bytes are twice as fast."""
    runs = pair((1.5,), step_flops=64e9, step_bytes=8e9)
    (sentence,) = gain_sentences(runs, precision_verdicts(runs), CEILINGS)

    assert "at best 2.00x could be gained" in sentence and "memory limits a step in fp32" in sentence
    assert sentence.endswith("1.50x (no interval) was: 50 % of the way from 1x.")


def test_a_gain_without_ceilings_is_not_known():
    runs = pair()
    (sentence,) = gain_sentences(runs, precision_verdicts(runs), {})
    assert "how much could be gained at best is not known (not measured: the ceiling of fp32" in sentence


def test_accuracies_parts_and_strangers_have_no_gain():
    runs, fit = pair(), pair(part="fit")
    verdicts = [*accuracies([1.0] * 6), *precision_verdicts(fit)]
    assert gain_sentences([*runs, *fit], verdicts, CEILINGS) == []
    assert gain_sentences([], precision_verdicts(runs), CEILINGS) == []


# Shares and costs.


def test_costs_are_told_of_medians_over_the_blocks():
    """Epochs of 2 s with 128 images: 64 images/s; 6 s and 99 times 2 s: 204 s. 900 J in 3 s are 300 W."""
    joules = {"energy_j": 900.0, "metered_s": 3.0}
    runs = [step(seconds, block=block, **joules) for block, seconds in enumerate((1.0, 2.0, 9.0))]
    runs += [step(1.0, precision="bf16"), step(precision="fp16", status=Status.OOM)]
    rows = cost_rows(to_frame(runs))

    assert list(rows["precision"]) == ["fp32", "bf16"]
    fp32, bf16 = rows.to_dict("records")
    assert (fp32["images_per_s"], fp32["training_s"]) == (64, 204)
    assert fp32["energy_j_per_epoch"] == 600.0
    assert fp32["images_per_epoch"] == 128
    assert math.isnan(bf16["energy_j_per_epoch"])
    assert list(cost_frame(rows, 36.0)["usd_per_training"]) == pytest.approx([2.04, 1.02])


def test_an_image_costs_the_same_where_a_last_partial_batch_was_left_out():
    """100 W for 3 s train 96 of 128 images: 300 J, so 3.125 J an image."""
    run = replace(step(3.0, energy_j=900.0, metered_s=9.0), images_per_epoch=96)
    (cost,) = cost_frame(cost_rows(to_frame([run])), None).to_dict("records")

    assert cost["energy_j_per_image"] == pytest.approx(300 / 96)


def test_no_finished_run_has_no_cost():
    rows = cost_rows(to_frame([step(status=Status.OOM)]))
    assert rows.empty and cost_frame(rows, 1.0).empty
