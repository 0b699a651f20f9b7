"""Arms that are alive together take turns: who trains when, and for how long. Knows no trial."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from msgspec.structs import replace

from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.core.result import FEWEST_QUIET
from trainspeed.worker.device_errors import crowds
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.turns import EPOCHS_BEFORE_TURNS

# Of turns in a block: even, so that every arm comes before every other one equally often. Of two, one disturbed round
# is half; where nothing is to be decided, that is good enough.
ROUNDS, FEW_ROUNDS = 4, 2
MOST_ROUNDS = 6  # where others leave one of them alone; more would take the time of further blocks
TURN_S = 0.6  # much shorter, and a busy core's scheduler favours whoever has slept


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


def epochs_of_a_turn(epoch_s: Sequence[float], turn_s: float, epochs: int, *, rounds: int = ROUNDS) -> int:
    """Return how many epochs every arm trains in a turn, one or more.

    The same for all, so that their accuracies compare; their turns take `turn_s` on average, or longer where a
    run is to train more epochs.

    Args:
        epoch_s: Seconds of an epoch of each arm.
        epochs: Epochs that a run trains at least, those before its turns among them.
    """
    mean_s = fmean(epoch_s) if epoch_s else 0.0
    least = max(1, math.ceil((epochs - EPOCHS_BEFORE_TURNS) / rounds))
    return max(least, round(turn_s / mean_s)) if mean_s > 0 else least


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
    turn: Callable[[Sequence[float]], TakeTurn],
    *,
    rounds: int = ROUNDS,
    at_once: int = 1,
    ends_at_once: int | None = None,
) -> list[RunOutcome] | None:
    """Start every arm, give each a turn in every round, and return how they ended, in the order of `begin`.

    Where others used the machine in all rounds but one, there are two more: what is measured decides nothing of it.
    Where all were disturbed, as by what always runs, there are none.

    One arm after the other, or several at once, starts and trains its first epochs, or makes its first calls,
    while those that have come so far rest; an arm that fails leaves, and the others go on. Where one fails while others
    are alive for what may go well without them, such as memory, all end at once, and None is returned: they do not fit
    together.

    Args:
        begin: Starts an arm's run, which takes turns.
        seed: Of the order of turns.
        turn: Returns what a turn is, given an epoch's seconds of each arm that has come so far.
        at_once: How many start together, each on a core of its own, or all on all.
        ends_at_once: How many look up at the same time what is not timed, after the last turn; None where an arm starts
            and ends on the core of its turns. Where it is given, an arm rests after its first epoch and moves to that
            core, and the second one tells its pace when all have come.
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
    if ends_at_once is not None:
        epoch_s = []
        for run in [run for run in arms if run.outcome is None]:
            if rested := run.warm_up():
                epoch_s += rested.epoch_s[-1:]
            elif _crowded(run, arms):
                return None
    share = turn(epoch_s)
    quiet = 0
    for number, order in enumerate(orders(len(arms), max(rounds, MOST_ROUNDS), seed)):
        if number >= rounds and not ((number - rounds) % 2 or 0 < quiet < FEWEST_QUIET < rounds):
            break
        alive = [index for index in order if arms[index].outcome is None]
        disturbed = False
        for place, index in enumerate(alive):
            taken = arms[index].take_turn(replace(share, round=number, place=place))
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
