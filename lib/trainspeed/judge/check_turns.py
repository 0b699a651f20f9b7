"""Checks of a comparison: is one training as fast as itself, and is a difference found that was planted?"""

from __future__ import annotations

from trainspeed.core.format import fixed, fixed_to_interval, interval, percent
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_time import NOISY
from trainspeed.judge.checks import Check, CheckOutcome, Finding, unmeasured_finding
from trainspeed.judge.comparison import Verdict, controls, verdict_between
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome

STEPS = "images_per_epoch"  # the factor that is planted: more steps of an epoch
PLANTED_MARGIN = 0.02  # by which the interval may miss: a few percent of an epoch do not grow with its steps
WIDEST = 0.1  # half-width: a wider interval would cover 1 even if one arm were favoured by what is planted


def agrees_with_itself(runs: RunSet) -> list[Check]:
    """Return whether a training that is measured twice in each block is as fast as itself."""
    name, expected = (
        "A training is as fast as itself",
        f"covers 1, or lies within 2 %; half-width at most {percent(WIDEST)}",
    )
    found = [
        Check(name=name, expected=expected, framework=v.baseline.framework, **vars(_itself(v)))
        for v in controls(runs)
    ]
    return found or _failed(runs.role(Role.CONTROL, Role.CONTROL_AGAIN), name, expected)


def _itself(verdict: Verdict) -> Finding:
    if verdict.low is None:
        return _too_few(verdict)
    outcome, reason = CheckOutcome.OK, ""
    half_width = (verdict.high - verdict.low) / 2
    if verdict.outcome in (Outcome.FASTER, Outcome.SLOWER):
        outcome = CheckOutcome.NOT_OK
        reason = "one of the two arms is favoured: every verdict here may be off by as much"
    elif verdict.outcome is not Outcome.SAME and (
        half_width > WIDEST or not verdict.low <= 1 <= verdict.high
    ):
        outcome, reason = CheckOutcome.UNDECIDED, NOISY
    measured = f"{_size(verdict)}, half-width {percent(half_width)}"
    return Finding(measured=measured, outcome=outcome, reason=reason)


def finds_what_was_planted(runs: RunSet) -> list[Check]:
    """Return whether an epoch of more steps is found to take longer, by as much."""
    control = runs.role(Role.CONTROL).by_trial()
    checks = []
    for more, longer in runs.role(Role.DATA).where(lambda run: run.trial.phase.of_model).by_trial().items():
        for plain, shorter in control.items():
            alike = plain.as_dict() | {STEPS: None} == more.as_dict() | {STEPS: None}
            if not alike or more.steps_per_epoch <= plain.steps_per_epoch:
                continue  # not planted, but another training
            share = more.steps_per_epoch / plain.steps_per_epoch
            name = f"A planted difference of {percent(share - 1)} is found"
            expected = f"covers {share:.2f}, and not 1"
            question = "Is a planted difference found?"
            verdict = verdict_between(longer, shorter, STEPS, question)
            found = _planted(verdict, share) if verdict.blocks else _failure(longer)
            checks.append(Check(name=name, expected=expected, framework=plain.framework, **vars(found)))
    return checks


def _planted(verdict: Verdict, share: float) -> Finding:
    if verdict.low is None:
        return _too_few(verdict)
    covered = verdict.low / (1 + PLANTED_MARGIN) <= share <= verdict.high * (1 + PLANTED_MARGIN)
    outcome, reason = CheckOutcome.OK, ""
    if not covered:
        outcome, reason = CheckOutcome.NOT_OK, "what was planted is found in another size"
    elif verdict.low <= 1:
        outcome, reason = CheckOutcome.UNDECIDED, NOISY
    return Finding(measured=_size(verdict), outcome=outcome, reason=reason)


def _too_few(verdict: Verdict) -> Finding:
    reason = f"{verdict.blocks} of {MIN_BLOCKS} blocks that give an interval"
    return Finding(measured=fixed(verdict.speedup, 3), outcome=CheckOutcome.UNDECIDED, reason=reason)


def _size(verdict: Verdict) -> str:
    ends = verdict.low, verdict.high
    return f"{fixed_to_interval(verdict.speedup, *ends, 3)} ({interval(*ends, 3)})"


def _failed(runs: RunSet, name: str, expected: str) -> list[Check]:
    """Return a line for each framework of runs that gave nothing to compare."""
    by_framework = {run.trial.framework: run for run in runs}
    return [
        Check(name=name, expected=expected, framework=framework, **vars(_failure([run])))
        for framework, run in by_framework.items()
    ]


def _failure(runs: list[Run] | RunSet) -> Finding:
    failed = next((run for run in runs if run.status is not Status.OK), None)
    if failed is None:
        reason = "there was no other run to compare it with"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    return unmeasured_finding(failed)
