"""Measure one trial in this process and report what happened as events. Knows no worker and no runner."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trainspeed.core.format import counted
from trainspeed.core.notes import AnyNote, NotEvaluated, NotInspected, NotReadAfterwards
from trainspeed.core.result import Failure, Inspection, RunResult
from trainspeed.core.run import WAIT, Status
from trainspeed.sensors.memory import PeakMemory, allowance_bytes, limit_memory
from trainspeed.sensors.processes import CORES, move_to_own_cores, usable_cores
from trainspeed.worker.allocation import Allocation
from trainspeed.worker.backends.base import Backend
from trainspeed.worker.channel import Channel
from trainspeed.worker.convolution.calls import time_calls
from trainspeed.worker.convolution.reference import WrongResult, check_result, random_data
from trainspeed.worker.data.sets import Images
from trainspeed.worker.device_errors import fault_of
from trainspeed.worker.environment import show_gpus
from trainspeed.worker.events import (
    AnyEvent,
    Failed,
    MeasurementEnded,
    ResultSent,
    StageBegun,
    TakeTurn,
    encode_event,
)
from trainspeed.worker.failed_run import failed_by, is_fault_of_user
from trainspeed.worker.failures import Invalid, Unsupported, first_line
from trainspeed.worker.meter import Meter
from trainspeed.worker.precision import arithmetic_of
from trainspeed.worker.probes import run_probe
from trainspeed.worker.request import Request
from trainspeed.worker.turns import SPIN_S, Alone, InTurns
from trainspeed.worker.validity import check_effective_precision, check_loss, check_placement, loss_notes

Emit = Callable[[AnyEvent], None]


def measure_trial(request: Request, backend: Backend, images: Images | None, channel: Channel) -> bool:
    """Measure a trial and return whether that went well; if not, a `failed` event has a status and a reason.

    What was measured is sent before anything else is looked up, so that nothing can take it away any more.

    Args:
        channel: Takes the events, and gives the turns where the request is for turns.
    """

    def emit(event: AnyEvent) -> None:
        channel.send(encode_event(event))

    stages = _Stages(request.requested_at, emit)
    notes: list[AnyNote] = []
    try:
        if request.trial.phase.probe:
            result = _measure_probe(request, backend, stages, notes)
        elif request.trial.phase.calls:
            result = _measure_calls(request, backend, channel, stages, notes)
        else:
            result = _measure(request, backend, images, channel, stages, notes)
        emit(ResultSent(result=replace(result, notes=(*notes, *result.notes), stages_s=stages.seconds)))
    except (Unsupported, WrongResult, Invalid) as problem:
        status = Status.UNSUPPORTED if isinstance(problem, Unsupported) else Status.INVALID
        fault = fault_of(problem.__cause__) if problem.__cause__ else None
        if fault and fault.status is Status.OOM:
            status = Status.OOM
        own = is_fault_of_user(problem, request.trial)
        cause = fault.cause if fault else getattr(problem, "cause", None)
        failure = Failure(stage=stages.current, cause=cause, in_user_file=own)
        emit(Failed(status=status, reason=str(problem), failure=failure))
    except (Exception, SystemExit) as problem:  # a user's model may call sys.exit in a step
        reached = RunResult(notes=tuple(notes), stages_s=stages.seconds)
        emit(failed_by(problem, request.trial, stages.current, reached))
    else:
        return True
    return False


def _measure(
    request: Request,
    backend: Backend,
    images: Images,
    channel: Channel,
    stages: _Stages,
    notes: list[AnyNote],
) -> RunResult:
    trial = request.trial
    if trial.nodes != (nodes := request.gang.nodes if request.gang else 1):
        raise Unsupported(
            f"it is for {counted(trial.nodes, 'node')}, not for {nodes}: measure it with a fleet"
        )
    _take_device(request)
    memory = PeakMemory()
    allocation = Allocation(request.gpu_uuids) if request.default_allocation else None
    stages.next("build")
    training = backend.start(
        trial,
        images,
        device=request.device,
        default_allocation=request.default_allocation,
        gang=request.gang,
    )
    stages.next("train")
    meter = Meter(request.gpu_uuids, request.runner_pid, request.block_cores)
    pace = _pace(request, channel, TakeTurn(epochs=trial.epochs), meter)
    epoch_s = training.train(pace.another)
    pace.end()
    stages.waited(pace.waited_s)
    if request.core_offset:  # what is looked up now is not timed, and the others of its block do the same
        move_to_own_cores(trial.cores, request.core_offset)
    notes += [*training.notes, *meter.notes(), *pace.notes()]

    def read(what: str, look_up: Callable[[], Any]) -> Any:
        return _tried(look_up, partial(NotReadAfterwards, what=what), notes)

    loss = read("training loss", lambda: training.final_loss)
    check_loss(trial, loss)
    notes += loss_notes(loss)
    trained = trial.phase.trains
    # On a CPU compilers take some in this process: JAX's, as much as a small model.
    peak_bytes = training.peak_memory_bytes if request.device == "gpu" else memory.bytes
    measured = RunResult(
        epoch_s=epoch_s,
        images_per_epoch=trial.steps_per_epoch * trial.batch_size,
        repeats=training.repeats,
        link_sums=training.link_sums,
        classes=images.classes if images else None,
        peak_memory_bytes=None if request.reuses_programs else read("peak memory", peak_bytes),
        gpu_memory=read("memory that was taken", allocation.taken) if allocation else None,
        energy_j=meter.energy_j,
        metered_s=meter.metered_s,
        gpu_load_percent=meter.gpu_load_percent,
        turns=pace.turns,
        waiting_cores=pace.waiting_cores,
        waiting_gpu=meter.waiting.share,
        no_waiting_gpu=meter.waiting.unknown,
        built_beside=request.others_built,
        compiled_anew=not request.reuses_programs,
        skipped_steps=read("number of skipped steps", training.skipped_steps) if trained else None,
        tf32=training.tf32,
    )
    # Each as soon as it is known: a look that aborts, or takes all memory, takes nothing away.
    stages.next("inspect", measured, notes)
    measured = replace(measured, in_effect=read("levers that were in effect", training.in_effect) or {})
    stages.next("evaluate", measured, notes)
    evaluated = request.evaluate and trained
    accuracy = _tried(training.test_accuracy, NotEvaluated, notes) if evaluated else None
    stages.next("inspect")
    inspected = request.inspect and (trained or trial.phase.ceiling or trial.phase.sums)
    inspection = (inspected and _tried(training.inspect, NotInspected, notes)) or Inspection()
    check_effective_precision(arithmetic_of(trial), inspection.effective_precision)
    stages.next("end")
    return replace(measured, test_accuracy=accuracy, **vars(inspection))


def _take_device(request: Request) -> None:
    """Keep this process to the devices of the trial."""
    show_gpus(request.gpu_uuids if request.device == "gpu" else ())
    if request.device == "cpu":
        pin(request.trial.cores, (request.others_built and request.core_offset) or 0)
        limit_memory(allowance_bytes() // (1 + request.others_built))


def _pace(request: Request, channel: Channel, whole: TakeTurn, meter: Meter) -> InTurns | Alone:
    # On a node that follows, node 0 says when it is this run's turn.
    in_turns = request.turns and not (request.gang and request.gang.follows)
    if not in_turns:
        return Alone(whole, meter)
    settle = None if request.core_offset is None else partial(move_to_own_cores, request.trial.cores)
    trial = request.trial
    spins = request.device == "cpu" and trial.framework == "torch" and trial.cores is None
    spin_s = SPIN_S if spins else 0.0
    return InTurns(channel, request.requested_at, meter, settle, paced=request.paced, spin_s=spin_s)


def _measure_calls(
    request: Request, backend: Backend, channel: Channel, stages: _Stages, notes: list[AnyNote]
) -> RunResult:
    trial = request.trial
    _take_device(request)
    memory = PeakMemory()
    stages.next("data")
    images, filters = random_data(trial)
    meter = Meter(request.gpu_uuids, request.runner_pid)
    pace = _pace(request, channel, TakeTurn(calls=trial.calls, seconds=request.calls_s), meter)
    measured = time_calls(
        lambda: backend.convolution(trial, device=request.device),
        images,
        filters,
        rest=pace.rest,
        begin=stages.next,
        check=lambda result: check_result(result, images, filters),
    )
    pace.end()
    stages.waited(pace.waited_s)
    notes += [*meter.notes(), *pace.notes()]
    stages.next("end")
    check_placement(measured.placement, request.device, trial.devices)
    return RunResult(
        peak_memory_bytes=memory.bytes() if request.device == "cpu" else None,
        turns=pace.turns,
        waiting_cores=pace.waiting_cores,
        waiting_gpu=meter.waiting.share,
        no_waiting_gpu=meter.waiting.unknown,
        **vars(measured),
    )


def _measure_probe(request: Request, backend: Backend, stages: _Stages, notes: list[AnyNote]) -> RunResult:
    _take_device(request)
    stages.next("probe")
    values = run_probe(request.trial, backend, request.device, request.gpu_uuids)
    stages.next("end")
    return RunResult(probe=values)


def _tried(look_up: Callable[[], Any], note: Callable[..., AnyNote], notes: list[AnyNote]) -> Any:
    """Return what is looked up after the measuring, or None: what fails there costs a note, not the run.

    Args:
        note: Makes the note of the `error` and the `message` of an exception.
    """
    try:
        return look_up()
    except Exception as problem:
        notes.append(note(error=type(problem).__name__, message=first_line(problem)))
        return None


class _Stages:
    """The stages of a run: the seconds of each that is over, and the current one, which a failure names.

    Attributes:
        emit: Sends an event.
    """

    def __init__(self, requested_at: float, emit: Emit) -> None:
        self.current, self.seconds = "start", {}
        self._since, self.emit = requested_at, emit

    def waited(self, seconds: float) -> None:
        """Count these seconds of the current stage as waiting."""
        if seconds:
            self.seconds[WAIT] = seconds
            self._since += seconds

    def next(self, name: str, measured: RunResult | None = None, notes: Sequence[AnyNote] = ()) -> None:
        """Begin a stage, or go on with it, and send what was measured until then."""
        now = time.monotonic()
        self.seconds[self.current] = self.seconds.get(self.current, 0.0) + now - self._since
        self._since, self.current = now, name
        self.emit(StageBegun(name=name))
        if measured:
            self.emit(
                MeasurementEnded(result=replace(measured, notes=tuple(notes), stages_s={**self.seconds}))
            )


def pin(cores: int | None, core_offset: int = 0) -> None:
    """Keep this process on this many cores, one thread each: that is what a CPU device is; None: wherever it is.

    Args:
        core_offset: How many cores before its own it is kept to, until it moves to those.
    """
    if (allowed := usable_cores()) and cores is not None:
        if cores > len(allowed):
            raise Unsupported(f"{cores} devices asked for; this machine has {len(allowed)} CPU cores to use")
        os.environ[CORES] = ",".join(map(str, allowed))  # for the workers of an input pipeline
        end = len(allowed) - core_offset
        os.sched_setaffinity(0, allowed[end - cores : end])
