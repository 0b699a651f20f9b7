"""Tables of mixed precision: shares of the ceilings, what ran, what a training costs. Decides nothing."""

from __future__ import annotations

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import clock, digits, fixed, or_nothing, whole
from trainspeed.judge.cost import DERIVED, KEY_COLUMNS
from trainspeed.show.cells import styled
from trainspeed.show.rows import require
from trainspeed.show.theme import framework_name

ROOFLINE = ("flops_per_image", "flop_per_s", "mfu", "intensity", "parameters")
COST = ("training_s", *DERIVED, "usd_per_hour")


def roofline_table(points: pd.DataFrame) -> Styler:
    """Return a row per point: FLOPs of a training step, speed, share of the ceiling, intensity, parameters.

    Args:
        points: As returned by `arms.roofline_points`.
    """
    require(points, (*KEY_COLUMNS, *ROOFLINE))
    rows = [
        _names(row)
        | {
            "GFLOP per image": digits(row["flops_per_image"] / 1e9),
            "GFLOP/s achieved": digits(row["flop_per_s"] / 1e9),
            "share of the ceiling": fixed(100 * row["mfu"], 1, " %"),
            "FLOP per byte": digits(row["intensity"]),
            "parameters": whole(row["parameters"]),
        }
        for row in points.astype(dict.fromkeys(ROOFLINE, float)).to_dict("records")
    ]
    caption = "Achieved speed, and its share of the measured ceiling (MFU)"
    return styled(rows, "roofline", caption, columns=KEY_COLUMNS)


def kernel_table(kernels: pd.DataFrame) -> Styler:
    """Return a row per arm: the type of the convolutions' numbers, the share of matrix work, the main kernel.

    Args:
        kernels: As returned by `arms.kernel_frame`.
    """
    require(kernels, (*KEY_COLUMNS, "dtype", "matrix_share", "kernel"))
    rows = [
        _names(row)
        | {
            "computed in": or_nothing(row["dtype"]),
            "matrix work": fixed(100 * row["matrix_share"], 0, " %"),
            "most of it in": or_nothing(row["kernel"] or None),
        }
        for row in kernels.astype({"matrix_share": float}).to_dict("records")
    ]
    return styled(rows, "kernels", "What ran, by one step after training", columns=KEY_COLUMNS)


def cost_table(costs: pd.DataFrame) -> Styler:
    """Return a row per arm: training time, its price, images for a dollar, energy.

    Args:
        costs: As returned by `judge.cost.cost_frame`. Columns of money are left out where no price was given,
            and the column of energy where there is no counter.
    """
    require(costs, (*KEY_COLUMNS, *COST))
    table = costs.astype(dict.fromkeys(COST, float))
    prices = ", ".join(f"{price:g}" for price in table["usd_per_hour"].dropna().unique())
    rows = []
    for row in table.to_dict("records"):
        cells = _names(row) | {"training time": clock(row["training_s"])}
        if prices:
            cells["USD a training"] = digits(row["usd_per_training"])
            cells["images per USD"] = whole(row["images_per_usd"])
        if table["energy_j_per_image"].notna().any():
            cells["J per 1000 images"] = digits(1000 * row["energy_j_per_image"])
        rows.append(cells)
    caption = f"What a training costs, at {prices} USD an hour" if prices else "What a training costs"
    return styled(rows, "cost", caption, columns=KEY_COLUMNS)


def _names(row: dict) -> dict[str, str]:
    """Return the cells that tell a row from the others."""
    framework = framework_name(row["framework"])
    return {"framework": framework, "model": row["model"], "precision": row["precision"]}
