"""The recipe: which switches, taken one after another and measured together, are worth it.

Pure functions on runs. The search is replayed from its runs, so it can be resumed and drawn again; it says which
runs it wants next, and measures none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from statistics import median
from typing import Any

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError, check_name
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict, judge_runs
from trainspeed.judge.verdict import ACCURACY_MARGIN, MIN_BLOCKS, Judgement, Outcome
from trainspeed.studies.summary.switches import (
    Switch,
    plain_trial,
    switchable,
    switches_that_won,
    untested_switches,
)

RECIPE_SEED_OFFSET = 100_000  # added to the seed of the fresh blocks, so that no block of the search had it


class Decision(StrEnum):
    """What became of a switch."""

    KEPT = "kept"
    KEPT_UNCHECKED = "kept, accuracy not checked"
    KEPT_OPEN = "kept, accuracy undecided"
    NOT_FASTER = "not faster in combination"
    UNDECIDED = "undecided in combination: measure more blocks"
    HURTS = "hurts accuracy"
    FEWER_STEPS_HURT = "hurts accuracy, in fewer steps at the same learning rate"
    FEWER_STEPS = "not kept: fewer steps, and accuracy not checked"
    FAILED = "not measured here"

    @property
    def keeps(self) -> bool:
        """Whether the switch stays on."""
        return self in (Decision.KEPT, Decision.KEPT_UNCHECKED, Decision.KEPT_OPEN)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A switch, measured on top of those that were kept before.

    Attributes:
        before, after: Trials without a seed.
        time: Speed-up of `after` over `before`.
        accuracy: Difference in points; None where the model of `before` had learned nothing that could be lost.
        reason: Why it was not measured; None where it was.
    """

    switch: Switch
    before: Trial
    after: Trial
    decision: Decision
    time: Judgement | None = None
    accuracy: Judgement | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Search:
    """The search for one framework and model, as far as its runs go.

    Attributes:
        start: The plain trial; its data set may be "auto", and the runs then name the one that was used.
        switches: In the order in which they are tried, one for each factor.
        blocks: How often each step runs, and the confirmation.
        compared: Whether any study has compared settings of this framework often enough to find one faster.
        runs: Those of all searches, as far as they have been measured.
        margin_points: A switch is not kept where the test accuracy is lower for sure (the whole interval below 0)
            and by more than this (the median).
    """

    start: Trial
    switches: Sequence[Switch]
    blocks: int
    runs: Sequence[Run] = ()
    margin_points: float = ACCURACY_MARGIN
    compared: bool = True

    @cached_property
    def _replayed(self) -> tuple[list[Step], TrialSet | None]:
        """The steps that are decided, and the runs that the next one wants."""
        steps, now = [], self.start
        for switch in self.switches:
            label = f"{Role.RECIPE_STEP}{switch.factor}"
            try:
                after = switch.on(now)
            except UserError as problem:
                reason, failed = str(problem), Decision.FAILED
                steps.append(Step(switch=switch, before=now, after=now, decision=failed, reason=reason))
                continue
            step = self._decided(label, switch, now, after)
            if step is None:
                factors = tuple(name for name, _ in switch.fields)
                return steps, TrialSet(trials=(now, after), blocks=self.blocks, label=label, factors=factors)
            steps.append(step)
            now = after if step.decision.keeps else now
        return steps, None

    def _decided(self, label: str, switch: Switch, before: Trial, after: Trial) -> Step | None:
        """Return what became of a switch; None while runs of it are missing."""
        with_it, without = self._runs_of(label, after), self._runs_of(label, before)
        failed = [run for run in (*with_it, *without) if run.status != Status.OK]
        final = any(run.is_final for run in failed)
        if not final and not all(_complete(arm, self.blocks) for arm in (with_it, without)):
            return None
        step = Step(switch=switch, before=before, after=after, decision=Decision.FAILED)
        if failed:
            return replace(step, reason=f"{failed[0].status}: {failed[0].reason}")
        time, accuracy = judge_runs(without, with_it, "time"), self._accuracy(without, with_it)
        step = replace(step, time=time, accuracy=accuracy)
        if time.outcome is not Outcome.FASTER:
            open_ = time.outcome is Outcome.UNDECIDED
            return replace(step, decision=Decision.UNDECIDED if open_ else Decision.NOT_FASTER)
        return replace(step, decision=self._by_accuracy(step))

    def _by_accuracy(self, step: Step) -> Decision:
        """Return what becomes of a switch that is faster.

        One that leaves the steps as they are is kept where accuracy cannot be compared. One that trains fewer of them,
        such as a larger batch, is not: there is no reason to think that they teach as much.
        """
        accuracy, fewer_steps = step.accuracy, step.after.steps_per_epoch < step.before.steps_per_epoch
        if accuracy is None or accuracy.low is None:
            return Decision.FEWER_STEPS if fewer_steps else Decision.KEPT_UNCHECKED
        # To wait until the whole interval lies below the margin would keep a loss of 3 points that varies by 1.
        if accuracy.high < 0 and accuracy.speedup < -self.margin_points:
            return Decision.FEWER_STEPS_HURT if fewer_steps else Decision.HURTS
        return Decision.KEPT_OPEN if accuracy.outcome is Outcome.UNDECIDED else Decision.KEPT

    def _accuracy(self, before: Sequence[Run], after: Sequence[Run]) -> Judgement | None:
        return judge_runs(before, after, "accuracy", self.margin_points) if _learned(before) else None

    def _runs_of(self, label: str, trial: Trial) -> list[Run]:
        """Return the runs of a trial, the last one of each block: a resumed session repeats what crashed."""
        wanted = self._same_in_all_blocks(trial)
        own = (r for r in self.runs if r.label == label and self._same_in_all_blocks(r.trial) == wanted)
        return list({run.block: run for run in own}.values())

    def _same_in_all_blocks(self, trial: AnyTrial) -> AnyTrial:
        """Return the trial without its seed; and with an open data set, where the plain trial leaves it open."""
        is_open = trial.dataset and self.start.dataset == "auto"
        return replace(trial.spec, dataset="auto") if is_open else trial.spec

    @property
    def steps(self) -> list[Step]:
        """The switches that were decided, in the order in which they were tried."""
        return self._replayed[0]

    @property
    def kept(self) -> list[Step]:
        """The steps whose switch was kept."""
        return [step for step in self.steps if step.decision.keeps]

    @property
    def chain(self) -> list[Trial]:
        """The plain trial, and then each trial with one more of the kept switches."""
        return [self.start, *(step.after for step in self.kept)]

    @property
    def confirming(self) -> TrialSet | None:
        """The whole chain in fresh blocks; None where nothing was kept, or while the search goes on."""
        if self._replayed[1] or len(self.chain) < 2:
            return None
        fresh = tuple(replace(trial, seed=trial.seed + RECIPE_SEED_OFFSET) for trial in self.chain)
        factors = tuple(dict.fromkeys(name for switch in self.switches for name, _ in switch.fields))
        return TrialSet(trials=fresh, blocks=self.blocks, label=Role.RECIPE, factors=factors)

    def wanted(self) -> list[TrialSet]:
        """Return what to measure next, including what of it has been measured; nothing when the search is over."""
        if step := self._replayed[1]:
            return [step]
        complete = all(_complete(arm, self.blocks) for arm in self._confirmed)
        return [] if complete or self.confirming is None else [self.confirming]

    @property
    def _confirmed(self) -> list[list[Run]]:
        """The runs of each trial of the chain in the fresh blocks."""
        return [self._runs_of(Role.RECIPE, trial) for trial in self.chain]

    @property
    def failed(self) -> Run | None:
        """The first run of the fresh blocks that gave no result; None where all gave one."""
        return next((run for arm in self._confirmed for run in arm if run.status != Status.OK), None)

    def total(self, number: int | None = None, quantity: str = "time") -> Judgement | None:
        """Return how all (or the first `number`) kept switches compare with the plain trial, in the fresh blocks."""
        arms = self._confirmed
        if len(arms) < 2 or not arms[0]:
            return None
        last = arms[-1 if number is None else number]
        return judge_runs(arms[0], last) if quantity == "time" else self._accuracy(arms[0], last)


