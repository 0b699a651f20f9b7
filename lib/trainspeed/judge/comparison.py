"""Which trials are compared, and the verdicts on them, from runs that are paired block by block.

Works on runs, not on frames or figures. `trainspeed.judge.verdict` decides, `trainspeed.judge.text` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from typing import Any

import msgspec

from trainspeed.core.convolution import AnyTrial, trial_from_dict
from trainspeed.core.factors import CONTROL as CONTROL_FACTOR
from trainspeed.core.factors import Factor
from trainspeed.core.files import slug
from trainspeed.core.quantities import Name, Number, Points, PointsApart, Text
from trainspeed.core.run import AGAIN, Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import text
from trainspeed.judge.equivalence import accuracy_record, undecided_where_uneven
from trainspeed.judge.failures import one_sided_blocks
from trainspeed.judge.pairs import disturbed_blocks, paired_s, value_pairs
from trainspeed.judge.quiet import judge_quiet
from trainspeed.judge.verdict import ACCURACY_MARGIN, Judged, Judgement, Outcome, judge_difference

SIZES = {"time": "speedup", "accuracy": "difference"}  # quantity -> key of its size in `verdicts.json`
VALUES = {"time": attrgetter("median_s"), "accuracy": attrgetter("test_accuracy")}  # quantity -> of a run
TEXTS = dict.fromkeys(("session", "study", "quantity", "factor"), Name)
TEXTS |= dict.fromkeys(("question", "sentence"), Text)
ANCHOR = "verdict-"  # what the ids of verdicts begin with
MOST_SIZE = 1e9  # of a speed-up or a difference


@dataclass(frozen=True, kw_only=True)
class Verdict(Judged):
    """What was decided about a baseline and a candidate.

    Attributes:
        factor: Name of the factor in which the two differ: see `core.factors`.
        quantity: "time", or "accuracy" (then `judgement.speedup` is a difference in points).
        sentence: The verdict in words, with the setting in which it holds.
        without_result: Blocks in which both ran and one alone gave a result, so that they are in no pair.
    """

    session: str
    study: str
    question: str
    quantity: str
    factor: str
    baseline: AnyTrial
    candidate: AnyTrial
    judgement: Judgement
    sentence: str
    without_result: int = 0

    def __repr__(self) -> str:
        return self.sentence

    @property
    def label(self) -> str:
        """What a chart or a table calls the comparison, where its title says what is compared."""
        return text.label(self.baseline, self.candidate, self.factor)

    @property
    def name(self) -> str:
        """What was compared, and in which setting: the comparison's name where it stands alone."""
        return text.name(self.baseline, self.candidate, self.factor)

    @property
    def anchor(self) -> str:
        """Id of the verdict in a page: the same in every report that makes this comparison."""
        quantity = "" if self.quantity == "time" else self.quantity
        return f"{ANCHOR}{slug(f'{self.study} {self.name} {quantity}')}"

    @property
    def row(self) -> Factor:
        """The row of the factor, which says how it is worded and switched."""
        return self.baseline.factor(self.factor)

    @property
    def is_control(self) -> bool:
        """Whether it compares a trial with itself."""
        return self.factor == CONTROL_FACTOR

    @classmethod
    def from_dict(cls, element: Mapping[str, Any]) -> Verdict:
        """Return the verdict of an element of `verdicts.json`.

        Raises:
            KeyError, TypeError, ValueError: It is no such element, its trials are of another version, or its
                numbers contradict each other.
        """
        texts = {name: msgspec.convert(element[name], kind) for name, kind in TEXTS.items()}
        size = element[SIZES[texts["quantity"]]]
        margin = msgspec.convert(element.get("margin"), Points | None)
        told = {"bounds": margin and (-margin, margin), "values": (), "speedup": size}
        spread = msgspec.convert(element.get("baseline_range"), PointsApart | None)
        judgement = msgspec.convert({**element, **told, "baseline_range": spread}, Judgement)
        known = [value for value in (judgement.low, size, judgement.high) if value is not None]
        lower_limit = 0 if texts["quantity"] == "time" else -MOST_SIZE
        sure = len(known) == 3 and known == sorted(known)
        unsure = judgement.low is judgement.high is None and judgement.outcome is Outcome.UNDECIDED
        if not (sure or unsure) or not all(lower_limit < value < MOST_SIZE for value in known):
            raise ValueError(f"no verdict has {known} as low, size and high, and is {judgement.outcome}.")
        counts = judgement.blocks, judgement.disturbed
        if not (0 < judgement.confidence < 1 and all(0 <= count <= MOST_SIZE for count in counts)):
            raise ValueError("no verdict has this confidence, or so many blocks.")
        trials = {name: trial_from_dict(element[name]) for name in ("baseline", "candidate")}
        lost = msgspec.convert(element.get("without_result", 0), Number)
        return cls(**texts, **trials, judgement=judgement, without_result=lost)

    def as_dict(self) -> dict[str, Any]:
        """Return the element of `verdicts.json`."""
        numbers = asdict(self.judgement) | {"outcome": str(self.outcome)}
        size, *_ = (numbers.pop(name) for name in ("speedup", "values", "bounds", "baseline_range"))
        for name in ("quiet_speedup", "disturbed"):
            if not numbers[name]:
                del numbers[name]
        return {
            "session": self.session,
            "study": self.study,
            "question": self.question,
            "quantity": self.quantity,
            "baseline": _without_seed(self.baseline),
            "candidate": _without_seed(self.candidate),
            "factor": self.factor,
            SIZES[self.quantity]: size,
            **numbers,
            "sentence": self.sentence,
            **(accuracy_record(self.judgement) if self.quantity == "accuracy" else {}),
        } | ({"without_result": self.without_result} if self.without_result else {})


