"""The largest gains, measured again: the largest of many is partly luck, and fresh blocks show how much.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import counted
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.answer import ORDER
from trainspeed.judge.comparison import Verdict, verdict_between
from trainspeed.judge.text import OUTCOME_WORDS, interval_of, outcome_word, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome
from trainspeed.studies.summary.worth import why_no_gain

# Seeds of fresh blocks, which no block of a study has: each pair has those from one of so many steps on, so that a
# trial of two pairs takes turns once for each. Earlier versions gave all pairs the first ones.
CONFIRM_SEED_OFFSET, SEED_STEP, SEED_STEPS = 200_000, 1_000, 10_000
DECIDED = (Outcome.FASTER, Outcome.SLOWER)
OPEN = (Outcome.FASTER, Outcome.UNDECIDED, Outcome.SLOWER)  # what is worth measuring again, in this order


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """A verdict, perhaps an undecided one, and another one on the same pair in fresh blocks.

    Attributes:
        again: The verdict of the fresh blocks; None where one of the two trials gave no result in any.
        reason: Why a run of the fresh blocks gave no result; None where all gave one.
    """

    first: Verdict
    again: Verdict | None
    reason: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the fresh blocks decide the same."""
        decided = self.again is not None and self.first.outcome is not Outcome.UNDECIDED
        return decided and self.again.outcome == self.first.outcome

    @property
    def refuted(self) -> bool:
        """Whether enough fresh blocks decide otherwise; too few of them, or an undecided verdict, refute nothing."""
        decided = self.again is not None and self.again.outcome in (*DECIDED, Outcome.SAME)
        return decided and self.first.outcome is not Outcome.UNDECIDED and not self.holds

    @property
    def unconfirmed(self) -> bool:
        """Whether enough fresh blocks for an interval do not show what was decided at first."""
        measured = self.again is not None and self.again.low is not None
        return measured and self.first.outcome is not Outcome.UNDECIDED and not self.holds

    @property
    def sentence(self) -> str:
        """What the fresh blocks say, next to the first ones."""
        first = f"{self.first.name}: {_size(self.first)} at first"
        if self.again is None:
            why = f": {self.reason.rstrip('.')}" if self.reason else ""
            return f"{first}; not measured again{why}."
        blocks = counted(self.again.blocks, "fresh block")
        reason = f" ({self.reason})" if self.reason else ""
        return f"{first}, {_size(self.again)} in {blocks}: {self.word}{reason}."

    @property
    def remark(self) -> str:
        """What a line says of the fresh blocks, whose size it has where they do not confirm: `again` is there."""
        if not self.unconfirmed:
            return f"{self.word} in fresh blocks"
        outcome = OUTCOME_WORDS.get(self.again.outcome, self.again.outcome)
        fresh = f"{outcome} in fresh blocks, {interval_of(self.again)}"
        return f"{fresh}; {self.first.outcome} at first, {size_of(self.first)}"

    @property
    def word(self) -> str:
        """Whether the verdict was confirmed, in one word or a few."""
        one, two = self.first, self.again
        if one.outcome is Outcome.UNDECIDED:
            if two.outcome is Outcome.UNDECIDED:
                return "undecided here, too"
            return f"undecided at first, {OUTCOME_WORDS.get(two.outcome, two.outcome)} here"
        if self.holds:
            # Where the intervals do not even touch, what was found first was mostly luck.
            smaller = None not in (one.low, two.low) and (
                two.high < one.low if one.outcome is Outcome.FASTER else two.low > one.high
            )
            return "confirmed, but smaller" if smaller else "confirmed"
        if two.low is None:
            return f"neither confirmed nor refuted, measure {MIN_BLOCKS} blocks or more"
        if two.outcome is Outcome.UNDECIDED:
            return "not confirmed, undecided"
        return f"not confirmed, but {two.outcome}"


def _size(verdict: Verdict) -> str:
    return size_of(verdict) + ("" if verdict.low is None else f" ({interval_of(verdict)})")


