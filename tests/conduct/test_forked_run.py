"""How a run ends, told by the events that it has sent by then: no process runs here."""

from __future__ import annotations

import time
from itertools import count
from types import SimpleNamespace

import pytest

from trainspeed.conduct import forked_run
from trainspeed.conduct.forked_run import ForkedRun
from trainspeed.core.notes import CoresBusy, EndedAfterMeasuring
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.sensors import memory
from trainspeed.worker.channel import Channel
from trainspeed.worker.device_errors import Cause
from trainspeed.worker.events import (
    Exited,
    Failed,
    Forked,
    MeasurementEnded,
    ResultSent,
    StageBegun,
    TakeTurn,
    TurnEnded,
    encode_event,
)

BUSY = CoresBusy(cores=2.5)
TIMES = RunResult(epoch_s=(2.0, 1.0, 1.0), images_per_epoch=16, stages_s={"train": 4.0}, notes=(BUSY,))
MEASURED = (StageBegun(name="train"), StageBegun(name="evaluate"), MeasurementEnded(result=TIMES))
WHOLE = RunResult(epoch_s=(2.0, 1.0, 1.0), test_accuracy=0.9)


def followed(*events, timeout_s=60.0, worker_code=None, device="gpu"):
    """Return a run that has sent these events, and how often its worker was ended.

    Args:
        worker_code: Exit code of the worker, where that has died.
    """
    ours, theirs = Channel.pair()
    ended = []

    def end_worker():
        ended.append(1)
        return worker_code

    for event in events:
        theirs.send(encode_event(event))
    if worker_code is not None:
        theirs.close()
    return ForkedRun(ours, timeout_s, end_worker, device=device), theirs, ended


def outcome_of(*events, **how):
    run, _theirs, _ended = followed(*events, **how)
    return run.end()


@pytest.mark.parametrize(
    ("afterwards", "status", "message"),
    [
        ((Exited(code=-11),), "crashed", "the run was killed by SIGSEGV in stage 'evaluate'"),
        (
            (Exited(code=-6, stderr_tail="std::bad_alloc\n"),),
            "oom",
            "ran out of memory in stage 'evaluate' and aborted",
        ),
        (
            (Exited(code=-6, stderr_tail="CUDNN_STATUS_NOT_SUPPORTED\n"),),
            "unsupported",
            "the run was killed by SIGABRT in stage 'evaluate': CUDNN_STATUS_NOT_SUPPORTED",
        ),
        ((Failed(status=Status.OOM, reason="no memory"), Exited(code=0)), "oom", "no memory"),
        ((Failed(status=Status.CRASHED, reason="a bug"), Exited(code=0)), "crashed", "a bug"),
    ],
)
def test_a_run_that_was_measured_ended_well_whatever_ends_it_later(afterwards, status, message):
    outcome = outcome_of(*MEASURED, *afterwards)
    note = EndedAfterMeasuring(stage="evaluate", status=status, message=message)

    assert (outcome.status, outcome.reason, outcome.failure) == (Status.OK, None, None)
    assert (outcome.result.epoch_s, outcome.result.stages_s) == (TIMES.epoch_s, TIMES.stages_s)
    assert outcome.result.notes == (BUSY, note)


def test_a_worker_that_dies_after_the_measuring_takes_nothing_along():
    outcome = outcome_of(*MEASURED, worker_code=-9)

    assert (outcome.status, outcome.result.epoch_s) == (Status.OK, TIMES.epoch_s)
    assert outcome.result.notes[-1].message == "the worker was killed by SIGKILL in stage 'evaluate'"


def test_time_that_runs_out_after_the_measuring_takes_nothing_along():
    outcome = outcome_of(*MEASURED, StageBegun(name="inspect"), timeout_s=0.0)

    assert (outcome.status, outcome.result.epoch_s) == (Status.OK, TIMES.epoch_s)
    assert (outcome.result.notes[-1].stage, outcome.result.notes[-1].status) == ("inspect", "timeout")


