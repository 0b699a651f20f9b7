"""Which side does a job best: the most images a second, or the most images a dollar, each in its own best setting.

A job is a model that several sides train on the same images. Works on runs; `trainspeed.judge.verdict` decides. The
price is that of a whole machine, whichever of its devices a training uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import DATA_SET_NAMES, model_of
from trainspeed.core.phase import WHOLE
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.cost import SECONDS_PER_HOUR
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, Outcome, judge_unpaired
from trainspeed.studies.across.common import Common, failed, timed
from trainspeed.studies.across.ranking import Aim, Entry, Ranking

# These fields of a trial say what the job is; the others say how it is done.
JOB = ("model", "weights", "dataset", "folds", "image_size", "images_per_epoch", "augment")
# A side with more devices than the others has settings that they cannot have. A node more is a machine more.
OF_DEVICES = ("devices", "strategy", "batch_size")
ALIKE = tuple(f.name for f in fields(Trial) if f.name not in (*OF_DEVICES, "seed", "fold"))
Prices = Mapping[str, float | None]  # side -> US dollars for an hour of one of its machines
KindOf = Callable[[Iterable[Run]], object]  # as `Entry.kind`
Settings = Sequence[tuple[Trial, Sequence[Run]]]  # of a side, each with what it ran of it


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


def find_jobs(common: Common, prices: Prices, kind_of: KindOf | None = None) -> list[Job]:
    """Return the jobs that at least two sides tried, those first about which most is known.

    A setting counts that several sides have; and one of more devices whose other parts, and whose batch as a whole or
    on each device, several sides have. One of several nodes counts where every side of the job has one of as many.

    Args:
        kind_of: Of the runs of a side, what is the same for sides that are alike; None where no two are.
    """
    shared = {(trial.study, trial.trial) for trial in common.trials}
    known = {_alike(trial.trial) for trial in common.trials if _is_training(trial.trial)}
    tried: dict[tuple, dict[str, list[tuple[Trial, RunSet]]]] = {}
    for side in common.sides:
        for (study, trial), runs in common.data[side].items():
            if _is_training(trial) and ((study, trial) in shared or _counterparts(trial) & known):
                job = tuple(getattr(trial, name) for name in JOB)
                tried.setdefault(job, {}).setdefault(side, []).append((trial, runs))
    jobs = [_job(of_sides, prices, kind_of or _unlike) for of_sides in tried.values() if len(of_sides) > 1]
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


def _unlike(_runs: Iterable[Run]) -> None:
    """Return no kind: nothing is like it."""


def _job(tried: Mapping[str, Sequence[tuple[Trial, RunSet]]], prices: Prices, kind_of: KindOf) -> Job:
    all_ran = {side: [(trial, own) for trial, runs in a if (own := timed(runs))] for side, a in tried.items()}
    ran = _on_as_many_nodes({side: settings for side, settings in all_ran.items() if settings})
    priced = {side: settings for side, settings in ran.items() if prices[side] is not None}
    return Job(
        trial=next(iter(tried.values()))[0][0],
        fastest=_ranking(Aim.FASTEST, ran, prices, kind_of),
        cheapest=_ranking(Aim.CHEAPEST, priced, prices, kind_of),
        failed={
            side: list(dict.fromkeys(run.status for _, runs in all_ for run in failed(runs)))
            for side, all_ in tried.items()
            if not all_ran[side]
        },
    )


def _on_as_many_nodes(ran: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the settings of one node, and those of as many as every side has; sides without any are left out."""
    numbers = [{trial.nodes for trial, _ in settings} for settings in ran.values()]
    shared = {1}.union(set.intersection(*numbers) if numbers else ())
    kept = {side: [one for one in settings if one[0].nodes in shared] for side, settings in ran.items()}
    return {side: settings for side, settings in kept.items() if settings}


def _ranking(aim: Aim, ran: Mapping[str, Settings], prices: Prices, kind_of: KindOf) -> Ranking | None:
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
            kind=kind_of(_of_framework(ran[side], trial.framework)),
        )
        for side, (trial, runs, amounts) in best.items()
    ]
    entries.sort(key=lambda one: -one.images)
    return Ranking(aim=aim, reference=reference, entries=entries)


def _of_framework(settings: Settings, framework: str) -> list[Run]:
    """Return the runs of a side in one framework: a repeat without the other frameworks is a repeat."""
    return [run for trial, runs in settings if trial.framework == framework for run in runs]


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
