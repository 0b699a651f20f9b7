"""What a search found, as rows for charts and tables, and as verdicts. Decides nothing: `trainspeed.search` has."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd

from trainspeed.core.factors import RECIPE
from trainspeed.core.levers.lever import LEVERS_FACTOR
from trainspeed.core.levers.registry import LEVERS, levers_apart
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import measured, pair
from trainspeed.judge.verdict import Judgement, Outcome
from trainspeed.search.claims import WaterfallBar
from trainspeed.search.findings import Decision, Estimate, Findings, Interaction
from trainspeed.search.switch import Set, Switch, combined
from trainspeed.search.unmeasured import where
from trainspeed.show.waterfall import GROUP, REST, STEP, TOTAL, WAY_COLUMNS
from trainspeed.studies.switches.charts import (
    ALREADY_ON,
    BRAKE,
    DROPPED,
    EFFECT_COLUMNS,
    KEPT,
    OWN,
    UNDECIDED,
)
from trainspeed.studies.switches.combination_charts import PAIR_COLUMNS

INTERVAL_SE = 1.96  # standard errors on either side of an estimate
TOGETHER_QUESTION = "What do all switches that were kept bring together?"
REST_QUESTION = "What do all switches that were kept bring together, without what fresh blocks threw out?"
ALONE_QUESTION = "What does a switch bring on top of all others that were kept?"
SLOW_QUESTION = "What does it cost to lose what a plain script has, or to have a brake?"
OWN_QUESTION = "What does it do to have what a plain script has, in place of a setting of Trainspeed's own?"
NOT_IN_EFFECT = Decision.NOT_IN_EFFECT


def marked(switch: Switch) -> str:
    """Return what a switch is called, and the mark of its class: "bf16 ≈"."""
    return f"{switch.words} {switch.numbers}"


def change_percent(log: float) -> float:
    """Return a speed-up, as its natural logarithm, as the change of a step's time in %: less than 0 is faster."""
    return 100 * math.expm1(-log)


def effect_rows(found: Iterable[Findings]) -> pd.DataFrame:
    """Return a row per switch that was seen in effect: what it does to a step, where its interval ends, what became.

    The estimate is that of the screen, else of a race, else of the switch alone. One that was not seen in effect has
    no row: whatever was measured, it was not measured of that switch.
    """
    rows = []
    for one in found:
        known = _estimates(one)
        band = change_percent(-one.screen.band) if one.screen else None
        for feasible in one.feasible:
            if feasible.enters and took_hold(one, [feasible.switch]):
                decision = one.decisions.get(feasible.switch)
                kind = UNDECIDED if decision and decision.is_open else DROPPED
                kind = KEPT if feasible.switch in one.kept else kind
                estimate = known.get(feasible.switch)
                size = _of_estimate(estimate) if estimate else _of_judgement(feasible.alone)
                rows.append((where(one), feasible.switch.lever, marked(feasible.switch), kind, *size, band))
        kinds = dict.fromkeys(one.candidates.own, OWN) | dict.fromkeys(one.candidates.brakes, BRAKE)
        for slow in one.slow_ways:
            if slow.enters:
                kind = kinds.get(slow.switch, ALREADY_ON)
                name, size = marked(slow.switch), _of_judgement(slow.alone)
                rows.append((where(one), slow.switch.lever, name, kind, *size, band))
    return pd.DataFrame(rows, columns=EFFECT_COLUMNS)


def _estimates(found: Findings) -> dict[Switch, Estimate]:
    # A race that was not run has estimates, too, from one look at each: no interval comes from these.
    races = [estimate for race in found.races if race.blocks for estimate in race.estimates]
    screened = found.screen.estimates if found.screen else ()
    return {e.switches[0]: e for e in (*races, *screened) if len(e.switches) == 1}


def log_alone(found: Findings, switch: Switch) -> float | None:
    """Return the natural logarithm of the speed-up that a switch by itself was estimated to bring; None of none."""
    if estimate := _estimates(found).get(switch):
        return estimate.log
    alone = next((one.alone for one in found.feasible if one.switch == switch), None)
    return math.log(alone.speedup) if alone and alone.speedup else None


