"""Fresh blocks: the plain trial, all that were kept, and all without the large ones. Only these runs make claims.

The intervals of what is left out hold all at once: each is as wide as one of so many needs (Bonferroni). Holm's steps
would decide hardly more: with 9 blocks the sign test's second smallest p-value is 10 times the smallest, so a later
step helps only where one or two are left; and intervals that go with Holm's steps say nothing of what he decides but
that it lies beyond the margin. The total is the one answer that was planned from the beginning: it is judged alone.

Source: K. Strassburger, F. Bretz, Compatible simultaneous lower confidence bounds for the Holm procedure and other
    Bonferroni-based closed tests, Statistics in Medicine 27 (2008), 4914-4927.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from trainspeed.core.levers.lever import Numbers
from trainspeed.core.run import Role, Run, Status
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.equivalence import Equality, equality_of, has_learned
from trainspeed.judge.verdict import MARGIN, Judgement, Outcome
from trainspeed.search.claims import Ablation, Accuracy, Confirmation, Remainder, WaterfallBar
from trainspeed.search.design import without_switches
from trainspeed.search.findings import Estimate
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch

RECIPE_SEED_OFFSET = 100_000  # added to the seed of the fresh blocks, so that no block of the search had it
BLOCKS = 9  # one may be out of line where one claim is made; 12 claims can be made where all agree
LARGE = 4  # left out one by one, at most
LARGES = (0, LARGE // 2, LARGE)  # how many of them there may be time for


def plan_confirmation(
    known: Known, kept: Set, estimates: Mapping[Switch, Estimate], blocks: int, large: int
) -> ArmGroup | None:
    """Return the fresh blocks; None where nothing was kept.

    Args:
        estimates: What each brings: the largest are left out one by one, if they are worth a switch, and the others
            as a group.
        large: How many, at most.
    """
    if not kept:
        return None
    ranked = sorted(kept, key=lambda switch: -estimates[switch].log if switch in estimates else 0.0)
    worth = [s for s in ranked if s in estimates and estimates[s].log >= math.log(1 + MARGIN)]
    alone = worth[:large]
    small = [switch for switch in ranked if switch not in alone]
    off = [(switch,) for switch in alone] + ([tuple(small)] if small and large else [])
    arms = ((), kept, *(rest for gone in off if (rest := without_switches(kept, gone))))
    return _fresh_group(known, arms, blocks)


def as_begun(known: Known, planned: Sequence[ArmGroup | None], blocks: int) -> ArmGroup | None:
    """Return the fresh blocks with the arms that they began with; None where they have not begun.

    Args:
        planned: What they may have begun with, the fewest arms first: one of their first blocks that was interrupted
            lacks arms.
    """
    begun = {one.on for one in known.of(Role.RECIPE)}
    if not begun:
        return None
    for group in planned:
        if group and begun <= {known.on_in(trial) for trial in group.trials(known.start)}:
            return group
    arms = sorted((_ordered(known, on) for on in begun if on), key=len, reverse=True)
    return _fresh_group(known, ((), *arms), blocks)


def read_confirmation(known: Known, margin_points: float) -> Confirmation | None:
    """Return what the fresh blocks say; None where there are none of the plain trial and of all that were kept.

    Which switches were kept is read from the runs: their largest arm has them all.
    """
    arms = _arms(known)
    everything = max(arms, key=len, default=frozenset())
    if not everything or frozenset() not in arms:
        return None
    plain, best = arms[frozenset()], arms[everything]
    total = judge_runs(plain, best)
    parts = [on for on in arms if on and on < everything]
    learned = has_learned(plain)
    accuracy = judge_runs(plain, best, "accuracy", margin_points) if learned else None
    failed = next((run for own in arms.values() for run in own if run.status is not Status.OK), None)
    left_out = []
    for on in parts:
        points = judge_runs(arms[on], best, "accuracy", margin_points) if learned else None
        gone = _ordered(known, everything - on)
        left_out.append(
            Ablation(
                switches=gone,
                time=judge_runs(arms[on], best).one_of(len(parts)),
                accuracy=points,
                equality=equality_of(points, margin_points),
                large=_alone(gone),
            )
        )
    left_out.sort(key=lambda one: (not one.large, -(one.time.speedup or 0.0)))
    return Confirmation(
        on=_ordered(known, everything),
        total=total,
        accuracy=accuracy,
        equality=equality_of(accuracy, margin_points),
        left_out=tuple(left_out),
        blocks=total.blocks,
        reason=f"{failed.status}: {failed.reason}" if failed else None,
    )


def fresh_runs(known: Known) -> tuple[int, int]:
    """Return how many fresh runs there are of the plain trial and of all that were kept, and how many without some."""
    arms = _arms(known)
    everything = max(arms, key=len, default=frozenset())
    whole = sum(len(own) for on, own in arms.items() if on in (frozenset(), everything))
    return whole, sum(map(len, arms.values())) - whole


def rest_of(known: Known, rest: Set, margin_points: float) -> Remainder | None:
    """Return what fresh blocks say of some of all that were kept, without the others; None where no arm is of these.

    They were not planned as the answer: their interval holds at once with those of the other arms that it could be.
    """
    arms = _arms(known)
    plain, own = arms.get(frozenset()), arms.get(known.on_with(rest))
    if not rest or not plain or not own:
        return None
    points = judge_runs(plain, own, "accuracy", margin_points) if has_learned(plain) else None
    return Remainder(
        on=rest,
        time=judge_runs(plain, own).one_of(len(arms) - 2),
        accuracy=points,
        equality=equality_of(points, margin_points),
    )


def waterfall(found: Confirmation | None) -> tuple[WaterfallBar, ...]:
    """Return the bars from the plain trial to all that were kept; the last one is what several do together."""
    if found is None or not found.total.speedup:
        return ()
    parts = [part for part in found.left_out if part.time.speedup]
    bars = [
        WaterfallBar(switches=p.switches, speedup=p.time.speedup, low=p.time.low, high=p.time.high)
        for p in parts
    ]
    if not bars:
        total = found.total
        return (WaterfallBar(switches=found.on, speedup=total.speedup, low=total.low, high=total.high),)
    rest = found.total.speedup / math.prod(bar.speedup for bar in bars)
    return (*bars, WaterfallBar(switches=(), speedup=rest))


def by_class(found: Confirmation | None) -> tuple[Accuracy, ...]:
    """Return what is known of accuracy for each class of the switches that were kept.

    All that were kept against the plain trial is the test of those that round otherwise; those of the same numbers are
    spot-checked by it where there are no others.
    """
    if found is None:
        return ()
    classes = {numbers: tuple(s for s in found.on if s.numbers is numbers) for numbers in Numbers}
    present = [numbers for numbers, own in classes.items() if own]
    told = present[-1] if present else None
    return tuple(
        Accuracy(
            numbers=numbers,
            switches=classes[numbers],
            judgement=found.accuracy if numbers is told else None,
            equality=found.equality if numbers is told else Equality.UNCHECKED,
        )
        for numbers in present
    )


def hurts(found: Confirmation, switch: Switch) -> Equality:
    """Return what is known of a switch's accuracy: of the part that it was left out with, or of all together.

    Where all together are worse and no part is by itself, any part that is not known to be no worse may be to blame;
    where all are known to be, it is little by little.
    """
    parts = sorted(_parts(found, switch), key=lambda part: len(part.switches))
    if not parts:
        return found.equality
    # What needs another one, is not had without it.
    if any(part.equality is Equality.WORSE for part in parts):
        return Equality.WORSE
    own, known = parts[0].equality, {part.equality for part in found.left_out}
    to_blame = own is not Equality.EQUAL or known == {Equality.EQUAL}
    unexplained = found.equality is Equality.WORSE and Equality.WORSE not in known
    return Equality.WORSE if unexplained and to_blame else own


def switch_judgement(found: Confirmation, switch: Switch) -> Judgement:
    """Return what fresh blocks say of the part that a switch belongs to, of a slower one first; or of all together."""
    times = [part.time for part in _parts(found, switch)]
    slower = (time for time in times if time.outcome is Outcome.SLOWER)
    return next(slower, times[0] if times else found.total)


def looks_slower(found: Confirmation) -> Set:
    """Return the part without which all others look fastest, by more than the margin, where nothing is decided of it.

    One part alone, as only of all others without one part there are runs; nothing where one is surely slower.
    """
    parts = [part for part in found.left_out if part.large and part.time.speedup is not None]
    if not parts or any(part.time.outcome is Outcome.SLOWER for part in found.left_out):
        return ()
    worst = min(parts, key=lambda part: part.time.speedup)
    return worst.switches if worst.time.speedup < 1 - MARGIN else ()


def _parts(found: Confirmation, switch: Switch) -> list[Ablation]:
    return [part for part in found.left_out if switch in part.switches]


def _fresh_group(known: Known, arms: Iterable[Set], blocks: int) -> ArmGroup:
    seed = known.start.seed + RECIPE_SEED_OFFSET
    return ArmGroup(label=Role.RECIPE, seed=seed, arms=tuple(dict.fromkeys(arms)), blocks=blocks)


def _arms(known: Known) -> dict[frozenset[Switch], list[Run]]:
    """Return what is on in an arm of the fresh blocks -> its runs."""
    arms: dict[frozenset[Switch], list[Run]] = {}
    for one in known.of(Role.RECIPE):
        arms.setdefault(one.on, []).append(one.run)
    return arms


def _alone(gone: Set) -> bool:
    """Whether one switch was left out, and with it only what needs it."""
    return any(all(other == one or one.lever in other.needs for other in gone) for one in gone)


def _ordered(known: Known, switches: frozenset[Switch]) -> Set:
    """Return those of these switches that a recipe may have: a slow way came with one of them."""
    return tuple(switch for switch in known.switches if switch in switches)
