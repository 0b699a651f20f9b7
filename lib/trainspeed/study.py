"""A study: the trials of one question, measured (or read again) and handed to the notebook.

The one call of a notebook's Run section is `measure`. Knows no chart and no verdict.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from trainspeed import backends, detect, interpreters
from trainspeed.errors import PlanOnly, UserError
from trainspeed.folds import with_data_sets
from trainspeed.frame import to_frame, write_csv
from trainspeed.gpu_ids import visible_uuids
from trainspeed.ledger import Ledger
from trainspeed.monitoring import monitoring
from trainspeed.nvml import open_nvml
from trainspeed.own_model import fault_sentences, still_holds
from trainspeed.process_memory import allowance_bytes
from trainspeed.processes import device_cores
from trainspeed.progress import Bar, Lines, Progress, minutes
from trainspeed.run import Run, Status
from trainspeed.runner import Place, Runner
from trainspeed.schedule import (
    DEFAULT_ALLOCATION,
    Part,
    Planned,
    check_devices,
    check_memory,
    estimates_s,
    most_devices,
    one_per_framework,
    schedule,
    still_to_do,
)
from trainspeed.session import Session, current
from trainspeed.trial import Trial
from trainspeed.wording import NAMES, describe
from trainspeed.worker_process import Unavailable, WorkerProcess

More = Callable[[Sequence[Run]], Sequence[Part]]
DEVICE_VARIABLE = "TRAINSPEED_DEVICE"  # "cpu": leave the GPUs alone


@dataclass(frozen=True)
class Measured:
    """The runs of one study in one session.

    Attributes:
        out: Folder that the report is written to.
        folder: Folder of the ledger the runs are in; another one than `out` when rendering.
        doubts: Of the ledger as a whole; those of runs are in their notes.
    """

    study: str
    session: str
    out: Path
    folder: Path
    runs: tuple[Run, ...]
    doubts: tuple[str, ...] = ()

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per run: see `trainspeed.frame`."""
        return to_frame(self.runs)

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine the runs were measured on."""
        return self.runs[-1].machine if self.runs else {}

    @property
    def versions(self) -> dict[str, Mapping[str, str]]:
        """Versions per framework."""
        return {run.trial.framework: run.versions for run in self.runs if run.versions}

    @property
    def skipped(self) -> dict[str, str]:
        """Frameworks that never ran, with the reason."""
        ran = {run.trial.framework for run in self.runs if run.versions}
        return {run.trial.framework: run.reason for run in self.runs if run.trial.framework not in ran}

    def skipped_sentences(self) -> list[str]:
        """Name the frameworks that never ran, and what was wrong with a model of the user's own."""
        skipped = [f"Skipped: {NAMES[name]}. {reason}." for name, reason in self.skipped.items()]
        return skipped + fault_sentences(self.runs)

    def summary(self) -> str:
        """Return what was measured, how long it took and how much of that was timed epochs."""
        ok = [run for run in self.runs if run.status == Status.OK]
        wall_s = sum(sum(run.stages_s.values()) for run in self.runs)
        timed_s = sum(run.timed_s for run in ok)
        share = f", {timed_s / wall_s:.0%} of it inside what was timed" if wall_s else ""
        failed = f", {len(self.runs) - len(ok)} without a result" if len(ok) < len(self.runs) else ""
        return f"{len(ok)} runs measured{failed} in {minutes(wall_s)}{share}.".replace("%", " %")


def measure(
    study: str,
    *parts: Part,
    timeout_s: float,
    interval_s: float,
    accuracy_blocks: int = 1,
    seed: int = 0,
    auto: str = "cifar10",
    more: More | None = None,
    may_be_empty: bool = False,
    session: Session | None = None,
) -> Measured:
    """Measure every run of a study that is not in the ledger yet, and return them all.

    While a report is rendered, nothing is measured: the newest session of the study is returned.

    Args:
        timeout_s: Seconds after which a run is ended; it becomes a row with status `timeout`.
        interval_s: Seconds between two samples of the monitor.
        accuracy_blocks: In so many blocks the test accuracy is measured too.
        seed: Of the order of runs; the trials have their own.
        auto: What the data set "auto" stands for where it was fetched, and the model has none of its own.
        more: Of the runs so far, what to measure next, until it is nothing: sizes that depend on what was found.
        may_be_empty: Whether there may be no run of this study to render.
    Raises:
        UserError: Something that was asked for cannot be; nothing was measured.
    """
    session = session or current()
    if not timeout_s > 0 or not interval_s > 0:
        raise UserError(
            f"timeout_s (={timeout_s!r}) and interval_s (={interval_s!r}) must be positive seconds."
        )
    if session.render_from:
        return _recorded(study, session, may_be_empty)
    plan = schedule([with_data_sets(part, auto=auto) for part in parts], seed)
    ledger = Ledger(session.out)
    known, doubts = ledger.read()
    device, uuids, machine = _devices()
    check_devices(plan, *devices_here(study, session))
    check_memory(plan, allowance_bytes(), machine.get("gpus", ()) if device == "gpu" else ())
    if session.plan_only:
        _print_plan(study, plan, estimates_s(plan, known, device), depending=more is not None)
        raise PlanOnly
    mine = [run for run in known if (run.session, run.study) == (session.id, study)] if session.resume else []
    done = [run for run in mine if still_holds(run)]
    todo = still_to_do(plan, done)
    place = Place(
        ledger=ledger,
        session=session.id,
        study=study,
        device=device,
        machine=machine,
        gpu_uuids=uuids,
        monitor=f"monitor/{session.id}-{study}.csv",
    )
    runs, tried = [*done], {planned.key for planned in todo}
    try:
        cores = device_cores(most_devices(plan)) if device == "cpu" else []
        with monitoring(session.out / place.monitor, interval_s, cores), _progress(study, session) as show:

            def further() -> tuple[Planned, ...]:
                parts = [with_data_sets(part, auto=auto) for part in (more(runs) if more else ())]
                new = [p for p in still_to_do(schedule(parts, seed), runs) if p.key not in tried]
                tried.update(planned.key for planned in new)
                return tuple(new)

            for run in _measure(place, todo, further, known, timeout_s, accuracy_blocks, show):
                runs.append(run)
    finally:
        write_csv(ledger.read()[0], session.out / "runs.csv")
    return Measured(study, session.id, session.out, session.out, _last_of_each(runs), doubts)


