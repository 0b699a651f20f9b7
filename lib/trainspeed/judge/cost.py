"""What a training costs: money by the price of an hour, energy by a counter. Neither measures nor decides.

The price is that of the machine as a whole, busy or not: an idle second costs as much as any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import pandas as pd

from trainspeed.core.errors import UserError
from trainspeed.core.format import DEFAULT_PRECISION, NAMES, model_of, precision_of, usd
from trainspeed.core.trial import STRICT
from trainspeed.judge.verdict import MARGIN

SECONDS_PER_HOUR = 3600
KEY_COLUMNS = ("framework", "model", "precision")
MEASURED = ("images_per_s", "training_s", "energy_j_per_epoch", "images_per_epoch")
DERIVED = ("usd_per_training", "images_per_usd", "energy_j_per_image")
NO_PRICE = "Price not given: set usd_per_hour."


def check_price(
    usd_per_hour: float | None,
    parameter: str = "usd_per_hour",
    *,
    unknown: str = "leave it out (None) where there is none",
) -> None:
    """Raise a UserError where a price is not a positive number; None means "not given".

    Args:
        unknown: What to do where there is no price.
    """
    if usd_per_hour is None:
        return
    number = isinstance(usd_per_hour, Real) and not isinstance(usd_per_hour, bool)
    if not (number and math.isfinite(usd_per_hour) and usd_per_hour > 0):
        rule = f"must be a positive number of US dollars, for example 2.5: {unknown}."
        raise UserError(parameter, usd_per_hour, rule)


def cost_frame(rows: pd.DataFrame | Iterable[Mapping[str, Any]], usd_per_hour: float | None) -> pd.DataFrame:
    """Return the rows with the columns usd_per_hour, usd_per_training, images_per_usd, energy_j_per_image.

    What is not known is NaN, and so is what would be computed from it.

    Args:
        rows: The columns KEY_COLUMNS and MEASURED, one row per arm or per run. training_s is that of a whole
            training: a projection, where fewer epochs ran. energy_j_per_epoch is by a counter of the devices:
            what the rest of the machine draws is not in it. images_per_epoch are those that an epoch was asked to
            train on, to which its time and energy are scaled.
    """
    check_price(usd_per_hour)
    table = pd.DataFrame(rows, columns=[*KEY_COLUMNS, *MEASURED]).astype(dict.fromkeys(MEASURED, float))
    price = math.nan if usd_per_hour is None else float(usd_per_hour)
    return table.assign(
        usd_per_hour=price,
        usd_per_training=price * table["training_s"] / SECONDS_PER_HOUR,
        images_per_usd=table["images_per_s"] * SECONDS_PER_HOUR / price,
        energy_j_per_image=table["energy_j_per_epoch"] / table["images_per_epoch"],
    )


def energy_sentences(costs: pd.DataFrame) -> list[str]:
    """Return whose energy the counter is, and why some rows have none, where others have; nothing without a counter.

    Args:
        costs: As returned by `cost_frame`.
    """
    known = costs["energy_j_per_image"].notna()
    if not known.any():
        return []
    short = "" if known.all() else "; where turns are too short for its counter there is none: raise turn_s"
    return [f"The energy is that of the GPU's board alone{short}."]


def cost_sentence(costs: pd.DataFrame) -> str:
    """Return which precision trains each model most cheaply, and its price relative to that of the default one.

    Without that, as in older ledgers, relative to fp32.

    By medians alone: whether two precisions differ is for the verdicts to say. A ratio within their margin is
    named as such.

    Args:
        costs: As returned by `cost_frame`.
    """
    if costs.empty:
        return "Nothing was trained, so nothing has a cost."
    if costs["usd_per_hour"].isna().all():
        return NO_PRICE
    medians = costs.dropna(subset="usd_per_training").groupby(list(KEY_COLUMNS), sort=False)[
        "usd_per_training"
    ]
    medians = medians.median()
    if medians.empty:
        return "No training time is known, so nothing has a cost."
    return " ".join(
        f"{NAMES.get(framework, framework)}, {model_of(model)}: {_cheapest(usd_by_precision)}."
        for (framework, model), usd_by_precision in medians.groupby(["framework", "model"], sort=False)
    )


def _cheapest(costs: pd.Series) -> str:
    """Return a model's cheapest precision in words.

    Args:
        costs: USD of a training, indexed by framework, model and precision: one of each framework and model.
    """
    costs = costs.droplevel(["framework", "model"])
    best = str(costs.idxmin())
    if len(costs) == 1:
        return f"a training in {precision_of(best)} costs {usd(costs[best])}; no other precision was measured"
    cheapest = f"{precision_of(best)} is cheapest, {usd(costs[best])} a training"
    baseline = next((name for name in (DEFAULT_PRECISION, STRICT) if name in costs), None)
    if baseline is None:
        return f"{cheapest}; {precision_of(DEFAULT_PRECISION)} was not measured"
    baseline_cost, others = costs[baseline], costs.drop(baseline)
    ratio = others.min() / baseline_cost
    same = 1 / (1 + MARGIN) <= ratio <= 1 + MARGIN
    within = f" (the same within the margin of {100 * MARGIN:g} %)" if same else ""
    if best == baseline:
        return f"{cheapest}; next is {precision_of(others.idxmin())} at {ratio:.2f}x{within}"
    return f"{cheapest}, {ratio:.2f}x {precision_of(baseline)}'s {usd(baseline_cost)}{within}"
