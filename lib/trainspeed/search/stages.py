"""The stages of a search, replayed from its runs, so that it can be resumed and drawn again.

It says which groups of arms it wants next and measures none. What a stage found is a function of its runs alone; only
how large a stage is depends on the time, and that is in its runs. The time is reckoned anew with every run: so a stage
that has begun stays as it is, and none before it goes on, or what it began with would not be what was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import fmean

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.run import Role, Run
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import ACCURACY_MARGIN, MIN_BLOCKS
from trainspeed.search import confirm, eliminate
from trainspeed.search.claims import Confirmation
from trainspeed.search.design import covers
from trainspeed.search.eliminate import Elimination
from trainspeed.search.feasible import again_groups, alone_fit, alone_groups, feasible, look_groups, looks_had
from trainspeed.search.findings import (
    Estimate,
    Feasible,
    Race,
    Screen,
)
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.race import race, race_groups, rivals
from trainspeed.search.screen import columns_of, screen, screen_groups
from trainspeed.search.sizes import SPARE, TOGETHER_RUNS, Sizes, confirmed_in_time, costs_of, sizes_for
from trainspeed.search.switch import Candidates, Set, Switch, combined
from trainspeed.search.together import Together

FEASIBLE_BLOCKS = 1
OF_ENVIRONMENT = 2  # switches in a screen that are read at import: 4 workers
Asked = Collection[tuple[str, Trial]]


@dataclass(frozen=True)
class Stages:
    """The search for one framework and model, as far as its runs go.

    Attributes:
        start: The plain trial; its data set may be "auto", and the runs then name the one that was used.
        candidates: What there is to try.
        confirm_blocks: Fresh blocks of the confirmation.
        slow_blocks: Blocks in which what a script has already is switched off; 0 for none.
        budget_s: Seconds for the whole search; None for any time. What was measured is told without it.
        margin_points: What of test accuracy may be lost.
        runs: Those of all searches, as far as they have been measured.
    """

    start: Trial
    candidates: Candidates
    confirm_blocks: int = confirm.BLOCKS
    slow_blocks: int = 1
    budget_s: float | None = None
    margin_points: float = ACCURACY_MARGIN
    runs: Sequence[Run] = field(default=(), repr=False)

    @cached_property
    def known(self) -> Known:
        """The runs of this search."""
        return Known(self.start, self.candidates.switches, self.runs, self.candidates.slow_ways)

    @cached_property
    def feasible(self) -> tuple[Feasible, ...]:
        """What was seen of each switch alone."""
        return tuple(feasible(switch, self.known) for switch in self.candidates.switches)

    @cached_property
    def _alone(self) -> dict[Switch, Estimate]:
        found = alone_fit(self.known, self._able)
        return {s: Estimate(switches=(s,), log=found.log[s], se=found.se[s]) for s in found.log}

    @property
    def _able(self) -> Set:
        """The switches that the search goes on with: those that were seen in effect in every run."""
        return tuple(one.switch for one in self.feasible if one.enters)

    @cached_property
    def _rivals(self) -> list[Set]:
        return rivals(self.known, self._able)

    @cached_property
    def races(self) -> tuple[Race, ...]:
        """How switches that exclude each other, or need each other, came off."""
        return tuple(race(self.known, own) for own in self._rivals)

    @cached_property
    def entered(self) -> Set:
        """The switches that enter the screen: they go together, and none needs another one."""
        apart = set(self._apart)
        return tuple(switch for switch in self._winners if switch not in apart)

    @cached_property
    def _winners(self) -> Set:
        """The switches that no race sorted out."""
        raced = {switch for own in self._rivals for switch in own}
        won = {switch for one in self.races for switch in one.entered}
        return tuple(switch for switch in self._able if switch in won or switch not in raced)

    @cached_property
    def _apart(self) -> Set:
        """Of the switches that want a worker of their own all but a few: each more doubles the workers of a screen.

        They come in with the elimination, where nearly all are on in every arm.
        """
        own = [switch for switch in self._winners if switch.of_environment]
        ranked = sorted(own, key=lambda s: -self._alone[s].log if s in self._alone else 0.0)
        return tuple(ranked[OF_ENVIRONMENT:])

    @cached_property
    def _sizes(self) -> Sizes:
        return sizes_for(
            self.known,
            costs_of(self.feasible),
            raced=tuple(switch for own in self._rivals for switch in own),
            entered=self.entered,
            promising=Elimination(self.known, self.entered, self._late).on,
            confirm=self.confirm_blocks,
            budget_s=self.budget_s,
        )

    @cached_property
    def screen(self) -> Screen | None:
        """What the screen says; None where it was not run."""
        return screen(self.known, self._screened, {s: one.log for s, one in self._alone.items()})

    @property
    def _columns(self) -> int:
        """Columns of the screen: of that which has begun, else of the one there is time for; 0 for none."""
        begun = (columns_of(one.run.label) for one in self.known.of(Role.SCREEN))
        return next((number for number in begun if number), self._sizes.columns)

    @property
    def _screened(self) -> Set:
        """The switches that a screen has columns for: the quickest alone, in the registry's order."""
        ranked = sorted(self.entered, key=lambda s: -self._alone[s].log if s in self._alone else 0.0)
        return tuple(switch for switch in self.entered if switch in ranked[: self._columns])

    @cached_property
    def elimination(self) -> Elimination:
        """How far the backward elimination got."""
        return Elimination(self.known, self._screened or self.entered, self._late)

    @property
    def _late(self) -> Set:
        """Switches that need one that entered, and lost against another one by little; and those kept apart."""
        late = [s for s in self._apart if s in self._alone and self._alone[s].log > -self._alone[s].se]
        for one in self.races:
            logs = {estimate.switches[0]: estimate for estimate in one.estimates}
            there = {name for switch in one.entered for name in switch.levers}
            for switch, estimate in logs.items():
                below = [logs[other] for other in logs if other != switch and covers(switch, other)]
                near = any(estimate.log > other.log - estimate.se for other in below)
                stays = bool(switch.needs) and set(switch.needs) <= there and switch not in one.entered
                if near and stays and self._fits((*self.entered, switch)):
                    late.append(switch)
        return tuple(late)

    def _fits(self, switches: Sequence[Switch]) -> bool:
        try:
            combined(self.start, switches)
        except ValueError:
            return False
        return True

    @cached_property
    def promising(self) -> Set:
        """What the elimination leaves on, as far as it goes together."""
        found, best = self.elimination, self.elimination.left
        if found.model is None:
            return best
        if self.together.clash_in(best):
            best = eliminate.best_set(found.model, found.able, eliminate.pays, self.together)
        return self.together.choose(best, self._strongest, found.model.speed)

    @property
    def _confirmable(self) -> Set:
        """What is promising and has time for fresh blocks: better some of it confirmed than all of it not."""
        if self.budget_s is None:
            return self.promising
        costs = costs_of(self.feasible)
        return confirmed_in_time(self.known, costs, self.promising, self.confirm_blocks, self.budget_s)

    @property
    def _strongest(self) -> Set:
        """What the elimination leaves on, whether or not it goes together, the strongest first."""
        found = self.elimination
        return tuple(sorted(found.left, key=lambda s: -found.model.speed((s,)))) if found.model else ()

    @cached_property
    def together(self) -> Together:
        """What all runs say of switches that are on together."""
        return Together(self.known, self.known.ran)

    @cached_property
    def confirmation(self) -> Confirmation | None:
        """What the fresh blocks say."""
        return confirm.read_confirmation(self.known, self.margin_points)

    def wanted(self, asked: Asked = frozenset()) -> list[TrialSet]:
        """Return what to measure next, including what of it has been measured; nothing when the search is over.

        Args:
            asked: (label, trial) of what was asked for before in this session: what of it did not run found no time,
                and the search goes on without it.
        """
        for groups in self._stages():
            if left := [group for group in groups if group.left(self.known, asked)]:
                return [group.trial_set(self.start) for group in left]
        return []

    def _stages(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of one stage after the other; each depends on the runs of those before it."""
        known, candidates = self.known, self.candidates
        if not known.of(Role.RECIPE):
            yield from self._before_fresh()
        fresh = self._fresh()
        yield [fresh] if fresh else []
        if self.slow_blocks and candidates.slow_ways:
            yield alone_groups(known, candidates.slow_ways, self.slow_blocks, Role.SLOW_WAY)

    def _before_fresh(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the stages that say what the fresh blocks are made of."""
        known = self.known
        if not known.of(Role.TOGETHER):
            yield from self._first_looks()
            yield again_groups(known, self.feasible, FEASIBLE_BLOCKS)
            if self._sizes.races and not known.of(Role.SCREEN, Role.ELIMINATE):
                yield [group for own in self._rivals for group in race_groups(known, own)]
            if self._columns and self._screened:
                yield screen_groups(known, self._screened, self._columns)
            else:
                yield from self._more_looks()
            yield from self._rounds()
        yield self.together.groups(self._confirmable, self._strongest)

    def _first_looks(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the feasibility: as many as leave time for fresh blocks of what is found."""
        groups = alone_groups(self.known, self.candidates.switches, FEASIBLE_BLOCKS, Role.FEASIBLE)
        if self.budget_s is None:
            yield groups
            return
        for group in groups:
            runs = [one.run.busy_s for one in self.known.ran]
            ahead = len(group.arms) + TOGETHER_RUNS + 3 * min(MIN_BLOCKS, self.confirm_blocks)
            if not runs or SPARE * (sum(runs) + fmean(runs) * ahead) <= self.budget_s:
                yield [group]

    def _more_looks(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the next look at what looked quick alone."""
        if looks_had(self.known) < self._sizes.looks and (promising := self.elimination.begin):
            yield look_groups(self.known, promising)

    def _rounds(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of each round of the elimination: those of one that was interrupted, too."""
        found = self.elimination
        for one in found.rounds:
            blocks = found.blocks_of(one.number)
            yield eliminate.round_groups(self.known, one.on, one.number, blocks)
        if self._sizes.eliminate and (number := found.next) is not None:
            usual = self._sizes.eliminate if number == 1 else self._sizes.eliminate // 2
            yield eliminate.round_groups(self.known, found.on, number, found.blocks_of(number) or usual)

    def _fresh(self) -> ArmGroup | None:
        estimates, blocks = self.elimination.estimates, self.confirm_blocks
        planned = partial(confirm.plan_confirmation, self.known, self._confirmable, estimates, blocks)
        begun = confirm.as_begun(self.known, [planned(large) for large in confirm.LARGES], blocks)
        return begun or planned(self._sizes.large)
