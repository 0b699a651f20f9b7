"""Checks of what convolutions ran in: in the 16 bits and the layout that were asked for?"""

from __future__ import annotations

from collections.abc import Callable

from trainspeed.core.format import NAMES
from trainspeed.core.result import layouts_text, precision_text
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, unmeasured_finding

SIXTEEN_BITS = {"fp16": "float16", "bf16": "bfloat16"}
NOT_KNOWN = "the compiler does not tell what it chose"


def runs_in_16_bits(runs: RunSet) -> list[Check]:
    """Return whether the convolutions of each 16-bit training ran in these 16 bits."""
    wanted = [run for run in _trainings(runs) if run.trial.precision in SIXTEEN_BITS]
    return [
        Check(
            name=f"{precision} runs in {SIXTEEN_BITS[precision]}",
            expected=f"{SIXTEEN_BITS[precision]} in all convolutions",
            framework=framework,
            **vars(_of(arm, lambda run: run.effective_precision, _precision)),
        )
        for (framework, precision), arm in _grouped(wanted, lambda run: run.trial.precision).items()
    ]


def runs_in_layout(runs: RunSet) -> list[Check]:
    """Return whether the convolutions of each training ran in the layout that was asked for.

    A 16-bit training that is not to be had says nothing of the layout.
    """
    wanted = [r for r in _trainings(runs) if r.status is Status.OK or r.trial.precision not in SIXTEEN_BITS]
    return [
        Check(
            name=f"{layout} runs in {layout}",
            expected=f"{layout} in all convolutions",
            framework=framework,
            **vars(_of(arm, lambda run: run.effective_layout, _layout)),
        )
        for (framework, layout), arm in _grouped(wanted, lambda run: run.trial.layout).items()
    ]


def _trainings(runs: RunSet) -> list[Run]:
    return [run for run in runs if run.trial.phase.of_model and run.trial.whole_steps]


def _grouped(runs: list[Run], by: Callable[[Run], str]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs by framework and another setting, in the order in which the frameworks are named."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(runs, key=lambda run: list(NAMES).index(run.trial.framework)):
        groups.setdefault((run.trial.framework, by(run)), []).append(run)
    return groups


def _of(arm: list[Run], looked_up: Callable[[Run], object], judge: Callable[[Run], Finding]) -> Finding:
    """Return what was found in the runs that tell; of several, the worst. One that failed is the others' reason."""
    told = [judge(run) for run in arm if run.status is Status.OK and looked_up(run) is not None]
    if told:
        return min(told, key=lambda found: _WORST_FIRST.index(found.outcome))
    failed = next((run for run in arm if run.status is not Status.OK), None)
    if failed is not None:
        return unmeasured_finding(failed)
    return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=NOT_KNOWN)


_WORST_FIRST = (
    CheckOutcome.NOT_OK,
    CheckOutcome.UNDECIDED,
    CheckOutcome.NOT_APPLICABLE,
    CheckOutcome.OK,
)


def _precision(run: Run) -> Finding:
    ran, wanted = run.effective_precision, SIXTEEN_BITS[run.trial.precision]
    measured = precision_text(ran) or ""
    if ran.asked:
        return Finding(measured=measured, outcome=CheckOutcome.NOT_APPLICABLE, reason=NOT_KNOWN)
    if set(ran.dtypes) == {wanted}:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = f"not all convolutions ran in {wanted}: what is called {run.trial.precision} is not"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def _layout(run: Run) -> Finding:
    measured = layouts_text(run.effective_layout) or ""
    if set(run.effective_layout) == {run.trial.layout}:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    if run.trial.framework == "torch" and not run.trial.compile:
        reason = "nothing but the instrument sets the layout here: what is called so is not"
        return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)
    reason = "the framework chose another layout, which reports tell beside every verdict"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
