"""Whether arms that took turns on GPUs had the same clock: where they had not, part of a ratio is the clock's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import counted, percent
from trainspeed.core.run import Run, Status
from trainspeed.judge import text

CLOCK_SHARE = 0.02  # the margin of a verdict
POWER_CAP = "sw_power_cap"
CAP_SHARE = 0.5  # of the rounds: by how much two arms must differ in how often the power limit held them down


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


@dataclass(frozen=True, kw_only=True)
class PairedCaps:
    """How often the power limit held the clocks of two runs down that took turns with one another.

    Attributes:
        baseline_rounds, candidate_rounds: Of the rounds that both have, those at whose end it did.
        rounds: Number of rounds that both have.
    """

    baseline: AnyTrial
    candidate: AnyTrial
    baseline_rounds: int
    candidate_rounds: int
    rounds: int

    @property
    def apart(self) -> float:
        """By what share of the rounds the two differ."""
        return abs(self.baseline_rounds - self.candidate_rounds) / self.rounds


def paired_clocks(runs: Iterable[Run]) -> Iterator[PairedClocks]:
    """Yield the clocks of every two runs of a block that took turns with one another, where both are known."""
    for baseline, candidate, pairs in _pairs(runs, lambda run: run.round_clock_mhz):
        yield PairedClocks(
            baseline=baseline,
            candidate=candidate,
            baseline_mhz=median(one for one, _ in pairs),
            candidate_mhz=median(other for _, other in pairs),
            ratio=median(other / one for one, other in pairs),
        )


def paired_caps(runs: Iterable[Run]) -> Iterator[PairedCaps]:
    """Yield how often the power limit held down every two runs of a block that took turns, where both are known."""
    for baseline, candidate, pairs in _pairs(runs, lambda run: run.round_throttle_reasons):
        yield PairedCaps(
            baseline=baseline,
            candidate=candidate,
            baseline_rounds=sum(POWER_CAP in one for one, _ in pairs),
            candidate_rounds=sum(POWER_CAP in other for _, other in pairs),
            rounds=len(pairs),
        )


def _pairs(
    runs: Iterable[Run], by_round: Callable[[Run], dict[int, Any]]
) -> Iterator[tuple[AnyTrial, AnyTrial, list[tuple[Any, Any]]]]:
    """Yield the trials of every two runs that took turns with one another, and the values of their common rounds.

    Two that do different work, as a product of matrices and a copy, are no pair: nobody takes their ratio.
    """
    alive: dict[tuple, list[Run]] = {}
    for run in runs:
        if run.status is Status.OK and by_round(run):
            alive.setdefault((run.study, run.block, *run.alive_with), []).append(run)
    for together in alive.values():
        for baseline, candidate in combinations(together, 2):
            if baseline.trial.phase is not candidate.trial.phase:
                continue
            one, other = by_round(baseline), by_round(candidate)
            if rounds := one.keys() & other.keys():
                pairs = [(one[number], other[number]) for number in sorted(rounds)]
                yield baseline.trial.spec, candidate.trial.spec, pairs


def clock_doubts(runs: Sequence[Run]) -> list[str]:
    """Return the doubts about clocks that differ by more than `CLOCK_SHARE`, and about power limits that held one arm
    of a pair down and not the other; the worst pair stands for all.
    """
    sentences = []
    pairs = list(paired_clocks(runs))
    if doubtful := [pair for pair in pairs if pair.apart > CLOCK_SHARE]:
        worst = max(doubtful, key=lambda pair: pair.apart)
        sentences.append(
            f"{len(doubtful)} of {len(pairs)} pairs of runs that took turns had clocks of the GPU that differ by more "
            f"than {percent(CLOCK_SHARE)}, most of all {text.pair(worst.baseline, worst.candidate)}: "
            f"{worst.candidate_mhz:.0f} vs {worst.baseline_mhz:.0f} MHz. Part of their ratio is the clock's. Lock the "
            "clock (nvidia-smi -lgc), or make turns longer (turn_s)."
        )
    caps = list(paired_caps(runs))
    if doubtful := [pair for pair in caps if pair.apart >= CAP_SHARE]:
        worst = max(doubtful, key=lambda pair: pair.apart)
        sentences.append(
            f"In {len(doubtful)} of {len(caps)} pairs of runs that took turns the power limit of the GPU held down one "
            f"arm more than the other, most of all {text.pair(worst.baseline, worst.candidate)}: in "
            f"{worst.candidate_rounds} vs {worst.baseline_rounds} of {counted(worst.rounds, 'turn')}. Their ratio "
            "holds at this power limit (nvidia-smi -q -d POWER); at another one it may differ."
        )
    return sentences
