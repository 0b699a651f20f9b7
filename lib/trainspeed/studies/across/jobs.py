"""Which side does a job best: the most images a second, or the most images a dollar, each in its own best setting.

A job is a model that several sides train on the same images. Works on runs; `trainspeed.judge.verdict` decides. The
price is that of a whole machine, whichever of its devices a training uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import DATA_SET_NAMES, model_of
from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.phase import WHOLE
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.cost import SECONDS_PER_HOUR
from trainspeed.judge.verdict import MIN_BLOCKS, Judged, Judgement, Outcome, judge_unpaired
from trainspeed.studies.across.common import Common, failed, timed

# These fields of a trial say what the job is; the others say how it is done.
JOB = ("model", "weights", "dataset", "folds", "image_size", "images_per_epoch", "augment")
# A side with more devices than the others has settings that they cannot have.
OF_DEVICES = ("devices", "nodes", "strategy", "batch_size")
ALIKE = tuple(f.name for f in fields(Trial) if f.name not in (*OF_DEVICES, "seed", "fold"))
Prices = Mapping[str, float | None]  # side -> US dollars for an hour of one of its machines


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
    """

    side: str
    trial: Trial
    runs: Sequence[Run]
    usd_per_hour: float | None
    amounts: Sequence[float]
    judgement: Judgement

    @property
    def images(self) -> float:
        """Images per second, or per US dollar; of the median block."""
        return 1 / median(self.amounts)

    @property
    def training_s(self) -> float:
        """Seconds of a training as long as the articles', or as what ran where that is longer; median."""
        return median(map(_training_s, self.runs))

    @property
    def usd_per_training(self) -> float | None:
        """US dollars for such a training; None without a price."""
        return None if self.usd_per_hour is None else self.usd_per_hour * self.training_s / SECONDS_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The sides that did a job, the one with the best median first.

    Attributes:
        reference: The side that the others are compared with: the first one that is in here.
        kinds: Side -> what is the same for sides between which nothing that was recorded differs.
    """

    aim: Aim
    reference: str
    entries: Sequence[Entry]
    kinds: Mapping[str, object] = field(default_factory=dict, repr=False)

    @cached_property
    def best(self) -> Sequence[str]:
        """The best side; several where it is not told apart from the next; none where too few have an interval."""
        if len(self._sure) < 2:
            return ()
        leader, *others = self._sure
        told = [leader.side, *(entry.side for entry in others if not self._beats(leader, entry))]
        return told if len(told) > 1 or not self._alike(leader, others[0]) else [leader.side, others[0].side]

    @cached_property
    def repeated(self) -> float | None:
        """How many times as good the best side is as the next, where nothing that was recorded explains it."""
        leader, after = self._sure[:2] if len(self._sure) > 1 else (None, None)
        repeated = leader is not None and self._alike(leader, after) and self._beats(leader, after)
        return leader.images / after.images if repeated else None

    @cached_property
    def _sure(self) -> Sequence[Entry]:
        return [entry for entry in self.entries if len(entry.amounts) >= MIN_BLOCKS]

    def _alike(self, one: Entry, other: Entry) -> bool:
        kinds = [self.kinds.get(entry.side) for entry in (one, other)]
        priced = self.aim is Aim.CHEAPEST and one.usd_per_hour != other.usd_per_hour
        return None not in kinds and kinds[0] == kinds[1] and not priced

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

    def _beats(self, leader: Entry, other: Entry) -> bool:
        """Whether a side is better than another, and their intervals lie apart, as a reader of the chart sees."""
        ends = leader.low, other.high
        apart = None in ends or ends[0] > ends[1]  # the reference has no interval: the others' are about it
        return apart and judge_unpaired(other.amounts, leader.amounts).outcome is Outcome.FASTER


@dataclass(frozen=True, kw_only=True)
class Job:
    """A model that several sides train on the same images.

    Attributes:
        trial: One of its settings.
        fastest, cheapest: None where fewer than two sides have a result, or a result and a price.
        failed: Side without a result -> how its runs ended.
    """

    trial: Trial
    fastest: Ranking | None
    cheapest: Ranking | None
    failed: Mapping[str, Sequence[Status]]

    @property
    def rankings(self) -> Sequence[Ranking]:
        """By each aim, where it has one."""
        return [ranking for ranking in (self.fastest, self.cheapest) if ranking]

    @property
    def label(self) -> str:
        """What is trained, in words."""
        trial = self.trial
        words = [f"{model_of(trial.model)} on {DATA_SET_NAMES.get(trial.dataset, trial.dataset)}"]
        words += [f"{trial.image_size} px", f"{trial.images_per_epoch:,} images an epoch"]
        words += [f"from {trial.weights}"] if trial.weights else []
        words += [f"{trial.folds} folds"] if trial.folds else []
        return ", ".join([*words, *["augmented"] * trial.augment])


def find_jobs(common: Common, prices: Prices, kinds: Mapping[str, object] | None = None) -> list[Job]:
    """Return the jobs that at least two sides tried, those first about which most is known.

    A setting counts that several sides have; and one of more devices whose other parts, and whose batch as a whole or
    on each device, several sides have.
    `kinds` are as of `Ranking`, none where that is not known.
    """
    shared = {(trial.study, trial.trial) for trial in common.trials}
    known = {_alike(trial.trial) for trial in common.trials if _is_training(trial.trial)}
    tried: dict[tuple, dict[str, list[tuple[Trial, RunSet]]]] = {}
    for side in common.sides:
        for (study, trial), runs in common.data[side].items():
            if _is_training(trial) and ((study, trial) in shared or _counterparts(trial) & known):
                job = tuple(getattr(trial, name) for name in JOB)
                tried.setdefault(job, {}).setdefault(side, []).append((trial, runs))
    jobs = [_job(of_sides, prices, kinds or {}) for of_sides in tried.values() if len(of_sides) > 1]
    return sorted(jobs, key=_most_known)


def _most_known(job: Job) -> tuple[int, int]:
    """Return a key that puts those first that most sides did with enough blocks, then those that most did at all."""
    entries = job.fastest.entries if job.fastest else ()
    return -sum(len(entry.amounts) >= MIN_BLOCKS for entry in entries), -len(entries)


def _is_training(trial: AnyTrial) -> bool:
    return trial.phase is WHOLE


def _alike(trial: Trial, batch_size: float | None = None) -> tuple:
    own = tuple(getattr(trial, name) for name in ALIKE)
    return *own, trial.batch_size if batch_size is None else batch_size


def _counterparts(trial: Trial) -> set[tuple]:
    """Return what a setting on one device would have in common with this one of several; nothing of one on one."""
    return {_alike(trial), _alike(trial, trial.batch_size / trial.devices)} if trial.devices > 1 else set()


def _job(
    tried: Mapping[str, Sequence[tuple[Trial, RunSet]]], prices: Prices, kinds: Mapping[str, object]
) -> Job:
    ran = {side: [(trial, own) for trial, runs in a if (own := timed(runs))] for side, a in tried.items()}
    ran = {side: settings for side, settings in ran.items() if settings}
    priced = {side: settings for side, settings in ran.items() if prices[side] is not None}
    return Job(
        trial=next(iter(tried.values()))[0][0],
        fastest=_ranking(Aim.FASTEST, ran, prices, kinds),
        cheapest=_ranking(Aim.CHEAPEST, priced, prices, kinds),
        failed={
            side: list(dict.fromkeys(run.status for _, runs in all_ for run in failed(runs)))
            for side, all_ in tried.items()
            if side not in ran
        },
    )


def _ranking(
    aim: Aim,
    ran: Mapping[str, Sequence[tuple[Trial, Sequence[Run]]]],
    prices: Prices,
    kinds: Mapping[str, object],
) -> Ranking | None:
    if len(ran) < 2:
        return None
    best: dict[str, tuple[Trial, Sequence[Run], Sequence[float]]] = {}
    for side, settings in ran.items():
        rated = [(trial, runs, _amounts(aim, trial, runs, prices[side])) for trial, runs in settings]
        # Of many settings with one block each, the best is the luckiest.
        sure = [one for one in rated if len(one[2]) >= MIN_BLOCKS]
        best[side] = min(sure or rated, key=lambda one: median(one[2]))
    reference = next(iter(best))
    entries = [
        Entry(
            side=side,
            trial=trial,
            runs=runs,
            usd_per_hour=_machines_usd(trial, prices[side]),
            amounts=amounts,
            judgement=_over(best[reference][2], amounts, itself=side == reference),
        )
        for side, (trial, runs, amounts) in best.items()
    ]
    entries.sort(key=lambda one: -one.images)
    return Ranking(aim=aim, reference=reference, entries=entries, kinds=kinds)


def _amounts(aim: Aim, trial: Trial, runs: Sequence[Run], usd_per_hour: float | None) -> list[float]:
    """Return what an image takes in each block, in seconds or in US dollars."""
    rate = 1.0 if aim is Aim.FASTEST else _machines_usd(trial, usd_per_hour) / SECONDS_PER_HOUR
    return [rate / run.images_per_s for run in runs]


def _machines_usd(trial: Trial, usd_per_hour: float | None) -> float | None:
    return None if usd_per_hour is None else usd_per_hour * trial.nodes


def _over(reference: Sequence[float], amounts: Sequence[float], *, itself: bool) -> Judgement:
    """Return the judgement of a side over the reference: 1 without an interval for the reference itself."""
    judgement = judge_unpaired(reference, amounts)
    if not itself:
        return judgement
    return Judgement(
        speedup=1.0,
        low=None,
        high=None,
        confidence=judgement.confidence,
        blocks=len(amounts),
        outcome=Outcome.SAME,
    )


def _training_s(run: Run) -> float:
    return run.first_epoch_s + (max(ARTICLE_EPOCHS, run.trial.epochs) - 1) * run.median_epoch_s


def best_first(common: Common, jobs: Sequence[Job]) -> list[str]:
    """Return the sides, those that are best in most jobs first; then by how far from the best they are."""
    wins = dict.fromkeys(common.sides, 0)
    behind: dict[str, list[float]] = {side: [] for side in common.sides}
    for job in jobs:
        if not job.rankings:
            continue
        ranking = job.rankings[-1]  # by price where there is one
        for side in ranking.best:
            wins[side] += 1
        for entry in ranking.entries:
            behind[entry.side].append(ranking.entries[0].images / entry.images)

    def place(side: str) -> tuple[int, float]:
        return -wins[side], median(behind[side]) if behind[side] else float("inf")

    return sorted(common.sides, key=place)
