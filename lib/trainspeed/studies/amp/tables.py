"""Tables of mixed precision: shares of the ceilings, what ran, what a training costs. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, clock, digits, fixed, whole
from trainspeed.core.result import precision_text
from trainspeed.core.run import Run
from trainspeed.judge.cost import KEY_COLUMNS
from trainspeed.judge.gpu_busy import busy_share_of
from trainspeed.show.cells import styled
from trainspeed.show.theme import framework_name
from trainspeed.studies.amp.arms import first_known, trained_arms

ROOFLINE_TEXT = (
    "Ceilings are measured, not read off a data sheet: a large matrix product, a large convolution and a large copy, "
    "in each precision. How to read the roofline: left of the knee the ceiling of memory is the lower one, right of it "
    "that of arithmetic; how far it stays below its roof is what launching, small layers and everything that is not a "
    "matrix product cost. A multiply-add counts as 2 FLOPs; the bytes are an estimate, as if each layer read its input "
    "and weights and wrote its output three times a step. The best possible gain follows from the ceilings and from "
    "how much of a step is matrix work."
)  # above the chart, where there is one


def roofline_table(points: pd.DataFrame) -> Styler:
    """Return a row per point: FLOPs of a training step, speed, share of the ceiling, intensity, parameters.

    Args:
        points: As returned by `arms.roofline_points`.
    """
    rows = [
        _names(row)
        | {
            "GFLOP per image": digits(row["flops_per_image"] / 1e9),
            "GFLOP/s achieved": digits(row["flop_per_s"] / 1e9),
            "share of the ceiling": fixed(100 * row["mfu"], 1, " %"),
            "FLOP per byte": digits(row["intensity"]),
            "parameters": whole(row["parameters"]),
        }
        for row in points.to_dict("records")
    ]
    caption = "Achieved speed, and its share of the measured ceiling (MFU)"
    return styled(rows, "roofline", caption, columns=KEY_COLUMNS)


def kernel_table(runs: Iterable[Run]) -> Styler:
    """Return a row per arm: the type of the convolutions' numbers, the share of matrix work, the main kernel.

    On a GPU, also the share of a step in which it computes.
    """
    arms = trained_arms(runs)
    busy = {trial: busy_share_of(arm) for trial, arm in arms.items()}
    rows = []
    for trial, arm in arms.items():
        if dtype := precision_text(first_known(arm, "effective_precision"), first_known(arm, "tf32")):
            profile = first_known(arm, "profile") or {}
            share, kernels = profile.get("matrix_share"), profile.get("kernels") or [MISSING]
            cells = {
                "computed in": dtype,
                "matrix work": _percent(share),
                "most of it in": kernels[0],
            }
            if any(busy.values()):
                cells["GPU busy"] = _percent(busy[trial])
            rows.append(_names(trial.as_dict()) | cells)
    return styled(rows, "kernels", "What ran, by one step after training", columns=KEY_COLUMNS)


def cost_table(costs: pd.DataFrame) -> Styler | None:
    """Return a row per arm: training time, its price, images for a dollar, energy; None without a price and a counter.

    Args:
        costs: As returned by `judge.cost.cost_frame`. Columns of money are left out where no price was given,
            and the column of energy where there is no counter.
    """
    if costs[["usd_per_hour", "energy_j_per_image"]].isna().all(axis=None):
        return None
    prices = ", ".join(f"{price:g}" for price in costs["usd_per_hour"].dropna().unique())
    rows = []
    for row in costs.to_dict("records"):
        cells = _names(row) | {"training time": clock(row["training_s"])}
        if prices:
            cells["USD a training"] = digits(row["usd_per_training"])
            cells["images per USD"] = whole(row["images_per_usd"])
        if costs["energy_j_per_image"].notna().any():
            cells["J per 1000 images"] = digits(1000 * row["energy_j_per_image"])
        rows.append(cells)
    caption = f"What a training costs, at {prices} USD an hour" if prices else "What a training costs"
    return styled(rows, "cost", caption, columns=KEY_COLUMNS)


def _percent(share: float | None) -> str:
    return fixed(None if share is None else 100 * share, 0, " %")


def _names(row: dict) -> dict[str, str]:
    """Return the cells that tell a row from the others."""
    framework = framework_name(row["framework"])
    return {"framework": framework, "model": row["model"], "precision": row["precision"]}