def _of_estimate(estimate: Estimate | Interaction) -> tuple[float, float | None, float | None]:
    if not math.isfinite(estimate.se):  # the runs that there are do not tell
        return change_percent(estimate.log), None, None
    ends = (estimate.log + INTERVAL_SE * estimate.se, estimate.log - INTERVAL_SE * estimate.se)
    return change_percent(estimate.log), *map(change_percent, ends)


def _of_judgement(judgement: Judgement | None) -> tuple[float | None, float | None, float | None]:
    if judgement is None or judgement.speedup is None:
        return None, None, None
    sizes = (judgement.speedup, judgement.high, judgement.low)
    return tuple(None if size is None else change_percent(math.log(size)) for size in sizes)


def pair_rows(found: Iterable[Findings]) -> pd.DataFrame:
    """Return a row per two switches that interact: what they do together beyond what they do apart, in %."""
    rows = [
        (where(one), *(switch.words for switch in interaction.pair), *_of_estimate(interaction))
        for one in found
        for interaction in one.interactions
    ]
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)


def best_waterfall_rows(found: Iterable[Findings]) -> pd.DataFrame:
    """Return the bars from the plain setting to the best, by fresh blocks alone: speed-ups over the plain setting.

    A search whose fresh blocks did not end well has no rows. Where one bar is all that there was, it is the last one;
    where fresh blocks threw something out, the last one is without that, if it was measured.
    """
    rows = []
    for one in found:
        if not is_drawn(one):
            continue
        so_far = 1.0
        for bar in one.waterfall:
            ends = (None if end is None else so_far * end for end in (bar.low, bar.high))
            rows.append((where(one), _bar_words(one, bar), _kind(bar), so_far, so_far * bar.speedup, *ends))
            so_far *= bar.speedup
        if len(one.waterfall) > 1:
            rows.append(_total_row(one, "all together", one.confirmation.total))
        if one.rest and one.rest.time.speedup:
            rows.append(_total_row(one, f"without {switch_names(spoiled(one))}", one.rest.time))
    return pd.DataFrame(rows, columns=WAY_COLUMNS)


def is_drawn(found: Findings) -> bool:
    """Whether fresh blocks say how fast all together are."""
    return found.confirmation is not None and found.confirmation.total.speedup is not None


def _total_row(found: Findings, words: str, judged: Judgement) -> tuple:
    return where(found), words, TOTAL, 1.0, judged.speedup, judged.low, judged.high


def _kind(bar: WaterfallBar) -> str:
    return {0: REST, 1: STEP}.get(len(bar.switches), GROUP)


def _bar_words(found: Findings, bar: WaterfallBar) -> str:
    """Return what a bar stands for, and why that is not to be kept."""
    if not bar.switches:
        return "+ only together" if bar.speedup >= 1 else "less: overlap"
    why = dict.fromkeys(str(found.decisions[s]) for s in bar.switches if s in spoiled(found))
    return ": ".join([f"+ {switch_names(bar.switches)}", *([", ".join(why)] if why else [])])


def took_hold(found: Findings, switches: Iterable[Switch]) -> bool:
    """Whether none of these switches was asked for and then, alone or beside the others, not in effect."""
    return all(found.decisions.get(switch) is not NOT_IN_EFFECT for switch in switches)


def spoiled(found: Findings) -> list[Switch]:
    """Return what was on in the fresh blocks and is not to be kept, for a reason of its own."""
    on = found.confirmation.on if found.confirmation else ()
    became = {switch: found.decisions[switch] for switch in on}
    return [s for s, decision in became.items() if not (decision.keeps or decision is Decision.UNCONFIRMED)]


def kept_recipes(found: Iterable[Findings]) -> list[tuple[Trial, Trial]]:
    """Return (plain trial, the trial with all that was kept) of each search that kept something, the fastest first."""
    kept = sorted((one for one in found if one.kept), key=lambda one: -(_kept_speedup(one) or 0.0))
    return [(one.start, one.best) for one in kept]


