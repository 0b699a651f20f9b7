"""Runs as a set: which of them are data, to which trial they belong, which session is the newest. Judges nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import NOTHING_CHOSEN, Choice, Coverage
from trainspeed.core.format import NAMES, counted, minutes, percent
from trainspeed.core.frame import to_frame
from trainspeed.core.run import DATA_ROLES, Role, Run, Status
from trainspeed.core.user_model import fault_sentences


@dataclass(frozen=True)
class RunSet(Sequence[Run]):
    """Runs in the order in which they were measured, and the questions that are asked of them everywhere."""

    runs: tuple[Run, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        """Return how many runs it has: all that is in them fills pages where a cell ends with it."""
        without = len(self) - len(self.ok())
        return f"{counted(len(self), 'run')}{f', {without} without a result' if without else ''}; .frame has them"

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per run: see `trainspeed.core.frame`."""
        return to_frame(self.runs)

    def where(self, condition: Callable[[Run], bool]) -> RunSet:
        """Return the runs that meet a condition."""
        return RunSet(tuple(run for run in self.runs if condition(run)))

    def data(self) -> RunSet:
        """Return the runs that are data of their trial; the others serve purposes of their own."""
        return self.where(lambda run: run.role in DATA_ROLES)

    def with_anchors_as_data(self) -> RunSet:
        """Return the runs, with those that stand beside other batch sizes as data where their trial has no others.

        So that what a line shows is in tables and verdicts, too, where there was no time for the trial's own blocks.
        """
        own = {(run.study, run.trial.spec) for run in self.data()}

        def told(run: Run) -> Run:
            stands_in = run.role is Role.ANCHOR and (run.study, run.trial.spec) not in own
            return replace(run, label=Role.DATA) if stands_in else run

        return RunSet(tuple(map(told, self.runs)))

    def on_lines(self) -> RunSet:
        """Return the runs whose times make lines over batch size: see `trainspeed.show.rows.on_lines`."""
        beside = self.role(Role.ANCHOR)
        anchored = {run.trial.spec for run in beside}
        own = self.data().where(lambda run: run.trial.spec not in anchored)
        return RunSet((*own, *beside))

    def role(self, *roles: Role) -> RunSet:
        """Return the runs that serve one of these purposes."""
        return self.where(lambda run: run.role in roles)

    def ok(self) -> RunSet:
        """Return the runs that ended well."""
        return self.where(lambda run: run.status is Status.OK)

    def of_study(self, study: str) -> RunSet:
        """Return the runs of one study."""
        return self.where(lambda run: run.study == study)

    def newest(self) -> RunSet:
        """Return the runs of the newest session, each once: see `last_of_each`."""
        newest = max((run.session for run in self.runs), default=None)
        return self.where(lambda run: run.session == newest).last_of_each()

    def last_of_each(self) -> RunSet:
        """Return each run once: where one crashed and was measured again on resuming, the later one."""
        return RunSet(tuple({(run.session, run.study, run.key): run for run in self.runs}.values()))

    def of(self, trials: Iterable[AnyTrial]) -> RunSet:
        """Return the runs of trials as they were asked for.

        It does not matter which data set "auto" stood for, nor how many workers the machine had cores for: both
        depend on the machine, and a report may be drawn on another one.
        """
        asked = {_as_asked(trial) for trial in trials}
        return self.where(lambda run: _as_asked(run.trial) in asked)

    def of_trial(self, trial: AnyTrial) -> RunSet:
        """Return the runs of a training as it was asked for: those with as many workers, where there are any.

        Two that are compared may differ in their workers alone.
        """
        runs = self.of([trial])
        return runs.where(lambda run: run.trial.workers == trial.workers) or runs

    def by_trial(self) -> dict[AnyTrial, RunSet]:
        """Return the runs of each trial, whatever its seed and fold; the trial that ran first comes first."""
        arms: dict[AnyTrial, list[Run]] = {}
        for run in self.runs:
            arms.setdefault(run.trial.spec, []).append(run)
        return {trial: RunSet(tuple(runs)) for trial, runs in arms.items()}

    @property
    def versions(self) -> dict[str, Mapping[str, str]]:
        """Framework -> versions of its packages."""
        return {run.trial.framework: run.versions for run in self.runs if run.versions}

    @property
    def wall_s(self) -> float:
        """Seconds that all runs took, from their request to their end."""
        return sum(run.busy_s for run in self.runs)

    def medians(self, value: Callable[[Run], float | None]) -> dict[AnyTrial, float]:
        """Return the median of a value over the runs of each trial that ended well and have it."""
        known = self.ok().where(lambda run: value(run) is not None)
        return {trial: median(map(value, runs)) for trial, runs in known.by_trial().items()}