def _measure(
    place: Place,
    todo: Sequence[Planned],
    further: Callable[[], Sequence[Planned]],
    known: Sequence[Run],
    timeout_s: float,
    accuracy_blocks: int,
    show: Any,
) -> Iterator[Run]:
    def start(framework: str) -> WorkerProcess:
        python = interpreters.find(framework)
        if python is None:
            raise Unavailable("it is not installed here; `make setup` installs it")
        return WorkerProcess(python, backends.MODULES[framework], environment=_worker_environment(place))

    runner = Runner(place=place, start=start, timeout_s=timeout_s, accuracy_blocks=accuracy_blocks)
    with closing(runner):
        trains = all(isinstance(p.trial, Trial) for p in todo)
        runner.start_all(dict.fromkeys(p.trial.framework for p in todo), side_by_side=trains)
        while todo := todo or further():
            progress = Progress(estimates_s(todo, known, place.device), show, kinds=[p.kind for p in todo])
            for planned in todo:
                unsaid = ("image_size", "precision", "compile")
                progress.starting(", ".join(describe(planned.trial, without=unsaid)))
                if run := runner.measure(planned):
                    yield run
                progress.finished()
            todo = ()


def _worker_environment(place: Place) -> dict[str, str]:
    """Name the GPUs by UUID: then the framework's first device is the monitor's, whatever the order."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(place.gpu_uuids)}


def _recorded(study: str, session: Session, may_be_empty: bool = False) -> Measured:
    runs, doubts = Ledger(session.render_from).read()
    mine = [run for run in runs if run.study == study]
    if not mine and may_be_empty:
        return Measured(study, session.id, session.out, session.render_from, (), doubts)
    if not mine:
        raise UserError(f"no runs of {study!r} in {session.render_from.name}: run `make report` first.")
    newest = max(run.session for run in mine)
    chosen = _last_of_each(run for run in mine if run.session == newest)
    return Measured(study, newest, session.out, session.render_from, chosen, doubts)


def _last_of_each(runs: Iterable[Run]) -> tuple[Run, ...]:
    """A crashed run that was measured again on resuming counts once."""
    return tuple({run.key: run for run in runs}.values())


def default_allocation(trials: Sequence[Trial]) -> Part:
    """Return one run per framework that leaves the memory allocation as it comes; none without a GPU."""
    has_gpu = _devices()[0] == "gpu"
    return Part(trials=one_per_framework(trials) if has_gpu else (), blocks=1, label=DEFAULT_ALLOCATION)


def devices_here(study: str, session: Session | None = None) -> tuple[int, str]:
    """Return how many devices there are to train on, and what they are: "GPU" or "CPU core".

    While a report is rendered, those are the ones that its runs had.
    """
    session = session or current()
    if session.render_from:
        measured = _recorded(study, session, may_be_empty=True)
        kind = "GPU" if measured.machine.get("device") == "gpu" else "CPU core"
        return max((run.trial.devices for run in measured.runs), default=1), kind
    device, uuids, _ = _devices()
    return (len(uuids), "GPU") if device == "gpu" else (detect.logical_cores(), "CPU core")


def _devices() -> tuple[str, tuple[str, ...], Mapping[str, Any]]:
    """Return "gpu" or "cpu", the UUIDs of the GPUs to use, and the machine."""
    wanted = os.environ.get(DEVICE_VARIABLE, "")
    if wanted not in ("", "cpu", "gpu"):
        raise UserError(f"{DEVICE_VARIABLE} (={wanted!r}) must be cpu or gpu, or not be set.")
    nvml = open_nvml()
    uuids = () if wanted == "cpu" else tuple(visible_uuids(nvml.gpus, os.environ.get("CUDA_VISIBLE_DEVICES")))
    nvml.close()
    if wanted == "gpu" and not uuids:
        raise UserError(
            f"{DEVICE_VARIABLE} is gpu, but there is none to use here: {nvml.reason or 'none visible'}."
        )
    device = "gpu" if uuids else "cpu"
    return device, uuids, {"device": device, **detect.machine()}


@contextmanager
def _progress(study: str, session: Session) -> Iterator[Any]:
    """Lines while a report runs, taken out of the notebook at the end; else a bar."""
    if not session.in_report and _in_notebook():
        with closing(Bar(study)) as bar:
            yield bar
        return
    yield Lines(study)
    if session.in_report and _in_notebook():
        from IPython.display import clear_output

        clear_output()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _print_plan(
    study: str, plan: Sequence[Planned], estimates_s: Sequence[float], *, depending: bool
) -> None:
    others = ", and those that depend on what these find" if depending else ""
    print(f"{study}: {len(plan)} runs, about {minutes(sum(estimates_s))}{others}")
    counts: dict[tuple, list[float]] = {}
    for planned, seconds in zip(plan, estimates_s, strict=True):
        counts.setdefault(planned.kind, []).append(seconds)
    for (label, trial), seconds in counts.items():
        words = ", ".join([*describe(trial), *filter(None, [label])])
        print(f"  {len(seconds)} x {words}: about {minutes(sum(seconds))}")