def confirmed_by_ablation(found: Iterable[Findings]) -> Mapping[Trial, Collection[str]]:
    """Return the levers that are faster beside the others, as `snippets.code.program_blocks` takes them.

    None where something was thrown out of the fresh blocks: they were faster beside that.
    """
    return {
        one.best: {
            name
            for left in (one.confirmation.left_out if one.confirmation and not spoiled(one) else ())
            if len(left.switches) == 1 and left.time.outcome is Outcome.FASTER
            for name in levers_apart(best_trial_without(one, left.switches), best_trial_without(one, ()))
        }
        for one in found
        if len(one.kept) > 1
    }


def _kept_speedup(found: Findings) -> float | None:
    """Return how many times as fast what was kept is, by fresh blocks."""
    if found.rest and spoiled(found):
        return found.rest.time.speedup
    return found.confirmation.total.speedup if found.confirmation else None


def switch_names(switches: Sequence[Switch]) -> str:
    """Return what these switches are called, one after another."""
    return ", ".join(switch.words for switch in switches)


def best_trial_without(found: Findings, left_out: Set) -> Trial:
    """Return the best trial without these switches."""
    on = [switch for switch in found.confirmation.on if switch not in left_out]
    return combined(found.start, on).spec


def switch_verdicts(found: Iterable[Findings], runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts: everything together in time and accuracy, each large switch, and what is slow.

    All but those on what is slow come from fresh blocks. Where something in those is not to be kept, there is none on
    that, nor on what the others do beside it: there is one on the others without it, if they are kept.
    """
    return [verdict for one in found if runs for verdict in _verdicts(one, runs[0])]


def _verdicts(found: Findings, run: Run) -> Iterable[Verdict]:
    if confirmed := found.confirmation:
        yield from _together(found, run)
        best = combined(found.start, confirmed.on)
        for left in confirmed.left_out:
            alone = left.large and len(left.switches) == 1
            if not alone or spoiled(found):
                continue
            factor, others = _factor(left.switches[0]), best_trial_without(found, left.switches)
            for quantity, judged in (("time", left.time), ("accuracy", left.accuracy)):
                if judged is not None and judged.blocks:
                    yield _pair_verdict(run, ALONE_QUESTION, factor, others, best, judged, quantity)
    for slow in found.slow_ways:
        if slow.enters and slow.alone is not None and slow.alone.low is not None:
            candidate = combined(found.start, [slow.switch])
            question = OWN_QUESTION if slow.switch in found.candidates.own else SLOW_QUESTION
            yield _pair_verdict(run, question, _factor(slow.switch), found.start, candidate, slow.alone)


def _together(found: Findings, run: Run) -> Iterable[Verdict]:
    """Yield the verdicts on all that is kept: of all that fresh blocks had on, or of what they left of it."""
    told, times = found.confirmation, found.confirmation.total
    question, words = TOGETHER_QUESTION, "all together"
    if bad := spoiled(found):
        if not (found.rest and found.kept):
            return
        told, times = found.rest, found.rest.time
        question, words = REST_QUESTION, f"without {switch_names(bad)}, all others together"
    best = combined(found.start, told.on)
    for quantity, judged in (("time", times), ("accuracy", told.accuracy)):
        if judged is not None and judged.blocks:
            sentence = f"{where(found)}: {words} {measured(judged, quantity)}."
            yield _verdict(run, question, quantity, RECIPE, found.start, best, judged, sentence)


def _factor(switch: Switch) -> str:
    return switch.lever if LEVERS[switch.lever].of_field else LEVERS_FACTOR


def _pair_verdict(
    run: Run,
    question: str,
    factor: str,
    baseline: Trial,
    candidate: Trial,
    judged: Judgement,
    quantity: str = "time",
) -> Verdict:
    sentence = f"{pair(baseline, candidate)}: {measured(judged, quantity)}."
    return _verdict(run, question, quantity, factor, baseline, candidate, judged, sentence)


def _verdict(
    run: Run,
    question: str,
    quantity: str,
    factor: str,
    baseline: Trial,
    candidate: Trial,
    judged: Judgement,
    sentence: str,
) -> Verdict:
    return Verdict(
        session=run.session,
        study=run.study,
        question=question,
        quantity=quantity,
        factor=factor,
        baseline=baseline.spec,
        candidate=candidate.spec,
        judgement=judged,
        sentence=sentence,
    )
