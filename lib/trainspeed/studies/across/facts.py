"""What each side was measured with, and in what of it the sides differ: machine, versions, data set, dates.

Works on runs; reads no file and judges nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from trainspeed.core.format import DEFAULT_PRECISION, NAMES, listed, usd
from trainspeed.core.machine_text import machine_name, machine_parts
from trainspeed.core.result import tf32_text
from trainspeed.core.run import Run

NOT_KNOWN = "none or not known"
DATE_LETTERS = 10  # of an ISO 8601 time: 2026-11-20
DATE = "measured on"  # two sets always differ in it, so it is shown without a warning
MOST_NAMES = 4  # of sides, in a sentence
MOST_VALUES = 4  # of a fact, in a sentence

Facts = Mapping[str, str]  # what it is about -> its value


def facts(runs: Iterable[Run]) -> Facts:
    """Return what the runs were measured with; several values where it changed meanwhile."""
    runs = list({_seen_in(run): run for run in runs}.values())
    seen = [(DATE, (run.started_at or "")[:DATE_LETTERS]) for run in runs]
    seen += [part for run in runs for part in machine_parts(run.machine).items()]
    for run in runs:
        framework = NAMES.get(run.trial.framework, run.trial.framework)
        seen += [(f"{framework}: {package}", version) for package, version in run.versions.items()]
        if run.tf32 is not None and _precision(run) == DEFAULT_PRECISION:
            seen.append((f"{framework}: default precision", f"32 bits, {tf32_text(run.tf32)}"))
    seen += [("seed", str(run.trial.seed - run.block)) for run in runs]
    seen += [("data set", run.trial.dataset) for run in runs if run.trial.dataset]
    values: dict[str, dict[str, None]] = {}
    for name, value in seen:
        values.setdefault(name, {})[value or NOT_KNOWN] = None
    return {name: "; ".join(own) for name, own in values.items()}


def _seen_in(run: Run) -> tuple[object, ...]:
    """Return what is the same for two runs of which every fact is the same: lines share their machine and versions."""
    trial = run.trial
    about = (trial.framework, trial.dataset, trial.seed - run.block, _precision(run), run.tf32)
    return id(run.machine), id(run.versions), (run.started_at or "")[:DATE_LETTERS], *about


def _precision(run: Run) -> str | None:
    return getattr(run.trial, "precision", None)


def difference_sentences(known: Mapping[str, Facts]) -> list[str]:
    """Return a sentence for each fact in which sides differ.

    A fact that not all sides know, such as the version of a framework's package, counts as different; one about a
    framework is of the sides that are compared in it. Where a side differs from the first in several facts, the last
    sentence says how little can be concluded.

    Args:
        known: Side -> its facts; the others are compared with the first.
    """
    sentences = []
    first, counts = next(iter(known), ""), Counter[str]()
    for name in _names(known):
        sides: dict[str, list[str]] = {}
        framework, _, package = name.partition(": ")
        for side, own in known.items():
            if name in own or not package or any(other.startswith(f"{framework}: ") for other in own):
                sides.setdefault(own.get(name, NOT_KNOWN), []).append(side)
        if name != DATE and len(sides) > 1:
            parts = [f"{value} in {side_names(own)}" for value, own in list(sides.items())[:MOST_VALUES]]
            more = len(sides) - len(parts)
            sentences.append(f"{name}: {', '.join(parts)}{f', and {more} other values' if more else ''}.")
            if any(first in own for own in sides.values()):
                counts.update(side for own in sides.values() if first not in own for side in own)
    return [*sentences, *_several_sentences(first, {side: n for side, n in counts.items() if n > 1})]


def _several_sentences(first: str, counts: Mapping[str, int]) -> list[str]:
    """Return, in at most one sentence, which sides differ from the first in several things, and what that means.

    Args:
        counts: Side -> in how many.
    """
    if not counts:
        return []
    fewest, most = min(counts.values()), max(counts.values())
    things = f"{fewest} things" if fewest == most else f"{fewest} to {most} things"
    return [
        f"{side_names(list(counts))} {'differs' if len(counts) == 1 else 'differ'} from {first} in {things} at once, "
        "so a difference in time from it cannot be ascribed to one of them."
    ]


def repeated_sentences(runs: Mapping[str, Iterable[Run]]) -> list[str]:
    """Return a sentence for each session that several sides hold."""
    held: dict[str, list[str]] = {}
    for side, own in runs.items():
        for session in dict.fromkeys(run.session for run in own):
            held.setdefault(session, []).append(side)
    return [
        f"{side_names(sides)} hold session {session}: these are the same runs more than once."
        for session, sides in held.items()
        if len(sides) > 1
    ]


def comparable_facts(runs: Iterable[Run]) -> object:
    """Return what is the same for runs of sides that are alike in every fact, dates aside; None without a machine."""
    runs = list(runs)
    if not any(run.machine for run in runs):
        return None
    return frozenset((name, value) for name, value in facts(runs).items() if name != DATE)


def fact_rows(known: Mapping[str, Facts], shown: Sequence[str]) -> list[dict[str, str]]:
    """Return a row per fact that one of the sides shown knows: its name, each one's value, and whether they differ."""
    rows = []
    for name in _names(known):
        values = {side: known[side].get(name, NOT_KNOWN) for side in shown}
        if {*values.values()} != {NOT_KNOWN}:
            alike = name == DATE or len({*values.values()}) == 1
            rows.append({"what": name, **values, "": "" if alike else "differs"})
    return rows


def _names(known: Mapping[str, Facts]) -> list[str]:
    return list(dict.fromkeys(name for own in known.values() for name in own))


def side_names(sides: Sequence[str]) -> str:
    """Return the sides in a sentence: their names, or how many they are where those are many."""
    return listed(sides) if len(sides) <= MOST_NAMES else f"{len(sides)} sides"


def side_sentence(side: str, runs: Iterable[Run], usd_per_hour: float | None = None) -> str:
    """Return which machine measured these runs of a side, when, and what an hour of it costs."""
    runs = list(runs)
    machines = dict.fromkeys(machine_name(run.machine) for run in runs if run.machine)
    days = dict.fromkeys(run.started_at[:DATE_LETTERS] for run in runs if run.started_at)
    price = "" if usd_per_hour is None else f"{usd(usd_per_hour)} an hour"
    parts = ["; ".join(machines) or "a machine that is not known", "; ".join(days), price]
    return f"{side}: {', '.join(filter(None, parts))}."
