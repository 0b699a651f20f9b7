"""What each section of the page on switches says, below its answer. Computes no effect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from trainspeed.core.coverage import Coverage
from trainspeed.core.format import NAMES, counted, digits, fixed, listed, model_of, percent
from trainspeed.core.levers.lever import Numbers
from trainspeed.core.run import Run
from trainspeed.judge.phase_shares import PhaseShares, phase_shares
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.search.arms import ENOUGH_FREEDOM
from trainspeed.search.findings import Decision, Effect, Findings, Interaction, Screen
from trainspeed.search.switch import Switch
from trainspeed.search.unmeasured import where
from trainspeed.studies.switches.answer import confirmed_accuracy, more_time, with_decision
from trainspeed.studies.switches.step_parts import besides_computing
from trainspeed.studies.switches.views import INTERVAL_SE, change_percent, spoiled, switch_names

TELLING = 0.05  # of an epoch: where the input alone takes less, computing is all that can be saved
CLASSES = {Numbers.SAME: "same numbers", Numbers.ROUNDING: "other rounding", Numbers.MODEL: "another model"}
# Column of `step_parts.time_parts` -> what it is called.
PIECES = {
    "compute_s": "compute",
    "waiting_s": "waiting for input",
    "rest_s": "the rest of a step",
    "validation_s": "validation and checkpoint",
}
NEXT_TO_NOTHING = "next to nothing"
SELDOM = 5  # epochs
NOTHING_MEASURED = "Nothing was searched in this report."


def time_sentences(parts: pd.DataFrame) -> list[str]:
    """Return where the time of a plain epoch goes, and what switches of each part can save at most.

    Whole steps take no less than their input alone and their computing alone. What takes next to nothing alone saves no
    more than that.

    Args:
        parts: As returned by `step_parts.time_parts`.
    """
    sentences = []
    for row in parts.to_dict("records"):
        epoch_s = row["epoch_s"]
        blocks = f", in {counted(row['blocks'], 'block')} of its own"
        blocks += ", while other processes were busy" if row["disturbed"] else ""
        shares = [(words, row[name] / epoch_s) for name, words in PIECES.items() if pd.notna(row[name])]
        if len(shares) < len(PIECES) - 1:
            sentences.append(f"{row['where']}: not measured in all parts.")
            continue
        of_input, of_compute = _savings(row)
        if not besides_computing(row):
            sentences.append(
                f"{row['where']}: nearly all of an epoch ({digits(epoch_s)} s{blocks}) is computing{_hidden(row)}: "
                f"switches of the input can save {of_input}{' here' if of_input == NEXT_TO_NOTHING else ''}."
            )
            continue
        pieces = listed([f"{percent(share)} {words}" for words, share in shares])
        sentences.append(
            f"{row['where']}: an epoch takes {digits(epoch_s)} s{blocks}: {pieces}{_hidden(row)}. The input alone "
            f"takes {digits(row['input_s'])} s. So switches of the input can save {of_input}"
            f"{f', those of the computing {of_compute}' if row['input_s'] >= TELLING * epoch_s else ''}."
        )
    return sentences


def _savings(row: Mapping[str, float]) -> tuple[str, str]:
    """Return the most that switches of the input can save, and the share that those of the computing can."""
    epoch_s, input_s = row["epoch_s"], row["input_s"]
    whole_s = epoch_s - (row["validation_s"] if pd.notna(row["validation_s"]) else 0.0)
    left_s = whole_s - row["compute_s"] + row["hidden_s"]
    of_input = percent((left_s if input_s >= TELLING * epoch_s else min(left_s, input_s)) / epoch_s)
    of_compute = percent(max(0.0, whole_s - input_s) / epoch_s)
    return NEXT_TO_NOTHING if of_input == percent(0.0) else f"{of_input} at most", of_compute


def _hidden(row: Mapping[str, float]) -> str:
    """Return what is counted as computing and may be something else, where that shows."""
    hidden, noise = (percent(row[name] / row["epoch_s"]) for name in ("hidden_s", "noise_s"))
    if hidden == percent(0.0):
        return ""
    return f" ({hidden} of the computing may be something else: the same steps, measured twice, differ by {noise})"


def validation_sentences(runs: Iterable[Run]) -> list[str]:
    """Return what validation and a checkpoint in each epoch cost, and what they would in every fifth one."""
    return [
        f"{NAMES[one.trial.framework]}, {model_of(one.trial.model)}: with validation and a checkpoint in each epoch, "
        f"these take {percent(one.besides)} of the time{_ends_of(one)}; in every {SELDOM}th epoch "
        f"{percent(one.every(SELDOM))}."
        for one in phase_shares(runs)
        if one.besides is not None
    ]


def _ends_of(shares: PhaseShares) -> str:
    return "" if shares.low is None else f" (95 % interval {percent(shares.low)} to {percent(shares.high)})"


def screen_sentences(found: Iterable[Findings]) -> list[str]:
    """Return how much the screen saw, and what noise alone makes of nothing."""
    sentences, without = [], {}
    for one in found:
        if (screen := one.screen) is None:
            alone = any(f.alone and f.alone.speedup for f in one.feasible)
            told = "; the estimates are those of single switches" if alone else ""
            without.setdefault(f"no screen was measured{told}", []).append(where(one))
            continue
        noise = fixed(change_percent(-screen.band), 1, " %")
        tried = counted(len(screen.estimates), "switch", "switches")
        sentences.append(
            f"{where(one)}: {tried} in {screen.pairs} of {counted(screen.planned, 'pair')} of runs, each on in one run "
            f"of a pair and off in the other. Noise alone makes up to {noise} of a step{_assumed(screen)}."
        )
    return [*sentences, *_said_once(without)]


def _said_once(places: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each thing that is said of several searches."""
    return [f"{' and '.join(searches)}: {said}." for said, searches in places.items()]


