"""The trials that two sets of runs have in common, side by side: another machine, other versions, another day.

Works on runs; `trainspeed.judge.verdict` does the deciding. Reads no file, draws nothing, and knows neither what
else differs between the two (`sides`) nor what it costs (`costs`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import Judged, Judgement, Outcome, expected_false, judge_unpaired

TrialKey = tuple[str, AnyTrial]  # study, and trial without seed
SIDES = ("A", "B")
MAX_VALUES = 4  # of one parameter, in a sentence
COUNTED_OUTCOMES = {
    Outcome.FASTER: "faster on B",
    Outcome.SLOWER: "slower on B",
    Outcome.SAME: "the same within the margin",
}


@dataclass(frozen=True, kw_only=True)
class TrialPair(Judged):
    """A trial that both sides have.

    Attributes:
        description: All that describes it, in words.
        shared: The part of the description that all trials of its study share; empty for a single trial.
        a, b: The runs of each side, one per block, including those that failed.
        judgement: Of B over A: a speed-up above 1 means that B is faster.
    """

    study: str
    trial: AnyTrial
    description: Sequence[str]
    shared: Sequence[str]
    a: RunSet
    b: RunSet
    judgement: Judgement

    def side(self, letter: str) -> RunSet:
        """Return the runs of "A" or of "B"."""
        return self.a if letter == "A" else self.b

    @property
    def label(self) -> str:
        """What tells it from the study's other trials, in words."""
        own = [word for word in self.description if word not in self.shared]
        return ", ".join(own or self.description)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        blocks = f"{counted(len(timed(self.a)), 'block')} on A, {len(timed(self.b))} on B"
        return f"B vs A: {measured(self.judgement)}. {self.study}: {', '.join(self.description)}, {blocks}."


@dataclass(frozen=True)
class SideBySide:
    """Two sets of runs: the trials that both have, study by study, and those that only one has."""

    pairs: Sequence[TrialPair]
    only_a: Sequence[TrialKey]
    only_b: Sequence[TrialKey]

    @property
    def runs(self) -> tuple[list[Run], list[Run]]:
        """The runs of the common trials: those of A and those of B."""
        return [run for pair in self.pairs for run in pair.a], [run for pair in self.pairs for run in pair.b]

    @property
    def studies(self) -> dict[str, list[TrialPair]]:
        """The pairs of each study."""
        studies: dict[str, list[TrialPair]] = {}
        for pair in self.pairs:
            studies.setdefault(pair.study, []).append(pair)
        return studies


def side_by_side(a_runs: Iterable[Run], b_runs: Iterable[Run]) -> SideBySide:
    """Return what two sets of runs have in common, among the data of each study's newest session.

    Raises:
        UserError: They have no trial in common; the message says what each side has.
    """
    a, b = _by_trial(a_runs), _by_trial(b_runs)
    keys = sorted(a.keys() & b.keys(), key=_sort_key)
    if not keys:
        raise UserError(_nothing_common(a, b))
    pairs = [
        TrialPair(
            study=key[0],
            trial=key[1],
            description=description,
            shared=shared,
            a=a[key],
            b=b[key],
            judgement=judge_unpaired(*([run.median_s for run in timed(side[key])] for side in (a, b))),
        )
        for key, (description, shared) in _descriptions(keys).items()
    ]
    return SideBySide(pairs, [key for key in a if key not in b], [key for key in b if key not in a])


def _by_trial(runs: Iterable[Run]) -> dict[TrialKey, RunSet]:
    """Return the data of each trial; a probe checks the instrument of its own side and has no time to compare."""
    data = RunSet(tuple(runs)).data().where(lambda run: not run.trial.phase.probe)
    newest = {study: data.of_study(study).newest() for study in dict.fromkeys(run.study for run in data)}
    return {(study, trial): own for study, runs in newest.items() for trial, own in runs.by_trial().items()}