def searches(
    frameworks: Sequence[str],
    models: Sequence[str],
    verdicts: Sequence[Verdict],
    *,
    switches: Sequence[str],
    try_also: Sequence[str],
    devices: int,
    blocks: int,
    margin_points: float,
    **fields: Any,
) -> list[Search]:
    """Return a search per framework and model, without any runs yet.

    Args:
        switches: Factors that are tried where a verdict calls them faster.
        try_also: Factors that are tried even where no verdict does.
        devices: How many there are; verdicts on more are left out.
        fields: Fields of the plain trial; see `switches.plain_trial`. The data set may stay "auto".
    Raises:
        UserError: An unknown name, or a plain trial that is not possible.
    """
    for name in switches:
        check_name("factor in switches", name, switchable())
    if not margin_points >= 0:
        raise UserError("accuracy_margin", margin_points, "must be 0 points or more.")
    planned = []
    for framework, model in product(dict.fromkeys(frameworks), dict.fromkeys(models)):
        start = plain_trial(framework, model, **fields)
        won = [s for s in switches_that_won(verdicts, start, devices) if s.factor in switches]
        untested = untested_switches(try_also, start, won, devices)
        compared = any(_decides(verdict, framework) for verdict in verdicts)
        search = Search(start, (*won, *untested), blocks, margin_points=margin_points, compared=compared)
        planned.append(search)
    return planned


def _decides(verdict: Verdict, framework: str) -> bool:
    """Return whether a verdict on time is about what is switched in this framework, and has an interval."""
    of_switch = verdict.quantity == "time" and verdict.row.switch
    return bool(of_switch) and verdict.low is not None and verdict.candidate.framework == framework


def wanted(searches: Iterable[Search], runs: Sequence[Run]) -> list[TrialSet]:
    """Return what to measure next for all searches, given the runs so far: `Plan.more`."""
    return [part for search in continued(searches, runs) for part in search.wanted()]


def continued(searches: Iterable[Search], runs: Sequence[Run]) -> list[Search]:
    """Return the searches as far as these runs take them."""
    return [replace(search, runs=tuple(runs)) for search in searches]


def _complete(runs: Sequence[Run], blocks: int) -> bool:
    """Whether no more runs will come: every block ran, or the trial ended in a way that would only repeat itself."""
    return len(runs) >= blocks or any(run.is_final for run in runs)


def _learned(runs: Iterable[Run]) -> bool:
    """Whether the model does better than guessing, in enough blocks for an interval."""
    known = [run for run in runs if run.test_accuracy is not None]
    return len(known) >= MIN_BLOCKS and median(r.test_accuracy for r in known) >= known[0].learned_from
