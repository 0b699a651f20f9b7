"""Answers to the articles' statements, in words. Decides nothing."""

from __future__ import annotations

import math
from collections import Counter

from trainspeed.articles.claims import BANDS, TALLIES, Claim, ClaimAnswer, Result, chances, decide, limits
from trainspeed.core.format import NAMES, percent
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement, confidence_of_each, fewest_blocks

MAX_NAMED = 3  # comparisons that a reason names; of the others it says how many there are


def reason(answer: ClaimAnswer) -> str:
    """Return why a machine agrees with a statement or does not: what was measured, or what was not."""
    claim, evidence = answer.claim, answer.evidence
    if not evidence:
        return answer.note or _missing(claim)
    start, judgements = "Here ", [item.judgement for item in evidence]
    if len(evidence) > MAX_NAMED:
        counts = Counter(str(judgement.outcome) for judgement in judgements)
        tally = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        start = f"Here, of {len(evidence)} comparisons ({tally}), "
    comparisons = "; ".join(f"{item.name}: {_size(claim, item.judgement)}" for item in evidence[:MAX_NAMED])
    sentences = [f"{start}{comparisons}{_claimed(answer)}."]
    if answer.result is Result.UNDECIDED and (count := chances(evidence)) > 1 and _one_decides(answer):
        confidence = confidence_of_each(count)
        sentences.append(
            f"Of {count} comparisons, one alone decides only by its {100 * confidence:.3g} % interval, which takes "
            f"{fewest_blocks(confidence)} blocks or more."
        )
    return " ".join([*sentences, *filter(None, [answer.note])])


def _one_decides(answer: ClaimAnswer) -> bool:
    """Return whether one of the comparisons would have decided, had it been the only one."""
    claim = answer.claim
    if claim.kind in TALLIES:
        return any(item.judgement.outcome == TALLIES[claim.kind][0] for item in answer.evidence)
    return any(decide(claim, [item]).result is Result.DISAGREES for item in answer.evidence)


def _size(claim: Claim, judgement: Judgement) -> str:
    """Return how large an effect is, for a band without the outcome, which is about another limit than 1."""
    if claim.kind not in BANDS:
        return measured(judgement, "accuracy" if claim.kind == "none_worse" else "time")
    share = claim.kind == "share"

    def number(speedup: float) -> str:
        return f"{100 / speedup:.1f}" if share else f"{speedup:.2f}"

    size = number(judgement.speedup) + (f" % of {claim.baseline.upper()}'s time" if share else "x")
    if judgement.low is None:
        return f"{size}, no interval: measure {MIN_BLOCKS} blocks or more"
    ends = (judgement.high, judgement.low) if share else (judgement.low, judgement.high)
    confidence = f"{percent(judgement.confidence)} interval"
    return f"{size} ({confidence} {' to '.join(map(number, ends))}{' %' * share})"


def _claimed(answer: ClaimAnswer) -> str:
    """Return the limits of a band, after a semicolon; nothing for other statements."""
    claim = answer.claim
    if claim.kind not in BANDS:
        return ""
    if claim.kind == "share":
        low, high, unit = 100 * claim.low, 100 * (claim.high or math.inf), " %"
    else:
        (low, high), unit = limits(claim, answer.evidence[0]), "x"
    if math.isinf(high):
        return f"; claimed: more than {low:g}{unit}"
    return f"; claimed: {f'{low:g} to' if low else 'less than'} {high:g}{unit}"


def _missing(claim: Claim) -> str:
    """Return which comparison was not made."""
    candidate, baseline, framework = (
        NAMES.get(name, name) for name in (claim.candidate, claim.baseline, claim.framework)
    )
    setting = [framework, claim.model, claim.layout, claim.pipeline]
    arms = f"{candidate} with {baseline}"
    if claim.factor == "devices":
        arms = "more devices with one"
    elif (claim.devices or 1) > 1:
        setting.append("several devices")
    return f"Not compared here as in the article: {', '.join([arms, *filter(None, setting)])}."