@pytest.mark.parametrize(("in_turns", "over_s"), [(True, 60.0), (False, 10.0)])
def test_a_limit_holds_for_all_but_turns_and_leaves_a_few_seconds_in_any_case(
    fake_clock, monkeypatch, in_turns, over_s
):
    monkeypatch.setattr(forked_run, "time", SimpleNamespace(monotonic=fake_clock))
    run, _theirs, _ended = followed(TurnEnded(epoch_s=(1.0,)))
    deadlines, receive = [], run._channel.receive
    run._channel.receive = lambda deadline: deadlines.append(deadline) or receive(deadline)
    run.until_s = fake_clock() + 2.0
    if in_turns:
        assert run.take_turn(TakeTurn(epochs=1)).epoch_s == (1.0,)
    else:
        assert run.rests().epoch_s == (1.0,)

    assert deadlines == [fake_clock() + over_s]


@pytest.mark.parametrize(("timeout_s", "needs_s", "told"), [(60.0, 10.0, "BUDGET"), (9.0, None, "timeout_s")])
def test_a_run_that_is_stopped_as_its_time_is_over_says_so(fake_clock, monkeypatch, timeout_s, needs_s, told):
    monkeypatch.setattr(forked_run, "time", SimpleNamespace(monotonic=fake_clock))
    run, _theirs, _ended = followed(timeout_s=timeout_s)
    run._channel.receive = lambda deadline: fake_clock.advance(deadline - fake_clock())
    run.until_s = fake_clock() - 1.0
    outcome = run.end()

    assert (outcome.status, outcome.failure.needs_s) == (Status.TIMEOUT, needs_s)
    assert f"raise {told}" in outcome.reason


@pytest.mark.parametrize("status", [Status.UNSUPPORTED, Status.INVALID])
def test_what_turns_out_not_to_be_what_was_asked_for_is_no_result(status):
    outcome = outcome_of(*MEASURED, Failed(status=status, reason="it ran in float32"), Exited(code=0))

    assert (outcome.status, outcome.reason, outcome.result) == (status, "it ran in float32", RunResult())


def test_a_run_that_was_not_measured_keeps_how_it_ended():
    outcome = outcome_of(StageBegun(name="train"), Exited(code=-11))

    assert outcome.status is Status.CRASHED
    assert outcome.result == RunResult(stages_s=outcome.result.stages_s)


