"""What there is to switch, in sentences: to try, here as well, and what only a study of its own could judge."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import counted
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.markdown import Marked, escape
from trainspeed.search.findings import Findings
from trainspeed.search.switch import Switch
from trainspeed.search.unmeasured import where


def list_sentences(found: Iterable[Findings]) -> list[str]:
    """Return what could be on, what is here and was not to be tried, and what only a study of its own could judge."""
    sentences = []
    for one in found:
        names = _names(one.candidates.switches)
        sentences.append(f"{where(one)}, for this search to try: {names or 'nothing that is known'}.")
        if aside := {switch.lever for switch in one.candidates.aside}:
            there = f"{escape(where(one))}, here as well, but `levers` leaves it out: {counted(len(aside), 'lever')}"
            sentences.append(Marked(f"{there}, listed below."))
        if changing := one.candidates.changing:
            words = ", ".join(LEVERS[name].words for name in changing)
            sentences.append(
                f"{where(one)}, not tried, as it trains another model (Δ): {words}. That is judged by the time to "
                "equal accuracy, not by images per second."
            )
    return sentences


def _names(switches: Iterable[Switch]) -> str:
    return ", ".join(dict.fromkeys(f"{s.entry.words} ({s.numbers})" for s in switches))
