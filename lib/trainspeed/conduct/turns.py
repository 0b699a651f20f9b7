"""Arms that are alive together take turns: who trains when, and for how long. Knows no trial."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import replace

from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.core.result import fewest_quiet
from trainspeed.core.run import Status
from trainspeed.sensors.cpu import least_turn_s
from trainspeed.worker.device_errors import crowds
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.meter import MIN_SPAN_S
from trainspeed.worker.turns import EPOCHS_BEFORE_TURNS

# Of turns in a block: even, so that every arm comes before every other one equally often. Of two, one disturbed round
# is half; where nothing is to be decided, that is good enough.
ROUNDS, FEW_ROUNDS = 4, 2
TURN_S = 0.6
# The time of these is cut into shorter turns, of an epoch or more. A neighbour that no counter shows made a machine a
# third slower for seconds at a time: of 24 blocks of a training beside itself (MobileNet, epochs of 0.1 s) the log
# ratios scattered by 0.047 in 4 turns of 5 epochs, by 0.026 in 10 of 2 and by 0.017 in 20 of 1. The first epoch of a
# turn, with caches that others had used, took 0.2 to 0.7 % longer.
MOST_ROUNDS = 20
MOST_TIME = 1.05  # that they may take, of that time
MORE_ROUNDS = 2  # where others leave too few of them alone; more would take the time of further blocks
LEAST_EPOCH_S = 1e-6  # a clock may show less


def orders(arms: int, rounds: int, seed: str) -> Iterator[tuple[int, ...]]:
    """Yield for each round the order in which the arms, 0, 1, 2 …, have their turns.

    A random order, then the same backwards, then another one: in two rounds each arm comes once before and once
    after every other one, and a steady drift favours none.
    """
    draw = random.Random(seed)
    order: list[int] = []
    for number in range(rounds):
        order = order[::-1] if number % 2 else draw.sample(range(arms), arms)
        yield tuple(order)


@dataclass(frozen=True, kw_only=True)
class Turns:
    """The turns of each arm of a block.

    Attributes:
        rounds: How many turns each has: an even number.
        each: A turn.
    """

    rounds: int = ROUNDS
    each: TakeTurn


def shortest_turn_s(device: str) -> float:
    """Return the seconds of the fastest arm's shortest turn.

    Shorter, and the caches that others had used would count, a busy core's scheduler would favour whoever has slept,
    and it would not be known what others used, nor a GPU's energy.
    """
    return MIN_SPAN_S if device == "gpu" else least_turn_s()


def fewest_epochs(rounds: int, epochs: int, lead_in: int) -> int:
    """Return how many epochs an arm trains in turns at least; arguments as of `turns_of_epochs`."""
    return max(rounds * (lead_in + 1), epochs - EPOCHS_BEFORE_TURNS)


def turns_of_epochs(
    epoch_s: Sequence[float],
    turn_s: float,
    epochs: int,
    *,
    shortest_s: float,
    rounds: int = ROUNDS,
    lead_in: int = 0,
) -> Turns:
    """Return the turns of arms that train: as many as may be, of an epoch or more.

    With as many epochs for all, so that their accuracies compare. On average they take as long as `rounds` turns of
    `turn_s`, or longer where a run is to train more epochs.

    Args:
        epoch_s: Seconds of an epoch of each arm.
        epochs: Epochs that a run trains at least, those before its turns among them.
        shortest_s: Seconds of the fastest arm's turn, at least, where there is time for more turns than `rounds`.
        rounds: Turns, at least.
        lead_in: Epochs at the beginning of a turn that do not count; one that does comes after them.
    """
    mean_s = fmean(epoch_s) if epoch_s else 0.0
    every = fewest_epochs(rounds, epochs, lead_in)
    if mean_s <= 0:
        return Turns(rounds=rounds, each=TakeTurn(epochs=math.ceil(every / rounds), lead_in=lead_in))
    every = max(every, round(rounds * turn_s / mean_s))
    shortest = max(lead_in + 1, math.ceil(shortest_s / max(min(epoch_s), LEAST_EPOCH_S)))
    each = {number: math.ceil(every / number) for number in range(rounds, MOST_ROUNDS + 1, 2)}
    able = [number for number, own in each.items() if own >= shortest] or [rounds]
    fit = [number for number in able if number * each[number] <= MOST_TIME * every]
    number = max(fit) if fit else min(able, key=lambda few: (few * each[few], -few))
    return Turns(rounds=number, each=TakeTurn(epochs=each[number], lead_in=lead_in))


def turn_of_calls(turn_s: float, calls: int, *, rounds: int = ROUNDS) -> TakeTurn:
    """Return the turn of arms that make calls: for about `turn_s` seconds, each as many as its own pace says.

    Not as many for all, as of epochs: a trained model depends on its number of epochs and a call's result on none, and
    a call of 10 µs may be compared with one of 2 s, which stays one a turn.

    Args:
        calls: Calls of a run, at least.
    """
    return TakeTurn(calls=math.ceil(calls / rounds), seconds=turn_s)


def measure_in_turns(
    begin: Sequence[Callable[[], ForkedRun]],
    seed: str,
    turns: Callable[[Sequence[float]], Turns],
    *,
    at_once: int = 1,
    ends_at_once: int | None = None,
    paced: bool = False,
    too_slow: Callable[[Sequence[float]], RunOutcome | None] = lambda epoch_s: None,
) -> list[RunOutcome] | None:
    """Start every arm, give each a turn in every round, and return how they ended, in the order of `begin`.

    Where others left too few rounds alone, and two more may be enough, there are two more: what is measured decides
    nothing of it. Where all were disturbed, as by what always runs, there are none.

    One arm after the other, or several at once, starts and trains its first epochs, or makes its first calls,
    while those that have come so far rest; an arm that fails leaves, and the others go on. Where one fails while others
    are alive for what may go well without them, such as memory, all end at once, and None is returned: they do not fit
    together.

    Args:
        begin: Starts an arm's run, which takes turns.
        seed: Of the order of turns.
        turns: Returns the turns, given an epoch's seconds of each arm that has come so far.
        at_once: How many start together, each on a core of its own, or all on all.
        ends_at_once: How many look up at the same time what is not timed, after the last turn; None where an arm starts
            and ends on the core of its turns. Where it is given, an arm rests after its first epoch and moves to that
            core, and the second one tells its pace when all have come.
        paced: Whether earlier blocks have told the pace, so that no arm trains a second epoch before its turns.
        too_slow: Returns how the runs of all arms end where those that have come so far, of which it gets an epoch's
            seconds, are too slow for the time that there is; None where they are not.
    """
    arms: list[ForkedRun] = []
    epoch_s: list[float] = []
    for first in range(0, len(begin), at_once):
        arms += [start() for start in begin[first : first + at_once]]
        for run in arms[first:]:
            if rested := run.rests():
                epoch_s += rested.epoch_s[-1:]
            elif _crowded(run, arms):
                return None
            # The first epoch tells no pace: it holds compiling.
            pace_s = epoch_s if ends_at_once is None and not paced else []
            if ending := too_slow(pace_s):
                return _given_up(arms, ending, len(begin))
    if ends_at_once is not None and not paced:
        epoch_s = []
        for run in [run for run in arms if run.outcome is None]:
            if rested := run.warm_up():
                epoch_s += rested.epoch_s[-1:]
            elif _crowded(run, arms):
                return None
            if ending := too_slow(epoch_s):
                return _given_up(arms, ending, len(begin))
    planned = turns(epoch_s)
    quiet, fewest, in_more = 0, *(fewest_quiet(planned.rounds + more) for more in (0, MORE_ROUNDS))
    for number, order in enumerate(orders(len(arms), planned.rounds + MORE_ROUNDS, seed)):
        if number == planned.rounds and not (0 < quiet < fewest < number and quiet + MORE_ROUNDS >= in_more):
            break
        alive = [index for index in order if arms[index].outcome is None]
        disturbed = False
        for place, index in enumerate(alive):
            taken = arms[index].take_turn(replace(planned.each, round=number, place=place))
            if taken is None and _crowded(arms[index], arms):
                return None
            disturbed |= taken is not None and taken.disturbed
        quiet += not disturbed
    alive = [run for run in arms if run.outcome is None]
    together = ends_at_once or 1
    for first in range(0, len(alive), together):
        several = alive[first : first + together]
        for run in several:
            run.finish()
        for run in several:
            run.end()
            if _crowded(run, arms):
                return None
    return [run.outcome for run in arms]


def _crowded(ended: ForkedRun, arms: Sequence[ForkedRun]) -> bool:
    """Return whether an arm failed while others were alive that may be why; these are ended then."""
    others = [run for run in arms if run.outcome is None]
    if not crowds(ended.outcome.status, ended.outcome.failure) or not others:
        return False
    for run in others:
        run.stop()
    return True


def _given_up(arms: Sequence[ForkedRun], ending: RunOutcome, number: int) -> list[RunOutcome]:
    """End all arms for which there is not enough time, and return how so many ended: those that never began, too."""
    for run in [run for run in arms if run.outcome is None]:
        run.give_up(ending)
    ended = [
        dataclasses.replace(ending, result=one.result) if one.status is Status.TIMEOUT else one
        for one in (run.outcome for run in arms)
    ]
    return [*ended, *[ending] * (number - len(arms))]
