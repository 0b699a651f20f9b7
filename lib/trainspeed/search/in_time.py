"""How much of a search's next stage there is time for, once those before it have ended. Decides nothing by a result.

`sizes` plans a whole search by the longest runs that may come; here is what was left over.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.search.confirm import BLOCKS, LARGE, LARGES
from trainspeed.search.design import PARTS, without_switches
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.sizes import ELIMINATE_BLOCKS, SPARE, Costs, long_switches, spent_s
from trainspeed.search.switch import Set

LAST_SPARE = 1.05  # of what runs take by themselves, where only the fresh blocks are ahead
FEWEST_BLOCKS = 2  # of a round: fewer hardly tell more than what was known before
# Switches left out one by one in fresh blocks, how many of these there are, and the blocks of a round from which on so
# many are left out; the largest first.
ROUNDS = (
    (LARGE, BLOCKS, ELIMINATE_BLOCKS),
    (LARGES[1], BLOCKS, ELIMINATE_BLOCKS // 2),
    (0, MIN_BLOCKS, FEWEST_BLOCKS),
)


def blocks_in_time(
    known: Known,
    costs: Costs,
    on: Set,
    promising: Set,
    *,
    most: int,
    confirm: int,
    budget_s: float,
    spare: bool,
) -> int:
    """Return how many blocks of a round there is time for, beside the fresh blocks after it; 0 for none.

    Args:
        on: What is on in the round, but for what is left out.
        promising: What fresh blocks may be of.
        most: Blocks.
        confirm: Fresh blocks that were asked for.
    """
    left_s = budget_s / SPARE - spent_s(known)
    arms = PARTS if len(on) >= PARTS else len(on) + 1
    block_s = arms * costs.of(()) + (arms - 1) * (costs.of(on) - costs.of(()))
    for large, fresh, fewest in ROUNDS:
        parts = large + 1 if large else 0
        usual = BLOCKS if spare else fresh
        fresh_s = min(confirm, usual) * (2 * costs.of(()) + (1 + parts) * costs.of(promising))
        blocks = min(most, int((left_s - fresh_s) / block_s))
        if spare and left_s >= fresh_s:
            return blocks if blocks >= FEWEST_BLOCKS else 0
        if blocks >= min(most, fewest):
            return blocks
    return 0


def round_in_time(
    known: Known,
    costs: Costs,
    on: Set,
    promising: Set,
    *,
    most: int,
    confirm: int,
    budget_s: float,
    spare: bool,
) -> tuple[Set, int]:
    """Return what is on in a round, and how many blocks there are; 0 where there is no time for one.

    Where what takes long, such as a compiler, leaves few blocks, the round is one without it: what was seen of it
    before decides.
    """

    def count(own: Set) -> int:
        return (
            blocks_in_time(
                known, costs, own, promising, most=most, confirm=confirm, budget_s=budget_s, spare=spare
            )
            if own
            else 0
        )

    whole = count(on)
    short = without_switches(on, long_switches(costs, on))
    if whole < min(most, ELIMINATE_BLOCKS // 2) and short != on and (fewer := count(short)) > whole:
        return short, fewer
    return on, whole


def large_in_time(
    planned: Sequence[ArmGroup | None], known: Known, costs: Costs, budget_s: float
) -> ArmGroup | None:
    """Return the fresh blocks with the most arms that there is time for; else those with the fewest.

    Args:
        planned: What there may be, the fewest arms first.
    """
    left_s = budget_s / LAST_SPARE - spent_s(known)
    for group in reversed(planned):
        if group is None:
            continue
        block_s = costs.of(()) + sum(costs.of(arm) for arm in group.arms)
        if min(group.blocks, BLOCKS) * block_s <= left_s:
            return group
    return planned[0]


def confirmed_in_time(known: Known, costs: Costs, switches: Set, confirm: int, budget_s: float) -> Set:
    """Return those of these switches of which there is time for the fewest fresh blocks: the longest runs go first.

    Args:
        confirm: Fresh blocks that were asked for.
    """
    left_s, blocks = budget_s - LAST_SPARE * spent_s(known), min(confirm, MIN_BLOCKS)
    on = sorted(switches, key=lambda s: costs.more_s.get(s, 0.0))
    while (
        on and costs.more_s.get(on[-1]) and LAST_SPARE * blocks * (2 * costs.of(()) + costs.of(on)) > left_s
    ):
        on = list(without_switches(on, on[-1:]))
    return tuple(switch for switch in switches if switch in on) or switches
