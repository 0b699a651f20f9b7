"""What a precision needs of memory beside the one that it is compared with. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainspeed.core.format import precision_of
from trainspeed.core.run import Run
from trainspeed.judge.memory import memory_share, memory_use
from trainspeed.judge.text import shared_setting
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.studies.amp.findings import ordered, precision_verdicts


def memory_sentences(runs: Iterable[Run]) -> list[str]:
    """Return how the peak memory of each precision differs from its baseline's: medians, which decide nothing."""
    known = ordered(runs)
    peaks = known.data().medians(lambda run: run.peak_memory_bytes)
    sentences = []
    for verdict in precision_verdicts(known):
        base, own = peaks.get(verdict.baseline), peaks.get(verdict.candidate)
        if base is None or own is None:
            continue
        name, other = precision_of(verdict.candidate.precision), precision_of(verdict.baseline.precision)
        difference = abs(own - base) / base
        more = (
            "as much as"
            if difference < 0.005
            else f"{100 * difference:.0f} % {'more' if own > base else 'less'} than"
        )
        where = ", ".join(
            shared_setting(verdict.baseline, verdict.candidate, verdict.row, verdict.row.hidden)
        )
        sentence = (
            f"{where}: {name} needed {own / 1e6:,.0f} MB at its peak, {more} {other} ({base / 1e6:,.0f} MB)"
        )
        few = verdict.blocks < MIN_BLOCKS
        sentences.append(f"{sentence}{f', in {verdict.blocks} of {MIN_BLOCKS} blocks' if few else ''}.")
    return sentences


def parts_sentences(runs: Collection[Run], shown: Collection[Run]) -> list[str]:
    """Return which part of a step, alone, took more memory than any whole training; nothing where none did.

    Args:
        runs: Of the study, parts of steps among them.
        shown: Its whole trainings.
    """
    most, drawn = memory_use(runs).fullest, memory_use(shown).fullest
    if most is None or (drawn is not None and memory_share(most) <= memory_share(drawn)):
        return []
    phase = most.trial.phase
    part = ", ".join([*most.trial.describe()[: 1 + phase.of_model], phase.words])
    peak = f"{most.peak_memory_bytes / 1e6:,.0f} MB"
    return [f"Not in the chart, as it is no whole training: {part}, took most memory, {peak} at its peak."]
