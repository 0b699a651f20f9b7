"""What searches could have tried on their machine and did not: read off their runs. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainspeed.core.coverage import NOTHING_CHOSEN, Choice
from trainspeed.core.format import NAMES, counted, listed, model_of
from trainspeed.core.levers.compute import without_arithmetic
from trainspeed.core.levers.host import plain_values
from trainspeed.core.levers.registry import LEVERS, levers_apart
from trainspeed.core.machine_text import cores_at_once
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.commands import command_for
from trainspeed.search.candidates import candidates

MOST_NAMED = 3
# What a user of the framework calls it, where that is another name.
CALLED = {("compile", "torch"): "torch.compile", ("compile", "tensorflow"): "XLA"}


@dataclass(frozen=True, kw_only=True)
class Untried:
    """What a search could have tried and had no run of.

    Attributes:
        start: Its plain trial.
        levers: Names of levers, in the registry's order; those that refine another one come last.
        batches: Whether larger batches were not tried either.
        batches_in: Study -> the largest batch that another study trained its framework and model with, if that is
            larger than its own.
    """

    study: str
    start: Trial
    levers: tuple[str, ...]
    batches: bool
    batches_in: Mapping[str, int]

    @property
    def names(self) -> list[str]:
        """What the levers are called, the first few."""
        framework = self.start.framework
        return [CALLED.get((name, framework), LEVERS[name].words) for name in self.levers[:MOST_NAMED]]


def searched(runs: Iterable[Run]) -> list[tuple[Trial, list[Run]]]:
    """Return the plain trial of each search of a framework and a model, and the runs of the search."""
    searches: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.trains:
            searches.setdefault((run.study, run.trial.framework, run.trial.model), []).append(run)
    found = []
    for own in searches.values():
        alone = list(dict.fromkeys(run.trial.spec for run in own if run.label == Role.FEASIBLE))
        if alone:
            # From the plain one each of the others is one switch away.
            start = min(alone, key=lambda trial: sum(len(levers_apart(trial, other)) for other in alone))
            found.append((start, own))
    return found


def untried(runs: Iterable[Run]) -> list[Untried]:
    """Return what each search of a framework and a model had no run of, though it is there."""
    found, known = [], tuple(runs)
    for start, own in searched(known):
        tried = {name for run in own for name in levers_apart(start, run.trial)}
        there = (s.lever for s in sorted(_there(start, own[0].machine), key=lambda s: bool(s.needs)))
        levers = tuple(dict.fromkeys(name for name in there if name not in tried))
        batches = not any(run.label == Role.LADDER for run in own)
        larger = _larger_batches(start, (run for run in known if run.study != own[0].study))
        one = Untried(study=own[0].study, start=start, levers=levers, batches=batches, batches_in=larger)
        found.append(one)
    return found


def _larger_batches(start: Trial, others: Iterable[Run]) -> dict[str, int]:
    """Return study -> the largest batch of its whole steps of a framework and model, if that is larger."""
    largest: dict[str, int] = {}
    for run in RunSet(tuple(others)).ok():
        trial = run.trial
        same = trial.phase.trains and (trial.framework, trial.model) == (start.framework, start.model)
        if same and trial.batch_size > max(start.batch_size, largest.get(run.study, 0)):
            largest[run.study] = trial.batch_size
    return largest


def _there(start: Trial, machine: Mapping) -> tuple:
    device, gpus = machine.get("device") or "cpu", machine.get("gpus") or [{}]
    cores = cores_at_once(machine) or 1
    sizes = [gpu["memory_bytes"] for gpu in gpus if gpu.get("memory_bytes")]
    count = len(gpus) if device == "gpu" else 1
    return candidates(
        start,
        device,
        count,
        cores=cores,
        gpu_bytes=min(sizes, default=None),
        plain=plain_values(machine),
        lacking=without_arithmetic(machine, device),
    ).switches


def untried_sentences(found: Sequence[Untried], choices: Mapping[str, Choice] | None = None) -> list[str]:
    """Return what the searches of each study could have tried, by number and the first names, and what tries it.

    Args:
        choices: Study -> what the user asked its report for; nothing by default.
    """
    choices = choices or {}
    sentences = []
    for study in dict.fromkeys(one.study for one in found if one.levers):
        searches = [one for one in found if one.study == study and one.levers]
        starts, choice = [one.start for one in searches], choices.get(study, NOTHING_CHOSEN)
        try_all = command_for(starts, choice, notebooks=[study], parameters={"levers": []})
        sentences.append(
            f"{study}: switches that could be tried here had no run. {' '.join(map(_levers, searches))} "
            f"To try all of them (an empty list means all): `{try_all}`."
        )
    if found and all(one.batches for one in found):
        larger = [
            f"{escape(_where(one.start))} up to batch {size} in {_page(study)}"
            for one in found
            for study, size in one.batches_in.items()
        ]
        by_fleet = any(choice.by_fleet for choice in choices.values())
        command = command_for((one.start for one in found), Choice(by_fleet=by_fleet), preset="standard")
        without = f" Without switches: {listed(larger)}." if larger else ""
        sentences.append(
            Marked(
                "Larger batches were not tried beside the switches: an epoch had too few images for them, or there was "
                f"no time (`{command}`).{without}"
            )
        )
    return sentences


def _levers(one: Untried) -> str:
    """Return the levers of one search, in a sentence: how many, and the first names."""
    more = len(one.levers) - len(one.names)
    names = "; ".join([*one.names, *([f"{more} more"] if more else [])])
    return f"{_where(one.start)} ({len(one.levers)}): {names}."


def _page(study: str) -> str:
    """Return the name of a study with a link to its page; a ledger may have a name that is none of a file."""
    return f"[{escape(study)}]({study}.html)" if study.isidentifier() else escape(study)


def _where(start: Trial) -> str:
    return f"{NAMES[start.framework]}, {model_of(start.model)}"


def untried_in_short(found: Sequence[Untried]) -> str:
    """Return the first thing that each framework's search could have tried, and how many more; "" where nothing is."""
    of_each = {one.start.framework: one for one in reversed(found) if one.levers}
    first = [one.names[0] for one in reversed(of_each.values())]
    more = sum(len(one.levers) for one in of_each.values()) - len(first)
    others = [counted(more, "more switch", "more switches")] if more else []
    return listed([*first, *others]) if first else ""
