"""One request in a child of a worker: wait for its events, give it turns, and say how it ended."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from trainspeed.core.notes import AnyNote, EndedAfterMeasuring
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import WAIT, Status
from trainspeed.sensors.memory import KernelKills, Shortage
from trainspeed.worker import events
from trainspeed.worker.channel import Channel
from trainspeed.worker.device_errors import FAULTS, Cause, classify, telling_line

MAX_LETTERS = 300  # of the line that says why a process ended
LOOK_S = 10.0  # that it may take in any case, what is looked up after the measuring too
REAP_S = 10.0  # until a worker has reported the end of a child that was killed


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a request ended, and what was measured."""

    status: Status
    reason: str | None = None
    failure: Failure | None = None
    result: RunResult = field(default_factory=RunResult)

    def noted(self, *notes: AnyNote) -> RunOutcome:
        """Return the same with further notes."""
        return replace(self, result=replace(self.result, notes=(*self.result.notes, *notes)))


class ForkedRun:
    """A request that is being measured.

    Attributes:
        outcome: How it ended; None while it has not.
        until_s: `time.monotonic()` until which it may take all but turns, where `timeout_s` ends later.
    """

    def __init__(
        self, channel: Channel, timeout_s: float, end_worker: Callable[[], int], *, device: str = "gpu"
    ) -> None:
        """Follow a run from its request on.

        Args:
            timeout_s: Seconds that it may take to its first turn, for each turn, and after the last; where it
                trains alone, for all of them. What is looked up after the measuring may take as long again.
            end_worker: Ends the worker, where it has died or hangs, and returns its exit code.
            device: "gpu" or "cpu": what the run computes on.
        """
        self._channel, self._timeout_s, self._end_worker = channel, timeout_s, end_worker
        self._device = device
        self._pid: int | None = None
        self._stage = "start"
        self._stages_s: dict[str, float] = {}
        self._since = time.monotonic()
        self._kills = KernelKills()
        self._measured: RunResult | None = None
        self._result: RunOutcome | None = None
        self.outcome: RunOutcome | None = None
        self.until_s = math.inf
        self._in_turns = self._is_limited = self._rests = False

    @classmethod
    def ended(cls, status: Status, reason: str, failure: Failure | None = None) -> ForkedRun:
        """Return a run that never began."""
        ours, theirs = Channel.pair()
        theirs.close()
        run = cls(ours, 0.0, lambda: 0)
        run._close(RunOutcome(status=status, reason=reason, failure=failure))
        return run

    def rests(self) -> events.TurnEnded | None:
        """Wait until the run rests and return what it has trained; None where it has ended."""
        self._wake()
        begun_s, deadline = time.monotonic(), self._deadline
        while self.outcome is None:
            line = self._channel.receive(deadline)
            if line is None:
                self._lose(deadline - begun_s if time.monotonic() >= deadline else None)
            elif isinstance(event := events.decode(line), events.TurnEnded):
                self._count(self._stage)
                self._rests = True
                return event
            else:
                self._heed(event)
                if isinstance(event, events.MeasurementEnded):
                    self._in_turns = False
                    begun_s, deadline = time.monotonic(), self._deadline
        return None

    @property
    def _deadline(self) -> float:
        """`time.monotonic()` at which what begins now is to be over."""
        now_s = time.monotonic()
        over_s, until_s = now_s + self._timeout_s, max(self.until_s, now_s + LOOK_S)
        self._is_limited = until_s < over_s and not self._in_turns
        return until_s if self._is_limited else over_s

    def take_turn(self, turn: events.TakeTurn) -> events.TurnEnded | None:
        """Have a run that rests train for a turn; return what it has trained, None where it has ended."""
        self._in_turns = True
        self._send(turn)
        return self.rests()

    def warm_up(self) -> events.TurnEnded | None:
        """Have a run that rests after its first epoch train its second; return that, None where it has ended."""
        self._send(events.WarmUp())
        return self.rests()

    def finish(self) -> None:
        """Give a run that rests no more turns: it looks up what is not timed, and ends."""
        if self.outcome is None:
            self._send(events.Finish())

    def end(self) -> RunOutcome:
        """Wait until a run that takes no turns, or no more, has ended, and return how."""
        while self.outcome is None:
            self.rests()
        return self.outcome

    def kill(self) -> None:
        """End the run and whatever it started, without a word more."""
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the run, whose result is not wanted, and wait until its memory is free again."""
        self._kill_and_wait()
        self.outcome = _failed(Status.CRASHED, f"it was stopped in stage {self._stage!r}", self._stage)
        self._channel.close()

    def give_up(self, outcome: RunOutcome) -> None:
        """End the run, for which there is not enough time, as `outcome` says."""
        self._wake()
        self._kill_and_wait()
        self._close(self._timed(outcome))

    def _wake(self) -> None:
        """Count the time for which it has rested until now as such."""
        if self._rests:
            self._count(WAIT)
        self._rests = False

    def _count(self, stage: str) -> None:
        """Count what has passed since the last count as a stage's: a run that is ended does not tell it itself."""
        now = time.monotonic()
        self._stages_s[stage] = self._stages_s.get(stage, 0.0) + now - self._since
        self._since = now

    def _send(self, command: events.AnyCommand) -> None:
        with contextlib.suppress(OSError):  # it has died: the events say how
            self._channel.send(events.encode_command(command))

    def _heed(self, event: events.AnyEvent) -> None:
        match event:
            case events.Forked():
                self._pid = event.pid
            case events.StageBegun():
                self._count(self._stage)
                self._stage = event.name
            case events.MeasurementEnded():
                self._measured = event.result
            case events.ResultSent():
                self._result = RunOutcome(status=Status.OK, result=event.result)
            case events.Failed():
                failed = RunOutcome(
                    status=event.status, reason=event.reason, failure=event.failure, result=event.result
                )
                self._result = _by_kernel(failed, self._kills)
            case events.Exited():
                self._pid = None
                self._close(self._result or self._died(event))

    def _lose(self, over_s: float | None) -> None:
        """No more events come: the time is over, after so many seconds, or the worker has died."""
        if over_s is None:
            exited = events.Exited(code=self._end_worker())
            self._close(self._result or self._died(exited, who="worker"))
            return
        needs_s = over_s if self._is_limited else None
        usual = "timeout_s, or BUDGET where a search shares it out"
        reason = (
            f"not finished after {round(over_s, 1):g} s, in stage {self._stage!r}: "
            f"raise {usual if needs_s is None else 'BUDGET, or budget_s'}, or ask for less"
        )
        if self._pid is None:
            self._end_worker()  # it hangs itself
        else:
            self._kill_and_wait()
        self._close(
            self._result or self._timed(_failed(Status.TIMEOUT, reason, self._stage, needs_s=needs_s))
        )

    def _kill_and_wait(self) -> None:
        self.kill()
        deadline = time.monotonic() + REAP_S
        while line := self._channel.receive(deadline):
            if isinstance(event := events.decode(line), events.Exited):
                self._pid = None  # another process may have the number by now
                return
            self._heed(event)
            if isinstance(event, events.Forked):  # nobody had read of it before
                self.kill()

    def _died(self, event: events.Exited, who: str = "run") -> RunOutcome:
        return self._timed(_died(event, self._stage, self._kills, who, self._device))

    def _timed(self, outcome: RunOutcome) -> RunOutcome:
        """Return how a run ended that could not tell it itself, with the time that it took."""
        self._count(self._stage)
        return replace(outcome, result=RunResult(stages_s=dict(self._stages_s)))

    def _close(self, outcome: RunOutcome) -> None:
        self.outcome = outcome if self._measured is None else _kept(outcome, self._measured, self._stage)
        self._channel.close()


