"""Which of two machines trains a model cheapest: training times by the price of an hour.

Works on compared rows and runs; `trainspeed.verdict` decides. The price is of the machine as a whole, and a
training is as long as the articles', not as long as some accuracy takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from trainspeed.compare import Arm, Row
from trainspeed.cost import NO_PRICE, CostRow, check_price
from trainspeed.errors import UserError
from trainspeed.frame import ARTICLE_EPOCHS
from trainspeed.run import Run
from trainspeed.trial import Trial
from trainspeed.verdict import LEAST_BLOCKS, Judgement, Outcome, judge_unpaired

WHOLE_STEPS = ("both", "fit")  # parts that train: the others are pieces of a step
# What the job is; the rest of a trial is how it is done.
JOB = ("model", "weights", "dataset", "folds", "image_size", "images_per_epoch", "augment")
LETTERS = ("A", "B")
Prices = tuple[float | None, float | None]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a training costs on both sides, in one setting.

    Attributes:
        training_s: Of A and B, median over blocks; None where a side has no result.
        usd: The same in US dollars; None where there is no price either.
        judgement: Of B over A: in money where both have a price, else in time. Above 1, B costs less.
    """

    row: Row
    training_s: tuple[float | None, float | None]
    usd: tuple[float | None, float | None]
    judgement: Judgement


def check_prices(a_usd_per_hour: float | None, b_usd_per_hour: float | None) -> Prices:
    """Return the prices of an hour, in US dollars; None is "not given".

    Raises:
        UserError: One is not positive, or no number.
    """
    for letter, price in (("a", a_usd_per_hour), ("b", b_usd_per_hour)):
        try:
            check_price(price)
        except UserError as problem:
            raise UserError(f"{letter}_{problem}") from None
    return a_usd_per_hour, b_usd_per_hour


def training_s(run: Run) -> float:
    """Return the seconds of a training: its first epoch and the median of the later ones, as often as it takes.

    As many epochs as the articles' where fewer ran: then it is a projection.
    """
    return run.first_epoch_s + (max(ARTICLE_EPOCHS, run.trial.epochs) - 1) * run.median_epoch_s


def costs(rows: Iterable[Row], prices: Prices) -> list[Cost]:
    """Return the costs of the rows that train a model and have a result on a side."""
    found = []
    for row in rows:
        if not isinstance(row.trial, Trial) or row.trial.part not in WHOLE_STEPS:
            continue
        times = [_times(arm) for arm in (row.a, row.b)]
        if any(times):
            middle = tuple(median(several) if several else None for several in times)
            usd = tuple(_usd(row, seconds, price) for seconds, price in zip(middle, prices, strict=True))
            judgement = _judged(times, prices)
            found.append(Cost(row=row, training_s=middle, usd=usd, judgement=judgement))
    return found


def cheapest_sentences(found: Sequence[Cost], prices: Prices) -> list[str]:
    """Return, for each job, which machine is cheapest, each in the setting in which it is cheapest itself.

    Settings are those that both sides have; of them those with enough blocks for an interval, where there are any.
    """
    if not found:
        return ["No trial of both sides trains a model, so nothing has a cost."]
    if None in prices:
        missing = " and ".join(
            f"{letter.lower()}_usd_per_hour"
            for letter, price in zip(LETTERS, prices, strict=True)
            if price is None
        )
        return [f"{NO_PRICE.split(':')[0]}: set {missing}. Without both prices only times are compared."]
    jobs: dict[tuple, list[Cost]] = {}
    for cost in found:
        jobs.setdefault(tuple(getattr(cost.row.trial, name) for name in JOB), []).append(cost)
    return [_cheapest(several, prices) for several in jobs.values()]


def _cheapest(several: Sequence[Cost], prices: Prices) -> str:
    trial = several[0].row.trial
    job = (
        f"{trial.model} on {trial.dataset}, {trial.image_size} px, {trial.images_per_epoch:,} images an epoch"
    )
    best: list[Cost | None] = []
    for side in (0, 1):
        ran = [cost for cost in several if cost.usd[side] is not None]
        # Of many settings with one block each, the cheapest is the luckiest.
        sure = [cost for cost in ran if (cost.row.a, cost.row.b)[side].blocks >= LEAST_BLOCKS]
        best.append(min(sure or ran, key=lambda cost: cost.usd[side], default=None))
    for side, other in ((0, 1), (1, 0)):
        if best[side] is None:
            text = _setting(best[other], other)
            return f"{job}: only {LETTERS[other]} trained it: {text}."
    judged = _judged([_times(best[0].row.a), _times(best[1].row.b)], prices)
    there = f"{_setting(best[0], 0)}; {_setting(best[1], 1)}"
    ratio = f"A costs {judged.speedup:.2f}x as much as B{_interval(judged)}"
    return f"{job}: {_words(judged)}. {there}; {ratio}."


def _words(judged: Judgement) -> str:
    words = {
        Outcome.FASTER: "B is cheaper",
        Outcome.SLOWER: "A is cheaper",
        Outcome.SAME: "A and B cost the same within the margin",
    }
    return words.get(judged.outcome, "undecided which is cheaper: measure more blocks")


def _interval(judged: Judgement) -> str:
    if judged.low is None:
        return ", no interval"
    return f" ({100 * judged.confidence:g} % interval {judged.low:.2f} to {judged.high:.2f})"


def _setting(cost: Cost, side: int) -> str:
    return f"{LETTERS[side]} at its cheapest {usd_text(cost.usd[side])} a training ({cost.row.label})"


def usd_text(value: float) -> str:
    """Return an amount to the cent; below a dollar with three digits that count."""
    decimals = 2 if value >= 1 else 2 - math.floor(math.log10(value))
    return f"{value:,.{decimals}f} USD"


def _judged(times: Sequence[Sequence[float]], prices: Prices) -> Judgement:
    """In money where both prices are known: what a block took, times the price of a second."""
    rates = (1.0, 1.0) if None in prices else prices
    a, b = ([rate * seconds for seconds in several] for rate, several in zip(rates, times, strict=True))
    return judge_unpaired(a, b)


def _times(arm: Arm) -> list[float]:
    return [training_s(run) for run in arm.ok]


def _usd(row: Row, seconds: float | None, price: float | None) -> float | None:
    what = {name: getattr(row.trial, name) for name in ("framework", "model", "precision")}
    return CostRow(**what, training_s=seconds, usd_per_hour=price).usd_per_training
