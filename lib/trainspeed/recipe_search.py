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
from typing import Any

from trainspeed.comparison import Verdict, judged
from trainspeed.errors import UserError
from trainspeed.recipe_switches import FACTORS, Switch, plain, switches_that_won, tried_untold
from trainspeed.run import Run, Status
from trainspeed.schedule import Part
from trainspeed.trial import Trial, check_name
from trainspeed.verdict import ACCURACY_MARGIN, LEAST_BLOCKS, Judgement, Outcome

FRESH = 100_000  # added to the seed of runs that confirm: no block of the search had it
CHAIN = "recipe"  # label of the runs that confirm; those of the search have a number behind it
LEARNED_POINTS = 20.0  # test accuracy in %, of ten classes, from which on a model has learned something


class Decision(StrEnum):
    """What became of a switch."""

    KEPT = "kept"
    NOT_FASTER = "not faster in combination"
    HURTS = "hurts accuracy"
    FAILED = "not measured here"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A switch, measured on top of those that were kept before.

    Attributes:
        before, after: Trials without seed.
        time: Speed-up of `after` over `before`.
        accuracy: Difference in points; None where no model of the two had learned anything.
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
        switches: In the order in which they are tried.
        blocks: Of each step, and of the confirmation.
        runs: Of all searches, as far as they were measured.
        margin_points: A switch whose test accuracy is worse by more is not kept.
    """

    start: Trial
    switches: Sequence[Switch]
    blocks: int
    runs: Sequence[Run] = ()
    margin_points: float = ACCURACY_MARGIN

    @cached_property
    def _replayed(self) -> tuple[list[Step], Part | None]:
        """The steps that are decided, and the runs that the next one wants."""
        steps, now = [], self.start
        for number, switch in enumerate(self.switches, 1):
            label = f"{CHAIN} {number}"
            try:
                after = switch.on(now)
            except UserError as problem:
                failed = {"decision": Decision.FAILED, "reason": str(problem)}
                steps.append(Step(switch=switch, before=now, after=now, **failed))
                continue
            step = self._decided(label, switch, now, after)
            if step is None:
                factors = tuple(name for name, _ in switch.fields)
                wanted = Part(trials=(now, after), blocks=self.blocks, label=label, factors=factors)
                return steps, wanted
            steps.append(step)
            now = after if step.decision is Decision.KEPT else now
        return steps, None

    def _decided(self, label: str, switch: Switch, before: Trial, after: Trial) -> Step | None:
        """Return what became of a switch; None while runs of it are missing."""
        of = {trial: self._of(label, trial) for trial in (before, after)}
        if not all(_complete(runs, self.blocks) for runs in of.values()):
            return None
        about = {"switch": switch, "before": before, "after": after}
        failed = next((r for t in (after, before) for r in of[t] if r.status != Status.OK), None)
        if failed:
            reason = f"{failed.status}: {failed.reason}"
            return Step(**about, decision=Decision.FAILED, reason=reason)
        time = judged(of[before], of[after], "time")
        accuracy = judged(of[before], of[after], "accuracy") if _learned(of[before]) else None
        decision = Decision.KEPT if time.outcome is Outcome.FASTER else Decision.NOT_FASTER
        if decision is Decision.KEPT and self._hurts(accuracy):
            decision = Decision.HURTS
        return Step(**about, decision=decision, time=time, accuracy=accuracy)

    def _hurts(self, accuracy: Judgement | None) -> bool:
        """Whether the whole interval lies below the margin."""
        return accuracy is not None and accuracy.high is not None and accuracy.high < -self.margin_points

    def _of(self, label: str, trial: Trial) -> list[Run]:
        return [r for r in self.runs if r.label == label and r.trial.without_seed() == trial.without_seed()]

    @property
    def steps(self) -> list[Step]:
        """The switches that were decided, in the order in which they were tried."""
        return self._replayed[0]

    @property
    def chain(self) -> list[Trial]:
        """The plain trial and each with one more of the switches that were kept."""
        kept = [step.after for step in self.steps if step.decision is Decision.KEPT]
        return [self.start, *kept]

    @property
    def confirming(self) -> Part | None:
        """The whole chain in fresh blocks; None where nothing was kept, or while the search goes on."""
        if self._replayed[1] or len(self.chain) < 2:
            return None
        fresh = tuple(replace(trial, seed=trial.seed + FRESH) for trial in self.chain)
        return Part(trials=fresh, blocks=self.blocks, label=CHAIN, factors=_all_fields(self.switches))

    def wanted(self) -> list[Part]:
        """Return what to measure next; nothing when it is over. Runs that are there already are left out."""
        part = self._replayed[1] or self.confirming
        return [part] if part else []

    def total(self, number: int | None = None, quantity: str = "time") -> Judgement | None:
        """Return all (or the first `number`) kept switches against the plain trial, in the fresh blocks."""
        arms = [self._of(CHAIN, trial) for trial in self.chain]
        if len(arms) < 2 or not arms[0]:
            return None
        last = arms[-1 if number is None else number]
        if quantity == "accuracy" and not _learned(arms[0]):
            return None
        return judged(arms[0], last, quantity)


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
        devices: How many there are.
        fields: Of the plain trial; see `recipe_switches.plain`.
    Raises:
        UserError: An unknown name, or a plain trial that cannot be.
    """
    for name in switches:
        check_name("factor in switches", name, FACTORS)
    if not margin_points >= 0:
        raise UserError(f"accuracy_margin (={margin_points!r}) must be 0 points or more.")
    found = []
    for framework, model in product(frameworks, models):
        start = plain(framework, model, **fields)
        won = [switch for switch in switches_that_won(verdicts, start) if switch.factor in switches]
        untold = tried_untold(try_also, start, won, devices)
        found.append(Search(start, (*won, *untold), blocks, margin_points=margin_points))
    return found


def wanted(searches: Iterable[Search], runs: Sequence[Run]) -> list[Part]:
    """Return what to measure next for all searches, of the runs so far."""
    return [part for search in continued(searches, runs) for part in search.wanted()]


def continued(searches: Iterable[Search], runs: Sequence[Run]) -> list[Search]:
    """Return the searches as far as these runs take them."""
    return [replace(search, runs=tuple(runs)) for search in searches]


def _all_fields(switches: Sequence[Switch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for switch in switches for name, _ in switch.fields))


def _complete(runs: Sequence[Run], blocks: int) -> bool:
    """Whether nothing more will come: every block ran, or the trial ended in a way that ends it for good."""
    return len({run.block for run in runs}) >= blocks or any(run.status != Status.OK for run in runs)


def _learned(runs: Iterable[Run]) -> bool:
    accuracies = [run.test_accuracy for run in runs if run.test_accuracy is not None]
    return (
        len(accuracies) >= LEAST_BLOCKS and 100 * sorted(accuracies)[len(accuracies) // 2] >= LEARNED_POINTS
    )