@pytest.mark.parametrize(
    ("end", "status"), [((), Status.TIMEOUT), ((Exited(code=-11),), Status.CRASHED)], ids=["late", "dead"]
)
def test_the_time_of_a_run_that_cannot_tell_it_counts_too(monkeypatch, end, status):
    """A search would else spend it once more."""
    begun_s = time.monotonic()
    clock = (begun_s + number / 1000 for number in count())
    monkeypatch.setattr(forked_run, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    stages = [StageBegun(name=name) for name in ("build", "train")]
    run, theirs, _ = followed(*stages, TurnEnded(epoch_s=(1.0,)), timeout_s=0.0)
    assert run.rests()
    for event in end:
        theirs.send(encode_event(event))
    outcome = run.end()

    assert outcome.status is status
    assert list(outcome.result.stages_s) == ["start", "build", "train", "wait"]
    assert all(seconds > 0 for seconds in outcome.result.stages_s.values())
    assert sum(outcome.result.stages_s.values()) < next(clock) - begun_s


def test_a_result_counts_though_its_process_takes_too_long_to_end():
    """A driver may take seconds to let go of a large memory."""
    run, theirs, ended = followed(*MEASURED, ResultSent(result=WHOLE), timeout_s=0.0)
    outcome = run.end()

    assert (outcome.status, outcome.result) == (Status.OK, WHOLE)
    assert ended == [1], "it never said which process it is"
    with pytest.raises(OSError, match="Broken pipe"):
        theirs.send(encode_event(Exited(code=0)))  # so nobody takes it for the end of a later run


# What the text of a failure means.

LOADER = "RuntimeError in stage 'train': DataLoader worker (pid 19597) is killed by signal: Killed."


@pytest.fixture
def kernel_kills(monkeypatch):
    """Return a function that says how many processes the kernel has killed for want of memory: before, then after."""

    def kills(*counts):
        readings = iter(counts)
        monkeypatch.setattr(memory, "oom_kills", lambda root: next(readings))
        monkeypatch.setattr(memory, "_limits_reached", lambda root: 0)

    return kills


@pytest.mark.parametrize(
    ("counts", "status", "cause"),
    [((3, 4), "oom", "out_of_memory"), ((3, 3), "crashed", None), ((None, None), "crashed", None)],
)
def test_a_run_that_the_kernel_killed_ran_out_of_memory(kernel_kills, counts, status, cause):
    kernel_kills(*counts)
    outcome = outcome_of(StageBegun(name="train"), Exited(code=-9))

    assert (outcome.status, outcome.failure.error, outcome.failure.cause) == (status, "SIGKILL", cause)
    assert ("killed by the kernel" in outcome.reason) == (status == "oom")


@pytest.mark.parametrize(("counts", "status"), [((3, 4), "oom"), ((3, 3), "crashed")])
@pytest.mark.parametrize(
    "events",
    [
        (
            Failed(status=Status.CRASHED, reason=LOADER, failure=Failure(cause=Cause.KILLED)),
            Exited(code=0),
        ),
        (Exited(code=1, stderr_tail="rank 1 was killed by SIGKILL\n"),),
    ],
)
def test_a_process_of_the_run_that_the_kernel_killed_is_out_of_memory_too(
    kernel_kills, events, counts, status
):
    kernel_kills(*counts)
    outcome = outcome_of(StageBegun(name="train"), *events)

    assert outcome.status == status
    assert outcome.reason.endswith("the machine ran out of memory") == (status == "oom")


@pytest.mark.parametrize(
    ("printed", "status", "cause"),
    [
        ("CUDA error: an illegal memory access was encountered", Status.CRASHED, Cause.KERNEL_FAILED),
        (
            "CUDA error: no kernel image is available for execution on the device",
            Status.UNSUPPORTED,
            "no_kernels",
        ),
        (
            "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL",
            Status.CRASHED,
            Cause.RANK_SILENT,
        ),
    ],
)
def test_an_abort_has_its_reason_from_the_line_that_tells(printed, status, cause):
    """Not from the last one, which is a frame of the stack."""
    tail = f"terminate called\n  what():  {printed}\nframe #9: clone + 0x43 (libc.so.6)\n"
    outcome = outcome_of(StageBegun(name="train"), Exited(code=-6, stderr_tail=tail))

    assert outcome.reason == f"the run was killed by SIGABRT in stage 'train': what():  {printed}"
    assert (outcome.status, outcome.failure.cause) == (status, cause)


# As TensorFlow's build for CUDA prints it in every process to which no GPU is shown.
SEES_NONE = (
    "E0000 00:00:1763.1 41 cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: "
    "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
)


@pytest.mark.parametrize(
    ("code", "printed", "status", "cause"),
    [
        (-11, "", Status.CRASHED, None),
        (-6, "terminate called after throwing an instance of 'std::bad_alloc'\n", "oom", "out_of_memory"),
    ],
)
def test_what_is_said_of_gpus_ends_no_run_on_a_cpu(code, printed, status, cause):
    exited = Exited(code=code, stderr_tail=SEES_NONE + printed)
    outcome = outcome_of(StageBegun(name="train"), exited, device="cpu")

    assert (outcome.status, outcome.failure.cause) == (status, cause)
    assert outcome_of(StageBegun(name="train"), exited).failure.cause == Cause.NO_DEVICE, "on a GPU it does"


@pytest.mark.parametrize("end", [ForkedRun.stop, ForkedRun.end], ids=["stopped", "timed out"])
def test_a_run_that_was_reaped_is_not_killed_again(monkeypatch, end):
    """Its number may be another process's by the time its worker is closed."""
    run, theirs, _ = followed(Forked(pid=4711), TurnEnded(epoch_s=(1.0,)), timeout_s=0.0)
    killed = []

    def killpg(pid, _signal):
        killed.append(pid)
        theirs.send(encode_event(Exited(code=-9)))

    monkeypatch.setattr(forked_run.os, "killpg", killpg)
    assert run.rests()
    end(run)
    run.kill()

    assert killed == [4711]