def _assumed(screen: Screen) -> str:
    """Return that the noise is not measured, where pairs and columns are too few for it: see `arms.fit_speedups`."""
    freedom = screen.pairs - len(screen.estimates)
    if freedom >= ENOUGH_FREEDOM:
        return ""
    how = "as assumed" if freedom <= 0 else "in part as assumed"
    if len(screen.empty) < ENOUGH_FREEDOM:
        number = counted(len(screen.empty), "column") if screen.empty else "no column"
        verb = "stand" if len(screen.empty) > 1 else "stands"
        few = f"{'only ' * bool(screen.empty)}{number} of the screen {verb} for nothing"
    else:
        few = "too few pairs were measured to tell"
    return f", {how} for most machines, since {few}"


def pair_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what does not go together, and each interaction of two switches that is beyond its own noise.

    Where a search looked for such pairs and found none, that is said, too.
    """
    sentences, without = [], {}
    for one in found:
        sentences += [
            f"{where(one)}: {switch_names(clash.switches)} failed together"
            f"{f': {clash.reason}' if clash.reason else ''}."
            for clash in one.clashes
        ]
        pairs = [i for i in one.interactions if abs(i.log) > INTERVAL_SE * i.se]
        sentences += [f"{where(one)}: {_pair(one, interaction)}" for interaction in pairs]
        if not one.clashes and not pairs:
            said = (
                "no two switches were found to need or to spoil each other"
                if one.screen or one.rounds
                else "not measured: there was neither a screen nor an elimination"
            )
            without.setdefault(said, []).append(where(one))
    return [*sentences, *_said_once(without)]


def _pair(found: Findings, interaction: Interaction) -> str:
    one, other = interaction.pair
    alone = {e.switches[0]: e.log for e in (found.screen.estimates if found.screen else ())}
    if one in alone:
        # An estimate of the screen is the mean of both, with the other one on and with it off, or wholly with it off.
        apart = alone[one] - (interaction.log / 2 if other in alone else 0.0)
        beside = apart + interaction.log
        with_on, with_off = (_does(log, found.screen.band) for log in (beside, apart))
        text = f"{one.words} {with_on} with {other.words} on and {with_off} with it off"
    else:
        which = "more" if interaction.log > 0 else "less"
        size = percent(abs(math.expm1(-abs(interaction.log))))
        text = f"{one.words} and {other.words} bring {size} {which} together than apart"
    if interaction.aliases:
        others = "; ".join(f"{switch_names(pair)}" for pair in interaction.aliases)
        text += f"; the screen cannot tell this pair from {others}"
    return f"{text}."


def _does(log: float, band: float) -> str:
    """Return what a switch does to the time; of what lies within the band of noise no size."""
    change = change_percent(log)
    if abs(log) < band:
        return "does nothing that stands out of the noise"
    return f"{'costs' if change > 0 else 'saves'} {fixed(abs(change), 1, ' %')}"


def not_left_out_sentences(found: Iterable[Findings]) -> list[str]:
    """Return why nothing was left out of all that was kept, where nothing was."""
    without: dict[str, list[str]] = {}
    for one in found:
        if (confirmed := one.confirmation) is None:
            without.setdefault("nothing was left out, as nothing was confirmed", []).append(where(one))
        elif not confirmed.left_out:
            why = (
                "one switch was confirmed, and nothing is left without it"
                if len(confirmed.on) == 1
                else "there was no time to leave out one switch after another"
            )
            without.setdefault(why, []).append(where(one))
    return _said_once(without)


def effect_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what was asked for and was not in effect, or could not be seen to be, with how that was looked up."""
    sentences = []
    for one in found:
        for feasible in (*one.feasible, *one.slow_ways):
            if feasible.effect in (Effect.UNSEEN, Effect.UNKNOWN):
                seen = "; ".join(
                    f"{name} was {'not to be seen' if value is None else value} ({how})"
                    for name, (value, how) in feasible.seen.items()
                )
                name = feasible.switch.words
                sentences.append(f"{where(one)}, {name}: {feasible.effect}{f': {seen}' if seen else ''}.")
    return sentences


