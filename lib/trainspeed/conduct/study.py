"""A study: the trials of one question, measured (or read again) and handed to the notebook.

The one call of a notebook's Run section is `measure`. Knows no chart and no verdict.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import Context, current, recorded
from trainspeed.conduct.estimates import check_memory, estimates_s
from trainspeed.conduct.machine import devices, devices_here, find_interpreter, with_data_sets
from trainspeed.conduct.plan import (
    Plan,
    Planned,
    TrialSet,
    check_devices,
    most_devices,
    schedule,
    still_to_do,
)
from trainspeed.conduct.progress import Bar, Lines, Progress
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.turns import TURN_S
from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.errors import PlanOnly, UserError
from trainspeed.core.format import minutes
from trainspeed.core.frame import RUNS_CSV, append_csv, is_current, write_csv
from trainspeed.core.guard import arm
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Run
from trainspeed.core.runs import Measured, RunSet
from trainspeed.core.user_model import still_holds
from trainspeed.sensors.memory import allowance_bytes
from trainspeed.sensors.processes import device_cores
from trainspeed.worker import backends


def measure(
    study: str,
    plan: Plan,
    *,
    timeout_s: float,
    interval_s: float,
    turn_s: float = TURN_S,
    context: Context | None = None,
) -> Measured:
    """Measure every run of a plan that is not in the ledger yet, and return them all.

    While a report is rendered, nothing is measured: the newest session of the study is returned.

    Args:
        timeout_s: Seconds after which a run is ended; it becomes a row with status `timeout`.
        interval_s: Seconds between two samples of the monitor.
        turn_s: Seconds that an arm trains or calls, about, before it is the next one's turn; an epoch or a call at
            least.
    Raises:
        UserError: Something that was asked for cannot be done; nothing was measured.
        PlanOnly: Only the plan was asked for, and has been printed.
    """
    context = context or current()
    if not timeout_s > 0 or not interval_s > 0:
        raise UserError("timeout_s", timeout_s, f"and interval_s (={interval_s!r}) must be positive seconds.")
    if not turn_s > 0:
        raise UserError("turn_s", turn_s, "must be positive seconds.")
    if context.render_from:
        measured = recorded(study, context, plan.may_be_empty)
    else:
        measured = _Measuring(study, plan, context).run(timeout_s, interval_s, turn_s)
    arm()
    return measured


class _Measuring:
    """A plan being measured: what it takes, what is done, what is left."""

    def __init__(self, study: str, plan: Plan, context: Context) -> None:
        self._study, self._plan, self._context = study, plan, context
        self._ledger, self._table = Ledger(context.out), context.out / RUNS_CSV
        # Older runs tell how long a trial takes; those of a session that is resumed are kept.
        sessions = self._ledger.newest() | ({study: context.id} if context.resume else {})
        self._known, self._doubts = self._ledger.read(sessions)
        self._device, self._uuids, self._machine = devices()
        self._runs: list[Run] = []
        self._tried: set[Any] = set()

    def run(self, timeout_s: float, interval_s: float, turn_s: float) -> Measured:
        """Measure what is left of the plan, and what its runs ask for."""
        context = self._context
        planned = self._schedule(self._plan.sets)
        check_devices(planned, *devices_here(self._study, context))
        gpus = self._machine.get("gpus", ()) if self._device == "gpu" else ()
        check_memory(planned, allowance_bytes(), gpus)
        if context.plan_only:
            estimates = estimates_s(planned, self._known, self._device, turn_s)
            _print_plan(self._study, planned, estimates, depending=self._plan.more is not None)
            raise PlanOnly
        if context.resume:
            mine = [run for run in self._known if (run.session, run.study) == (context.id, self._study)]
            self._runs += filter(still_holds, mine)
        runner = Runner(
            ledger=self._ledger,
            session=context.id,
            study=self._study,
            device=self._device,
            machine=self._machine,
            gpu_uuids=self._uuids,
            monitor=f"monitor/{context.id}-{self._study}.csv",
            start=partial(_start_worker, self._uuids),
            timeout_s=timeout_s,
            turn_s=turn_s,
            accuracy_blocks=self._plan.accuracy_blocks,
        )
        cores = device_cores(most_devices(planned)) if self._device == "cpu" else []
        if not is_current(self._table):
            write_csv(self._ledger.read()[0], self._table)
        with (
            monitoring(context.out / runner.monitor, interval_s, cores),
            _progress(self._study, context) as show,
            closing(runner),
        ):
            self._run_all(runner, self._left(planned), show)
        runs = RunSet(tuple(self._runs)).last_of_each().runs
        return Measured(
            runs, self._study, context.id, out=context.out, folder=context.out, doubts=self._doubts
        )

    def _schedule(self, sets: Sequence[TrialSet]) -> tuple[Planned, ...]:
        named = [with_data_sets(trials, auto=self._plan.auto) for trials in sets]
        return schedule(named, self._plan.seed)

    def _left(self, planned: Sequence[Planned]) -> list[Planned]:
        """Return what has no result yet and was not tried before, and take it as tried from now on."""
        left = [one for one in still_to_do(planned, self._runs) if one.key not in self._tried]
        self._tried.update(one.key for one in left)
        return left

    def _asked(self) -> list[Planned]:
        """Return what is to be measured next, depending on the runs so far."""
        return self._left(self._schedule(self._plan.more(self._runs))) if self._plan.more else []

    def _run_all(self, runner: Runner, left: list[Planned], show: Any) -> None:
        trains = all(planned.trial.dataset for planned in left)
        runner.start_all(dict.fromkeys(p.trial.framework for p in left), side_by_side=trains)
        while left := left or self._asked():
            estimates = estimates_s(left, self._known, self._device, runner.turn_s)
            progress = Progress(estimates, show, kinds=[planned.kind for planned in left])
            for _, members in groupby(left, key=lambda planned: (planned.block, planned.group)):
                group = list(members)
                progress.starting(_name_of(group))
                for run in runner.measure_group(group):
                    self._runs.append(run)
                    append_csv(run, self._table)
                progress.finished(len(group))
            left = []


def _name_of(group: Sequence[Planned]) -> str:
    """Return what runs next, for the progress: of runs that take turns the first, and how many others."""
    first = ", ".join(group[0].trial.describe(without=("image_size", "precision", "compile")))
    return first + (f", in turns with {len(group) - 1} more" if len(group) > 1 else "")


def _start_worker(gpu_uuids: Sequence[str], framework: str) -> WorkerProcess:
    python = find_interpreter(framework)
    if python is None:
        raise Unavailable("it is not installed here; `make setup` installs it")
    # With GPUs named by UUID, the framework's first device is the monitor's, whatever the order.
    environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(gpu_uuids)}
    return WorkerProcess(python, backends.MODULES[framework], environment=environment)


@contextmanager
def monitoring(out: Path, interval_s: float, cores: Sequence[int]) -> Iterator[None]:
    """Run the monitor's process while measuring; it dies with this process."""
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "trainspeed.monitor", "--interval", str(interval_s), "--out", str(out)]
    command += ["--parent", str(os.getpid()), "--until-stdin-closes"]
    command += ["--cores", ",".join(map(str, cores))] if cores else []
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=5 + 2 * interval_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _progress(study: str, context: Context) -> Iterator[Any]:
    """Show lines while a report runs, and take them out of the notebook at the end; else show a bar."""
    in_notebook = "ipykernel" in sys.modules
    if in_notebook and not context.in_report:
        with closing(Bar(study)) as bar:
            yield bar
        return
    yield Lines(study)
    if in_notebook:
        from IPython.display import clear_output

        clear_output()


def _print_plan(
    study: str, plan: Sequence[Planned], estimates_s: Sequence[float], *, depending: bool
) -> None:
    others = ", and those that depend on what these find" if depending else ""
    print(f"{study}: {len(plan)} runs, about {minutes(sum(estimates_s))}{others}")
    by_kind: dict[tuple, list[float]] = {}
    for planned, seconds in zip(plan, estimates_s, strict=True):
        by_kind.setdefault(planned.kind, []).append(seconds)
    for (label, trial), seconds in by_kind.items():
        description = ", ".join([*trial.describe(), *filter(None, [label])])
        print(f"  {len(seconds)} x {description}: about {minutes(sum(seconds))}")
