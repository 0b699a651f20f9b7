"""What a search has to go by: the plain trial, the switches, and their runs; and groups of arms to run next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.errors import UserError
from trainspeed.core.factors import TRAINING
from trainspeed.core.levers.host import HALF_THREADS, ONE_THREAD
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.trial import Trial
from trainspeed.search.arms import Arm, Ran, arms_of
from trainspeed.search.switch import Set, Switch, combined

FEWER_THREADS = {ONE_THREAD, HALF_THREADS}  # than a plain script has


@dataclass(frozen=True)
class Known:
    """A plain trial, the switches that may be on, and the runs so far.

    Attributes:
        start: Its data set may be "auto", and the runs then name the one that was used.
        switches: All that a recipe may have.
        runs: Of any search, as far as they have been measured.
        slow_ways: What else may be on in a run: measured by itself, or because a switch needs it, and never a part of a
            recipe by itself.
    """

    start: Trial
    switches: Set
    runs: Sequence[Run] = ()
    slow_ways: Set = ()

    @cached_property
    def ran(self) -> tuple[Ran, ...]:
        """The runs of this search, the last one where one was repeated."""
        free = {name for switch in self._all for name, _ in switch.fields}
        free |= {other for name in free if name in TRAINING for other in TRAINING[name].fields}
        free |= {"seed", "fold", "levers"} | ({"dataset"} if self.start.dataset == "auto" else set())
        same = [(name, value) for name, value in self.start.as_dict().items() if name not in free]
        own = (
            run
            for run in self.runs
            if isinstance(run.trial, Trial) and all(getattr(run.trial, name) == value for name, value in same)
        )
        ran = (Ran(run, self.on_in(run.trial)) for run in {run.key: run for run in own}.values())
        return tuple(one for one in ran if self._has_nothing_else(one))

    @property
    def start_as_run(self) -> Trial:
        """The plain trial with the data set that its runs name; as it is where there is none."""
        return replace(self.start, dataset=self.ran[0].run.trial.dataset) if self.ran else self.start

    def _has_nothing_else(self, ran: Ran) -> bool:
        """Whether a run's trial is the plain one with its switches and no more: an older search may have had others."""
        if ran.on not in self._alike:
            self._alike[ran.on] = combined(self.start, ran.on)
        trial, alike = ran.run.trial, self._alike[ran.on]
        return trial.levers == alike.levers and all(
            getattr(trial, name) == getattr(alike, name) for name in self._switched
        )

    @cached_property
    def _alike(self) -> dict[frozenset[Switch], Trial]:
        return {}

    @cached_property
    def _switched(self) -> tuple[str, ...]:
        """The fields of a trial that a switch may change."""
        return tuple({name for switch in self._all for name, _ in switch.fields})

    def of(self, *labels: str) -> list[Ran]:
        """Return the runs with one of these labels, or one that begins so where it ends with ": "."""
        begins = tuple(label for label in labels if label.endswith(": "))
        return [r for r in self.ran if r.run.label in labels or (begins and r.run.label.startswith(begins))]

    def arms(self, *labels: str) -> list[Arm]:
        """Return the arms of these labels, but for looks and races that others spoiled: see `arms_of`.

        What has fewer threads than the plain trial tells nothing beside others there: one thread looked 1.2 times as
        fast as two, of which one had no core.
        """
        return [arm for arm in arms_of(self.of(*labels)) if not self._is_spoiled(arm)]

    def _is_spoiled(self, arm: Arm) -> bool:
        alone = arm.run.role in (Role.FEASIBLE, Role.RACE)
        fewer = FEWER_THREADS & {*arm.run.trial.levers} - {*self.start.levers}
        return alone and arm.disturbed and bool(fewer)

    @cached_property
    def _alone(self) -> list[Arm]:
        """The arms of all looks and races."""
        return arms_of(self.of(Role.FEASIBLE, Role.RACE))

    def spoiled_seeds(self, on: frozenset[Switch]) -> set[int]:
        """Return the seeds of looks at what is on that others spoiled."""
        own = [arm for arm in self._alone if arm.on == on and arm.run.role is Role.FEASIBLE]
        return {arm.run.trial.seed for arm in own if self._is_spoiled(arm)}

    def is_spoiled(self, switch: Switch) -> bool:
        """Whether others spoiled each look at a switch alone, and each race."""
        on = self.on_with([switch])
        spoiled = [self._is_spoiled(arm) for arm in self._alone if arm.on == on]
        return bool(spoiled) and all(spoiled)

    def on_in(self, trial: Trial) -> frozenset[Switch]:
        """Return the switches that are on in a trial, slow ways among them."""
        return frozenset(switch for switch in self._all if switch.is_on(trial))

    def on_with(self, switches: Iterable[Switch]) -> frozenset[Switch]:
        """Return the switches that are on where these are switched on: themselves, and what they come with."""
        asked = tuple(switches)
        if asked not in self._on:
            self._on[asked] = self.on_in(combined(self.start, asked))
        return self._on[asked]

    @property
    def _all(self) -> Set:
        return self.switches + self.slow_ways

    @cached_property
    def _on(self) -> dict[Set, frozenset[Switch]]:
        return {}


@dataclass(frozen=True, kw_only=True)
class ArmGroup:
    """Arms that take turns.

    Attributes:
        label: See `Role`.
        seed: Of the trials; each block adds its number.
        arms: What is on in each.
        blocks: How often.
        limit_s: See `TrialSet`.
    """

    label: str
    seed: int
    arms: tuple[Set, ...]
    blocks: int = 1
    limit_s: float | None = None

    def trials(self, start: Trial) -> tuple[Trial, ...]:
        """Return the trials of the arms that can be: each once."""
        found = []
        for arm in self.arms:
            try:
                found.append(replace(combined(start, arm), seed=self.seed))
            except UserError:
                continue
        return tuple(dict.fromkeys(found))

    def trial_set(self, start: Trial) -> TrialSet:
        """Return the group as a plan has it."""
        trials = self.trials(start)
        controls = (
            trials[:1] if self.label == Role.RECIPE else ()
        )  # the plain trial: what noise does to a claim
        return TrialSet(
            trials=trials,
            blocks=self.blocks,
            label=self.label,
            controls=controls,
            factors=_differing(trials),
            limit_s=self.limit_s,
        )

    def left(self, known: Known, asked: Collection[tuple[str, Trial]]) -> bool:
        """Whether there is something of it that was neither run nor asked for before.

        Args:
            asked: (label, trial) of what was asked for in this session: what then did not run, never will.
        """
        trials = self.trials(known.start)
        if len(trials) < 2 or all((self.label, trial) in asked for trial in trials):
            return False
        own = known.of(self.label)
        return any(self._lacks(trial, own, known) for trial in trials)

    def _lacks(self, trial: Trial, own: Sequence[Ran], known: Known) -> bool:
        on = known.on_in(trial)
        alike = [r.run for r in own if r.on == on]
        if any(run.is_final for run in alike):
            return False
        seeds = range(self.seed, self.seed + self.blocks)
        return (
            len({r.trial.seed for r in alike if r.status is Status.OK and r.trial.seed in seeds})
            < self.blocks
        )


def _differing(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the names of the fields in which trials differ."""
    first, *others = (trial.as_dict() for trial in trials)
    return tuple(name for name, value in first.items() if any(other[name] != value for other in others))
