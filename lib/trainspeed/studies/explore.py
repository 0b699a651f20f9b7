"""Change one argument of a plan, measure, see: the last cells of every notebook, for a reader in JupyterLab.

Its runs are a study of their own, so they never change what a report shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from trainspeed.conduct.context import current
from trainspeed.conduct.machine import with_data_sets
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.conduct.study import measure
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError, check_name
from trainspeed.core.format import listed
from trainspeed.core.levers.lever import Setting
from trainspeed.core.levers.registry import parse_levers
from trainspeed.core.run import Status
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import Verdict, verdict_between
from trainspeed.show import forest, notebook
from trainspeed.show.theme import show

STUDY = "explore"
QUESTION = "What does this change do?"
NOT_IN_A_REPORT = "Not measured in a report: open this notebook with `make lab` and run it."


@dataclass(frozen=True)
class Explored:
    """What a change of a plan did.

    Attributes:
        verdicts: One for each trial that changed, against the trial that it was before.
        runs: Those of both plans; None in a report, where nothing is measured.
    """

    verdicts: tuple[Verdict, ...] = ()
    runs: Measured | None = None

    def __repr__(self) -> str:
        return "\n".join(map(str, [*self.verdicts, NOT_IN_A_REPORT if self.runs is None else self.runs]))


@dataclass(frozen=True, kw_only=True)
class TrialPlan(Plan):
    """Trials whose fields can be changed."""

    core: TrialSet

    def change(self, **fields: Any) -> TrialPlan:
        """Return the plan of the trials with these fields changed in each.

        Levers are pulled beside those that a trial has: it may train on all cores by one. `(name, None)` leaves one
        out.
        """
        return trial_plan(*(_with_fields(trial, fields) for trial in self.core))


def trial_plan(*trials: AnyTrial) -> TrialPlan:
    """Return a plan of these trials; several are one measuring, that goes on as one after an interrupt."""
    return TrialPlan(core=TrialSet(trials=tuple(trial.spec for trial in trials), blocks=1))


def _with_fields(trial: AnyTrial, fields: Mapping[str, Any]) -> AnyTrial:
    for name in fields:
        check_name("field", name, list(trial.as_dict()))
    levers = {"levers": _pulled(trial.levers, fields["levers"])} if "levers" in fields else {}
    return replace(trial, **{**fields, **levers})


def _pulled(own: Iterable[Setting], given: Any) -> tuple[Setting, ...]:
    """Return the levers of a trial with others on top, or without those whose value is None."""
    each = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    left = [one for one in each if isinstance(one, tuple | list) and len(one) == 2 and one[1] is None]
    levers = dict(own)
    for name, _ in left:
        check_name("lever of the trial", name, [*dict(own)])
        levers.pop(name, None)
    return tuple((levers | dict(parse_levers(one for one in each if one not in left))).items())


def narrowed(plan: Plan, **parameters: Any) -> Plan:
    """Return the plan with these parameters, so that less of it is measured; in a report the plan itself."""
    return plan if current().in_report else plan.change(**parameters)


def change(
    plan: Plan, *, blocks: int = 6, interval_s: float = 0.5, timeout_s: float = 300.0, **parameters: Any
) -> Explored:
    """Measure the core trials of a plan and of the same plan with something changed, in paired blocks.

    In a report nothing is measured: these cells wait for a reader.

    Args:
        blocks: 6 or more give an interval.
        parameters: Those of the plan to change, with their new values, such as `batch_sizes=[64]`.
    Raises:
        UserError: No such parameter, an impossible value, or nothing that a trial can be compared with.
    """
    if current().in_report:
        return Explored()
    if not isinstance(getattr(plan, "core", None), TrialSet):
        raise UserError(
            "a search has no trials whose changed selves could be measured beside them: take its plain trials, "
            "explore.trial_plan(*plan.starts.values()), or one of them."
        )
    pairs = changed_pairs(plan, plan.change(**parameters))
    told = [factor_of(*pair) for pair in pairs]
    factors = tuple(dict.fromkeys(name for pair in pairs for name in _differing(*pair)))
    trials = tuple(dict.fromkeys(trial for pair in pairs for trial in pair))
    both = TrialSet(trials=trials, blocks=blocks, factors=factors)
    whole = Plan(others=(both,), seed=plan.seed, accuracy_blocks=blocks, auto=plan.auto)
    runs = measure(STUDY, whole, interval_s=interval_s, timeout_s=timeout_s)
    of = runs.by_trial()
    verdicts = [
        verdict_between(of[before.spec], of[after.spec], factor, QUESTION)
        for (before, after), factor in zip(pairs, told, strict=True)
        if before.spec in of and after.spec in of
    ]
    return Explored(tuple(verdict for verdict in verdicts if verdict.speedup is not None), runs)


def changed_pairs(plan: Plan, changed: Plan) -> list[tuple[AnyTrial, AnyTrial]]:
    """Return each core trial of a plan and the trial that the change made of it, if that is another one.

    Both as they run: with the data set that "auto" stands for. Where one has a larger epoch for its larger batch, both
    have it: an epoch is compared with one of as many images.

    Raises:
        UserError: Nothing changed, or the two plans have different numbers of trials.
    """
    before, after = (tuple(with_data_sets(one.core, auto=one.auto)) for one in (plan, changed))
    if len(before) != len(after):
        raise UserError(
            f"the change makes {len(after)} trials of {len(before)}: change a list for one of equal length, "
            "so that each trial has one to be compared with."
        )
    pairs = [_equal_epochs(a, b) for a, b in zip(before, after, strict=True) if a.spec != b.spec]
    if not pairs:
        raise UserError("the change makes the same trials: choose another value.")
    return pairs


def show_change(explored: Explored) -> None:
    """Show what a change did: a sentence for each trial and the chart; the reasons where a run failed."""
    if explored.runs is None:
        notebook.show_sentences([NOT_IN_A_REPORT])
        return
    failed = {f"{run.status}: {run.reason}" for run in explored.runs if run.status is not Status.OK}
    notebook.show_sentences([*(verdict.sentence for verdict in explored.verdicts), *sorted(failed)])
    if explored.verdicts:
        show(forest.plot_speedups(explored.verdicts), alt="Speed-up of each changed trial with its interval.")


def _differing(before: AnyTrial, after: AnyTrial) -> list[str]:
    a, b = before.spec, after.spec
    return [field.name for field in fields(a) if getattr(a, field.name) != getattr(b, field.name)]


def _equal_epochs(before: AnyTrial, after: AnyTrial) -> tuple[AnyTrial, AnyTrial]:
    if {"batch_size", "images_per_epoch"} <= {*_differing(before, after)}:
        images = max(before.images_per_epoch, after.images_per_epoch)
        return replace(before, images_per_epoch=images), replace(after, images_per_epoch=images)
    return before, after


def factor_of(before: AnyTrial, after: AnyTrial) -> str:
    """Return the field that names a change: the devices, for example, of strategy and devices.

    Raises:
        UserError: More than one thing has changed, so that a verdict would say of one what two have done.
    """
    names = _differing(before, after)
    for row in map(before.factor, names):
        beside = {*row.fields, *row.frees(before, after)}
        grows = "batch_size" in names and row.name == "devices"
        if grows and before.batch_size * after.devices == after.batch_size * before.devices:
            beside.add("batch_size")  # of all together: that of each device is the same
        if beside.issuperset(names):
            return row.name
    raise UserError(f"this changes {listed(names)} together: change one of them at a time.")
