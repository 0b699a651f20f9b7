"""Pair runs that differ in one factor, block by block, and say in a sentence what was decided.

Works on runs, not on frames or figures; `trainspeed.judge.verdict` does the deciding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import msgspec

from trainspeed.core.convolution import AnyTrial, trial_from_dict
from trainspeed.core.factors import CONTROL as CONTROL_FACTOR
from trainspeed.core.factors import Factor
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge import text
from trainspeed.judge.verdict import Judged, Judgement, Outcome, judge, judge_difference


class _Element(msgspec.Struct, kw_only=True):
    """An element of `verdicts.json`: see `Verdict`. Of accuracies the size is a difference."""

    session: str
    study: str
    question: str
    quantity: Literal["time", "accuracy"]
    baseline: dict[str, Any]
    candidate: dict[str, Any]
    factor: str
    speedup: float | None = None
    difference: float | None = None
    low: float | None
    high: float | None
    confidence: float
    blocks: int
    outcome: Outcome
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Verdict(Judged):
    """What was decided about a baseline and a candidate.

    Attributes:
        factor: Name of the one in which the two differ: see `core.factors`.
        quantity: "time", or "accuracy" (then `judgement.speedup` is a difference in points).
        sentence: The verdict in words, with where it holds.
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

    @property
    def label(self) -> str:
        """What a chart or a table calls the comparison, where its title says what is compared."""
        return text.label(self.baseline, self.candidate, self.factor)

    @property
    def name(self) -> str:
        """What was compared and where: what it is called where it stands alone."""
        return text.name(self.baseline, self.candidate, self.factor)

    @property
    def row(self) -> Factor:
        """The factor's row: how it is said and switched."""
        return self.baseline.factor(self.factor)

    @property
    def is_control(self) -> bool:
        """Whether it compares a trial with itself."""
        return self.factor == CONTROL_FACTOR

    @classmethod
    def from_dict(cls, element: Mapping[str, Any]) -> Verdict:
        """Return the verdict of an element of `verdicts.json`.

        Raises:
            KeyError, TypeError, ValueError: It is none, its trials are of another version, or its numbers
                contradict each other.
        """
        line = msgspec.convert(element, _Element)
        size = line.speedup if line.quantity == "time" else line.difference
        known = [value for value in (line.low, size, line.high) if value is not None]
        least = 0 if line.quantity == "time" else -math.inf
        sure = len(known) == 3 and known == sorted(known)
        unsure = line.low is line.high is None and line.outcome is Outcome.UNDECIDED
        if not (sure or unsure) or not all(least < value < math.inf for value in known):
            raise ValueError(f"no verdict has {known} as low, size and high, and is {line.outcome}.")
        numbers = {name: getattr(line, name) for name in ("low", "high", "confidence", "blocks", "outcome")}
        texts = {name: getattr(line, name) for name in ("session", "study", "question", "quantity", "factor")}
        return cls(
            **texts,
            sentence=line.sentence,
            baseline=trial_from_dict(line.baseline),
            candidate=trial_from_dict(line.candidate),
            judgement=Judgement(speedup=size, **numbers),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the element of `verdicts.json`."""
        value = "speedup" if self.quantity == "time" else "difference"
        return {
            "session": self.session,
            "study": self.study,
            "question": self.question,
            "quantity": self.quantity,
            "baseline": _shown(self.baseline),
            "candidate": _shown(self.candidate),
            "factor": self.factor,
            value: self.judgement.speedup,
            "low": self.judgement.low,
            "high": self.judgement.high,
            "confidence": self.judgement.confidence,
            "blocks": self.judgement.blocks,
            "outcome": str(self.judgement.outcome),
            "sentence": self.sentence,
        }


def compare(
    runs: Iterable[Run],
    factor: str,
    baseline: Any,
    candidate: Any,
    *,
    question: str,
    quantity: str = "time",
) -> list[Verdict]:
    """Return a verdict for every pair of trials that differ only in `factor`, baseline to candidate.

    JAX is always compiled; compared with another framework, it is compared with each of the other's.
    """
    arms = RunSet(tuple(runs)).data().by_trial()
    verdicts = []
    for trial, base_runs in arms.items():
        if getattr(trial, factor, None) != baseline:
            continue
        for other, other_runs in arms.items():
            if getattr(other, factor, None) == candidate and _differ_only_in(factor, trial, other):
                verdicts.append(verdict_between(base_runs, other_runs, factor, question, quantity))
    return [verdict for verdict in verdicts if verdict.judgement.blocks]


def compare_with(
    runs: Iterable[Run],
    baselines: Callable[[AnyTrial], Iterable[AnyTrial]],
    factor: str,
    *,
    question: str,
    quantity: str = "time",
) -> list[Verdict]:
    """Return a verdict for every trial and each of the baselines that it names, where they ran.

    Args:
        baselines: Of a trial without seed. For what one factor's name cannot say: N devices are
            compared with one, which needs no strategy and may have another batch size.
    """
    arms = RunSet(tuple(runs)).data().by_trial()
    verdicts = [
        verdict_between(arms[base], candidate_runs, factor, question, quantity)
        for trial, candidate_runs in arms.items()
        for base in baselines(trial)
        if base in arms
    ]
    return [verdict for verdict in verdicts if verdict.judgement.blocks]


def controls(runs: Iterable[Run]) -> list[Verdict]:
    """Return the A/A verdicts: the same trial twice in each block, so that only noise differs."""
    known = RunSet(tuple(runs))
    first, again = (known.role(role).by_trial() for role in (Role.CONTROL, Role.CONTROL_AGAIN))
    question = "How much do two measurements of the same thing differ?"
    pairs = ((first[trial], again[trial]) for trial in first if trial in again)
    verdicts = [verdict_between(a, b, CONTROL_FACTOR, question) for a, b in pairs]
    return [verdict for verdict in verdicts if verdict.judgement.blocks]


def ratios(runs: Iterable[Run], factor: str, baseline: Any, candidate: Any) -> list[dict[str, Any]]:
    """Return one row per block and pair: baseline time / candidate time, with the baseline's trial fields."""
    arms = RunSet(tuple(runs)).data().by_trial()
    rows = []
    for trial, base_runs in arms.items():
        for other, other_runs in arms.items():
            if getattr(trial, factor, None) != baseline or getattr(other, factor, None) != candidate:
                continue
            if _differ_only_in(factor, trial, other):
                for base, cand in _pairs(base_runs, other_runs, _seconds):
                    ratio = _seconds(base) / _seconds(cand)
                    names = {"baseline": baseline, "candidate": candidate}
                    rows.append({**trial.as_dict(), **names, "block": base.block, "ratio": ratio})
    return rows


def _differ_only_in(factor: str, one: AnyTrial, other: AnyTrial) -> bool:
    if type(one) is not type(other):
        return False
    may_differ = {factor, *one.factor(factor).frees(one, other)}
    return all(
        getattr(one, f.name) == getattr(other, f.name) for f in fields(one) if f.name not in may_differ
    )


def _seconds(run: Run) -> float | None:
    return run.median_s


def _points(run: Run) -> float | None:
    return None if run.test_accuracy is None else 100 * run.test_accuracy


def _pairs(
    baseline: Sequence[Run], candidate: Sequence[Run], value: Callable[[Run], float | None]
) -> list[tuple[Run, Run]]:
    """Pair by block the runs that ended well and have the value."""
    usable = [
        {run.block: run for run in runs if run.status == Status.OK and value(run) is not None}
        for runs in (baseline, candidate)
    ]
    return [(usable[0][block], usable[1][block]) for block in sorted(usable[0].keys() & usable[1].keys())]


def judged(
    baseline: Sequence[Run], candidate: Sequence[Run], quantity: str = "time", margin: float | None = None
) -> Judgement:
    """Return how one trial's runs compare with another's, block by block; see `verdict`.

    Args:
        quantity: "time", or "accuracy" (then the judgement's speed-up is a difference in points).
        margin: Another one than `verdict` has: a share for the time, points for the accuracy.
    """
    value, decide = (_seconds, judge) if quantity == "time" else (_points, judge_difference)
    pairs = _pairs(baseline, candidate, value)
    how = {} if margin is None else {"margin": margin}
    return decide([value(a) for a, _ in pairs], [value(b) for _, b in pairs], **how)


def verdict_between(
    baseline: Sequence[Run], candidate: Sequence[Run], factor: str, question: str, quantity: str = "time"
) -> Verdict:
    """Return the verdict on two trials, of their runs."""
    judgement = judged(baseline, candidate, quantity)
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
        sentence=text.sentence(a, b, factor, judgement, quantity),
    )


def as_json(verdicts: Iterable[Verdict]) -> list[Mapping[str, Any]]:
    """Return the elements for `verdicts.json`."""
    return [verdict.as_dict() for verdict in verdicts]


def _shown(trial: AnyTrial) -> dict[str, Any]:
    return {name: value for name, value in trial.as_dict().items() if name != "seed"}
