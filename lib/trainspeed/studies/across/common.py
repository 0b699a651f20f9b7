"""The trials that several sides have: which they are, what each is called, and which are on one side only.

Works on runs; reads no file, and judges and draws nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet

TrialKey = tuple[str, AnyTrial]  # study, and trial without seed
MAX_VALUES = 4  # of one parameter, in a sentence


@dataclass(frozen=True, kw_only=True)
class CommonTrial:
    """A trial that at least two sides have.

    Attributes:
        description: All that describes it, in words.
        shared: The part of the description that all trials of its study share; empty for a single trial.
        runs: Side -> its runs, one per block, including those that failed; in the order of the sides.
    """

    study: str
    trial: AnyTrial
    description: Sequence[str]
    shared: Sequence[str]
    runs: Mapping[str, RunSet]

    @property
    def label(self) -> str:
        """What tells it from the study's other trials, in words."""
        own = [word for word in self.description if word not in self.shared]
        return ", ".join(own or self.description)


@dataclass(frozen=True)
class Common:
    """What several sides have in common.

    Attributes:
        trials: Those that at least two sides have, study by study.
        data: Side -> the data of each of its trials, whether or not others have it; in the order given.
    """

    trials: Sequence[CommonTrial]
    data: Mapping[str, Mapping[TrialKey, RunSet]]

    @cached_property
    def runs(self) -> Mapping[str, Sequence[Run]]:
        """Side -> its runs of trials that another side has too; sides without any are left out."""
        runs: dict[str, list[Run]] = {side: [] for side in self.data}
        for trial in self.trials:
            for side, own in trial.runs.items():
                runs[side] += own
        return {side: own for side, own in runs.items() if own}

    @property
    def sides(self) -> Sequence[str]:
        """The sides that have a trial in common with another, in the order given."""
        return list(self.runs)

    @property
    def first(self) -> str:
        """The side that the others are compared with."""
        return self.sides[0]

    @cached_property
    def alone(self) -> Mapping[str, Sequence[TrialKey]]:
        """Side -> its trials that no other side has."""
        shared = {(trial.study, trial.trial) for trial in self.trials}
        return {side: [key for key in own if key not in shared] for side, own in self.data.items()}

    @property
    def studies(self) -> dict[str, list[CommonTrial]]:
        """The common trials of each study."""
        studies: dict[str, list[CommonTrial]] = {}
        for trial in self.trials:
            studies.setdefault(trial.study, []).append(trial)
        return studies


def common_trials(runs: Mapping[str, Iterable[Run]]) -> Common:
    """Return what the sides have in common, among the data of each study's newest session.

    Args:
        runs: Side -> all its runs, in the order in which the sides were named.
    Raises:
        UserError: No two of them have a trial in common; the message says what each of the first has.
    """
    specs: dict[AnyTrial, AnyTrial] = {}
    data = {side: _by_trial(own, specs) for side, own in runs.items()}
    having: dict[TrialKey, dict[str, RunSet]] = {}
    for side, own in data.items():
        for key, of_trial in own.items():
            having.setdefault(key, {})[side] = of_trial
    keys = sorted((key for key, sides in having.items() if len(sides) > 1), key=_sort_key)
    if not keys:
        raise UserError(_nothing_common(data))
    trials = [
        CommonTrial(study=key[0], trial=key[1], description=words, shared=shared, runs=having[key])
        for key, (words, shared) in _descriptions(keys).items()
    ]
    return Common(trials, data)


def _by_trial(runs: Iterable[Run], specs: dict[AnyTrial, AnyTrial]) -> dict[TrialKey, RunSet]:
    """Return the data of each trial whose epochs are the same work on all sides.

    Args:
        specs: Trial -> itself without what changes between blocks: the same for all sides, so made once.
    """
    data = RunSet(tuple(runs)).data().where(lambda run: run.trial.phase.epochs_compare)
    arms: dict[TrialKey, list[Run]] = {}
    for study in dict.fromkeys(run.study for run in data):
        for run in data.of_study(study).newest():
            spec = specs.get(run.trial) or specs.setdefault(run.trial, run.trial.spec)
            arms.setdefault((study, spec), []).append(run)
    return {key: RunSet(tuple(own)) for key, own in arms.items()}


