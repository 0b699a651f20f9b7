"""Which switches can be on together: learnt from runs that failed for good with several on, each of which ran alone.

What fails is taken to fail with more on, too. Before fresh blocks are spent on a set, it runs once beside the plain
trial. Where that fails, sets of all but one of what failed are tried: a pair that is to blame is found so at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from trainspeed.core.run import Role
from trainspeed.search.arms import Ran
from trainspeed.search.design import without_switches
from trainspeed.search.feasible import SEEDS_APART, SWITCHES_PER_GROUP
from trainspeed.search.findings import Clash
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch

ALONE = frozenset({Role.FEASIBLE, Role.SLOW_WAY})  # what fails there fails by itself
# Arms of a screen that had a pair on, each of which failed: of all others half are off in each of them.
ARMS_TO_BLAME = 2

On = frozenset[Switch]


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
        """The smallest sets that failed together -> why."""
        failed = self._failed | self._blamed
        return {on: why for on, why in failed.items() if not any(other < on for other in failed)}

    @cached_property
    def _failed(self) -> dict[On, str | None]:
        """The sets of which each run failed, one of them for good -> why."""
        final = (
            one for one in self.ran if one.run.is_final and one.run.role not in ALONE and len(one.on) > 1
        )
        return {one.on: one.run.reason for one in final if one.on not in self._ended}

    @cached_property
    def _ended(self) -> frozenset[On]:
        return frozenset(one.on for one in self.ran if one.ended_well)

    @property
    def _blamed(self) -> dict[On, str | None]:
        """The pairs with which every run failed, several arms of a screen among them -> why one of these did."""
        arms = {one.on for one in self.ran if one.run.role is Role.SCREEN and one.on in self._failed}
        with_pair: dict[On, list[On]] = {}
        for on in arms:
            for pair in map(frozenset, combinations(on, 2)):
                with_pair.setdefault(pair, []).append(on)
        return {
            pair: self._failed[own[0]]
            for pair, own in with_pair.items()
            if len(own) >= ARMS_TO_BLAME and not self._ran(pair)
        }

    def _ran(self, on: On) -> bool:
        """Whether a run with these on ended well, whatever else was on in it."""
        return any(on <= ran for ran in self._ended)

    @property
    def refusals(self) -> tuple[Clash, ...]:
        """The clashes, for a page."""
        return tuple(Clash(switches=self._ordered(on), reason=why) for on, why in self.clashes.items())

    @cached_property
    def involved(self) -> On:
        """All switches that some other does not go with."""
        return frozenset(switch for on in self.clashes for switch in on)

    def clash_in(self, switches: Sequence[Switch]) -> On | None:
        """Return what of these is known to fail together; None where nothing is."""
        on = self.known.on_with(switches)
        return next((clash for clash in self.clashes if clash <= on), None)

    def groups(self, switches: Set, speed: Callable[[Sequence[Switch]], float]) -> list[ArmGroup]:
        """Return what tells whether switches go together; nothing where each two of them have run together.

        Args:
            switches: Without a clash.
            speed: Of a set, as a logarithm: the fastest ones are tried.
        """
        if self._may_go(switches):
            return []
        on = self.known.on_with(switches)
        wider = [self._ordered(clash) for clash in self.clashes if on < clash]
        fewer = {without_switches(own, (switch,)) for own in wider for switch in own} - {switches}
        others = [own for own in fewer if not self._may_go(own) and not self.clash_in(own)]
        others.sort(key=lambda own: (-speed(own), [(switch.lever, switch.value) for switch in own]))
        tried = {one.run.trial.seed for one in self.known.of(Role.TOGETHER)}
        seed = self.known.start.seed + SEEDS_APART * len(tried)
        arms = ((), switches, *others[: SWITCHES_PER_GROUP - 1])
        return [ArmGroup(label=Role.TOGETHER, seed=seed, arms=arms)]

    def _may_go(self, switches: Set) -> bool:
        pairs = (self.known.on_with(pair) for pair in combinations(switches, 2))
        return self._ran(self.known.on_with(switches)) or all(map(self._ran, pairs))

    def _ordered(self, on: On) -> Set:
        return tuple(switch for switch in self.known.switches if switch in on)
