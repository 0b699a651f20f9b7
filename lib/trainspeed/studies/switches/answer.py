"""The answer of the page on switches: what to switch on, how much it brings, how sure that is. Computes no effect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from trainspeed.core.coverage import Coverage
from trainspeed.core.format import counted, listed, percent
from trainspeed.core.levers.lever import Numbers
from trainspeed.core.markdown import Marked
from trainspeed.judge.blocks_needed import blocks_for_margin
from trainspeed.judge.commands import command_with_time
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.text import (
    accuracy_in_words,
    blocks_in_words,
    interval_of,
    leaning_of,
    measured,
    size_of,
    uneven_in_words,
)
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, Outcome
from trainspeed.search.claims import Confirmation, Remainder
from trainspeed.search.findings import Decision, Findings
from trainspeed.search.switch import Switch
from trainspeed.search.unmeasured import where
from trainspeed.studies.switches.views import spoiled, switch_names, took_hold

NOT_MEASURED = (Decision.NOT_IN_EFFECT, Decision.FAILED)  # of such a switch no run tells
MEASURED_ALONE = (Decision.UNDECIDED, Decision.SLOWER_ALONE)


def answer_sentences(found: Iterable[Findings], coverage: Coverage | None = None) -> list[str]:
    """Return what to switch on, a sentence or two for each framework and model.

    Args:
        coverage: What there was time for; None where there was no limit.
    """
    more = more_time(coverage)
    return [f"{where(one)}: {' '.join([_answer(one, more), *_other_way(one)])}" for one in found]


def without_code(found: Iterable[Findings]) -> list[str]:
    """Return for which framework and model there is no program to paste, though there is one for another."""
    searches = list(found)
    told = [where(one) for one in searches if not one.kept] if any(one.kept for one in searches) else []
    return [f"No program for {listed(told)}: nothing was kept and confirmed."] if told else []


def more_time(coverage: Coverage | None) -> str:
    """Return what decides what there was no time for: no plan tells beforehand how far a search comes."""
    command = f" (`{command_with_time(coverage)}`)" if coverage else ""
    return f"give it more time{command}"


def below_sentence(found: Sequence[Findings]) -> Marked:
    """Return how the answer was measured, with links to what rests on the same blocks; nothing without such blocks."""
    confirmed = [one for one in found if one.confirmation and one.confirmation.total.speedup is not None]
    links = [
        *(["[the code](#code-to-paste)"] if any(one.kept for one in found) else []),
        *(
            ["[what leaving a switch out costs](#leave-one-out)"]
            if any(one.confirmation.left_out for one in confirmed)
            else []
        ),
    ]
    if not confirmed:
        return Marked("")
    more = f" See {listed(links)}." if links else ""
    lead = "Measured" if len(confirmed) == len(found) else "What was confirmed was measured"
    return Marked(f"{lead} in fresh blocks, each run in a fresh process.{more}")


def _answer(found: Findings, more: str) -> str:
    confirmed = found.confirmation
    if confirmed and confirmed.total.speedup is not None:
        return _confirmed(found, confirmed)
    if found.failure:
        return f"not measured: {found.failure.rstrip('.')}."
    if confirmed and confirmed.reason:
        return f"{_promising(confirmed.on)}, but not confirmed: {confirmed.reason.rstrip('.')}."
    if promising := with_decision(found, Decision.UNCONFIRMED):
        return f"undecided: {_promising(promising)}, but the fresh blocks are missing; {more}."
    if open_ := with_decision(found, Decision.OPEN):
        return (
            f"undecided: the search did not get through {counted(len(open_), 'switch', 'switches')} of "
            f"{len(found.decisions)}; {more}."
        )
    if alone := [s for decision in MEASURED_ALONE for s in with_decision(found, decision)]:
        return (
            f"undecided: {counted(len(alone), 'switch', 'switches')} of {len(found.decisions)} had time to be measured "
            f"alone, and no more; {more}."
        )
    if disturbed := with_decision(found, Decision.DISTURBED):
        count = counted(len(disturbed), "switch", "switches")
        was = "was" if len(disturbed) == 1 else "were"
        return (
            f"undecided: {count} of {len(found.decisions)} {was} only measured while other processes had a core; stop "
            "them, and measure again."
        )
    return _none(found) if found.decisions else "nothing to try."


def _none(found: Findings) -> str:
    """Return that none of the switches that were measured is worth it; of the others, what became of them."""
    became = {decision: with_decision(found, decision) for decision in NOT_MEASURED}
    others = "; ".join(
        f"{decision}: {switch_names(switches)}" for decision, switches in became.items() if switches
    )
    count = len(found.decisions) - sum(map(len, became.values()))
    if not count:
        tried = counted(len(found.decisions), "switch", "switches")
        return f"undecided: of {tried} none could be measured ({others})."
    lead = "" if _other_way(found) else "leave it as it is: "
    tried = f"{counted(count, 'switch', 'switches')}{' that could be measured' if others else ''}"
    return f"{lead}of {tried} none was found to be worth it{f' ({others})' if others else ''}."


def _other_way(found: Findings) -> list[str]:
    """Return what was faster without something that a plain script has, or with a brake."""
    sides = {*found.candidates.already_on, *found.candidates.brakes}
    faster = [
        f"{_named([slow.switch])}: {measured(slow.alone)}"
        for slow in found.slow_ways
        if slow.enters and slow.switch in sides and slow.alone and slow.alone.outcome is Outcome.FASTER
    ]
    told = "; ".join(faster)
    return [f"Faster alone than what a plain script has, its accuracy not compared: {told}."] if told else []


def _confirmed(found: Findings, confirmed: Confirmation) -> str:
    bad, blocks = spoiled(found), blocks_in_words(confirmed.total, "fresh block")
    together = f"all together {measured(confirmed.total)}"
    thrown_out = "; ".join(f"{switch.words} ({found.decisions[switch]})" for switch in bad)
    if bad and found.rest and found.kept:
        accuracy, rest = confirmed_accuracy(found.rest), found.rest
        lead = f"{_named(rest.on)}: in {blocks}{' together' if len(rest.on) > 1 else ''}"
        return (
            f"{lead} {measured(rest.time)}. {accuracy}. Not to be kept: {thrown_out}; with that, {together}."
        )
    parts = [f"{_named(confirmed.on)}: in {blocks} {together}."]
    parts += _as_a_set(confirmed)
    parts += _largest(found, confirmed)
    parts.append(f"{confirmed_accuracy(confirmed)}.")
    if bad:
        parts.append(f"Of these not to be kept: {thrown_out}.")
        if any(found.decisions[switch] is Decision.UNCONFIRMED for switch in confirmed.on):
            parts.append(f"What is left {_left(found)}.")
    return " ".join(parts)


def _as_a_set(confirmed: Confirmation) -> list[str]:
    """Return that nothing is known of each one's own part, where there are several and none was left out by itself."""
    alone = any(left.large and left.time.speedup for left in confirmed.left_out)
    known = alone or len(confirmed.on) == 1 or confirmed.total.outcome is not Outcome.FASTER
    return [] if known else ["Measured as a set: what each of them adds was not measured in fresh blocks."]


