"""The sides that did one job, the best first, and which of them may be called best. Works on what was timed.

How far sides that are alike are from one another is what a session alone makes: no side is called best by less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from statistics import median

from trainspeed.core.frame import ARTICLE_EPOCHS, first_epochs_s
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial
from trainspeed.judge.cost import SECONDS_PER_HOUR
from trainspeed.judge.verdict import MIN_BLOCKS, Judged, Judgement, Outcome, judge_unpaired


class Aim(StrEnum):
    """What is to be best."""

    FASTEST = "fastest"
    CHEAPEST = "cheapest"


@dataclass(frozen=True, kw_only=True)
class Entry(Judged):
    """How well a side does a job, in the setting in which it does it best.

    Attributes:
        trial: That setting.
        runs: Those with a time, one per block.
        usd_per_hour: Of all the machines that it takes; None where the price is not known.
        amounts: What an image takes in each block: seconds, or US dollars.
        judgement: Over the reference: above 1, the side gets more images out of a second, or a dollar.
        kind: The same for sides whose machines and versions are alike; None where nothing is known to be.
    """

    side: str
    trial: Trial
    runs: Sequence[Run]
    usd_per_hour: float | None
    amounts: Sequence[float]
    judgement: Judgement
    kind: object = field(default=None, repr=False)

    @property
    def images(self) -> float:
        """Images per second, or per US dollar; of the median block."""
        return 1 / median(self.amounts)

    @property
    def image_s(self) -> float:
        """Seconds of an image; of the median block."""
        return median(1 / run.images_per_s for run in self.runs)

    @property
    def training_s(self) -> float | None:
        """Seconds of a training as long as the articles', or as what ran where that is longer; median.

        None where no first epoch is known: see `Run.first_epoch_s`.
        """
        first_s = next(iter(first_epochs_s(self.runs).values()), None)
        if first_s is None:
            return None
        return median(
            first_s + (max(ARTICLE_EPOCHS, r.trial.epochs) - 1) * r.median_epoch_s for r in self.runs
        )

    @property
    def usd_per_training(self) -> float | None:
        """US dollars for such a training; None without a price."""
        known = None not in (self.usd_per_hour, self.training_s)
        return self.usd_per_hour * self.training_s / SECONDS_PER_HOUR if known else None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The sides that did a job, the one with the best median first.

    Attributes:
        reference: The side that the others are compared with: the first one that is in here.
    """

    aim: Aim
    reference: str
    entries: Sequence[Entry]

    @cached_property
    def best(self) -> Sequence[str]:
        """The best side; several where it is not told apart from others; none where too few have an interval."""
        if len(self._sure) < 2:
            return ()
        beaten = {entry.side for entry in self._apart} - {*self.by_spread}
        return [entry.side for entry in self._sure if entry.side not in beaten]

    @cached_property
    def by_spread(self) -> Sequence[str]:
        """The sides whose intervals lie apart from the best one's, but by no more than the spread."""
        leader = self._sure[0] if self._sure else None
        return [one.side for one in self._apart if self._alike(leader, one) or self._within(leader, one)]

    @cached_property
    def spread(self) -> float | None:
        """How many times as long an image takes on the slowest of sides that are alike; None where no two are."""
        alike: dict[object, list[float]] = {}
        for entry in self._sure:
            if entry.kind is not None:
                alike.setdefault(entry.kind, []).append(entry.image_s)
        return max((max(own) / min(own) for own in alike.values() if len(own) > 1), default=None)

    @cached_property
    def unsure(self) -> Sequence[str]:
        """The sides with too few blocks for an interval."""
        return [entry.side for entry in self.entries if len(entry.amounts) < MIN_BLOCKS]

    def of(self, side: str) -> Entry | None:
        """Return how a side does it; None where it did not."""
        return self._of.get(side)

    @cached_property
    def _of(self) -> Mapping[str, Entry]:
        return {entry.side: entry for entry in self.entries}

    @cached_property
    def _sure(self) -> Sequence[Entry]:
        return [entry for entry in self.entries if len(entry.amounts) >= MIN_BLOCKS]

    def _alike(self, one: Entry, other: Entry) -> bool:
        priced = self.aim is Aim.CHEAPEST and one.usd_per_hour != other.usd_per_hour
        return one.kind is not None and one.kind == other.kind and not priced

    def _within(self, leader: Entry, other: Entry) -> bool:
        """Whether a side is better than another by no more than sides are that are alike."""
        return self.spread is not None and leader.images / other.images <= self.spread

    @cached_property
    def _apart(self) -> Sequence[Entry]:
        """The sides that the first one is better than, with intervals apart, as a reader of the chart sees."""
        return [other for other in self._sure[1:] if self._beats(self._sure[0], other)]

    def _beats(self, leader: Entry, other: Entry) -> bool:
        ends = leader.low, other.high
        apart = None in ends or ends[0] > ends[1]  # the reference has no interval: the others' are about it
        return apart and judge_unpaired(other.amounts, leader.amounts).outcome is Outcome.FASTER
