"""The recipe: which switches, taken one after another and measured together, are worth it.

Pure functions on runs. The search is replayed from its runs, so it can be resumed and rendered; it says which
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
from trainspeed.core.check import check_name
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError
from trainspeed.core.run import FINAL, Role, Run, Status
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

RECIPE_SEED_OFFSET = 100_000  # added to the seed of runs that confirm: no block of the search had it


class Decision(StrEnum):
    """What became of a switch."""

    KEPT = "kept"
    NOT_FASTER = "not faster in combination"
    UNDECIDED = "undecided in combination: measure more blocks"
    HURTS = "hurts accuracy"
    FAILED = "not measured here"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A switch, measured on top of those that were kept before.

    Attributes:
        before, after: Trials without seed.
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
        start: The plain trial; its data set may be "auto", which the runs name.
        switches: In the order in which they are tried, one for each factor.
        blocks: Of each step, and of the confirmation.
        runs: Of all searches, as far as they were measured.
        margin_points: A switch is not kept where the test accuracy is lower for sure (the whole interval below 0)
            and by more than this (the median).
    """

    start: Trial
    switches: Sequence[Switch]
    blocks: int
    runs: Sequence[Run] = ()
    margin_points: float = ACCURACY_MARGIN

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
                wanted = TrialSet(trials=(now, after), blocks=self.blocks, label=label, factors=factors)
                return steps, wanted
            steps.append(step)
            now = after if step.decision is Decision.KEPT else now
        return steps, None

    def _decided(self, label: str, switch: Switch, before: Trial, after: Trial) -> Step | None:
        """Return what became of a switch; None while runs of it are missing."""
        with_it, without = self._of(label, after), self._of(label, before)
        failed = [run for run in (*with_it, *without) if run.status != Status.OK]
        final = any(run.status in FINAL for run in failed)
        if not final and not all(_complete(arm, self.blocks) for arm in (with_it, without)):
            return None
        step = Step(switch=switch, before=before, after=after, decision=Decision.FAILED)
        if failed:
            return replace(step, reason=f"{failed[0].status}: {failed[0].reason}")
        time, accuracy = judge_runs(without, with_it, "time"), self._accuracy(without, with_it)
        others = {Outcome.FASTER: Decision.KEPT, Outcome.UNDECIDED: Decision.UNDECIDED}
        decision = others.get(time.outcome, Decision.NOT_FASTER)
        if decision is Decision.KEPT and self._hurts(accuracy):
            decision = Decision.HURTS
        return replace(step, decision=decision, time=time, accuracy=accuracy)

    def _accuracy(self, before: Sequence[Run], after: Sequence[Run]) -> Judgement | None:
        return judge_runs(before, after, "accuracy", self.margin_points) if _learned(before) else None

    def _hurts(self, accuracy: Judgement | None) -> bool:
        """Whether accuracy is lost for sure, and more of it than the margin.

        To wait until the whole interval lies below the margin would keep a loss of 3 points that varies by 1.
        """
        if accuracy is None or accuracy.high is None:
            return False
        return accuracy.high < 0 and accuracy.speedup < -self.margin_points

    def _of(self, label: str, trial: Trial) -> list[Run]:
        """Return the runs of a trial, the last one of each block: a resumed session repeats what crashed."""
        wanted = self._named(trial)
        found = (run for run in self.runs if run.label == label and self._named(run.trial) == wanted)
        return list({run.block: run for run in found}.values())

    def _named(self, trial: AnyTrial) -> AnyTrial:
        """The same in every block; where the plain trial leaves its data set open, so is the runs'."""
        is_open = trial.dataset and self.start.dataset == "auto"
        return replace(trial.spec, dataset="auto") if is_open else trial.spec

    @property
    def steps(self) -> list[Step]:
        """The switches that were decided, in the order in which they were tried."""
        return self._replayed[0]

    @property
    def kept(self) -> list[Step]:
        """Those of them that kept their switch."""
        return [step for step in self.steps if step.decision is Decision.KEPT]

    @property
    def chain(self) -> list[Trial]:
        """The plain trial and each with one more of the switches that were kept."""
        return [self.start, *(step.after for step in self.kept)]

    @property
    def confirming(self) -> TrialSet | None:
        """The whole chain in fresh blocks; None where nothing was kept, or while the search goes on."""
        if self._replayed[1] or len(self.chain) < 2:
            return None
        fresh = tuple(replace(trial, seed=trial.seed + RECIPE_SEED_OFFSET) for trial in self.chain)
        return TrialSet(
            trials=fresh, blocks=self.blocks, label=Role.RECIPE, factors=_all_fields(self.switches)
        )

    def wanted(self) -> list[TrialSet]:
        """Return what to measure next, with what of it is there already; nothing when the search is over."""
        if step := self._replayed[1]:
            return [step]
        complete = all(_complete(arm, self.blocks) for arm in self._chained)
        return [] if complete or self.confirming is None else [self.confirming]

    @property
    def _chained(self) -> list[list[Run]]:
        """The runs of each trial of the chain in the fresh blocks."""
        return [self._of(Role.RECIPE, trial) for trial in self.chain]

    @property
    def failed(self) -> Run | None:
        """A run of the fresh blocks that gave no result; None where there is none."""
        return next((run for arm in self._chained for run in arm if run.status != Status.OK), None)

    def total(self, number: int | None = None, quantity: str = "time") -> Judgement | None:
        """Return all (or the first `number`) kept switches against the plain trial, in the fresh blocks."""
        arms = self._chained
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
    """Return a search per framework and model, that no run has taken anywhere yet.

    Args:
        switches: Factors that are tried where a verdict calls them faster.
        try_also: Factors that are tried where no verdict does.
        devices: How many there are; verdicts on more are left out.
        fields: Of the plain trial; see `switches.plain_trial`. The data set "auto" may stay open.
    Raises:
        UserError: An unknown name, or a plain trial that cannot be.
    """
    for name in switches:
        check_name("factor in switches", name, switchable())
    if not margin_points >= 0:
        raise UserError("accuracy_margin", margin_points, "must be 0 points or more.")
    found = []
    for framework, model in product(dict.fromkeys(frameworks), dict.fromkeys(models)):
        start = plain_trial(framework, model, **fields)
        won = [s for s in switches_that_won(verdicts, start, devices) if s.factor in switches]
        untested = untested_switches(try_also, start, won, devices)
        found.append(Search(start, (*won, *untested), blocks, margin_points=margin_points))
    return found


def wanted(searches: Iterable[Search], runs: Sequence[Run]) -> list[TrialSet]:
    """Return what to measure next for all searches, of the runs so far: `more` of `study.measure`."""
    return [part for search in continued(searches, runs) for part in search.wanted()]


def continued(searches: Iterable[Search], runs: Sequence[Run]) -> list[Search]:
    """Return the searches as far as these runs take them."""
    return [replace(search, runs=tuple(runs)) for search in searches]


def _all_fields(switches: Sequence[Switch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for switch in switches for name, _ in switch.fields))


def _complete(runs: Sequence[Run], blocks: int) -> bool:
    """Whether nothing more will come: every block ran, or the trial ended in a way that ends it for good."""
    return len(runs) >= blocks or any(run.status in FINAL for run in runs)


def _learned(runs: Iterable[Run]) -> bool:
    """Whether the model knows more than guessing, in enough blocks for an interval."""
    known = [run for run in runs if run.test_accuracy is not None]
    return len(known) >= MIN_BLOCKS and median(r.test_accuracy for r in known) >= known[0].learned_from