def counts_of(
    verdicts: Sequence[Verdict], confirmed: Iterable[Confirmed] = (), *, bold: bool = False
) -> list[str]:
    """Return how many verdicts have which outcome: what fresh blocks did not confirm is undecided.

    Args:
        verdicts: As they were decided first.
        bold: Whether the outcome is emphasized, as Markdown.
    """
    confirmed = list(confirmed)
    lost = sum(verdict in verdicts for verdict in unconfirmed_at_first(confirmed))
    by_word: dict[str, list[Verdict]] = {}
    shown = open_where_unconfirmed(verdicts, confirmed)
    for outcome in ORDER:
        for verdict in (one for one in shown if one.outcome is outcome):
            by_word.setdefault(outcome_word(verdict.judgement, verdict.quantity), []).append(verdict)
    said = []
    for outcome, own in sorted(by_word.items(), key=lambda one: one[0] == Outcome.UNDECIDED):
        word = f"**{outcome}**" if bold else outcome
        word = word if outcome in {*Outcome} else f"with an accuracy {word}"
        at_first = f" ({lost} not confirmed)" * (outcome == Outcome.UNDECIDED and lost > 0)
        said.append(f"{len(own)} {word}{at_first}")
    return said


def unconfirmed_at_first(confirmed: Iterable[Confirmed]) -> set[Verdict]:
    """Return the first verdicts that fresh blocks do not confirm."""
    return {one.first for one in confirmed if one.unconfirmed}


def open_where_unconfirmed(verdicts: Iterable[Verdict], confirmed: Iterable[Confirmed]) -> list[Verdict]:
    """Return the verdicts with their first sizes; those that fresh blocks do not confirm are undecided."""
    lost = unconfirmed_at_first(confirmed)
    return [
        replace(v, judgement=replace(v.judgement, outcome=Outcome.UNDECIDED)) if v in lost else v
        for v in verdicts
    ]


def gain(verdict: Verdict) -> float:
    """Return how many times as fast the faster one of the two is; 1 where that is not known."""
    size = verdict.speedup
    return max(size, 1 / size) if size and verdict.quantity == "time" else 1.0


def largest(
    verdicts: Iterable[Verdict],
    of_each: int,
    devices: int | None = None,
    first: Collection[Verdict] = (),
) -> list[Verdict]:
    """Return the largest decided gains of each study, a pair of trials only once: those of trainings come first.

    Args:
        of_each: How many of each study; 0 for none.
        devices: How many there are, as verdicts may come from a machine with more; None for no limit.
        first: Those that come before larger ones of their study.
    """
    chosen: dict[str, list[Verdict]] = {}
    pairs = set()
    for verdict in sorted(verdicts, key=lambda one: (one not in first, -gain(one))):
        new = verdict.outcome in DECIDED and _pair(verdict) not in pairs
        of_study = chosen.setdefault(verdict.study, [])
        if _can_be_confirmed(verdict, devices) and new and len(of_study) < of_each:
            of_study.append(verdict)
            pairs.add(_pair(verdict))
    several = (verdict for of_study in chosen.values() for verdict in of_study)
    return sorted(several, key=lambda one: (one.candidate.phase.calls, -gain(one)))


def next_largest(
    verdicts: Iterable[Verdict], top: Iterable[Verdict], devices: int | None = None
) -> list[Verdict]:
    """Return what is worth measuring again after `top`: other gains, what is undecided, what is slower.

    The largest come first; trainings before single convolutions, which nobody switches on.

    Args:
        devices: As of `largest`.
    """
    pairs = {_pair(verdict) for verdict in top}
    chosen = []
    known = [one for one in verdicts if one.outcome in OPEN and one.speedup is not None]

    def rank(one: Verdict) -> tuple[bool, int, float]:
        return one.candidate.phase.calls, OPEN.index(one.outcome), -gain(one)

    for verdict in sorted(known, key=rank):
        if _can_be_confirmed(verdict, devices) and _pair(verdict) not in pairs:
            chosen.append(verdict)
            pairs.add(_pair(verdict))
    return chosen