def _without_seed(trial: AnyTrial) -> dict[str, Any]:
    written = {name: value for name, value in trial.as_dict().items() if name != "seed"}
    return msgspec.json.decode(
        msgspec.json.encode(written)
    )  # with lists for tuples, as a reader of the file has it


def as_json(verdicts: Iterable[Verdict]) -> list[Mapping[str, Any]]:
    """Return the elements for `verdicts.json`."""
    return [verdict.as_dict() for verdict in verdicts]


def compare(
    runs: Iterable[Run], factor: str, baseline: Any, candidate: Any, *, question: str, quantity: str = "time"
) -> list[Verdict]:
    """Return a verdict for every pair of trials that differ only in `factor`, baseline to candidate.

    JAX is always compiled: it is compared with another framework's trials, compiled or not.
    """
    return _verdicts(_arms(runs, factor, baseline, candidate), factor, question, quantity)


def compare_with(
    runs: Iterable[Run],
    baselines: Callable[[AnyTrial], Iterable[AnyTrial]],
    factor: str,
    *,
    question: str,
    quantity: str = "time",
) -> list[Verdict]:
    """Return a verdict for every trial and each of its baselines that ran.

    Args:
        baselines: Trial without seed -> its baselines, where the name of one factor does not say which they
            are: N devices are compared with one, which needs no strategy and may have another batch size.
    """
    arms = RunSet(tuple(runs)).data().by_trial()
    pairs = ((arms[base], arms[trial]) for trial in arms for base in baselines(trial) if base in arms)
    return _verdicts(pairs, factor, question, quantity)


def controls(runs: Iterable[Run]) -> list[Verdict]:
    """Return the A/A verdicts: the same trial twice in each block, so that only noise differs.

    Of a trial that was measured so in two ways, that with more blocks.
    """
    known = RunSet(tuple(runs))
    question = "How much do two measurements of the same thing differ?"
    found: dict[AnyTrial, Verdict] = {}
    for roles in AGAIN.items():
        first, again = (known.role(role).by_trial() for role in roles)
        pairs = ((first[trial], again[trial]) for trial in first if trial in again)
        for verdict in _verdicts(pairs, CONTROL_FACTOR, question):
            before = found.get(verdict.baseline)
            if before is None or before.blocks < verdict.blocks:
                found[verdict.baseline] = verdict
    return list(found.values())