def machines_of(runs: Iterable[Run]) -> list[tuple[str | None, Mapping[str, Any]]]:
    """Return (the node that measured runs, its machine), each once; the node is None where there was no fleet."""
    found: list[tuple[str | None, Mapping[str, Any]]] = []
    last: tuple[str | None, Mapping[str, Any]] | None = None
    for run in runs:
        if run.machine and (last is None or run.machine is not last[1] or run.node != last[0]):
            last = run.node, run.machine
            if last not in found:
                found.append(last)
    return found


def elapsed_s(runs: Iterable[Run]) -> float:
    """Return the seconds in which runs were measured: what nodes did side by side counts once.

    On one machine that is the sum of what all runs took, see `Run.busy_s`. The nodes' clocks
    need not agree: then it is between what the busiest node took and what all took together.
    """
    blocks: dict[Any, tuple[float, float]] = {}
    for run in runs:
        key = run.alive_with, run.study, run.block, run.group if run.group is not None else run.key
        begun_s = (
            datetime.fromisoformat(run.started_at).timestamp() if run.node and run.started_at else -math.inf
        )
        begin, took_s = blocks.get(key, (begun_s, 0.0))
        blocks[key] = min(begin, begun_s), took_s + run.busy_s
    total_s, until_s = sum(took_s for begun_s, took_s in blocks.values() if begun_s == -math.inf), -math.inf
    for begun_s, took_s in sorted(block for block in blocks.values() if block[0] > -math.inf):
        end_s = begun_s + took_s
        total_s += max(0.0, end_s - max(begun_s, until_s))
        until_s = max(until_s, end_s)
    return total_s


def took_s(runs: Iterable[Run], coverage: Coverage | None) -> float:
    """Return the seconds that measuring a study took, on the clock, without what its notebook draws.

    Where it had no limit that was not kept: then it is `elapsed_s`, without the starts of workers.
    """
    return coverage.spent_s if coverage else elapsed_s(runs)


def _as_asked(trial: AnyTrial) -> AnyTrial:
    same = trial.spec
    return replace(same, dataset="auto", workers=min(same.workers, 1)) if same.dataset else same


@dataclass(frozen=True)
class Measured(RunSet):
    """The runs of one study in one session.

    Attributes:
        out: Folder that the report is written to.
        folder: Folder of the ledger that the runs are in; not the same as `out` when rendering.
        doubts: Reasons to distrust the ledger as a whole; those about single runs are in their notes.
        coverage: What of the plan the time was enough for; None where there was no limit.
        choice: What the user asked for, which `coverage` tells, too.
        by_hand: Whether a reader measured it in a notebook, so that no report has pages beside it.
    """

    study: str
    session: str
    out: Path
    folder: Path
    doubts: tuple[str, ...] = ()
    coverage: Coverage | None = None
    choice: Choice = NOTHING_CHOSEN
    by_hand: bool = False

    def __repr__(self) -> str:
        return f"Measured {self.study}, session {self.session}: {RunSet.__repr__(self)}"

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine that the runs were measured on."""
        return self.runs[-1].machine if self.runs else {}

    @property
    def took_s(self) -> float:
        """Seconds that measuring took: see the function of that name."""
        return took_s(self.runs, self.coverage)

    @property
    def skipped(self) -> dict[str, str]:
        """Frameworks that never ran, with the reason."""
        ran = {run.trial.framework for run in self.runs if run.versions}
        return {run.trial.framework: run.reason for run in self.runs if run.trial.framework not in ran}

    def skipped_sentences(self) -> list[str]:
        """Return which frameworks never ran, what did not fit, and what was wrong with the user's own models."""
        skipped = [f"Skipped: {NAMES[name]}. {reason}." for name, reason in self.skipped.items()]
        return skipped + self._left_out_sentences() + fault_sentences(self.runs)

    def _left_out_sentences(self) -> list[str]:
        """Return what was not tried since memory would not have been enough: each reason once."""
        trials: dict[str, set[AnyTrial]] = {}
        for run in self.runs:
            if not run.was_begun:
                trials.setdefault(run.reason or "memory is not enough", set()).add(run.trial.spec)
        return [
            f"Left out, {counted(len(left_out), 'trial')}: {reason.rstrip('.')}."
            for reason, left_out in trials.items()
        ]

    def summary(self) -> str:
        """Return what was measured, how long it took and how much of that was timed, if anything was."""
        ok = self.ok()
        timed_s = sum(run.timed_s for run in ok)
        all_s = self.wall_s + self.took_s - elapsed_s(self.runs)  # of nodes side by side, each one's
        share = f", {percent(timed_s / all_s)} of it inside what was timed" if all_s and timed_s else ""
        failed = f", {len(self) - len(ok)} without a result" if len(ok) < len(self) else ""
        return f"{counted(len(ok), 'run')} measured{failed} in {minutes(self.took_s)}{share}."
