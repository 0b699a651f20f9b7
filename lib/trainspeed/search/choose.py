"""Which switches are to be on, by what a model of all runs says of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

from trainspeed.search.design import PARTS, covers, without_switches
from trainspeed.search.findings import Estimate
from trainspeed.search.model import Model
from trainspeed.search.switch import Set, Switch
from trainspeed.search.together import Together

# Gain, as a logarithm, below which a switch is not worth a line, and standard errors that it has to be sure by: what a
# null reaches once in 70 times, and there are several rounds in which it may.
LEAST, SURE = 0.01, 2.2
PROMISING = 0.5  # standard errors that suffice before the elimination: what a null reaches once in 3 times
MOST_INVOLVED = 12  # switches with interactions of which every set is looked at
OPEN = 1.0  # standard errors by which an estimate may be too low: with so much more, a switch may pay yet

Pays = Callable[[Estimate], bool]


def pays(estimate: Estimate, sure: float = SURE) -> bool:
    """Whether a switch brings enough, surely enough, to stay on."""
    return estimate.log >= max(LEAST, sure * estimate.se)


def may_pay(estimate: Estimate) -> bool:
    """Whether a switch is worth measuring on."""
    return estimate.log > PROMISING * estimate.se


def best_set(found: Model, able: Collection[Switch], enough: Pays, together: Together) -> Set:
    """Return the switches that are fastest together, each of which brings enough on top of the others.

    Args:
        able: Those that may be on.
        enough: Decides that.
        together: Knows what does not go together.
    """
    ran = [switch for switch in found.switches if switch in able]
    mutual = dict.fromkeys(s for pair in found.pairs for s in pair)
    mutual |= dict.fromkeys(together.involved)
    involved = [s for s in mutual if s in ran][:MOST_INVOLVED]
    single = [s for s in ran if s not in involved and found.brings([s], ()).log > 0]
    sets = (list(own) for size in range(len(involved) + 1) for own in combinations(involved, size))
    sets = (own for own in sets if not own or not together.clash_in(own))
    # Of two sets that are as fast, the smaller one.
    on = [*single, *max(sets, key=lambda own: found.speed([*single, *own]) - LEAST * len(own) / 10)]
    while clash := together.clash_in(on):  # more are involved than are looked at
        worst = min((s for s in on if s in clash), key=lambda s: found.brings([s], on).log)
        on = list(without_switches(on, [worst]))
    while failing := [one for switch in on if not enough(one := part_of(found, switch, on))]:
        worst = min(failing, key=lambda one: one.log / one.se)
        on = list(without_switches(on, worst.switches))
    # What comes with another one is not added without it.
    whole = {s for s in ran if not any(covers(s, other) for other in ran if other != s and other not in on)}
    while adding := [
        s
        for s in ran
        if s in whole and s not in on and enough(found.brings([s], on)) and not together.clash_in([*on, s])
    ]:
        on.append(max(adding, key=lambda switch: found.brings([switch], on).log))
    return tuple(switch for switch in ran if switch in on)


def part_of(found: Model, switch: Switch, on: Sequence[Switch]) -> Estimate:
    """Return what a switch brings, with those that go with it."""
    gone = [
        switch,
        *(other for other in on if other not in without_switches(on, [switch]) and other != switch),
    ]
    estimate = found.brings(gone, on)
    return Estimate(switches=(switch,), log=estimate.log, se=estimate.se)


def with_open(found: Model, on: Set, able: Collection[Switch], together: Together) -> Set:
    """Return what is on with those that may pay yet, the likeliest first, where few are on.

    On made-up machines whose runs scatter by 6 % looks alone missed what brings 5 % one time in four. Beside fewer
    than `PARTS` switches another one costs a round little: an arm of each block.
    """
    ran = [switch for switch in found.switches if switch in able]
    more = {switch: found.brings([switch], on) for switch in ran if switch not in on}
    open_ = [s for s, own in more.items() if own.log + OPEN * own.se >= LEAST]
    for switch in sorted(open_, key=lambda s: -more[s].log / more[s].se):
        needed = [other for other in ran if other != switch and covers(switch, other)]
        if len(on) < PARTS and set(needed) <= set(on) and not together.clash_in([*on, switch]):
            on = (*on, switch)
    return on