def ratios(runs: Iterable[Run], factor: str, baseline: Any, candidate: Any) -> list[dict[str, Any]]:
    """Return one row per block and pair: baseline time / candidate time, with the baseline's trial fields."""
    names = {"baseline": baseline, "candidate": candidate}
    return [
        {**base_runs[0].trial.spec.as_dict(), **names, "block": block, "ratio": base_s / candidate_s}
        for base_runs, candidate_runs in _arms(runs, factor, baseline, candidate)
        for block, (base_s, candidate_s) in paired_s(base_runs, candidate_runs).items()
    ]


def _arms(runs: Iterable[Run], factor: str, baseline: Any, candidate: Any) -> Iterator[tuple[RunSet, RunSet]]:
    """Yield the data of every two trials that differ only in `factor`, baseline to candidate."""
    arms = RunSet(tuple(runs)).data().by_trial()
    candidates = [trial for trial in arms if getattr(trial, factor, None) == candidate]
    for trial in arms:
        if getattr(trial, factor, None) == baseline:
            yield from ((arms[trial], arms[o]) for o in candidates if _differ_only_in(factor, trial, o))


def _differ_only_in(factor: str, one: AnyTrial, other: AnyTrial) -> bool:
    if type(one) is not type(other):
        return False
    may_differ = {factor, *one.factor(factor).frees(one, other)}
    names = (field.name for field in fields(one) if field.name not in may_differ)
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _verdicts(
    pairs: Iterable[tuple[RunSet, RunSet]], factor: str, question: str, quantity: str = "time"
) -> list[Verdict]:
    """Return the verdicts on pairs of trials that have a block in common."""
    verdicts = (verdict_between(*pair, factor, question, quantity) for pair in pairs)
    return [verdict for verdict in verdicts if verdict.blocks]


def verdict_between(
    baseline: Sequence[Run], candidate: Sequence[Run], factor: str, question: str, quantity: str = "time"
) -> Verdict:
    """Return the verdict on two trials, from their runs."""
    judgement = judge_runs(baseline, candidate, quantity)
    lost = one_sided_blocks(baseline, candidate, VALUES[quantity])
    a, b = baseline[0], candidate[0]
    return Verdict(
        session=a.session,
        study=a.study,
        question=question,
        quantity=quantity,
        factor=factor,
        baseline=a.trial.spec,
        candidate=b.trial.spec,
        judgement=judgement,
        sentence=text.sentence(a, b, factor, judgement, quantity, lost),
        without_result=lost,
    )


def judge_runs(
    baseline: Sequence[Run],
    candidate: Sequence[Run],
    quantity: str = "time",
    accuracy_margin: float = ACCURACY_MARGIN,
) -> Judgement:
    """Return how one trial's runs compare with another's, block by block.

    Args:
        quantity: "time", or "accuracy" (then the judgement's speed-up is a difference in points, of models that
            trained for as many epochs).
        accuracy_margin: Half-width of "the same" in accuracy, in points.
    """
    if quantity == "time":
        return judge_quiet(paired_s(baseline, candidate), disturbed_blocks(baseline, candidate))
    scored = value_pairs(baseline, candidate, lambda run: None if run.test_accuracy is None else run)
    alike = [(a, b) for a, b in scored if len(a.epoch_s) == len(b.epoch_s)]  # who trains longer learns more
    points = [[100 * run.test_accuracy for run in side] for side in zip(*alike, strict=True)] or [[], []]
    return undecided_where_uneven(judge_difference(*points, margin=accuracy_margin))