def _pair(verdict: Verdict) -> frozenset[AnyTrial]:
    return frozenset((verdict.baseline, verdict.candidate))


def _can_be_confirmed(verdict: Verdict, devices: int | None) -> bool:
    pair = _pair(verdict)
    # Two times of the same runs, such as calls with and without transfers, are no pair of trials.
    switch = verdict.quantity == "time" and verdict.row.choice and len(pair) == 2
    return bool(switch) and (devices is None or max(trial.devices_per_node for trial in pair) <= devices)


def not_chosen(
    verdicts: Iterable[Verdict], chosen: Iterable[Confirmed], machine: Mapping[str, Any], runs: Sequence[Run]
) -> list[str]:
    """Return of each study of which none was to be measured again why its largest gain was not, where it is none.

    Args:
        chosen: What was to be; where nothing was, nothing is said.
        machine, runs: Those of the report.
    """
    told = {one.first.study for one in chosen}
    if not told:
        return []
    why: dict[str, str] = {}
    for verdict in sorted(verdicts, key=gain, reverse=True):
        reason = why_no_gain(verdict, machine, runs) if verdict.outcome is Outcome.FASTER else ""
        if reason and verdict.study not in {*told, *why}:
            why[verdict.study] = f"{verdict.name}: {_size(verdict)} at first; not measured again: {reason}."
    return [*why.values()]


def seed_of(verdict: Verdict) -> int:
    """Return the seed of the first fresh block of a verdict's pair, the same in every session.

    It follows from what the two trials have set, so that a version that knows more fields finds the same.
    """
    pair = [
        sorted((f.name, str(value)) for f in fields(trial) if (value := getattr(trial, f.name)) != f.default)
        for trial in (verdict.baseline.spec, verdict.candidate.spec)
    ]
    return CONFIRM_SEED_OFFSET + SEED_STEP * (1 + zlib.crc32(json.dumps(pair).encode()) % SEED_STEPS)


def confirming(verdicts: Sequence[Verdict], blocks: int) -> list[TrialSet]:
    """Return the pairs of these verdicts, to be measured in fresh blocks."""
    sets = []
    for verdict in verdicts:
        one, other = verdict.baseline, verdict.candidate
        part = TrialSet(
            # From `verdicts.json` they come without seed and fold.
            trials=tuple(replace(trial, seed=seed_of(verdict)) for trial in (one, other)),
            blocks=blocks,
            label=Role.CONFIRMATION,
            factors=tuple(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)),
            parameter="confirm_blocks",
        )
        sets.append(part)
    return sets


def confirmed(
    verdicts: Sequence[Verdict], runs: Iterable[Run], spare: Sequence[Verdict] = ()
) -> list[Confirmed]:
    """Return what became of these verdicts in the fresh blocks.

    Args:
        spare: Verdicts that were measured again where time was left; the others of them are left out.
    """
    known = RunSet(tuple(runs)).role(Role.CONFIRMATION)
    results = []
    spared = {verdict: _arms(verdict, known) for verdict in spare}
    measured = {verdict: pair for verdict, pair in spared.items() if all(pair)}
    for verdict, pair in ({verdict: _arms(verdict, known) for verdict in verdicts} | measured).items():
        again = verdict_between(*pair, verdict.factor, verdict.question) if all(pair) else None
        failed = next((run for arm in pair for run in arm if run.status != Status.OK), None)
        reason = f"{failed.status}: {failed.reason}" if failed else None
        again = again if again and again.blocks else None
        results.append(Confirmed(first=verdict, again=again, reason=reason))
    return results


def _arms(verdict: Verdict, runs: RunSet) -> tuple[RunSet, RunSet]:
    """Return the runs of a verdict's pair: of its own blocks, or of those that all pairs shared."""
    own = {seed_of(verdict), CONFIRM_SEED_OFFSET}
    arms = RunSet(tuple(run for run in runs if run.trial.seed - run.block in own)).by_trial()
    return tuple(arms.get(trial.spec, RunSet(())) for trial in (verdict.baseline, verdict.candidate))
