"""What a search will have measured at its end, before anything is known of it: for the time of a plan alone."""

from __future__ import annotations

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.run import Role
from trainspeed.search.confirm import RECIPE_SEED_OFFSET
from trainspeed.search.eliminate import round_groups
from trainspeed.search.feasible import alone_groups
from trainspeed.search.known import Group
from trainspeed.search.race import race_groups, rivals
from trainspeed.search.screen import screen_groups
from trainspeed.search.sizes import options
from trainspeed.search.stages import Stages
from trainspeed.search.switch import compatible

PROMISING = 6  # switches that are usually on in the end


def foreseen(search: Stages) -> list[TrialSet]:
    """Return sets of trials that stand for all stages after the first, if time is enough for the whole search.

    As if every switch could be had, and the first of those that exclude each other won.
    """
    known, candidates = search.known, search.candidates
    raced = rivals(known, candidates.switches)
    entered = []
    for switch in candidates.switches:
        if compatible(search.start, (*entered, switch)):
            entered.append(switch)
    sizes = options(len(entered), search.confirm_blocks)[0]
    columns = tuple(entered[: sizes.columns])
    on = tuple(entered[:PROMISING])
    fresh = Group(
        label=Role.RECIPE,
        seed=search.start.seed + RECIPE_SEED_OFFSET,
        arms=((), on, *(tuple(s for s in on if s != gone) for gone in on[: sizes.large + 1])),
        blocks=search.confirm_blocks,
    )
    groups = [
        *(group for own in raced for group in race_groups(known, own)),
        *screen_groups(known, columns, sizes.columns),
        *round_groups(known, on, 1, sizes.eliminate),
        fresh,
        *alone_groups(known, candidates.slow_ways, search.slow_blocks, Role.SLOW_WAY),
    ]
    return [group.trial_set(search.start) for group in groups if len(group.trials(search.start)) > 1]