def _kept(outcome: RunOutcome, measured: RunResult, stage: str) -> RunOutcome:
    """Return how a run ended that was measured: well, with a note where it failed afterwards.

    Only where the run itself says that what it measured is not what was asked for is it lost; an error of a device or
    a library says nothing about what was measured before.
    """
    refused = outcome.status in (Status.UNSUPPORTED, Status.INVALID) and outcome.failure.cause is None
    if outcome.status is Status.OK or refused:
        return outcome
    note = EndedAfterMeasuring(stage=stage, status=outcome.status, message=outcome.reason)
    return RunOutcome(status=Status.OK, result=replace(measured, notes=(*measured.notes, note)))


def _died(event: events.Exited, stage: str, kills: KernelKills, who: str, device: str) -> RunOutcome:
    """Return why a process ended without a result: the kernel's OOM killer, a signal, or an abort."""
    code = event.code
    if code == -signal.SIGKILL and (shortage := kills.shortage):
        reason = f"killed by the kernel in stage {stage!r}: {shortage}"
        return _failed(Status.OOM, reason, stage, error="SIGKILL", cause=Cause.OUT_OF_MEMORY)
    line = telling_line(event.stderr_tail, device)
    fault = classify(line, device) if line else None
    error = signal.Signals(-code).name if code < 0 else None
    if fault and fault.cause is Cause.OUT_OF_MEMORY and error:
        reason = f"ran out of memory in stage {stage!r} and aborted"
        return _failed(Status.OOM, reason, stage, error=error, cause=fault.cause)
    last = (fault.says if fault else None) or (line or last_line(event.stderr_tail))[:MAX_LETTERS]
    reason = f"the {who} was {how_it_ended(code)} in stage {stage!r}" + (f": {last}" if last else "")
    status = fault.status if fault else Status.CRASHED
    outcome = _failed(status, reason, stage, error=error, cause=fault and fault.cause)
    return _by_kernel(outcome, kills)


def how_it_ended(code: int, kills: KernelKills | None = None) -> str:
    """Return what follows "was": "killed by SIGTERM", with the kernel's reason if there is one, or its exit code.

    Args:
        kills: Of the kernel, for want of memory; None where they are no matter.
    """
    if code >= 0:
        return f"ended with exit code {code}"
    shortage = kills.shortage if kills and code == -signal.SIGKILL else None
    return f"killed by {signal.Signals(-code).name}{_kernels_reason(shortage)}"


def _by_kernel(outcome: RunOutcome, kills: KernelKills) -> RunOutcome:
    """Return how a run ended that another process took along: out of memory where the kernel killed that for it."""
    if outcome.failure is None or outcome.failure.cause != Cause.KILLED or not (shortage := kills.shortage):
        return outcome
    fault = FAULTS[Cause.OUT_OF_MEMORY]
    failure = msgspec.structs.replace(outcome.failure, cause=fault.cause)
    reason = f"{outcome.reason}{_kernels_reason(shortage)}"
    return replace(outcome, status=fault.status, reason=reason, failure=failure)


def _kernels_reason(shortage: Shortage | None) -> str:
    return f": the kernel did it, as {shortage}" if shortage else ""


def _failed(status: Status, reason: str, stage: str, **failure: str | float | None) -> RunOutcome:
    return RunOutcome(status=status, reason=reason, failure=Failure(stage=stage, **failure))


def last_line(text: str) -> str:
    """Return the last line that a process printed; "" where it printed nothing."""
    return (text.strip().splitlines() or [""])[-1].strip()
