"""Which library convolves fastest, read off the verdicts on single convolutions. Decides and measures nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainspeed.core.format import fixed, listed
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome

LIBRARY = "library"  # factor of a comparison of libraries


@dataclass(frozen=True, kw_only=True)
class Fastest:
    """The library that loses to none, at the one size that was compared.

    Attributes:
        where: That size, in words.
        beaten: Library -> how many times as fast the fastest one is; one at least.
    """

    library: str
    where: str
    beaten: dict[str, float]

    @property
    def times(self) -> str:
        """How many times as fast it is: "2.6x to 2.8x", or "2.6x"."""
        sizes = sorted(self.beaten.values())
        return listed(dict.fromkeys(fixed(size, 1, "x") for size in (sizes[0], sizes[-1])), last="to")

    @property
    def words(self) -> str:
        """Which library is how many times as fast as which, and where."""
        return f"{self.library}, {self.times} as fast as {listed([*self.beaten])}, for {self.where}"


def fastest_library(verdicts: Iterable[Verdict]) -> Fastest | None:
    """Return the library that loses to none and beats one; None where several do, or sizes differ."""
    sure = [v for v in verdicts if v.candidate.phase.calls and v.factor == LIBRARY and v.low is not None]
    sure = [verdict for verdict in sure if verdict.quantity == "time" and not verdict.is_control]
    places = {", ".join(verdict.baseline.describe(without=verdict.row.hidden)) for verdict in sure}
    wins: dict[str, dict[str, float]] = {}
    lost = set()
    for verdict in sure:
        sides = [verdict.row.words(trial) for trial in (verdict.candidate, verdict.baseline)]
        if verdict.outcome is Outcome.FASTER:
            winner, loser, size = *sides, verdict.speedup
        elif verdict.outcome is Outcome.SLOWER:
            loser, winner, size = *sides, 1 / verdict.speedup
        else:
            continue
        wins.setdefault(winner, {})[loser] = size
        lost.add(loser)
    unbeaten = [library for library in wins if library not in lost]
    if len(places) != 1 or len(unbeaten) != 1:
        return None
    return Fastest(library=unbeaten[0], where=places.pop(), beaten=wins[unbeaten[0]])