def timed(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that have a time."""
    return [run for run in runs if run.status == Status.OK and run.median_s is not None]


def failed(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that ended without a result."""
    return [run for run in runs if run.status != Status.OK]


def median_of(runs: Iterable[Run], quantity: str) -> float | None:
    """Return the median of a quantity over the runs that have both a time and the quantity; None without any."""
    known = [value for run in timed(runs) if (value := getattr(run, quantity)) is not None]
    return median(known) if known else None


def shared_sentences(study: str, pairs: Iterable[TrialPair]) -> list[str]:
    """Return, in at most one sentence, what all trials of a study share, which their labels leave out."""
    shared = dict.fromkeys(", ".join(pair.shared) for pair in pairs if pair.shared)
    return [f"All trials of {study}: {'; '.join(shared)}."] if shared else []


def count_sentences(both: SideBySide) -> list[str]:
    """Return how the trials of each study fared, and how many false verdicts to expect by chance alone."""
    sentences = []
    for study, pairs in both.studies.items():
        counts = Counter(pair.outcome for pair in pairs if pair.speedup is not None)
        parts = [
            f"{counts[outcome]} {COUNTED_OUTCOMES.get(outcome, outcome)}"
            for outcome in Outcome
            if counts[outcome]
        ]
        if without := len(pairs) - counts.total():
            parts.append(f"{without} without a result on a side")
        trials = counted(len(pairs), "trial")
        sentences.append(f"{study}: {trials} on both sides: {', '.join(parts)}.{_range(pairs)}")
    if sure := [pair for pair in both.pairs if pair.low is not None]:
        confidence = sure[0].judgement.confidence
        sentences.append(
            f"{counted(len(sure), 'interval')} at {100 * confidence:g} % confidence: on average "
            f"{expected_false(len(sure), confidence):.1f} of so many miss by the luck of blocks alone; what a whole "
            "session shares comes on top."
        )
    return sentences


def _range(pairs: Iterable[TrialPair]) -> str:
    sizes = [pair.speedup for pair in pairs if pair.speedup is not None]
    if len(sizes) < 2:
        return "".join(f" Speed-up of B over A: {size:.2f}x." for size in sizes)
    return f" Speed-up of B over A: {min(sizes):.2f}x to {max(sizes):.2f}x, median {median(sizes):.2f}x."


def decided_sentences(pairs: Iterable[TrialPair]) -> list[str]:
    """Return the verdicts that are not "undecided", the largest differences first."""
    decided = [pair for pair in pairs if pair.outcome != Outcome.UNDECIDED]
    return [pair.sentence for pair in sorted(decided, key=lambda pair: -abs(math.log(pair.speedup)))]


def session_sentence(pairs: Iterable[TrialPair]) -> str:
    """Return how far apart two sessions are where nothing that was recorded differs."""
    sizes = [max(pair.speedup, 1 / pair.speedup) for pair in pairs if pair.low is not None]
    trials = f", of {counted(len(sizes), 'trial')} with an interval"
    extent = f": up to {max(sizes):.2f}x, median {median(sizes):.2f}x{trials}" if sizes else ""
    return (
        "Nothing that was recorded differs. So differences in time show how far two sessions on machines that are "
        f"alike are apart{extent}."
    )


def _descriptions(keys: Sequence[TrialKey]) -> dict[TrialKey, tuple[list[str], list[str]]]:
    """Return for each trial its whole description, and the part of it that its study's trials of its kind share.

    Fields that a description leaves out are named where trials of the same description differ in them.
    """
    described = {}
    for group in dict.fromkeys((study, type(trial)) for study, trial in keys):
        own = {key: key[1].describe() for key in keys if (key[0], type(key[1])) == group}
        alike = {key: [other[1] for other in own if own[other] == words] for key, words in own.items()}
        own = {key: words + _differing(key[1], alike[key]) for key, words in own.items()}
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


def _nothing_common(a: Iterable[TrialKey], b: Iterable[TrialKey]) -> str:
    """Return an error text: what each side has, and the parameters that keep them apart."""
    sides = [list(a), list(b)]
    common = set.intersection(*({study for study, _ in side} for side in sides))
    why = _apart(*([trial for study, trial in side if study in common] for side in sides))
    return (
        f"A and B have no common trials: A has {_listed_studies(sides[0])}, B has {_listed_studies(sides[1])}{why}. "
        "Measure one with the parameters of the other."
    )


def _listed_studies(keys: Iterable[TrialKey]) -> str:
    studies = Counter(study for study, _ in keys)
    return ", ".join(f"{study} ({counted(n, 'trial')})" for study, n in studies.items()) or "none at all"


def unmatched_sentences(both: SideBySide) -> list[str]:
    """Return, per study, how many trials only one side has, and the parameters that keep them apart."""
    sentences = []
    for study in dict.fromkeys(study for study, _ in (*both.only_a, *both.only_b)):
        a, b = ([trial for name, trial in keys if name == study] for keys in (both.only_a, both.only_b))
        counts = [f"{counted(len(t), 'trial')} only in {letter}" for letter, t in (("A", a), ("B", b)) if t]
        sentences.append(f"{study}: {', '.join(counts)}{_apart(a, b)}.")
    return sentences


def _apart(a: Sequence[AnyTrial], b: Sequence[AnyTrial]) -> str:
    """Return the parameters in which no trial of A equals one of B, with their values; "" without any."""
    parts = []
    for kind in dict.fromkeys(type(trial) for trial in a):
        sides = [[trial for trial in side if type(trial) is kind] for side in (a, b)]
        for name in (field.name for field in fields(kind) if all(sides)):
            values = [list(dict.fromkeys(getattr(trial, name) for trial in side)) for side in sides]
            if not set(values[0]) & set(values[1]):
                parts.append(f"{name} {_listed_values(values[0])} in A, {_listed_values(values[1])} in B")
    return "; ".join(["", *parts])


def _listed_values(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:MAX_VALUES])) + (", …" if len(values) > MAX_VALUES else "")
