"""In which order the runs of a study come: its blocks, and the arms of a comparison within each. Runs nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from trainspeed.conduct.plan import Planned, TrialSet
from trainspeed.conduct.timetable import FEWEST
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import AGAIN, Role

_Kind = tuple[str, AnyTrial]
_Runs = dict[_Kind, tuple[Planned, Any]]


def schedule(parts: Sequence[TrialSet], seed: int, *, first_group: int = 0) -> tuple[Planned, ...]:
    """Return every run of a study: block after block, in a random order, and in every second block in reverse.

    The trials of a comparison are neighbours, in random order too. In two blocks each comes once before and once
    after every other one: what the second run gains or loses, on a device that is warm by then, favours none. Of
    several, each has each place equally often in twice as many blocks as they are: in the next two blocks the order is
    rotated by one, and is drawn anew once all have had all places. With a draw for each two, one of two equal arms was
    the middle one of three in all six blocks of a report, and up to 3 % slower than the other beside a neighbour.

    The seed alone decides the order. A trial that is in two parts runs once, as part of the first.

    Args:
        first_group: Number of the first group of each block, where others of the session have had those before.
    """
    blocks = [_of_block(parts, block) for block in range(max((part.blocks for part in parts), default=0))]
    kinds = list(dict.fromkeys(kind for runs in blocks for kind in runs))
    plan: list[Planned] = []
    for block, runs in enumerate(blocks):
        order = _in_order(runs, kinds, seed, pair=block // 2)
        if block % 2:
            order.reverse()
        names = dict.fromkeys(compared for _, compared in order)
        numbers = {name: first_group + number for number, name in enumerate(names)}
        plan += [replace(planned, group=numbers[compared]) for planned, compared in order]
    return tuple(plan)


def _in_order(runs: _Runs, kinds: Sequence[_Kind], seed: int, *, pair: int) -> list[tuple[Planned, Any]]:
    """Return the runs of a block, those that are compared next to each other.

    Args:
        kinds: Of all blocks: the order is drawn of these.
        pair: Number of the two blocks that it is one of.
    """

    draws: dict[int, dict[Any, list[_Kind]]] = {}

    def drawn(number: int) -> dict[Any, list[_Kind]]:
        if number not in draws:
            own = draws.setdefault(number, {})
            for kind in random.Random(f"{seed}:{number}").sample(kinds, len(kinds)):
                if kind in runs:
                    own.setdefault(runs[kind][1], []).append(kind)
        return draws[number]

    found = []
    for compared, arms in drawn(pair).items():
        turned = pair % len(arms)
        own = [runs[kind] for kind in drawn(pair - turned)[compared]]
        found += own[turned:] + own[:turned]
    return found


def _of_block(parts: Sequence[TrialSet], block: int) -> _Runs:
    """Return label and trial of every run of a block -> the run, and what it shares with those it is compared with."""
    runs = {}
    named: set[AnyTrial] = set()
    for number, part in enumerate(parts):
        if block < part.blocks:
            for label, trial in _labelled(part, named):
                of_set = {"part": number, "across": part.across, "limit_s": part.limit_s}
                of_set["timed_only"] = part.lines and part.blocks < FEWEST
                planned = Planned(block=block, label=str(label), trial=trial.in_block(block), **of_set)
                equal = (item for item in trial.as_dict().items() if item[0] not in part.factors)
                runs[label, trial] = planned, (number, *equal)
    return runs


def _labelled(part: TrialSet, named: set[AnyTrial]) -> Iterable[tuple[str, AnyTrial]]:
    for trial in part.trials:
        if part.label:
            yield part.label, trial
            if trial in part.controls:
                yield AGAIN[Role(part.label)], trial
        elif trial not in named:
            named.add(trial)
            yield (Role.CONTROL if trial in part.controls else Role.DATA), trial
            if trial in part.controls:
                yield AGAIN[Role.CONTROL], trial
    for trial in dict.fromkeys(part.anchors):
        yield Role.ANCHOR, trial
