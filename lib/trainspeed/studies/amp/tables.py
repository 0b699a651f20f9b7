"""Tables of mixed precision: shares of fp32's time and of the ceilings, what ran, costs. Decides nothing."""

from __future__ import annotations

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import clock, digits, fixed, or_nothing, percent, whole
from trainspeed.judge.verdict import CONFIDENCE
from trainspeed.show.cells import styled
from trainspeed.show.rows import require
from trainspeed.show.theme import framework_name

KEY_COLUMNS = ("framework", "model", "precision")
ROOFLINE = ("flops_per_image", "flop_per_s", "mfu", "intensity", "parameters")
INTERVAL = f"{percent(CONFIDENCE)} interval"
COST = ("training_s", "usd_per_training", "images_per_usd", "energy_j_per_image")


def roofline_table(
    points: pd.DataFrame, *, caption: str = "Achieved speed, and its share of the measured ceiling (MFU)"
) -> Styler:
    """Return a row per point: FLOPs of a training step, speed, share of the ceiling, intensity, parameters.

    Args:
        points: One row per arm: framework, model, precision, flops_per_image, flop_per_s, mfu (a share),
            intensity (FLOPs per byte), parameters; batch_size and compile are shown where they vary.
    """
    require(points, (*KEY_COLUMNS, *ROOFLINE))
    rows = []
    for row in points.astype(dict.fromkeys(ROOFLINE, float)).to_dict("records"):
        rows.append(
            _names(row, points)
            | {
                "GFLOP per image": digits(row["flops_per_image"] / 1e9),
                "GFLOP/s achieved": digits(row["flop_per_s"] / 1e9),
                "share of the ceiling": fixed(100 * row["mfu"], 1, " %"),
                "FLOP per byte": digits(row["intensity"]),
                "parameters": whole(row["parameters"]),
            }
        )
    return styled(rows, "roofline", caption, columns=KEY_COLUMNS)


def kernel_table(arms: pd.DataFrame, *, caption: str = "What ran, by one step after training") -> Styler:
    """Return a row per arm: the type of the convolutions' numbers, the share of matrix work, the main kernel.

    Args:
        arms: As of `amp_why.kernel_frame`.
    """
    require(arms, (*KEY_COLUMNS, "dtype", "matrix_share", "kernel"))
    rows = [
        _names(row, arms)
        | {
            "computed in": or_nothing(row["dtype"]),
            "matrix work": fixed(100 * row["matrix_share"], 0, " %"),
            "most of it in": or_nothing(row["kernel"] or None),
        }
        for row in arms.astype({"matrix_share": float}).to_dict("records")
    ]
    return styled(rows, "kernels", caption, columns=KEY_COLUMNS)


def cost_table(frame: pd.DataFrame, *, caption: str | None = None) -> Styler:
    """Return a row per arm: training time, its price, images for a dollar, energy.

    Args:
        frame: As of `cost.cost_frame`. Columns of money are left out where no price was given, and the
            column of energy where there is no counter.
        caption: None names the price.
    """
    require(frame, (*KEY_COLUMNS, *COST, "usd_per_hour"))
    table = frame.astype(dict.fromkeys((*COST, "usd_per_hour"), float))
    prices = table["usd_per_hour"].dropna().unique()
    rows = []
    for row in table.to_dict("records"):
        cells = _names(row, frame) | {"training time": clock(row["training_s"])}
        if len(prices):
            cells["USD a training"] = digits(row["usd_per_training"])
            cells["images per USD"] = whole(row["images_per_usd"])
        if table["energy_j_per_image"].notna().any():
            cells["J per 1000 images"] = digits(1000 * row["energy_j_per_image"])
        rows.append(cells)
    if caption is None:
        told = ", ".join(f"{price:g}" for price in prices)
        caption = f"What a training costs, at {told} USD an hour" if told else "What a training costs"
    return styled(rows, "cost", caption, columns=KEY_COLUMNS)


def _names(row: dict, frame: pd.DataFrame) -> dict[str, object]:
    """Return the cells that tell a row from the others."""
    cells = {
        "framework": framework_name(row["framework"]),
        "model": row["model"],
        "precision": row["precision"],
    }
    if "compile" in frame and frame["compile"].nunique() > 1:
        cells["compiled"] = "yes" if row["compile"] else "no"
    if "batch_size" in frame and frame["batch_size"].nunique() > 1:
        cells["batch"] = row["batch_size"]
    return cells
