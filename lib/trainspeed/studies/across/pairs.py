"""Each side against the first, trial by trial: another machine, other versions, another day.

Works on the trials that several sides have; `trainspeed.judge.verdict` does the deciding. Draws nothing, and knows
neither what else differs between the sides (`facts`) nor what they cost (`jobs`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from trainspeed.core.format import counted, three
from trainspeed.core.runs import RunSet
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import Judged, Judgement, Outcome, expected_false, judge_unpaired
from trainspeed.studies.across.common import Common, CommonTrial, timed

MOST_SENTENCES = 20  # of verdicts; the tables have all


@dataclass(frozen=True, kw_only=True)
class TrialPair(Judged):
    """A trial that the first side has, and another.

    Attributes:
        judgement: Of the other side over the first: a speed-up above 1 means that the other is faster.
    """

    common: CommonTrial
    first: str
    other: str
    judgement: Judgement

    @property
    def study(self) -> str:
        """The study that the trial belongs to."""
        return self.common.study

    @property
    def label(self) -> str:
        """What tells the trial from the study's other ones, in words."""
        return self.common.label

    @property
    def sides(self) -> tuple[str, str]:
        """The first side, and the other."""
        return self.first, self.other

    def runs(self, side: str) -> RunSet:
        """Return what one of the two sides ran of it."""
        return self.common.runs[side]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        counts = [len(timed(self.runs(side))) for side in self.sides]
        blocks = f"{counted(counts[0], 'block')} on {self.first}, {counts[1]} on {self.other}"
        said = f"{self.other} vs {self.first}: {measured(self.judgement)}"
        return f"{said}. {self.study}: {self.common.label}, {blocks}."


def against_first(common: Common) -> list[TrialPair]:
    """Return a pair for each trial of the first side and each other side that has it."""
    first = common.first
    return [
        TrialPair(
            common=trial,
            first=first,
            other=side,
            judgement=judge_unpaired(
                *([run.median_s for run in timed(trial.runs[s])] for s in (first, side))
            ),
        )
        for trial in common.trials
        if first in trial.runs
        for side in trial.runs
        if side != first
    ]


def by_side(pairs: Iterable[TrialPair]) -> dict[str, list[TrialPair]]:
    """Return the pairs of each side beside the first."""
    sides: dict[str, list[TrialPair]] = {}
    for pair in pairs:
        sides.setdefault(pair.other, []).append(pair)
    return sides


def by_study(pairs: Iterable[TrialPair]) -> dict[str, list[TrialPair]]:
    """Return the pairs of each study."""
    studies: dict[str, list[TrialPair]] = {}
    for pair in pairs:
        studies.setdefault(pair.study, []).append(pair)
    return studies


def without_first_sentences(common: Common) -> list[str]:
    """Return, in at most one sentence, how many common trials the first side lacks."""
    count = sum(common.first not in trial.runs for trial in common.trials)
    if not count:
        return []
    return [f"{counted(count, 'trial')} that other sides share are not among those of {common.first}."]


def chance_sentences(pairs: Sequence[TrialPair]) -> list[str]:
    """Return, in at most one sentence, how many false verdicts to expect by chance alone."""
    sure = [pair for pair in pairs if pair.low is not None]
    if not sure:
        return []
    confidence = sure[0].judgement.confidence
    return [
        f"{counted(len(sure), 'interval')} at {100 * confidence:g} % confidence: on average "
        f"{three(expected_false(len(sure), confidence))} of so many miss by the luck of blocks alone; what a whole "
        "session shares comes on top."
    ]


def decided_sentences(pairs: Iterable[TrialPair]) -> list[str]:
    """Return the verdicts that are not "undecided", the largest differences first; of very many, those alone."""
    decided = [pair for pair in pairs if pair.outcome != Outcome.UNDECIDED]
    largest = sorted(decided, key=lambda pair: -abs(math.log(pair.speedup)))
    more = len(largest) - MOST_SENTENCES
    sentences = [pair.sentence for pair in largest[:MOST_SENTENCES]]
    return [*sentences, f"{more} more are decided, with smaller differences."] if more > 0 else sentences


def session_sentence(pairs: Iterable[TrialPair]) -> str:
    """Return how far apart sessions are where nothing that was recorded differs."""
    sizes = [max(pair.speedup, 1 / pair.speedup) for pair in pairs if pair.low is not None]
    of = f", of {counted(len(sizes), 'comparison')} with an interval"
    extent = f": up to {max(sizes):.2f}x, median {median(sizes):.2f}x{of}" if sizes else ""
    return (
        "Nothing that was recorded differs. So differences in time show how far sessions on machines that are "
        f"alike are apart{extent}."
    )
