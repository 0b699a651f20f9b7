"""Which of two machines trains a model cheapest: training times by the price of an hour.

Works on pairs and runs; `trainspeed.judge.verdict` decides. The price is that of the whole machine, and a
training is as long as the articles', not as long as it takes to reach some accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from trainspeed.core.format import interval, percent, usd
from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.run import Run
from trainspeed.judge.cost import NO_PRICE, SECONDS_PER_HOUR, check_price
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, Outcome, judge_unpaired
from trainspeed.studies.across.pairs import SIDES, TrialPair, timed

# These fields of a trial say what the job is; the others say how it is done.
JOB = ("model", "weights", "dataset", "folds", "image_size", "images_per_epoch", "augment")
CHEAPER = {
    Outcome.FASTER: "B is cheaper",
    Outcome.SLOWER: "A is cheaper",
    Outcome.SAME: "A and B cost the same within the margin",
    Outcome.UNDECIDED: "undecided which is cheaper: measure more blocks",
}
Prices = tuple[float | None, float | None]  # of an hour on A and on B, in US dollars; None: not given


@dataclass(frozen=True, kw_only=True)
class PairCost:
    """What a training costs on both sides, in one setting.

    Attributes:
        times_s: For A and for B, the seconds of a training in each block that has a time.
    """

    pair: TrialPair
    times_s: tuple[Sequence[float], Sequence[float]]
    prices: Prices

    @property
    def training_s(self) -> Prices:
        """Seconds on A and on B, medians over the blocks; None where a side has no result."""
        return tuple(median(times) if times else None for times in self.times_s)

    @property
    def usd(self) -> Prices:
        """US dollars on A and on B; None where a side has no result or no price."""
        both = zip(self.training_s, self.prices, strict=True)
        return tuple(None if None in (s, price) else price * s / SECONDS_PER_HOUR for s, price in both)

    @property
    def judgement(self) -> Judgement:
        """How B compares with A: in money where both have a price, else in time. Above 1, B costs less."""
        return _judged(*self.times_s, self.prices)


def check_prices(a_usd_per_hour: float | None, b_usd_per_hour: float | None) -> Prices:
    """Return the prices of an hour, in US dollars; None means "not given".

    Raises:
        UserError: One is not a positive number.
    """
    check_price(a_usd_per_hour, "a_usd_per_hour")
    check_price(b_usd_per_hour, "b_usd_per_hour")
    return a_usd_per_hour, b_usd_per_hour


def pair_costs(pairs: Iterable[TrialPair], prices: Prices) -> list[PairCost]:
    """Return the costs of the pairs that train a model and have a result on at least one side.

    A training is projected to as many epochs as the articles ran, where fewer ran here.
    """
    trained = [pair for pair in pairs if pair.trial.phase.trains]
    times = [tuple([_job_s(run) for run in timed(side)] for side in (pair.a, pair.b)) for pair in trained]
    both = zip(trained, times, strict=True)
    return [PairCost(pair=pair, times_s=seconds, prices=prices) for pair, seconds in both if any(seconds)]


def _job_s(run: Run) -> float:
    return run.first_epoch_s + (max(ARTICLE_EPOCHS, run.trial.epochs) - 1) * run.median_epoch_s


def cheapest_sentences(costs: Sequence[PairCost], prices: Prices) -> list[str]:
    """Return, for each job, which machine is cheapest, each in the setting in which it is cheapest itself.

    The settings are those that both sides have; among them, those with enough blocks for an interval come first.
    """
    if not costs:
        return ["No trial of both sides trains a model, so nothing has a cost."]
    if None in prices:
        given = zip(SIDES, prices, strict=True)
        missing = " and ".join(f"{letter.lower()}_usd_per_hour" for letter, price in given if price is None)
        return [f"{NO_PRICE.split(':')[0]}: set {missing}. Without both prices only times are compared."]
    jobs: dict[tuple, list[PairCost]] = {}
    for cost in costs:
        jobs.setdefault(tuple(getattr(cost.pair.trial, name) for name in JOB), []).append(cost)
    return [_cheapest(settings, prices) for settings in jobs.values()]


def _cheapest(settings: Sequence[PairCost], prices: Prices) -> str:
    trial = settings[0].pair.trial
    job = (
        f"{trial.model} on {trial.dataset}, {trial.image_size} px, {trial.images_per_epoch:,} images an epoch"
    )
    best = [_cheapest_of(settings, side) for side in (0, 1)]
    costs = [
        f"{letter} at its cheapest {usd(cost.usd[side])} a training ({cost.pair.label})" if cost else None
        for side, (letter, cost) in enumerate(zip(SIDES, best, strict=True))
    ]
    if None in costs:
        only = costs.index(None) ^ 1
        return f"{job}: only {SIDES[only]} trained it: {costs[only]}."
    judged = _judged(best[0].times_s[0], best[1].times_s[1], prices)
    ends = ", no interval"
    if judged.low is not None:
        ends = f" ({percent(judged.confidence)} interval {interval(judged.low, judged.high)})"
    ratio = f"A costs {judged.speedup:.2f}x as much as B{ends}"
    return f"{job}: {CHEAPER[judged.outcome]}. {'; '.join(costs)}; {ratio}."


def _cheapest_of(settings: Sequence[PairCost], side: int) -> PairCost | None:
    """Return the setting in which a side trains cheapest; None where it has no result in any."""
    ran = [cost for cost in settings if cost.usd[side] is not None]
    # Of many settings with one block each, the cheapest is the luckiest.
    sure = [cost for cost in ran if len(cost.times_s[side]) >= MIN_BLOCKS]
    return min(sure or ran, key=lambda cost: cost.usd[side], default=None)


def _judged(a_s: Sequence[float], b_s: Sequence[float], prices: Prices) -> Judgement:
    """Judge what a block cost, its seconds times the price of a second; seconds where a price is missing."""
    a_rate, b_rate = (1.0, 1.0) if None in prices else prices
    return judge_unpaired([a_rate * s for s in a_s], [b_rate * s for s in b_s])
