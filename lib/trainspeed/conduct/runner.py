"""Run what is planned: in warm workers, one run at a time, a ledger line as each ends.

Does not know what is asked nor how it is shown.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from trainspeed.conduct.alive_together import AliveTogether
from trainspeed.conduct.block_limit import BlockLimit
from trainspeed.conduct.bystanders import Bystanders, GpusInUse
from trainspeed.conduct.context import SHARES_HEAD, utc_now
from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.conduct.free_pages import FreePages
from trainspeed.conduct.gangs import GangRuns, Gangs
from trainspeed.conduct.given_up import GivenUp
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.turn_plan import TurnPlan, places_of
from trainspeed.conduct.turns import MORE_ROUNDS, MOST_ROUNDS, ROUNDS, TURN_S, measure_in_turns
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.conduct.workers import Start, WorkerKind, Workers
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.ledger import Ledger, crashed_without, why_not_kept
from trainspeed.core.notes import EndedAfterMeasuring, NotAllTogether, NotInspected, OnHeadNode, scrubbed
from trainspeed.core.paths import ROOT
from trainspeed.core.programs import compiles_anew
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import TIMED_ONLY, Role, Run, Status
from trainspeed.core.scrub import scrubber
from trainspeed.core.user_model import version_of
from trainspeed.sensors.gpus import gpus_in_use
from trainspeed.sensors.processes import device_cores
from trainspeed.worker.device_errors import crowds
from trainspeed.worker.gang import Gang
from trainspeed.worker.request import Request


@dataclass(kw_only=True)
class Runner:
    """Measures the planned runs of a study.

    Attributes:
        device: "gpu" or "cpu": what every run of the study trains on.
        machine: The machine as in the ledger.
        start: Starts a worker: see `Workers`.
        timeout_s: Seconds after which a run is ended; of a run that takes turns, a turn.
        turn_s: Seconds of a turn, about; trainings have more and shorter ones in the same time.
        rounds: How many turns of `turn_s` each arm has time for in a block.
        limit: The time of the next block.
        gpu_uuids: GPUs to use, in the order of CUDA_VISIBLE_DEVICES.
        monitor: Path of the monitor's CSV, relative to the ledger.
        node: The fleet's name of this machine: see `Run`.
        accuracy_blocks: Number of blocks, from the first, in which test accuracy is measured.
        gpus_in_use: Returns a note for each of some GPUs that is in use; called when no run is alive.
        shortage: Returns what memory a trial lacks, as a reason not to try it; None where it fits.
        check_versions: See `Workers`.
        gangs: The nodes that may train with this one; None where there is no other.
        given_up: What earlier runs of the session have shown to be no use; nothing by default.
    """

    ledger: Ledger
    session: str
    study: str
    device: str
    machine: Mapping[str, Any]
    start: Start
    timeout_s: float
    turn_s: float = TURN_S
    rounds: int = ROUNDS
    limit: BlockLimit = field(default_factory=BlockLimit)
    gpu_uuids: tuple[str, ...] = ()
    monitor: str | None = None
    node: str | None = None
    accuracy_blocks: int = 1
    gpus_in_use: GpusInUse = gpus_in_use
    shortage: Callable[[AnyTrial], str | None] = lambda trial: None
    check_versions: Callable[[str, Mapping[str, str]], None] = lambda framework, versions: None
    given_up: GivenUp | None = None
    gangs: Gangs | None = None
    _workers: Workers = field(init=False)
    _inspected: set[AnyTrial] = field(default_factory=set, init=False)  # or tried in vain, once
    _not_evaluated: set[Any] = field(default_factory=set, init=False)
    _turns: TurnPlan = field(init=False)
    _gang_runs: GangRuns = field(init=False)
    _together: AliveTogether = field(default_factory=AliveTogether, init=False)
    _free_pages: FreePages = field(default_factory=FreePages, init=False)

    def __post_init__(self) -> None:
        self.given_up = self.given_up or GivenUp(self.device)
        self._workers = Workers(self.start, self.check_versions)
        self._gang_runs = GangRuns(self.gangs)
        self._turns = TurnPlan(device=self.device, turn_s=self.turn_s)

    def measure_group(self, group: Sequence[Planned]) -> list[Run]:
        """Measure runs of one block that are compared: all alive at once, in turns; a single one alone.

        Where memory is not enough for all of them together, smaller groups take turns, at last one after the
        other, from then on.
        """
        self._workers.reserve(WorkerKind.of(planned.trial) for planned in group)
        fit = [planned for planned in group if self._takes_turns(planned)]
        if len(fit) < 2:
            return [run for planned in group if (run := self.measure(planned))]
        alone = [planned for planned in group if planned not in fit]
        runs = [run for planned in alone if (run := self.measure(planned))]
        left, subgroup, in_turns = self._together.groups(fit), 0, []
        while left:
            some = left.pop(0)
            if (measured := self._measure_in_turns(some, subgroup, fit)) is None:
                alone = self._turns.begin_alone(some, fit)
                left = ([some] if alone else self._together.halve(some)) + left
            else:
                in_turns, subgroup = in_turns + measured, subgroup + 1
        if any(crowds(run.status, run.failure) for run in in_turns):
            self._together.forget(fit)  # without those that do not even fit alone, the others may well
        return runs + in_turns

    def _measure_in_turns(
        self, some: Sequence[Planned], subgroup: int, group: Sequence[Planned]
    ) -> list[Run] | None:
        """Measure those of a group that are to be alive together; return None where they do not fit into memory."""
        started: list[str] = []
        at_once = self._turns.side_by_side(some, group, self.rounds)
        ends_at_once = self._turns.end_at_once(some, group)
        cores, paced = self._turns.cores(group), self._turns.is_paced(group, self.rounds)
        places = places_of(len(some), at_once, ends_at_once, block_cores=cores, paced=paced)
        each = zip(some, places, strict=True)
        begin = [partial(self._begin, planned, started, len(some), place) for planned, place in each]
        seed = f"{some[0].trial.seed}:{some[0].block}:{some[0].group}:{subgroup}"
        bystanders = Bystanders(max(map(self._gpus_of, some), key=len), self.gpus_in_use)
        turns = partial(self._turns.turns, group, self.rounds)
        if self.device == "cpu":
            self._free_pages.renew([planned.trial for planned in some], device_cores(cores))
        too_slow = partial(self.limit.ending, partial(self._turns.least_s, group, self.rounds), len(some))
        ways = {"at_once": at_once, "ends_at_once": ends_at_once, "paced": paced, "too_slow": too_slow}
        if (outcomes := measure_in_turns(begin, seed, turns, **ways)) is None:
            self._gang_runs.forget()
            return None
        outcomes = [self._gang_runs.ended(*pair) for pair in zip(some, outcomes, strict=True)]
        outcomes, lines = bystanders.noted(outcomes), []
        started += [utc_now()] * (len(some) - len(started))  # there was no time for the others
        for planned, outcome, started_at in zip(some, outcomes, started, strict=True):
            worker = self._workers.warm(WorkerKind.of(planned.trial))
            if len(some) < len(group):
                outcome = outcome.noted(NotAllTogether(arms=len(group), together=len(some)))
            line = self._line(planned, outcome, started_at, worker)
            lines.append(replace(line, group=planned.group, subgroup=subgroup))
        return self._record(some, lines)

    def _gpus_of(self, planned: Planned) -> tuple[str, ...]:
        return () if planned.trial.on_cpu else self.gpu_uuids[: planned.trial.devices_per_node]

    def _takes_turns(self, planned: Planned) -> bool:
        """Return whether a run is to take turns with the others of its group, and can."""
        if self.given_up.holds(planned) or self.shortage(planned.trial):
            return False
        return self._workers.ready(WorkerKind.of(planned.trial)) is not None

    def _begin(self, planned: Planned, started: list[str], arms: int, place: Mapping[str, Any]) -> ForkedRun:
        """Begin a run that takes turns with so many, itself among them, and append to `started` when.

        Args:
            place: What `places_of` says of its request.
        """
        kind = WorkerKind.of(planned.trial)
        worker = self._workers.ready(kind)
        if worker is None:  # an arm before it took the worker along, and no other could be started
            started.append(utc_now())
            return ForkedRun.ended(Status.CRASHED, self._workers.why_missing(kind))
        request = replace(self._request(planned), turns=True, **place)
        started.append(utc_now())
        several = {"arms": arms, "rounds": MOST_ROUNDS + MORE_ROUNDS}
        return self._gang_runs.begin(planned, worker, request, self.timeout_s, self.limit, **several)

    def follow(self, trial: AnyTrial, gang: Gang, limit_s: float) -> RunOutcome:
        """Fork this node's part of a run of several nodes, and return how it ended: rank 0's says when."""
        kind = WorkerKind.of(trial)
        worker = self._workers.ready(kind)
        if worker is None:
            return RunOutcome(status=Status.UNSUPPORTED, reason=self._workers.why_missing(kind))
        request = self._request(Planned(block=0, label="", trial=trial))
        return worker.run(replace(request, gang=gang, evaluate=False, inspect=False), limit_s)

    def measure(self, planned: Planned) -> Run | None:
        """Measure a planned run; return None where an earlier one has shown that it is no use.

        A trial that ran out of memory, timed out, is unsupported or crashes each time is not tried in later blocks; one
        that lacks memory beforehand is not tried at all, and is one row with what it lacks. A framework that is not
        there, or cannot use the GPUs that are, is one row with that reason; an environment in which it cannot be
        imported is one row of each trial that sets it.
        """
        if self.given_up.holds(planned):
            return None
        kind = WorkerKind.of(planned.trial)
        worker = self._workers.ready(kind)
        lacks = self.shortage(planned.trial)
        runs = worker is not None and not lacks
        bystanders = Bystanders(self._gpus_of(planned) if runs else (), self.gpus_in_use)
        started_at = utc_now()
        if worker is None and self._workers.has_framework(kind):
            outcome = RunOutcome(status=Status.UNSUPPORTED, reason=self._workers.why_missing(kind))
            worker = self._workers.warm(kind.plain)  # whose versions the row has: the framework is there
        elif worker is None:
            reason = f"{kind.framework}: {self._workers.why_missing(kind.plain)}"
            outcome = RunOutcome(status=Status.UNSUPPORTED, reason=reason)
        elif lacks:
            outcome = RunOutcome(status=Status.OOM, reason=lacks, failure=Failure())
        else:
            begun = self._gang_runs.begin(planned, worker, self._request(planned), self.timeout_s, self.limit)
            (outcome,) = bystanders.noted([self._gang_runs.ended(planned, begun.end())])
        run = self._line(planned, outcome, started_at, worker)
        return self._record([planned], [run])[0]

    def _record(self, group: Sequence[Planned], runs: Sequence[Run]) -> list[Run]:
        """Write runs that took turns, or a single one, into the ledger in one go, and learn from how they ended."""
        runs = [self.given_up.learn(run) for run in runs]
        self.ledger.append(*runs)
        self._turns.learn(runs)
        self._free_pages.learn(runs)
        for planned, run in zip(group, runs, strict=True):
            ended_in = {note.stage for note in run.notes if isinstance(note, EndedAfterMeasuring)}
            not_inspected = "inspect" in ended_in or any(isinstance(note, NotInspected) for note in run.notes)
            if run.layers is not None or not_inspected:
                self._inspected.add(planned.trial.graph_key)
            if "evaluate" in ended_in:
                self._not_evaluated.add(planned.kind)
        return runs

    def start_all(self, trials: Iterable[AnyTrial], *, side_by_side: bool = True) -> None:
        """Start the workers of these trials and wait for all of them: no import may run beside a measured epoch.

        Args:
            side_by_side: False where the time of each import is of interest.
        """
        self._workers.start_all(dict.fromkeys(map(WorkerKind.of, trials)), side_by_side=side_by_side)

    @property
    def missing(self) -> Collection[str]:
        """The frameworks that could not be started."""
        return self._workers.missing

    def close(self) -> None:
        """End every worker and whatever it runs."""
        self._workers.close()

    def _is_evaluated(self, planned: Planned) -> bool:
        if planned.timed_only or planned.kind in self._not_evaluated:
            return False
        return Role.of(planned.label) not in TIMED_ONLY and planned.block < self.accuracy_blocks

    def _request(self, planned: Planned) -> Request:
        trial = planned.trial
        return Request(
            trial=trial,
            device="cpu" if trial.on_cpu else self.device,
            requested_at=time.monotonic(),
            calls_s=ROUNDS * self.turn_s,
            evaluate=self._is_evaluated(planned),
            inspect=trial.graph_key not in self._inspected,
            compile_anew=compiles_anew(planned.label, planned.block),
            default_allocation=planned.label == Role.ALLOCATION,
            gpu_uuids=self._gpus_of(planned),
        )

    def _line(
        self, planned: Planned, outcome: RunOutcome, started_at: str, worker: WorkerProcess | None
    ) -> Run:
        # What a library says about a failure may hold paths and names, and a ledger is shared.
        scrub = scrubber(root=ROOT, out=self.ledger.folder.resolve(), addresses=self._gang_runs.addresses)
        result = {field.name: getattr(outcome.result, field.name) for field in fields(RunResult)}
        noted = [*outcome.result.notes, *([OnHeadNode()] if os.environ.get(SHARES_HEAD) else [])]
        result["notes"] = tuple(scrubbed(note, scrub) for note in noted)
        seen = outcome.result.in_effect.items()
        result["in_effect"] = {lever: (value, scrub(how)) for lever, (value, how) in seen}
        run = Run(
            session=self.session,
            study=self.study,
            trial=planned.trial,
            block=planned.block,
            label=planned.label,
            status=outcome.status,
            reason=outcome.reason and scrub(outcome.reason),
            failure=outcome.failure,
            started_at=started_at,
            machine=self.machine,
            versions={**worker.versions, **version_of(getattr(planned.trial, "model", ""))} if worker else {},
            monitor=self.monitor,
            node=self.node,
            import_s=worker.import_s if planned.trial.phase.calls and worker else None,
            **result,
        )
        return run if (why := why_not_kept(run)) is None else crashed_without(run, scrub(why))
