"""What enters the screen of a search, what comes in later, and how large the stages are that there is time for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trainspeed.core.run import Role, Run
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import ACCURACY_MARGIN
from trainspeed.search import confirm
from trainspeed.search.candidates import Candidates
from trainspeed.search.design import covers
from trainspeed.search.eliminate import Elimination
from trainspeed.search.feasible import alone_fit, feasible
from trainspeed.search.findings import Estimate, Feasible, Race
from trainspeed.search.known import Known
from trainspeed.search.race import race, rivals
from trainspeed.search.sizes import Sizes, costs_of, long_switches, options, sizes_for
from trainspeed.search.switch import Set, Switch, combined

CLEARLY = 2.0  # standard errors by which a switch is clearly slower
OF_ENVIRONMENT = 2  # switches in a screen that are read at import: 4 workers


@dataclass(frozen=True)
class Entrants:
    """A search for one framework and model, as far as the runs of each switch alone and the races go.

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
        return tuple(switch for switch in self._usual if switch not in self._long)

    @cached_property
    def _usual(self) -> Set:
        return tuple(switch for switch in self._winners if switch not in self._apart)

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
    def _long(self) -> Set:
        """Switches, such as a compiler, that leave no time for a screen with them, where there is some without them.

        They come in with the elimination, or are on and off beside what it leaves: see `toggle`.
        """
        slow = long_switches(costs_of(self.feasible), self._usual)
        if begun := self.known.of(Role.SCREEN):
            had = frozenset().union(*(one.on for one in begun))
            return tuple(switch for switch in slow if switch not in had)
        if not slow or self._sizes_of(self._usual).columns:
            return ()
        rest = tuple(switch for switch in self._usual if switch not in slow)
        return slow if rest and self._sizes_of(rest, slow).columns else ()

    @cached_property
    def _sizes(self) -> Sizes:
        return self._sizes_of(self.entered, self._long)

    def _sizes_of(self, entered: Set, long: Set = ()) -> Sizes:
        if self.budget_s is None:
            return options(len(entered), self.confirm_blocks)[0]
        begin = Elimination(self.known, (*entered, *long), tuple(self._not_slower(self._apart))).on
        return sizes_for(
            self.known,
            costs_of(self.feasible),
            raced=tuple(switch for own in self._rivals for switch in own),
            entered=entered,
            long=self._to_look_at(long),
            late=(*self._not_slower(self._apart), *self._to_look_at(long)),
            promising=begin or self._to_look_at(entered),
            confirm=self.confirm_blocks,
            budget_s=self.budget_s,
        )

    @property
    def _late(self) -> Set:
        """Switches that need one that entered, and lost against another one by little; and those kept apart."""
        late = [*self._not_slower(self._apart), *self._to_look_at(self._long)]
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

    def _not_slower(self, switches: Set, errors: float = 1.0) -> list[Switch]:
        """Return those of these that were not slower alone by so many standard errors."""
        return [s for s in switches if s in self._alone and self._alone[s].log > -errors * self._alone[s].se]

    def _to_look_at(self, switches: Set) -> Set:
        """Return those of these switches that more looks may show to be faster."""
        return tuple(self._not_slower(switches, CLEARLY))

    def _fits(self, switches: Sequence[Switch]) -> bool:
        try:
            combined(self.start, switches)
        except ValueError:
            return False
        return True
