"""What a training costs: money by the price of an hour, energy by a counter. Measures nothing, decides nothing.

The price is of the machine as a whole, busy or not: an idle second of it costs as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import pandas as pd

from trainspeed.core.errors import UserError
from trainspeed.core.format import usd
from trainspeed.core.names import NAMES, model_of
from trainspeed.judge.verdict import MARGIN

BASELINE = "fp32"
SECONDS_PER_HOUR = 3600
KEY_COLUMNS = ("framework", "model", "precision")
MEASURED = ("images_per_s", "training_s", "energy_j_per_epoch", "images_per_epoch")
DERIVED = ("usd_per_training", "images_per_usd", "energy_j_per_image")
NO_PRICE = "Price not given: set usd_per_hour."


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """What one arm measured, and the price of an hour; None where it is not known.

    Attributes:
        training_s: Of a whole training: a projection, where fewer epochs ran.
        energy_j_per_epoch: By a counter of the devices; what the rest of the machine draws is not in it.
    """

    framework: str
    model: str
    precision: str
    images_per_s: float | None = None
    training_s: float | None = None
    energy_j_per_epoch: float | None = None
    images_per_epoch: float | None = None
    usd_per_hour: float | None = None

    def __post_init__(self) -> None:
        check_price(self.usd_per_hour)

    @property
    def usd_per_training(self) -> float | None:
        """Price of the training time."""
        if None in (self.usd_per_hour, self.training_s):
            return None
        return self.usd_per_hour * self.training_s / SECONDS_PER_HOUR

    @property
    def images_per_usd(self) -> float | None:
        """Images trained on for a dollar, after the first epoch."""
        if None in (self.usd_per_hour, self.images_per_s):
            return None
        return self.images_per_s * SECONDS_PER_HOUR / self.usd_per_hour

    @property
    def energy_j_per_image(self) -> float | None:
        """Joules of the devices for an image trained on; None where there is no counter."""
        if self.energy_j_per_epoch is None or not self.images_per_epoch:
            return None
        return self.energy_j_per_epoch / self.images_per_epoch


def check_price(usd_per_hour: float | None, parameter: str = "usd_per_hour") -> None:
    """Raise a UserError for a price that is none; None is "not given"."""
    if usd_per_hour is None:
        return
    number = isinstance(usd_per_hour, Real) and not isinstance(usd_per_hour, bool)
    if not (number and math.isfinite(usd_per_hour) and usd_per_hour > 0):
        rule = "must be a positive number of US dollars, for example 2.5: leave it out (None) where there is none."
        raise UserError(parameter, usd_per_hour, rule)


def cost_frame(rows: pd.DataFrame | Iterable[Mapping[str, Any]], usd_per_hour: float | None) -> pd.DataFrame:
    """Return the rows with the columns usd_per_hour, usd_per_training, images_per_usd, energy_j_per_image.

    Args:
        rows: With the columns KEY_COLUMNS and MEASURED, one row per arm or per run; None or NaN: not known.
    """
    check_price(usd_per_hour)
    columns = [*KEY_COLUMNS, *MEASURED]
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    if not len(table):
        return pd.DataFrame(columns=[*columns, "usd_per_hour", *DERIVED])
    if missing := sorted(set(columns) - set(table)):
        raise UserError(f"the rows lack the columns {missing}; they have {sorted(map(str, table))}.")
    costs = []
    for record in table[columns].to_dict("records"):
        known = {name: None if pd.isna(value) else value for name, value in record.items()}
        costs.append(CostRow(**known, usd_per_hour=usd_per_hour))
    derived = [asdict(cost) | {name: getattr(cost, name) for name in DERIVED} for cost in costs]
    return pd.DataFrame(derived, columns=[*columns, "usd_per_hour", *DERIVED])


def cost_sentence(frame: pd.DataFrame) -> str:
    """Return which precision trains each model cheapest, and its price relative to fp32's.

    By medians alone: whether two precisions differ is for the verdicts. A ratio within their margin is
    called so.

    Args:
        frame: As `cost_frame` returns it.
    """
    if not len(frame):
        return "Nothing was trained, so nothing has a cost."
    if frame["usd_per_hour"].isna().all():
        return NO_PRICE
    priced = frame[frame["usd_per_training"].notna()]
    if priced.empty:
        return "No training time is known, so nothing has a cost."
    said = []
    for (framework, model), group in priced.groupby(["framework", "model"], sort=False):
        costs = group["usd_per_training"].astype(float).groupby(group["precision"], sort=False).median()
        said.append(f"{NAMES.get(framework, framework)}, {model_of(model)}: {_cheapest(costs)}.")
    return " ".join(said)


def _cheapest(costs: pd.Series) -> str:
    """Return a model's cheapest precision in words: USD of a training by precision in, text out."""
    best = str(costs.idxmin())
    if len(costs) == 1:
        return f"a training in {best} costs {usd(costs[best])}; no other precision was measured"
    told = f"{best} is cheapest, {usd(costs[best])} a training"
    if BASELINE not in costs:
        return f"{told}; {BASELINE} was not measured"
    cost, baseline_cost = costs[best], costs[BASELINE]
    if best == BASELINE:
        others = costs.drop(BASELINE)
        return f"{told}; next is {others.idxmin()} at {others.min() / baseline_cost:.2f}x{_within(others.min(), costs)}"
    return f"{told}, {cost / baseline_cost:.2f}x {BASELINE}'s {usd(baseline_cost)}{_within(cost, costs)}"


def _within(cost: float, costs: pd.Series) -> str:
    ratio = cost / costs[BASELINE]
    same = 1 / (1 + MARGIN) <= ratio <= 1 + MARGIN
    return f" (the same within the margin of {100 * MARGIN:g} %)" if same else ""