def _left(found: Findings) -> str:
    """Return what fresh blocks say of what is left and is not kept."""
    lead = "was not shown to be faster without these"
    if found.rest is None:  # they had no arm of it
        return lead
    points = ""
    if found.rest.equality is Equality.WORSE:
        points = f"; accuracy is {accuracy_in_words(found.rest.accuracy)}"
        if found.rest.time.outcome is Outcome.FASTER:
            lead = "is faster without these, but less accurate"
    return f"{lead}: {measured(found.rest.time)}{points}"


def _largest(found: Findings, confirmed: Confirmation) -> list[str]:
    """Return which part brings most, where fresh blocks show that it brings something."""
    shown = [
        left
        for left in confirmed.left_out
        if left.time.outcome is Outcome.FASTER and took_hold(found, left.switches)
    ]
    if confirmed.total.outcome is not Outcome.FASTER or not shown:
        return []
    largest = max(shown, key=lambda left: left.time.speedup)
    most = math.log(largest.time.speedup) > math.log(confirmed.total.speedup) / 2
    lead = "Most of it is" if most else "The largest part of it is"
    loss = percent(largest.time.speedup - 1)
    return [f"{lead} {switch_names(largest.switches)}: without, a step takes {loss} longer."]


def with_decision(found: Findings, decision: Decision) -> list[Switch]:
    """Return the switches of which this became."""
    return [switch for switch, became in found.decisions.items() if became is decision]


def _named(switches: Sequence[Switch]) -> str:
    """Return switches with the marks of their classes: "channels_last (=) and bf16 (≈)"."""
    return listed([f"{switch.words} ({switch.numbers})" for switch in switches]) if switches else "nothing"


def _promising(switches: Sequence[Switch]) -> str:
    return f"{_named(switches)} {'looks' if len(switches) == 1 else 'look'} promising"


def confirmed_accuracy(confirmed: Confirmation | Remainder) -> str:
    """Return what fresh blocks say of the accuracy."""
    judgement, equality = confirmed.accuracy, confirmed.equality
    if equality is Equality.UNCHECKED or judgement is None or judgement.speedup is None:
        time = confirmed.total if isinstance(confirmed, Confirmation) else confirmed.time
        if time.blocks < MIN_BLOCKS:
            return f"Accuracy was not compared: that takes {MIN_BLOCKS} fresh blocks"
        return "Accuracy was not checked: the plain model had not learned enough to lose any"
    ends = "" if judgement.low is None else f", interval {interval_of(judgement, 'accuracy')}"
    if equality is Equality.OPEN and all(switch.numbers is Numbers.SAME for switch in confirmed.on):
        size = size_of(judgement, "accuracy")
        return f"All of these compute the same numbers; accuracy, a spot check: {size}{ends}"
    remedy = f": {_decided_by(judgement)}" if equality is Equality.OPEN else ""
    leaning = leaning_of(judgement, "accuracy")
    size = f"{size_of(judgement, 'accuracy')}{ends}{leaning and f', so {leaning}'}"
    return f"Accuracy is {accuracy_in_words(judgement)} ({size}){remedy}"


def _decided_by(accuracy: Judgement) -> str:
    """Return how many fresh blocks are likely to decide an accuracy that is undecided, or why none do."""
    if uneven := uneven_in_words(accuracy):
        return uneven
    blocks = blocks_for_margin(accuracy)
    if blocks is None:
        return "no reasonable number of blocks here decides it"
    if accuracy.low is None:
        return f"{blocks} fresh blocks or more give an interval (`confirm_blocks`, and the time for them)"
    return (
        f"about {blocks} fresh blocks would decide it, if the difference is as large as it looks now "
        "(`confirm_blocks`, and the time for them)"
    )
