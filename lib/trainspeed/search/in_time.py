"""How much of a search's next stage there is time for, once those before it have ended. Decides nothing by a result.

`sizes` plans a whole search by the longest runs that may come; here is what was left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.search.confirm import BLOCKS, LARGE, LARGES
from trainspeed.search.design import PARTS, without_switches
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.sizes import ELIMINATE_BLOCKS, SPARE, Costs, long_switches, spent_s
from trainspeed.search.switch import Set, Switch

LAST_SPARE = 1.05  # of what runs take by themselves, where only the fresh blocks are ahead
FEWEST_BLOCKS = 2  # of a round: fewer hardly tell more than what was known before
USUAL_BLOCKS = ELIMINATE_BLOCKS // 2
TOGGLE_BLOCKS = (4, FEWEST_BLOCKS)  # of what takes long beside the rest, for which rounds leave time
# Switches left out one by one in fresh blocks, how many of these there are, and the blocks of a round from which on
# there are so many; the largest first. A round that leaves time for 6 fresh blocks alone has no more than the usual.
ROUNDS = (
    (LARGE, BLOCKS, ELIMINATE_BLOCKS),
    (LARGES[1], BLOCKS, USUAL_BLOCKS),
    (0, BLOCKS, USUAL_BLOCKS),
    (0, MIN_BLOCKS, FEWEST_BLOCKS),
)


@dataclass(frozen=True, kw_only=True)
class TimeLeft:
    """The time that a search has left.

    Attributes:
        known: Its runs so far.
        costs: What runs take.
        confirm: Fresh blocks that were asked for.
        budget_s: Seconds for the whole search, the runs so far among them.
    """

    known: Known
    costs: Costs
    confirm: int
    budget_s: float

    def round(self, on: Set, promising: Set, most: int, *, spare: bool, open_: Set = ()) -> tuple[Set, int]:
        """Return what is on in a round, and how many blocks there are; 0 where there is no time for one.

        Where what takes long, such as a compiler, leaves few blocks, the round is one without it: what was seen of it
        before decides.

        Args:
            on: What is on in it, but for what is left out.
            promising: What fresh blocks may be of.
            most: Blocks.
            spare: Whether it only has what the fresh blocks leave.
            open_: What takes long and is tried beside the rest afterwards, if there is time.
        """
        both = tuple(dict.fromkeys((*promising, *on)))  # what takes long may pay, and has fresh blocks then
        whole = self.blocks(on, both, most, spare=spare)
        short = without_switches(on, long_switches(self.costs, on))
        if short != on and whole >= min(most, USUAL_BLOCKS):
            return on, whole
        fewer = self.blocks(short, promising, most, spare=spare) if short else 0
        rest = without_switches(promising, open_)
        possible = self.toggle_blocks(rest, open_) if short and open_ else 0
        for number in dict.fromkeys(min(possible, usual) for usual in TOGGLE_BLOCKS if possible):
            own = self._without_toggle(open_, number).blocks(short, rest, most, spare=spare)
            if own or spare:
                return short, own
        return (short, fewer) if fewer > whole else (on, whole)

    def _without_toggle(self, long: Set, blocks: int) -> TimeLeft:
        """Return the time without so many blocks with it off and on, and without what it adds to the fresh blocks."""
        more_s = sum(self.costs.more_s.get(switch, 0.0) for switch in long)
        block_s = (1 + len(long)) * self.costs.of(()) + more_s
        fresh_s = min(self.confirm, MIN_BLOCKS) * more_s + 2 * self.costs.once(long)
        return replace(self, budget_s=self.budget_s - SPARE * (blocks * block_s + fresh_s))

    def blocks(self, on: Set, promising: Set, most: int, *, spare: bool) -> int:
        """Return how many blocks of a round there is time for, beside the fresh blocks after it; 0 for none."""
        left_s = self.budget_s / SPARE - spent_s(self.known)
        plain_s, own_s, all_s = (self.costs.of(switches) for switches in ((), on, promising))
        arms = PARTS if len(on) >= PARTS else len(on) + 1
        block_s = plain_s + (arms - 1) * own_s
        left_s -= (arms - 1) * self.costs.once(on)
        for large, fresh, fewest in ROUNDS[:-1] if spare else ROUNDS:
            parts = large + 1 if large else 0
            fresh_s = min(self.confirm, fresh) * (2 * plain_s + (1 + parts) * all_s)
            fresh_s += (1 + parts) * self.costs.once(promising)
            blocks = min(most, int((left_s - fresh_s) / block_s))
            if spare and left_s >= fresh_s:
                return blocks if blocks >= FEWEST_BLOCKS else 0
            if blocks >= min(most, fewest):
                return blocks if fresh == BLOCKS else min(blocks, USUAL_BLOCKS)
        return 0

    def long(self, switches: Set) -> Set:
        """Return those of these switches with which a run takes far longer."""
        return long_switches(self.costs, switches)

    def toggle_blocks(self, base: Set, long: Set) -> int:
        """Return how many blocks there is time for in which what takes long is off and on beside others; 0 for none."""
        block_s = self.costs.of(base) + sum(self.costs.of((*base, switch)) for switch in long)
        left_s = self.budget_s / SPARE - spent_s(self.known) - self._fewest_fresh_s((*base, *long))
        left_s -= (1 + len(long)) * self.costs.once(base) + self.costs.once(long)
        blocks = min(ELIMINATE_BLOCKS, int(left_s / block_s)) if block_s else 0
        return blocks if blocks >= FEWEST_BLOCKS else 0

    def fresh(self, planned: Sequence[ArmGroup | None]) -> ArmGroup | None:
        """Return the fresh blocks with the most arms that there is time for; else those with the fewest.

        Args:
            planned: What there may be, the fewest arms first; all None where nothing was kept.
        """
        left_s = self.budget_s / LAST_SPARE - spent_s(self.known)
        for group in reversed(planned):
            if group is None:
                continue
            block_s = self.costs.of(()) + sum(self.costs.of(arm) for arm in group.arms)
            once_s = sum(map(self.costs.once, group.arms))
            if min(group.blocks, BLOCKS) * block_s + once_s <= left_s:
                return group
        return planned[0]

    def confirmed(self, switches: Set, gains: Mapping[Switch, float]) -> Set:
        """Return those of these switches that have time for the fewest fresh blocks.

        Of those that make runs longer, what brings least for the seconds that it adds goes first, then the longest.

        Args:
            gains: Switch -> logarithm of its speed-up, as estimated so far.
        """
        more_s, on, gone = self.costs.more_s, switches, []
        longer = (switch for switch in switches if more_s.get(switch))
        for switch in sorted(longer, key=lambda s: (gains.get(s, 0.0) / more_s[s], -more_s[s])):
            if self._fewest_fresh_s(on) <= self._last_s:
                break
            on = without_switches(on, [switch])
            gone.append(switch)
        for switch in reversed(gone):  # what goes last may free enough for some that went before
            more = tuple(s for s in switches if s in (*on, switch))
            on = more if self._fewest_fresh_s(more) <= self._last_s else on
        return on or switches

    def takes_a_try(self, switches: Set) -> bool:
        """Return False where a set has time for its fresh blocks only if it has not run once before."""
        try_s = LAST_SPARE * (self.costs.of(()) + self.costs.of(switches) + self.costs.once(switches))
        return not 0 <= self._last_s - self._fewest_fresh_s(switches) < try_s

    @property
    def _last_s(self) -> float:
        """Seconds that are left where only the fresh blocks are ahead."""
        return self.budget_s - LAST_SPARE * spent_s(self.known)

    def _fewest_fresh_s(self, switches: Sequence[Switch]) -> float:
        """Return the seconds of the fewest fresh blocks of a set: in each the plain trial twice, and the set."""
        blocks = min(self.confirm, MIN_BLOCKS)
        all_s = blocks * (2 * self.costs.of(()) + self.costs.of(switches))
        return LAST_SPARE * (all_s + self.costs.once(switches))
