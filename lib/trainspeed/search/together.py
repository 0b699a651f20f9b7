"""Which switches can be on together: learnt from runs that failed with several on, each of which ran alone.

Before fresh blocks are spent on a set, it runs once beside the plain trial, unless each two of it have run together and
nothing has failed. Where it fails, smaller sets are tried: the fastest one of which no part is known to fail, and sets
that grow from the strongest switch on. What has ended well in the end is what goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from trainspeed.core.run import Role
from trainspeed.search.arms import Ran
from trainspeed.search.design import covers
from trainspeed.search.feasible import SEEDS_APART
from trainspeed.search.findings import Clash
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch

WHOLE = frozenset({Role.TOGETHER, Role.RECIPE})  # a set that fails there is tried no more
PARTS = frozenset({Role.SCREEN, Role.ELIMINATE})  # there it is the pair that all failed arms share
# Failed arms that had a pair on, at least; and of the arms without it those that may have failed: where more did, it
# is the number of switches that is to blame, as where memory is short.
ARMS_TO_BLAME, MOST_WITHOUT = 2, 0.75
MOST_TRIES = 3  # of a set that crashes each time
MOST_ASKS = 6  # groups that look for a set that runs
STEPS = 4  # sets that grow, in a group

On = frozenset[Switch]
Speed = Callable[[Sequence[Switch]], float]  # logarithm of the speed-up of a set


@dataclass(frozen=True)
class Together:
    """What runs say of switches that are on together.

    Attributes:
        known: The search.
        ran: Those of its runs that are looked at, the ones with single switches among them.
    """

    known: Known
    ran: Sequence[Ran]

    @cached_property
    def clashes(self) -> dict[On, str | None]:
        """The smallest sets that are known to fail together -> why."""
        whole = {one.on for one in self.ran if one.run.role in WHOLE}
        failed = {on: why for on, why in self._failed.items() if on in whole} | self._blamed
        return {on: why for on, why in failed.items() if not any(other < on for other in failed)}

    @cached_property
    def involved(self) -> tuple[Switch, ...]:
        """All switches that some other does not go with, those with the most clashes first."""
        counts = {s: sum(s in on for on in self.clashes) for s in self.known.switches}
        return tuple(sorted((s for s, count in counts.items() if count), key=lambda s: -counts[s]))

    @property
    def refusals(self) -> tuple[Clash, ...]:
        """The clashes, for a page."""
        return tuple(Clash(switches=self._ordered(on), reason=why) for on, why in self.clashes.items())

    def clash_in(self, switches: Sequence[Switch]) -> On | None:
        """Return what of these is known to fail together; None where nothing is."""
        if not self.clashes:
            return None
        on = self._on(switches)
        return next((clash for clash in self.clashes if clash <= on), None)

    def choose(self, best: Set, ranked: Sequence[Switch], speed: Speed) -> Set:
        """Return what to go on with: the best set, to be tried where that is needed, or the largest one that ran.

        Args:
            best: The fastest set without a clash.
            ranked: What is promising whether or not it goes together, the strongest first.
        """
        if self._may_go(best):
            return best
        grown, rest = self._grown(ranked)
        tried_all = not rest and speed(grown) >= speed(best)
        return grown if tried_all or self._asks >= MOST_ASKS else best

    def groups(self, chosen: Set, ranked: Sequence[Switch]) -> list[ArmGroup]:
        """Return what tells whether a set goes together, and what does where it does not; nothing where it is known.

        Args:
            chosen: As `choose` returns it.
            ranked: See there.
        """
        if self._may_go(chosen):
            return []
        grown, rest = self._grown(ranked)
        counts = dict.fromkeys(max(1, round(len(rest) / 2**step)) for step in range(STEPS)) if rest else {}
        larger = [(*grown, *rest[:count]) for count in counts] if self._tried else []
        unknown = [own for own in larger if not self.clash_in(own)]
        crashed = sum(one.on == self._on(chosen) for one in self.known.of(Role.TOGETHER))
        # As long as nothing is learnt, it stays the same group: what was asked for in vain is not asked for again.
        seed = self.known.start.seed + SEEDS_APART * (len(self._tried) + crashed)
        return [ArmGroup(label=Role.TOGETHER, seed=seed, arms=((), chosen, *unknown))]

    def _grown(self, ranked: Sequence[Switch]) -> tuple[Set, Set]:
        """Return what is known to run together, from the strongest switch on, and what may be added to it."""
        own: Set = ()
        for number, switch in enumerate(ranked):
            more = (*own, switch)
            if len(more) == 1 or self._ended_with(more):
                own = more
            elif not self.clash_in(more):
                return own, tuple(s for s in ranked[number:] if not self.clash_in((*own, s)))
        return own, ()

    @cached_property
    def _tried(self) -> frozenset[On]:
        """The sets of which a try has told whether they run."""
        tries = (one for one in self.known.of(Role.TOGETHER) if one.on)
        return frozenset(one.on for one in tries if one.ended_well or one.on in self._failed)

    @property
    def _asks(self) -> int:
        return len({one.run.trial.seed for one in self.known.of(Role.TOGETHER)})

    @cached_property
    def _failed(self) -> dict[On, str | None]:
        """The sets that failed for good or crashed each time, and did not run with more on -> why."""
        tries = [one.on for one in self.ran if one.run.role is Role.TOGETHER]
        failed = (
            one
            for one in self.ran
            if one.run.role in WHOLE | PARTS
            and len(one.on) > 1
            and (one.run.is_final or (not one.ended_well and tries.count(one.on) >= MOST_TRIES))
        )
        return {one.on: one.run.reason for one in failed if not self._ended_on(one.on)}

    @property
    def _blamed(self) -> dict[On, str | None]:
        """The pairs with which every run failed, and without which others did not -> why one of these failed."""
        arms = dict.fromkeys(one.on for one in self.ran if one.run.role in PARTS and one.on)
        failed = [on for on in arms if on in self._failed]
        with_pair: dict[On, list[On]] = {}
        for on in failed:
            for pair in map(frozenset, combinations(self._ordered(on), 2)):
                with_pair.setdefault(pair, []).append(on)
        return {
            pair: self._failed[own[0]]
            for pair, own in with_pair.items()
            if len(own) >= ARMS_TO_BLAME
            and len(failed) - len(own) <= MOST_WITHOUT * (len(arms) - len(own))
            and not self._ended_on(pair)
        }

    @cached_property
    def _ended(self) -> frozenset[On]:
        return frozenset(one.on for one in self.ran if one.ended_well)

    def _ended_on(self, on: On) -> bool:
        """Whether a run with these on ended well, whatever else was on in it."""
        return any(on <= ran for ran in self._ended)

    def _ended_with(self, switches: Sequence[Switch]) -> bool:
        return self._ended_on(self._on(switches))

    def _may_go(self, switches: Set) -> bool:
        """Whether a set ran, or each two of it did and nothing has failed: three may fail though each two run."""
        pairs = combinations(switches, 2)
        return self._ended_with(switches) or (not self._failed and all(map(self._ended_with, pairs)))

    def _on(self, switches: Sequence[Switch]) -> On:
        """Return what is on with these, whether or not they exclude each other."""
        return frozenset().union(*(self.known.on_with([switch]) for switch in switches))

    def _ordered(self, on: On) -> Set:
        """Return the switches of a set but for what another one brings along."""
        own = [switch for switch in self.known.switches if switch in on]
        return tuple(s for s in own if not any(other != s and covers(other, s) for other in own))
