"""Whether arms that took turns on GPUs had the same clock: where they had not, part of a ratio is the clock's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import percent
from trainspeed.core.run import Run, Status
from trainspeed.judge import text

CLOCK_SHARE = 0.02  # the margin of a verdict


@dataclass(frozen=True, kw_only=True)
class PairedClocks:
    """The clocks of two runs that took turns with one another.

    Attributes:
        baseline_mhz, candidate_mhz: Medians over the rounds that both have.
        ratio: Median over these rounds of candidate / baseline.
    """

    baseline: AnyTrial
    candidate: AnyTrial
    baseline_mhz: float
    candidate_mhz: float
    ratio: float

    @property
    def apart(self) -> float:
        """By what share the higher clock exceeds the lower one."""
        return max(self.ratio, 1 / self.ratio) - 1


def paired_clocks(runs: Iterable[Run]) -> Iterator[PairedClocks]:
    """Yield the clocks of every two runs of a block that took turns with one another, where both are known."""
    alive: dict[tuple, list[Run]] = {}
    for run in runs:
        if run.status is Status.OK and run.round_clock_mhz:
            alive.setdefault((run.study, run.block, *run.alive_with), []).append(run)
    for together in alive.values():
        for baseline, candidate in combinations(together, 2):
            one, other = baseline.round_clock_mhz, candidate.round_clock_mhz
            if rounds := one.keys() & other.keys():
                yield PairedClocks(
                    baseline=baseline.trial.spec,
                    candidate=candidate.trial.spec,
                    baseline_mhz=median(one[number] for number in rounds),
                    candidate_mhz=median(other[number] for number in rounds),
                    ratio=median(other[number] / one[number] for number in rounds),
                )


def clock_doubts(runs: Sequence[Run]) -> list[str]:
    """Return the doubt about clocks that differ by more than `CLOCK_SHARE`; the worst pair stands for all."""
    pairs = list(paired_clocks(runs))
    doubtful = [pair for pair in pairs if pair.apart > CLOCK_SHARE]
    if not doubtful:
        return []
    worst = max(doubtful, key=lambda pair: pair.apart)
    return [
        f"{len(doubtful)} of {len(pairs)} pairs of runs that took turns had clocks of the GPU that differ by more than "
        f"{percent(CLOCK_SHARE)}, most of all {text.pair(worst.baseline, worst.candidate)}: "
        f"{worst.candidate_mhz:.0f} vs {worst.baseline_mhz:.0f} MHz. Part of their ratio is the clock's. Lock the "
        "clock (nvidia-smi -lgc), or make turns longer (turn_s)."
    ]
