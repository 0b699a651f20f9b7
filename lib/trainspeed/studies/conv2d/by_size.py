"""Which library is fastest at each size that was tried, and how sure that is. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from trainspeed.core.convolution import library_of
from trainspeed.core.format import listed, three
from trainspeed.core.run import Run
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.conv2d.calls import calls_at, calls_of
from trainspeed.studies.conv2d.sweeps import LEAST_SIZES, SWEEPS, Sweep


@dataclass(frozen=True, kw_only=True)
class FastestAtSize:
    """The library with the shortest median call at a size.

    Attributes:
        sure: Whether it was shown to be faster than every other one.
    """

    size: int
    library: str
    sure: bool


def fastest_at_sizes(runs: Iterable[Run], sweeps: Iterable[Sweep]) -> dict[str, list[FastestAtSize]]:
    """Return the fastest at each size at which all libraries of a sweep ran, the smallest first.

    Keys: the sizes that grew, of `SWEEPS`, where there are two sizes or more.
    """
    calls, sweeps = calls_of(runs), list(sweeps)
    found: dict[str, list[FastestAtSize]] = {}
    for factor in dict.fromkeys(sweep.factor for sweep in sweeps):
        own = [sweep for sweep in sweeps if sweep.factor == factor]
        fastest = []
        for size in sorted({getattr(trial, factor) for trial in calls}):
            ran = [calls_at(calls, trial) for trial in dict.fromkeys(t for s in own for t in s.at(size))]
            if all(one.runs for one in ran):
                best = min(ran, key=lambda one: one.median())
                others = [one for one in ran if one is not best]
                sure = all(judge_runs(one.runs, best.runs).outcome is Outcome.FASTER for one in others)
                fastest.append(FastestAtSize(size=size, library=library_of(best.trial), sure=sure))
        if len(fastest) >= LEAST_SIZES:
            found[factor] = fastest
    return found


def by_size_sentences(runs: Iterable[Run], sweeps: Iterable[Sweep], *, cores: bool) -> list[str]:
    """Return, for the first size that grew, which library was fastest where, and where that is not decided.

    Another size has a sentence where another library is fastest at some of it. The table has all: the answer has its
    chart on the same sheet of paper.

    Args:
        cores: Whether all that frameworks ran on was CPU cores, of which each library had one.
    """
    sentences: list[str] = []
    told: set[str] = set()
    for factor, fastest in fastest_at_sizes(runs, sweeps).items():
        unit, libraries = SWEEPS[factor].unit, {one.library for one in fastest}
        if told and not libraries - told:
            continue
        unsure = [one for one in fastest if not one.sure]
        if told:  # in a line: the answer and its chart are on one sheet
            by = f"By {SWEEPS[factor].title.lower()}{', by medians alone' * bool(unsure)}"
            sentences.append(f"{by}: {'; '.join(_stretches(fastest))}.")
            continue
        told = {*libraries}
        if len(libraries) == 1:
            said = f"{libraries.pop()} is fastest at every size tried ({_sizes(fastest)} {unit})"
        else:
            said = f"Fastest, by {SWEEPS[factor].title.lower()}: {'; '.join(_stretches(fastest))} {unit}"
        doubt = f"; at {_sizes(unsure)} by medians alone" if unsure else ""
        sentences.append(f"{said}{', one core against one core' * cores}{doubt}.")
    return sentences


def by_size_title(runs: Iterable[Run], sweeps: Iterable[Sweep]) -> str:
    """Return the same of what was decided, as a chart's title; "" where nothing was."""
    said = []
    for factor, fastest in fastest_at_sizes(runs, sweeps).items():
        sure = [one for one in fastest if one.sure]
        for library in dict.fromkeys(one.library for one in sure):
            sizes = _sizes([one for one in sure if one.library == library])
            said.append(f"{library} is fastest at {sizes} {SWEEPS[factor].unit}")
    return "; ".join(said)


def _stretches(fastest: Sequence[FastestAtSize]) -> list[str]:
    """Return who is fastest at which sizes that follow each other: ["OpenCV filter2D at 1 and 12", …]."""
    groups = groupby(fastest, key=lambda one: one.library)
    return [f"{library} at {_sizes([*several])}" for library, several in groups]


def _sizes(fastest: Iterable[FastestAtSize]) -> str:
    return listed(three(one.size) for one in fastest)
