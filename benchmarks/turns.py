"""How long turns are; cut a program's epochs into those it had while the others were stopped, and pair them.

Pure functions on seconds. Knows no process: `programs` stops and resumes them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, median

COLD_EPOCHS = 1  # whole epochs after a pause that are left out: the others have emptied the caches
MIN_EPOCHS = 2  # of a turn, after the cold one: fewer have no median worth pairing
TURN_S = 1.5  # at least, where nothing else is asked for
TURN_EPOCHS = 8  # the same: one is paused, one cold
SPARE = 1.25  # epochs of ours beyond what the bare script would train in its turns
RAN_ON = 0.25  # of the next turn: epochs that fill so much of it, too, were not only one turn's


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast the first program is, by which the turns of all are chosen.

    Attributes:
        least_s, least_epochs: Of a turn.
    """

    epoch_s: float
    least_s: float = TURN_S
    least_epochs: int = TURN_EPOCHS

    @property
    def turn_s(self) -> float:
        return max(self.least_s, self.least_epochs * self.epoch_s)

    def epochs(self, rounds: int) -> int:
        """Epochs that fill so many turns, and one more before the first pause."""
        return int(SPARE * (rounds + 1) * self.turn_s / self.epoch_s) + 3


def orders(names: Sequence[str], rounds: int, seed: int) -> list[list[str]]:
    """Return the order of the programs in each round: random, but nobody has two turns in a row.

    With the order reversed from round to round the last one would, and no pause would part its two turns.

    Args:
        names: In the order in which they were started: the last one ran last.
    """
    rng, before, found = random.Random(seed), names[-1], []
    for _ in range(rounds):
        order = rng.sample(list(names), len(names))
        while order[0] == before:
            rng.shuffle(order)
        before = order[-1]
        found.append(order)
    return found


def split(epoch_s: Sequence[float], on_s: Sequence[float], pause_s: float) -> list[list[float]]:
    """Return the whole epochs of each turn, in seconds.

    An epoch that was stopped within lasts at least as long as the pause: it parts two turns, and belongs to
    neither. A pause between two epochs shows in no epoch (Keras does much there); then more epochs follow one
    another than fit into one turn. They are shared out by the turns' lengths, without the epoch on either
    side of each seam, which may be the other turn's.

    Args:
        epoch_s: Every epoch's duration, the first epoch first.
        on_s: How long each turn was; the first turn is the start, with the first epoch whole.
        pause_s: The shortest pause; longer than any epoch but the first.
    """
    turns: list[list[float]] = [[] for _ in on_s]
    turn, together = 0, []
    for number, seconds in enumerate(epoch_s):
        if number and seconds >= pause_s:
            turn, together = _share(turns, turn, together, on_s) + 1, []
            if turn >= len(on_s):
                raise ValueError(f"epoch {number} was paused, but only {len(on_s)} turns were given.")
        else:
            together.append(seconds)
    _share(turns, turn, together, on_s)
    return turns


def _share(turns: list[list[float]], turn: int, together: list[float], on_s: Sequence[float]) -> int:
    """Give epochs to a turn, and to those after it that they fill too; return the last one."""
    last = turn
    while last + 1 < len(on_s) and sum(together) > sum(on_s[turn : last + 1]) + RAN_ON * on_s[last + 1]:
        last += 1
    scale = sum(on_s[turn : last + 1]) / sum(together) if last > turn else 1.0  # for the time between epochs
    first = 0
    for number in range(turn, last + 1):
        end = len(together)
        if number < last:
            seam_s = sum(on_s[turn : number + 1])
            end = sum(scale * ran_s < seam_s for ran_s in accumulate(together))
        turns[number] = together[first + (number > turn) : max(0, end - (number < last))]
        first = end
    return last


def turn_epoch_s(epochs: Sequence[float]) -> float | None:
    """Return the median epoch of a turn, in seconds, without the cold ones; None where too few are left."""
    warm = epochs[COLD_EPOCHS:]
    return median(warm) if len(warm) >= MIN_EPOCHS else None


def paired(turns: Mapping[str, Sequence[float | None]]) -> dict[str, list[float]]:
    """Return each program's turns in those rounds in which every program has one."""
    rounds = [values for values in zip(*turns.values(), strict=False) if None not in values]
    return {name: [values[n] for values in rounds] for n, name in enumerate(turns)}


def of_a_set(rounds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the seconds of an epoch of each program, from turns that are paired by round.

    What drifts from round to round is in all programs, and is taken out before the median over the rounds: each
    program's own median may come from another round than the next one's. A ratio of two is then of the same rounds.
    """
    logs = {name: [math.log(value) for value in seconds] for name, seconds in rounds.items()}
    level = [fmean(each) for each in zip(*logs.values(), strict=True)]
    return {
        name: math.exp(fmean(level) + median(log - of_all for log, of_all in zip(own, level, strict=True)))
        for name, own in logs.items()
    }
