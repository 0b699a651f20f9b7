"""What takes long, such as a compiler, on and off beside all else that is promising: two arms, where a round has four.

A round of the elimination has each switch on in most of its arms; where one takes ten times as long as a plain run,
there is no time for that. Alone it tells less: what a compiler brings depends on what else is on.
"""

from __future__ import annotations

from trainspeed.core.run import Role
from trainspeed.search.feasible import SEEDS_APART
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch

SEEDS = 40 * SEEDS_APART  # behind those of looks and rounds
# Standard errors that it has to pay by: two or four blocks tell little of the scatter that these come from, and what
# brings nothing would cost the reader its minutes in every training.
TOGGLE_SURE = 2.8


def toggle_groups(known: Known, base: Set, long: Set, blocks: int) -> list[ArmGroup]:
    """Return the arms of each block: what is promising without what takes long, and with each of these."""
    arms = (base, *((*base, switch) for switch in long))
    return _groups(known, arms, blocks)


def begun_toggle(known: Known) -> list[ArmGroup]:
    """Return the arms of each block as they began; none where they have not begun, or no two of them have a run."""
    ran = known.of(Role.TOGGLE)
    counts = [count for one in ran if (count := one.run.label.removeprefix(Role.TOGGLE)).isdecimal()]
    arms = sorted({one.on for one in ran}, key=len)
    if not counts or len(arms) < 2:
        return []
    named = (tuple(switch for switch in known.switches if switch in on) for on in arms)
    return _groups(known, tuple(named), int(counts[0]))


def toggled(known: Known) -> frozenset[Switch]:
    """Return the switches that were on in one of the arms and not in all."""
    on = [one.on for one in known.of(Role.TOGGLE)]
    return frozenset().union(*on) - frozenset.intersection(*on) if on else frozenset()


def blocks_had(known: Known) -> int:
    """Return how many blocks there were."""
    return len({one.run.trial.seed for one in known.of(Role.TOGGLE)})


def _groups(known: Known, arms: tuple[Set, ...], blocks: int) -> list[ArmGroup]:
    # Each block is a group of its own, as in a round: of a group a study measures 6 blocks, and asks what is next
    # before it goes on.
    seed = known.start.seed + SEEDS
    return [
        ArmGroup(label=f"{Role.TOGGLE}{blocks}", seed=seed + n, arms=arms, blocks=1) for n in range(blocks)
    ]
