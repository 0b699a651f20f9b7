"""The tables of the amp notebook, by their cells."""

import math

import pandas as pd

from study_data import make_run
from trainspeed.core.format import MISSING
from trainspeed.core.result import EffectivePrecision
from trainspeed.judge.cost import cost_frame
from trainspeed.studies.amp.arms import roofline_points
from trainspeed.studies.amp.tables import cost_table, kernel_table, roofline_table

POINT = {
    "framework": "torch",
    "model": "cnn10",
    "precision": "fp32",
    "intensity": 30,
    "flop_per_s": 100e9,
    "mfu": 0.5,
    "flops_per_image": 1.6e9,
    "parameters": 1_925_000.0,
}


def cells(styler):
    return styler.data.to_dict("records")


def make_costs(usd_per_hour, **changes):
    measured = {"images_per_s": 100.0, "training_s": 1800.0, "energy_j_per_epoch": 500.0}
    arm = {"framework": "torch", "model": "cnn10", "precision": "fp32", "images_per_epoch": 1000}
    return cost_frame([arm | measured | changes], usd_per_hour)


def test_the_share_of_the_ceiling_stands_beside_the_speed():
    assert cells(roofline_table(pd.DataFrame([POINT]))) == [
        {
            "framework": "PyTorch",
            "model": "cnn10",
            "precision": "fp32",
            "GFLOP per image": "1.60",
            "GFLOP/s achieved": "100",
            "share of the ceiling": "50.0 %",
            "FLOP per byte": "30.0",
            "parameters": "1,925,000",
        }
    ]


def test_what_is_unknown_is_a_dash():
    unknown = POINT | dict.fromkeys(("mfu", "intensity", "parameters"), math.nan)
    (row,) = cells(roofline_table(pd.DataFrame([unknown])))
    assert {row[name] for name in ("share of the ceiling", "FLOP per byte", "parameters")} == {"—"}


def test_what_ran_is_a_row_per_arm_that_was_inspected():
    """TensorFlow and JAX have no profile here."""
    float32, bfloat16 = (EffectivePrecision(dtypes={name: 9}) for name in ("float32", "bfloat16"))
    kernels = {"matrix_share": 0.75, "kernels": ["aten::conv2d", "aten::add"]}
    runs = [make_run(effective_precision=float32, profile=kernels), make_run(block=1)]
    runs += [make_run(precision="bf16", effective_precision=bfloat16), make_run(precision="fp16")]
    table = kernel_table(runs).data

    assert table[["precision", "computed in", "matrix work", "most of it in"]].to_numpy().tolist() == [
        ["default", "float32", "75 %", "aten::conv2d"],
        ["bf16", "bfloat16", MISSING, MISSING],
    ]
    assert kernel_table([]).data.empty


def test_on_a_gpu_the_share_of_a_step_that_it_computes_stands_with_what_ran():
    """A step of a second."""
    looked_at = {
        "image_size": 32,
        "effective_precision": EffectivePrecision(dtypes={"float32": 9}),
        "batch_size": 32,
        "images_per_epoch": 32,
    }
    profile = {"matrix_share": 0.75, "kernels": ["nvjet"], "device_s": 0.61}
    runs = [make_run(1.0, profile=profile, **looked_at), make_run(1.0, model="resnet50", **looked_at)]

    assert list(kernel_table(runs).data["GPU busy"]) == ["61 %", MISSING]


def test_costs_have_their_price_in_the_caption():
    styler = cost_table(make_costs(2.0))
    assert styler.caption == "What a training costs, at 2 USD an hour"
    assert cells(styler)[0] == {
        "framework": "PyTorch",
        "model": "cnn10",
        "precision": "fp32",
        "training time": "0:30:00",
        "USD a training": "1.00",
        "images per USD": "180,000",
        "J per 1000 images": "500",
    }


def test_without_a_price_its_columns_are_left_out_and_without_a_counter_the_table():
    """Times alone are in the table of results."""
    styler = cost_table(make_costs(None))
    assert styler.caption == "What a training costs"
    assert list(cells(styler)[0]) == ["framework", "model", "precision", "training time", "J per 1000 images"]
    assert cost_table(make_costs(None, energy_j_per_epoch=None)) is None


def test_a_run_that_failed_has_dashes():
    assert cells(cost_table(make_costs(2.0, training_s=None)))[0]["USD a training"] == "—"


def test_no_rows_are_a_table_without_rows():
    assert cells(roofline_table(roofline_points([], {}))) == []
    assert cost_table(cost_frame([], None)) is None