def accuracy_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what all switches that were confirmed did to the accuracy, in fresh blocks; and what is left of them."""
    return [
        f"{where(one)}, {switch_names(told.on)}: {confirmed_accuracy(told)}."
        for one in found
        for told in (one.confirmation, one.rest)
        if told
    ]


def fate_sentences(found: Iterable[Findings], coverage: Coverage | None = None) -> list[str]:
    """Return what became of each switch that is not in the code, with a remedy where there is one.

    Args:
        coverage: As of `answer.answer_sentences`.
    """
    sentences = []
    for one in found:
        for decision in Decision:
            if decision.keeps:
                continue
            groups = [with_decision(one, decision)]
            if decision is Decision.UNCONFIRMED and one.confirmation:
                fresh = one.confirmation.on
                groups = [[s for s in groups[0] if (s in fresh) is inside] for inside in (True, False)]
            for switches in filter(None, groups):
                remedy = "" if one.failure else _remedy(one, decision, more_time(coverage), switches)
                sentences.append(
                    f"{where(one)}: {decision}: {switch_names(switches)}{remedy and f'; {remedy}'}."
                )
    return sentences


def _remedy(found: Findings, decision: Decision, more: str, switches: Sequence[Switch]) -> str:
    """Return what decides what is open of these switches; nothing of what is decided."""
    if decision is not Decision.UNCONFIRMED:
        return more if decision is Decision.OPEN else ""
    if found.confirmation and not set(switches) <= set(found.confirmation.on):
        return f"the fresh blocks were without: {more}"
    if bad := spoiled(found):
        return f"a search without {switch_names(bad)} decides: name the others in `levers`"
    total = found.confirmation.total if found.confirmation else None
    if total and total.blocks >= MIN_BLOCKS:
        blocks = counted(total.blocks, "fresh block")
        return f"{blocks} did not show it: more (raise `confirm_blocks`) may, or a machine with nothing beside it"
    return f"fresh blocks decide: raise `confirm_blocks`, or {more}"
