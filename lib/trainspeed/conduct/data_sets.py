"""Which data set a trial is about to train on, found out before anything runs."""

from __future__ import annotations

from dataclasses import replace

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.convolution import AnyTrial
from trainspeed.worker.data.folds import data_set_of
from trainspeed.worker.data.sets import download, resolve_data_set


def with_data_sets(part: TrialSet, *, auto: str = "cifar10") -> TrialSet:
    """Return a part of a study whose trials name their data sets: "auto" as `data_set_of`, with `auto`."""

    def named(trials: tuple[AnyTrial, ...]) -> tuple[AnyTrial, ...]:
        names = {t: data_set_of(t, auto=auto) for t in trials if t.dataset}
        return tuple(replace(t, dataset=names[t]) if t in names else t for t in trials)

    return replace(part, trials=named(part.trials), controls=named(part.controls))


def resolved(name: str) -> str:
    """Return the data set that a name stands for here; see `trainspeed.worker.data.sets.resolve`."""
    return resolve_data_set(name)


def fetch() -> None:
    """Download and check the data sets that can be downloaded."""
    download()
