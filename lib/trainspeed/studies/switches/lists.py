"""What there is to switch, in sentences: to try, here as well, and what only a study of its own could judge."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.levers.lever import LeverKind
from trainspeed.core.levers.registry import LEVERS
from trainspeed.search.findings import Findings
from trainspeed.search.switch import Switch
from trainspeed.search.unmeasured import where

ASIDE = {
    LeverKind.SWITCH: "could be on",
    LeverKind.ALREADY_ON: "on already",
    LeverKind.OWN: "Trainspeed's own",
    LeverKind.BRAKE: "brakes",
}


def list_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what could be on, what is here and was not to be tried, and what only a study of its own could judge."""
    sentences = []
    for one in found:
        names = _names(one.candidates.switches)
        sentences.append(f"{where(one)}, for this search to try: {names or 'nothing that is known'}.")
        sentences += _aside_sentences(one)
        if changing := one.candidates.changing:
            words = ", ".join(LEVERS[name].words for name in changing)
            sentences.append(
                f"{where(one)}, not tried, as it trains another model (Δ): {words}. That is judged by the time to "
                "equal accuracy, not by images per second."
            )
    return sentences


def _aside_sentences(found: Findings) -> list[str]:
    """Return what is here and is not among the names to try, by what it is."""
    by_kind = {kind: [s for s in found.candidates.aside if s.entry.kind is kind] for kind in LeverKind}
    parts = [f"{words}: {_names(by_kind[kind])}" for kind, words in ASIDE.items() if by_kind[kind]]
    return [f"{where(found)}, here as well, but `levers` leaves it out: {'; '.join(parts)}."] if parts else []


def _names(switches: Iterable[Switch]) -> str:
    return ", ".join(dict.fromkeys(f"{s.entry.words} ({s.numbers})" for s in switches))
