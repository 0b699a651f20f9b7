"""A study: the trials of one question, measured (or read again) and handed to the notebook.

The one call of a notebook's Run section is `measure`. Knows no chart and no verdict.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

from trainspeed.conduct.alone import measuring_alone
from trainspeed.conduct.block_limit import limit_of
from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.cluster.gang_twins import gangs_here
from trainspeed.conduct.cluster.twins import StudyTwins, helped_by, twins_here
from trainspeed.conduct.context import Context, check_clock, current, recorded
from trainspeed.conduct.covered import covered
from trainspeed.conduct.estimates import check_memory, shortage
from trainspeed.conduct.forecast import plan_of, write_plan
from trainspeed.conduct.given_up import GivenUp
from trainspeed.conduct.groups import Pace, PlannedGroup, groups_of
from trainspeed.conduct.in_vain import is_in_vain
from trainspeed.conduct.machine import devices, devices_here, with_data_sets
from trainspeed.conduct.monitoring import monitoring
from trainspeed.conduct.plan import Plan, Planned, TrialSet, check_devices, most_cores, still_to_do
from trainspeed.conduct.progress import Progress, shown_progress
from trainspeed.conduct.resumed import check_same_machine, check_same_versions, of_machines_alike
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.start import imports_are_timed, start_worker
from trainspeed.conduct.timetable import GRACE, Timetable
from trainspeed.conduct.turns import TURN_S
from trainspeed.conduct.unfinished import going_on
from trainspeed.core.asked import choice_of
from trainspeed.core.coverage import append_coverage, read_coverage
from trainspeed.core.errors import PlanOnly, check_seconds
from trainspeed.core.files import CHECK
from trainspeed.core.frame import RUNS_CSV, append_csv, is_current, write_csv
from trainspeed.core.guard import arm
from trainspeed.core.ledger import Ledger
from trainspeed.core.monitor_csv import MIN_INTERVAL_S, monitor_file
from trainspeed.core.run import Run
from trainspeed.core.runs import Measured, RunSet, elapsed_s
from trainspeed.core.user_model import is_named, still_holds
from trainspeed.sensors.memory import allowance_bytes
from trainspeed.sensors.processes import device_cores


def measure(
    study: str,
    plan: Plan,
    *,
    timeout_s: float,
    interval_s: float,
    turn_s: float = TURN_S,
    budget_s: float | None = None,
    context: Context | None = None,
) -> Measured:
    """Measure every run of a plan that is not in the ledger yet and that the time is enough for; return them all.

    While a report is rendered, nothing is measured: the newest session of the study is returned. In JupyterLab, a
    session that was interrupted goes on.

    Args:
        timeout_s: Seconds after which a run is ended; it becomes a row with status `timeout`.
        interval_s: Seconds between two samples of the monitor.
        turn_s: Seconds of a turn in which an arm calls, about, and a quarter of those that it trains in a block: see
            `turns_of_epochs`.
        budget_s: Seconds that measuring may take; None for as long as the whole plan takes. What is left out where
            that is not enough: see `timetable`.
    Raises:
        UserError: Something that was asked for cannot be done; nothing was measured.
        PlanOnly: Only the plan was asked for, and has been written.
    """
    context = (context or current()).for_study(study)
    check_seconds("timeout_s", timeout_s)
    check_seconds("interval_s", interval_s, least=MIN_INTERVAL_S)
    check_seconds("turn_s", turn_s)
    check_seconds("budget_s", budget_s, or_none=True)
    if context.render_from:
        measured = recorded(study, context, plan.may_be_empty)
    else:
        if context.by_hand and plan.more and plan.remake:
            plan = plan.remake()  # what it asked for before an interrupt, it asks for again
        with going_on(study, plan, context, timeout_s=timeout_s, turn_s=turn_s) as context:
            measured = _Measuring(study, plan, context).run(timeout_s, interval_s, turn_s, budget_s)
    arm()
    return measured


class _Measuring:
    """A plan being measured: what it takes, what is done, what is left."""

    def __init__(self, study: str, plan: Plan, context: Context) -> None:
        self._study, self._plan, self._context = study, plan, context
        self._ledger, self._table = Ledger(context.out), context.out / RUNS_CSV
        # Older runs tell how long a trial takes; those of a session that is resumed are kept.
        sessions = self._ledger.newest()
        if context.by_hand:
            check_clock(context.id, [sessions.get(study, "")])
        sessions |= {study: context.id} if context.resume else {}
        self._known, self._doubts = self._ledger.read(sessions)
        self._device, self._uuids, self._machine = devices()
        self._begun = [run for run in self._known if context.resume and run.session == context.id]
        check_same_machine(self._begun, self._machine, context.node)
        self._given_up = GivenUp(self._device)
        self._runs: list[Run] = []
        self._by_key: dict[Any, list[Run]] = {}
        self._pace: Pace | None = None
        self._in_vain: Callable[[PlannedGroup, int], bool] | None = None
        self._tried: set[Any] = set()
        self._groups_so_far = 0

    def run(self, timeout_s: float, interval_s: float, turn_s: float, budget_s: float | None) -> Measured:
        """Measure what is left of the plan, and what its runs ask for, as far as the time goes."""
        context, begun_s = self._context, time.monotonic()
        gpus = self._machine.get("gpus", ()) if self._device == "gpu" else ()
        lacks = partial(shortage, allowance_bytes=allowance_bytes(), gpus=gpus)
        self._pace = Pace(of_machines_alike(self._known, self._machine), self._device, turn_s, lacks)
        names, sets = zip(*self._plan.named_sets, strict=True) if self._plan.sets else ((), ())
        groups = self._groups(sets, names)
        planned = [run for group in groups for block in group.blocks for run in block]
        check_devices(planned, *devices_here(self._study, context))
        check_memory(planned, **lacks.keywords)
        across = any(run.trial.nodes > 1 for run in planned)
        if context.plan_to:
            foreseen = [group for part in self._plan.foreseen for group in self._groups([part])]
            words = {"depends": self._plan.more is not None, "shared": self._study != CHECK and not across}
            words |= {"starts": imports_are_timed(planned)}
            plan = plan_of(self._study, groups, self._pace, foreseen=foreseen, **words)
            write_plan(context.plan_to, plan)
            raise PlanOnly
        if context.resume:
            for run in self._begun:
                if run.study == self._study and still_holds(run):
                    self._keep(run)
            begun_s -= elapsed_s(self._runs)
        settings = {"session": context.id, "study": self._study, "device": self._device}
        settings |= {"timeout_s": timeout_s, "turn_s": turn_s, "interval_s": interval_s}
        pool = None if imports_are_timed(planned) else context.worker_pool
        runner = Runner(
            ledger=self._ledger,
            session=context.id,
            study=self._study,
            device=self._device,
            machine=self._machine,
            gpu_uuids=self._uuids,
            monitor=monitor_file(context.id, self._study, context.node),
            node=context.node,
            start=partial(start_worker, self._uuids, pool=pool),
            timeout_s=timeout_s,
            turn_s=turn_s,
            accuracy_blocks=self._plan.accuracy_blocks,
            check_versions=partial(check_same_versions, self._begun),
            shortage=lacks,
            given_up=self._given_up,
            gangs=gangs_here(twins_here(), **settings) if across else None,
        )
        cores = device_cores(most_cores(planned)) if self._device == "cpu" else []
        if not is_current(self._table):
            write_csv(self._ledger.read()[0], self._table)
        end_s = math.inf if budget_s is None else begun_s + budget_s
        grace_s = GRACE * budget_s if context.in_report and budget_s is not None else 0.0
        costs = {"first_s": self._pace.first_s, "block_s": self._pace.block_s}
        yields = grace_s > 0 and not context.last
        table = Timetable(groups=groups, grace_s=grace_s, yields=yields, **costs)
        with (
            nullcontext() if context.in_report else measuring_alone(self._device, self._uuids),
            monitoring(context.out / runner.monitor, interval_s, cores),
            shown_progress(self._study, in_report=context.in_report) as show,
            closing(runner),
        ):
            self._run_all(runner, table, end_s, budget_s, show, interval_s)
        choice = choice_of(context.out, context.id, self._study, by_fleet=context.node is not None)
        if budget_s is not None:
            took = {"budget_s": budget_s, "spent_s": time.monotonic() - begun_s, "choice": choice}
            append_coverage(context.out, covered(context.id, self._study, table, self._runs, **took))
        runs = RunSet(tuple(self._runs)).last_of_each().with_anchors_as_data().runs
        coverage = read_coverage(context.out, {self._study: context.id}).get(self._study)
        told = {"doubts": self._doubts, "coverage": coverage, "choice": choice, "by_hand": context.by_hand}
        return Measured(runs, self._study, context.id, out=context.out, folder=context.out, **told)

    def _groups(self, sets: Sequence[TrialSet], names: Sequence[str] | None = None) -> list[PlannedGroup]:
        """Return the groups of these sets; all of them are the core where they have no names."""
        names = names or ("",) * len(sets)
        if self._context.in_report:  # a verdict or a run in the folder may name any file
            named = self._context.user_models
            known = [all(is_named(t, named) for t in (*part.trials, *part.anchors)) for part in sets]
            sets, names = tuple(compress(sets, known)), tuple(compress(names, known))
        cores = [not name or name == self._plan.core_name for name in names]
        resolved = [with_data_sets(trials, auto=self._plan.auto) for trials in sets]
        which = {"first_group": self._groups_so_far, "first_s": self._pace.first_s}
        groups = groups_of(resolved, names, cores, self._plan.seed, **which)
        self._groups_so_far += len(groups)
        return groups

    def _asked(self) -> list[PlannedGroup]:
        """Return what is to be measured next, depending on the runs so far, and was not asked for before."""
        return self._untried(self._plan.more(self._runs)) if self._plan.more else []

    def _spare(self, left_s: float) -> list[PlannedGroup]:
        """Return the first set that can have an interval in time that is left over, without those that had theirs."""
        if self._plan.spare is None or not 0 < left_s < math.inf:
            return []
        sets = (self._untried([part]) for part in self._plan.spare(self._runs))
        return next((groups for groups in sets if groups and self._pace.decided_s(groups) <= left_s), [])

    def _untried(self, sets: Sequence[TrialSet]) -> list[PlannedGroup]:
        groups = [
            replace(g, blocks=tuple(b for b in g.blocks if not self._tried.issuperset(run.key for run in b)))
            for g in self._groups(sets)
        ]
        return [group for group in groups if group.blocks]

    def _run_all(
        self,
        runner: Runner,
        table: Timetable[PlannedGroup],
        end_s: float,
        budget_s: float | None,
        show: Callable[..., None],
        interval_s: float,
    ) -> None:
        runner.start_all([run.trial for run in self._runs if not run.versions], side_by_side=False)
        self._given_up.learn_again(self._runs, runner.missing)
        self._in_vain = partial(is_in_vain, groups=table.groups, is_no_use=self._given_up.holds)
        self._begin(table, table.groups)
        to_do = [(group, table.had(group)) for group in table.groups if table.had(group) < group.most]
        begin = [one for group, n in to_do if not self._in_vain(group, n) for one in group.blocks[n]]
        runner.start_all([one.trial for one in begin], side_by_side=not imports_are_timed(begin))
        queue = BlockQueue(
            table=table,
            end_s=end_s,
            ask=self._asked,
            ask_spare=self._spare,
            left_of=self._left_of,
            in_vain=self._in_vain,
            begin=partial(self._begin, table),
            depends=bool(self._plan.more or self._plan.spare),
            asks_first=self._plan.more_is_core,
        )
        progress = Progress(queue, show)
        with helped_by(self._twins(runner, interval_s, begin), queue, partial(self._record, progress)):
            while block := queue.take():
                progress.starting(block.planned)
                begun_s = time.monotonic()
                runner.rounds = block.group.rounds
                runner.limit = limit_of(block, queue, budget_s)
                runs = runner.measure_group(block.planned)
                with queue.lock:
                    self._record(progress, block, runs, time.monotonic() - begun_s)
                queue.finished(block)

    def _twins(self, runner: Runner, interval_s: float, first: Sequence[Planned]) -> StudyTwins | None:
        """Return the equal nodes that share the blocks of this study; None where a report runs without a fleet.

        What is checked is this machine. Nodes that train together measure nothing else.
        """
        trials = [one.trial for one in first]
        twins = () if self._study == CHECK or runner.gangs else twins_here()
        return StudyTwins(twins, runner, self._ledger, interval_s, trials) if twins else None

    def _begin(self, table: Timetable[PlannedGroup], groups: Sequence[PlannedGroup]) -> None:
        """Count the blocks that a resumed session has, and take all as tried from now on."""
        for group in groups:
            self._tried.update(planned.key for block in group.blocks for planned in block)
            while (had := table.had(group)) < group.most and not self._in_vain(group, had):
                if self._left_of(group, had):
                    break
                table.took(group)

    def _left_of(self, group: PlannedGroup, block: int) -> Sequence[Planned]:
        """Return what there is left to measure of a block of a group."""
        planned = group.blocks[block]
        done = [run for one in planned for run in self._by_key.get(one.key, ())]
        return still_to_do(planned, done, self._given_up.holds)

    def _record(self, progress: Progress, block: Block, runs: Sequence[Run], seconds: float) -> None:
        """Take in what a block's runs have shown, whoever measured them, and how long it took."""
        self._pace.learn(block.group, seconds, runs)
        progress.finished(len(block.planned))
        for run in runs:
            if run.node != self._context.node:  # the runner has learned from its own
                self._given_up.learn(run)
            self._keep(run)
            append_csv(run, self._table)

    def _keep(self, run: Run) -> None:
        self._runs.append(run)
        self._by_key.setdefault(run.key, []).append(run)