def timed(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that have a time."""
    return [run for run in runs if run.status == Status.OK and run.median_s is not None]


def failed(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that ended without a result, but for those that there was no time for."""
    ended = (run for run in runs if run.status != Status.OK)
    return [run for run in ended if not (run.failure and run.failure.lacked_time)]


def median_of(runs: Iterable[Run], quantity: str) -> float | None:
    """Return the median of a quantity over the runs that have both a time and the quantity; None without any."""
    known = [value for run in timed(runs) if (value := getattr(run, quantity)) is not None]
    return median(known) if known else None


def common_setting_sentences(study: str, trials: Iterable[CommonTrial]) -> list[str]:
    """Return, in at most one sentence, what all trials of a study share, which their labels leave out."""
    shared = dict.fromkeys(", ".join(trial.shared) for trial in trials if trial.shared)
    return [f"All trials of {study}: {'; '.join(shared)}."] if shared else []


def unmatched_sentences(common: Common) -> list[str]:
    """Return, for each side beside the first, how many trials of a study one has and the other not, and why."""
    first, sentences = common.first, []
    for side in common.sides[1:]:
        both = [(first, common.data[first], common.data[side]), (side, common.data[side], common.data[first])]
        for study in dict.fromkeys(study for _, own, _ in both for study, _ in own):
            lacking = [[t for name, t in own if name == study and (name, t) not in o] for _, own, o in both]
            counts = [
                f"{counted(len(trials), 'trial')} of {who} not in {other}"
                for who, other, trials in zip((first, side), (side, first), lacking, strict=True)
                if trials
            ]
            if counts:
                apart = _apart(first, lacking[0], side, lacking[1])
                sentences.append(f"{study}: {', '.join(counts)}{apart}.")
    return sentences


def unmatched_side_sentences(common: Common) -> list[str]:
    """Return a sentence for each side that has no trial in common with any other."""
    return [
        f"{side} has no trial that another side has, so it is compared with none: it has {_studies(own)}."
        for side, own in common.data.items()
        if side not in common.runs
    ]


def _descriptions(keys: Sequence[TrialKey]) -> dict[TrialKey, tuple[list[str], list[str]]]:
    """Return for each trial its whole description, and the part of it that its study's trials of its kind share.

    Fields that a description leaves out are named where trials of the same description differ in them.
    """
    described = {}
    for group in dict.fromkeys((study, type(trial)) for study, trial in keys):
        own = {key: key[1].describe() for key in keys if (key[0], type(key[1])) == group}
        alike: dict[tuple[str, ...], list[AnyTrial]] = {}
        for key, words in own.items():
            alike.setdefault(tuple(words), []).append(key[1])
        own = {key: words + _differing(key[1], alike[tuple(words)]) for key, words in own.items()}
        shared = set.intersection(*map(set, own.values())) if len(own) > 1 else set()
        described |= {key: (words, [word for word in words if word in shared]) for key, words in own.items()}
    return described


def _differing(trial: AnyTrial, alike: Sequence[AnyTrial]) -> list[str]:
    names = [f.name for f in fields(trial) if len({getattr(other, f.name) for other in alike}) > 1]
    return [f"{name.replace('_', ' ')} {getattr(trial, name)}" for name in names]


def _sort_key(key: TrialKey) -> tuple:
    """Return a key that sorts by study, then field by field, numbers by their size."""
    values = key[1].as_dict().values()
    numbers = [(0, v, "") if isinstance(v, int | float) else (1, 0, str(v)) for v in values]
    return key[0], type(key[1]).__name__, numbers


def _nothing_common(data: Mapping[str, Iterable[TrialKey]]) -> str:
    """Return an error text: what the first two sides have, and the parameters that keep them apart."""
    (one, ones), (other, others), *rest = data.items()
    studies = {study for study, _ in ones} & {study for study, _ in others}
    trials = ([trial for study, trial in keys if study in studies] for keys in (ones, others))
    own, theirs = trials
    more = f"; nor has any of the other {len(rest)}" if rest else ""
    return (
        f"{one} and {other} have no common trials: {one} has {_studies(ones)}, {other} has {_studies(others)}"
        f"{_apart(one, own, other, theirs)}{more}. Measure one with the parameters of the other."
    )


def _studies(keys: Iterable[TrialKey]) -> str:
    studies = Counter(study for study, _ in keys)
    return ", ".join(f"{study} ({counted(n, 'trial')})" for study, n in studies.items()) or "none at all"


def _apart(one: str, a: Sequence[AnyTrial], other: str, b: Sequence[AnyTrial]) -> str:
    """Return the parameters in which no trial of one side equals one of the other, with their values."""
    parts = []
    for kind in dict.fromkeys(type(trial) for trial in a):
        sides = [[trial for trial in side if type(trial) is kind] for side in (a, b)]
        for name in (field.name for field in fields(kind) if all(sides)):
            values = [list(dict.fromkeys(getattr(trial, name) for trial in side)) for side in sides]
            if not set(values[0]) & set(values[1]):
                parts.append(f"{name} {_values(values[0])} in {one}, {_values(values[1])} in {other}")
    return "; ".join(["", *parts])


def _values(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:MAX_VALUES])) + (", …" if len(values) > MAX_VALUES else "")
