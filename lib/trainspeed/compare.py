"""The same trials of two sets of runs side by side: another machine, other versions, another day.

Works on runs; `trainspeed.verdict` does the deciding. Reads no file, draws nothing, and does not know what
else differs between the two (`trainspeed.compare_facts`) nor what it costs (`trainspeed.compare_costs`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from trainspeed.compare_trials import Key, count_words, nothing_common, order, unmatched_sentences, words_of
from trainspeed.conv2d_trial import AnyTrial
from trainspeed.errors import UserError
from trainspeed.run import Run, Status
from trainspeed.schedule import CONTROL
from trainspeed.verdict import Judged, Judgement, Outcome, expected_false, judge_unpaired
from trainspeed.wording import measured

DATA_LABELS = ("", CONTROL)  # what else ran has another purpose: a control's second half, a recipe


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What one side measured of a trial: its runs, a block each."""

    runs: tuple[Run, ...]

    @property
    def ok(self) -> tuple[Run, ...]:
        """The runs that have a time."""
        return tuple(run for run in self.runs if run.status == Status.OK and run.median_s is not None)

    @property
    def seconds(self) -> list[float]:
        """Of each of them: a training's later epoch, or a convolution's warm call."""
        return [run.median_s for run in self.ok]

    @property
    def blocks(self) -> int:
        """How many have a time."""
        return len(self.ok)

    @property
    def median_s(self) -> float | None:
        """Median over the blocks."""
        return median(self.seconds) if self.ok else None

    @property
    def peak_memory_bytes(self) -> float | None:
        """Median over the blocks; None where it could not be read."""
        return _median(run.peak_memory_bytes for run in self.ok)

    @property
    def test_accuracy(self) -> float | None:
        """Median over the blocks that have it, 0 to 1."""
        return _median(run.test_accuracy for run in self.ok)

    @property
    def failed(self) -> tuple[Run, ...]:
        """The runs that ended without a result."""
        return tuple(run for run in self.runs if run.status != Status.OK)


@dataclass(frozen=True, kw_only=True)
class Row(Judged):
    """A trial that both sides have.

    Attributes:
        label: What tells it from the study's other trials, in words.
        where: All that describes it.
        judgement: Of B over A: a speed-up above 1 says that B is faster.
    """

    study: str
    trial: AnyTrial
    label: str
    where: str
    a: Arm
    b: Arm
    judgement: Judgement

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        blocks = f"{self.a.blocks} blocks on A, {self.b.blocks} on B"
        return f"B vs A: {measured(self.judgement)}. {self.study}: {self.where}, {blocks}."


def newest(runs: Iterable[Run]) -> dict[Key, Arm]:
    """Return what each study's newest session measured, by study and trial; runs beside the data are left out."""
    data = [run for run in runs if run.label in DATA_LABELS]
    session: dict[str, str] = {}
    for run in data:
        session[run.study] = max(run.session, session.get(run.study, ""))  # ids begin with the time
    # A crashed run that was measured again on resuming counts once.
    last = {(run.study, run.key): run for run in data if run.session == session[run.study]}
    arms: dict[Key, list[Run]] = {}
    for run in last.values():
        arms.setdefault((run.study, run.trial.without_seed()), []).append(run)
    return {key: Arm(runs=tuple(several)) for key, several in arms.items()}


def compared(a_runs: Iterable[Run], b_runs: Iterable[Run]) -> list[Row]:
    """Return a row for every trial that both sides have, failures among them, study by study.

    Raises:
        UserError: There is none; it says what each side has.
    """
    a, b = newest(a_runs), newest(b_runs)
    keys = sorted(a.keys() & b.keys(), key=order)
    if not keys:
        raise UserError(nothing_common(a, b))
    words = words_of(keys)
    return [
        Row(
            study=key[0],
            trial=key[1],
            label=", ".join(words[key][0]),
            where=", ".join(words[key][1]),
            a=a[key],
            b=b[key],
            judgement=judge_unpaired(a[key].seconds, b[key].seconds),
        )
        for key in keys
    ]


def by_study(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each study."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.study, []).append(row)
    return found


def unmatched(a_runs: Iterable[Run], b_runs: Iterable[Run]) -> list[str]:
    """Return, per study, how many trials only one side has, and the parameters that keep them apart."""
    return unmatched_sentences(newest(a_runs), newest(b_runs))


def shared_words(rows: Iterable[Row]) -> str:
    """Return what all trials of a study have in common, in words: their labels leave it out."""
    kinds: dict[type, list[list[str]]] = {}
    for row in rows:
        kinds.setdefault(type(row.trial), []).append(row.where.split(", "))
    said = [
        [word for word in words[0] if all(word in other for other in words)]
        for words in kinds.values()
        if len(words) > 1
    ]
    return "; ".join(", ".join(words) for words in said if words)


def count_sentences(rows: Sequence[Row]) -> list[str]:
    """Return how the trials fared, study by study, and how many false verdicts chance alone would make."""
    said = []
    for study, several in by_study(rows).items():
        counts = Counter(row.outcome for row in several if row.speedup is not None)
        words = [f"{counts[outcome]} {_outcome_words(outcome)}" for outcome in Outcome if counts[outcome]]
        without = sum(row.speedup is None for row in several)
        words += [f"{without} without a result on a side"] * bool(without)
        said.append(
            f"{study}: {count_words(len(several))} on both sides: {', '.join(words)}.{_range(several)}"
        )
    sure = [row for row in rows if row.low is not None]
    if sure:
        confidence = sure[0].judgement.confidence
        false = expected_false(len(sure), confidence)
        plural = "s" if len(sure) > 1 else ""
        said.append(
            f"{len(sure)} interval{plural} at {100 * confidence:g} % confidence: on average {false:.1f} of so many "
            "miss by the luck of blocks alone; what a whole session shares comes on top."
        )
    return said


def decided_sentences(rows: Iterable[Row]) -> list[str]:
    """Return the verdicts that are none of "undecided", the largest differences first."""
    decided = [row for row in rows if row.outcome != Outcome.UNDECIDED]
    return [row.sentence for row in sorted(decided, key=lambda row: -abs(math.log(row.speedup)))]


def session_sentence(rows: Iterable[Row]) -> str:
    """Return how far two sessions are apart of which nothing that was recorded differs."""
    told = "So differences in time show how far two sessions on machines that are alike are apart"
    sizes = [max(row.speedup, 1 / row.speedup) for row in rows if row.low is not None]
    if not sizes:
        return f"{told}."
    return (
        f"{told}: up to {max(sizes):.2f}x, median {median(sizes):.2f}x, "
        f"of {count_words(len(sizes))} with an interval."
    )


def _outcome_words(outcome: Outcome) -> str:
    words = {
        Outcome.FASTER: "faster on B",
        Outcome.SLOWER: "slower on B",
        Outcome.SAME: "the same within the margin",
    }
    return words.get(outcome, str(outcome))


def _range(rows: Iterable[Row]) -> str:
    sizes = [row.speedup for row in rows if row.speedup is not None]
    if not sizes:
        return ""
    if len(sizes) == 1:
        return f" Speed-up of B over A: {sizes[0]:.2f}x."
    return f" Speed-up of B over A: {min(sizes):.2f}x to {max(sizes):.2f}x, median {median(sizes):.2f}x."


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
