"""Pair runs that differ in one factor, block by block, and say in a sentence what was decided.

Works on runs, not on frames or figures; `trainspeed.verdict` does the deciding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from trainspeed.conv2d_trial import AnyTrial, Conv2dTrial, trial_from_dict
from trainspeed.run import Run, Status
from trainspeed.schedule import AUXILIARY, CONTROL, CONTROL_AGAIN
from trainspeed.verdict import Judged, Judgement, Outcome, judge, judge_difference
from trainspeed.wording import COMMON, NAMES, conv2d_versus, describe, devices_of, pipeline_of, sentence


@dataclass(frozen=True, kw_only=True)
class Verdict(Judged):
    """What was decided about a baseline and a candidate.

    Attributes:
        factor: The one factor in which the two differ; "control" for the A/A pair.
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
        """What a chart or a table calls the comparison: where it was made."""
        arm = {"framework": f"{NAMES.get(self.candidate.framework)} vs {NAMES[self.baseline.framework]}"}
        if isinstance(self.candidate, Conv2dTrial):
            return conv2d_versus(self.baseline, self.candidate, self.factor)
        if self.factor == "recipe":
            return f"all switches together, {NAMES[self.candidate.framework]}, {self.candidate.model}"
        if self.factor == "control":
            return ", ".join(["control", *describe(self.baseline, without=COMMON)])
        if self.factor == "devices":
            words = describe(self.candidate, without=("strategy", *COMMON))
            if self.baseline.batch_size != self.candidate.batch_size:
                words = describe(self.candidate, without=("strategy", "batch_size", *COMMON))
                words.append(f"batch {self.baseline.batch_size} on each")
            return ", ".join([devices_of(self.candidate), *words])
        if self.factor == "precision":
            words = describe(self.candidate, without=COMMON)
            compiled = ["compiled"] * self.candidate.compile
            return ", ".join([f"{self.candidate.precision} vs {self.baseline.precision}", *words, *compiled])
        if self.factor == "pipeline":
            versus = f"{pipeline_of(self.candidate)} vs {pipeline_of(self.baseline)}"
            return ", ".join([versus, *describe(self.candidate, without=("pipeline", *COMMON))])
        words = [
            *filter(None, [arm.get(self.factor)]),
            *describe(self.baseline, without=(self.factor, *COMMON)),
        ]
        variant = [v for v in (self.baseline.precision,) if v != "fp32"] + [
            "compiled"
        ] * self.baseline.compile
        return ", ".join([*words, *variant])

    @classmethod
    def from_dict(cls, element: Mapping[str, Any]) -> Verdict:
        """Return the verdict of an element of `verdicts.json`.

        Raises:
            KeyError, TypeError, ValueError: It is none, or its trials are of another version.
        """
        names = ("session", "study", "question", "quantity", "factor", "sentence")
        size = element["speedup" if element["quantity"] == "time" else "difference"]
        judgement = Judgement(
            speedup=size,
            outcome=Outcome(element["outcome"]),
            **{name: element[name] for name in ("low", "high", "confidence", "blocks")},
        )
        trials = {name: trial_from_dict(element[name]) for name in ("baseline", "candidate")}
        return cls(**{name: element[name] for name in names}, **trials, judgement=judgement)

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
    arms = _by_trial(run for run in runs if run.label not in AUXILIARY)
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
    arms = _by_trial(run for run in runs if run.label not in AUXILIARY)
    verdicts = [
        verdict_between(arms[base], candidate_runs, factor, question, quantity)
        for trial, candidate_runs in arms.items()
        for base in baselines(trial)
        if base in arms
    ]
    return [verdict for verdict in verdicts if verdict.judgement.blocks]


def controls(runs: Iterable[Run]) -> list[Verdict]:
    """Return the A/A verdicts: the same trial twice in each block, so that only noise differs."""
    runs = list(runs)
    first = _by_trial(run for run in runs if run.label == CONTROL)
    again = _by_trial(run for run in runs if run.label == CONTROL_AGAIN)
    question = "How much do two measurements of the same thing differ?"
    pairs = ((first[trial], again[trial]) for trial in first if trial in again)
    verdicts = [verdict_between(a, b, "control", question) for a, b in pairs]
    return [verdict for verdict in verdicts if verdict.judgement.blocks]


def ratios(runs: Iterable[Run], factor: str, baseline: Any, candidate: Any) -> list[dict[str, Any]]:
    """Return one row per block and pair: baseline time / candidate time, with the baseline's trial fields."""
    arms = _by_trial(run for run in runs if run.label not in AUXILIARY)
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


def _by_trial(runs: Iterable[Run]) -> dict[AnyTrial, list[Run]]:
    arms: dict[AnyTrial, list[Run]] = defaultdict(list)
    for run in runs:
        arms[run.trial.without_seed()].append(run)
    return arms


def _differ_only_in(factor: str, one: AnyTrial, other: AnyTrial) -> bool:
    if type(one) is not type(other):
        return False
    may_differ = {factor}
    if factor == "framework" and "jax" in (one.framework, other.framework):
        may_differ.add("compile")
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
        baseline=a.trial.without_seed(),
        candidate=b.trial.without_seed(),
        judgement=judgement,
        sentence=sentence(a, b, factor, judgement, quantity),
    )


def as_json(verdicts: Iterable[Verdict]) -> list[Mapping[str, Any]]:
    """Return the elements for `verdicts.json`."""
    return [verdict.as_dict() for verdict in verdicts]


def _shown(trial: AnyTrial) -> dict[str, Any]:
    return {name: value for name, value in trial.as_dict().items() if name != "seed"}
