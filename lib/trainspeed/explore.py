"""Change one thing and measure it again: the last cells of every notebook, for a reader in JupyterLab.

Its runs are a study of their own, so what a report shows is never changed by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from trainspeed import notebook, plots
from trainspeed.comparison import Verdict, verdict_between
from trainspeed.conv2d_trial import AnyTrial
from trainspeed.errors import UserError
from trainspeed.front_page import Front
from trainspeed.recipe_switches import WITH
from trainspeed.run import Run, Status
from trainspeed.schedule import Part
from trainspeed.session import current
from trainspeed.study import Measured, measure
from trainspeed.theme import show
from trainspeed.trial import check_name

STUDY = "explore"
QUESTION = "What does this change do?"


@dataclass(frozen=True)
class Changed:
    """What a change did.

    Attributes:
        verdict: None in a report, where nothing is measured for it, and where one of the two failed.
        runs: Of both.
    """

    verdict: Verdict | None
    runs: tuple[Run, ...] = ()


def trial_like(measured: Measured | Front, **wanted: Any) -> AnyTrial:
    """Return the first trial of a study that ended well and has these fields.

    In a report, where nothing is changed, any trial will do: not every report has the one that is named.

    Raises:
        UserError: There is none, or no such field.
    """
    if current().in_report and measured.runs:
        return measured.runs[0].trial.without_seed()
    trials = list(dict.fromkeys(r.trial.without_seed() for r in measured.runs if r.status == Status.OK))
    if not trials:
        raise UserError("no run of this notebook gave a result: there is nothing to change.")
    for name in wanted:
        check_name("field", name, [field.name for field in fields(trials[0])])
    found = [t for t in trials if all(getattr(t, name) == value for name, value in wanted.items())]
    if not found:
        told = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        raise UserError(f"no trial of this notebook with {told} gave a result.")
    return found[0]


def change(
    trial: AnyTrial, *, blocks: int = 6, interval_s: float = 0.5, timeout_s: float = 300.0, **changes: Any
) -> Changed:
    """Measure a trial and the same with some fields changed, in paired blocks, and return the verdict.

    In a report nothing is measured: these cells wait for a reader.

    Args:
        blocks: 6 or more give an interval.
        changes: Fields of the trial and what they become, such as `batch_size=64`.
    Raises:
        UserError: No such field, a value that cannot be, or nothing changed.
    """
    if current().in_report:
        return Changed(None)
    if not changes:
        raise UserError("nothing to change: name a field and its new value, such as batch_size=64.")
    for name in changes:
        check_name("field", name, [field.name for field in fields(trial)])
    changed = replace(trial, **changes)
    if changed == trial:
        raise UserError(f"the trial has {', '.join(changes)} already: choose another value.")
    part = Part(trials=(trial, changed), blocks=blocks, factors=tuple(changes))
    measured = measure(STUDY, part, interval_s=interval_s, timeout_s=timeout_s, accuracy_blocks=blocks)
    arms = [_of(measured.runs, arm) for arm in (trial, changed)]
    verdict = verdict_between(*arms, _factor(changes), QUESTION) if all(arms) else None
    return Changed(verdict, measured.runs)


def tell(changed: Changed) -> None:
    """Show what a change did: a sentence and the chart; the reasons where a run failed."""
    failed = {f"{run.status}: {run.reason}" for run in changed.runs if run.status != Status.OK}
    if changed.verdict is None or changed.verdict.speedup is None:
        why = sorted(failed) or ["Not measured in a report: open this notebook with `make lab` and run it."]
        notebook.say(why)
        return
    notebook.say([changed.verdict.sentence, *sorted(failed)])
    show(plots.plot_speedups([changed.verdict]), alt="Speed-up of the changed trial with its interval.")


def _of(runs: Sequence[Run], trial: AnyTrial) -> list[Run]:
    return [run for run in runs if run.trial.without_seed() == trial.without_seed()]


def _factor(changes: dict[str, Any]) -> str:
    """The field that names the change: of strategy and devices the devices."""
    for factor, names in WITH.items():
        if factor in changes and set(changes) <= set(names):
            return factor
    return next(iter(changes))
