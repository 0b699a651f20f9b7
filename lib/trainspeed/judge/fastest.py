"""Which library convolves fastest, read off the verdicts on single convolutions. Decides and measures nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import fixed, listed
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome

LIBRARY = "library"  # factor of a comparison of libraries
# Fields in which calls of the same images may differ.
APART = (LIBRARY, "mode", "processor", "devices", "calls", "seed")


@dataclass(frozen=True, kw_only=True)
class Fastest:
    """The library that is faster than every other one, at the one size that was compared.

    Attributes:
        trial: Its own trial.
        where: That size, in words.
        beaten: Library -> how many times as fast the fastest one is; one at least.
        slowest: The library that every other one is faster than; None where there is none.
    """

    library: str
    trial: AnyTrial
    where: str
    beaten: dict[str, float]
    slowest: str | None = None

    @property
    def times(self) -> str:
        """How many times as fast it is: "2.6x to 2.8x", or "2.6x"."""
        sizes = sorted(self.beaten.values())
        return listed(dict.fromkeys(fixed(size, 1, "x") for size in (sizes[0], sizes[-1])), last="to")

    @property
    def gain(self) -> str:
        """Which library is how many times as fast as which."""
        return f"{self.library}, {self.times} as fast as {listed([*self.beaten])}"

    @property
    def words(self) -> str:
        """Which library is how many times as fast as which, and where."""
        return f"{self.gain}, for {self.where}"


def fastest_library(verdicts: Iterable[Verdict]) -> Fastest | None:
    """Return the library that is faster than every other one; None where there is none, or sizes differ.

    Faster than one that is faster than a third, it is faster than that, too; how many times is said of its own
    comparisons only.
    """
    sure = [v for v in verdicts if v.candidate.phase.calls and v.factor == LIBRARY and v.low is not None]
    sure = [verdict for verdict in sure if verdict.quantity == "time" and not verdict.is_control]
    places = {", ".join(verdict.baseline.describe(without=verdict.row.hidden)) for verdict in sure}
    wins: dict[str, dict[str, float]] = {}
    arms = {v.row.words(trial): trial for v in sure for trial in (v.candidate, v.baseline)}
    for verdict in sure:
        sides = [verdict.row.words(trial) for trial in (verdict.candidate, verdict.baseline)]
        for side in sides:
            wins.setdefault(side, {})
        if verdict.outcome is Outcome.FASTER:
            wins[sides[0]][sides[1]] = verdict.speedup
        elif verdict.outcome is Outcome.SLOWER:
            wins[sides[1]][sides[0]] = 1 / verdict.speedup
    slower = {library: _slower_than(library, wins) for library in wins}
    fastest = next((library for library in wins if slower[library] == {*wins} - {library}), None)
    beat = {library: {other for other in wins if library in slower[other]} for library in wins}
    slowest = next((library for library in wins if beat[library] == {*wins} - {library}), None)
    if len(places) != 1 or fastest is None:
        return None
    where, trial = places.pop(), arms[fastest]
    return Fastest(library=fastest, trial=trial, where=where, beaten=wins[fastest], slowest=slowest)


def against_each(fastest: Fastest, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on the fastest library and another one, each seen from the fastest: larger is better."""
    names, seen = fastest.trial.factor(LIBRARY), []
    for verdict in verdicts:
        if verdict.factor != LIBRARY or verdict.quantity != "time" or verdict.is_control:
            continue
        if names.words(verdict.candidate) == fastest.library:
            seen.append(verdict)
        elif names.words(verdict.baseline) == fastest.library:
            sides = {"baseline": verdict.candidate, "candidate": verdict.baseline}
            seen.append(replace(verdict, **sides, judgement=verdict.judgement.turned))
    return seen


def fastest_against_next(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return of each study the verdict on its fastest library and the nearest of those that it is compared with."""
    known = [verdict for verdict in verdicts if verdict.candidate.phase.calls and verdict.factor == LIBRARY]
    nearest = []
    for study in dict.fromkeys(verdict.study for verdict in known):
        own = [verdict for verdict in known if verdict.study == study]
        if (fastest := fastest_library(own)) is None:
            continue
        pair = {fastest.library, min(fastest.beaten, key=fastest.beaten.__getitem__)}
        names = fastest.trial.factor(LIBRARY)
        nearest += [v for v in own if {names.words(v.baseline), names.words(v.candidate)} == pair][:1]
    return nearest


def on_several_devices(fastest: Fastest, runs: RunSet) -> str:
    """Return which library takes less than the fastest one where several devices share the same images, if any does.

    Nothing where none was measured so, or the fastest one is first there, too. Their medians say it: no verdict
    compares libraries on several devices.

    Args:
        runs: Of the study.
    """
    names, others = fastest.trial.factor(LIBRARY), {}
    same = [f.name for f in fields(fastest.trial) if f.name not in APART]
    for trial, own in runs.ok().data().by_trial().items():
        known = [run.median_call_s for run in own if run.trial.phase.calls and run.median_call_s]
        if known and all(getattr(trial, name) == getattr(fastest.trial, name) for name in same):
            others[trial] = median(known)
    several = [trial for trial in others if trial.devices > 1]
    if not several:
        return ""
    first = min(several, key=others.__getitem__)
    own_s = min((s for t, s in others.items() if names.words(t) == fastest.library), default=None)
    if own_s is None or names.words(first) == fastest.library:
        return ""
    kind = "cores" if next(iter(runs)).machine.get("device") == "cpu" else "devices"
    faster = f"{names.words(first)} is" if others[first] < own_s else "no other is"
    return f"by medians {faster} faster on {first.devices} {kind}"


def _slower_than(library: str, wins: Mapping[str, Mapping[str, float]]) -> set[str]:
    """Return those that a library beats, that these beat, and so on."""
    slower: set[str] = set()
    new = {*wins[library]}
    while new:
        slower |= new
        new = {loser for winner in new for loser in wins[winner]} - slower
    return slower
