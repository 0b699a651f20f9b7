"""How long a run trains or calls: in a row alone, or a turn at a time while the other arms of its block rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from trainspeed.core.notes import AnyNote, BusyWhileWaiting, CoresBusy, CpuTimeStolen
from trainspeed.core.result import Turn
from trainspeed.sensors.cpu import HostLoad, foreign_cores, host_load, stolen_share
from trainspeed.sensors.nvml import Nvml, open_nvml
from trainspeed.worker.channel import Channel
from trainspeed.worker.events import Finish, TakeTurn, TurnEnded, decode_command, encode

# The first epoch holds compiling and is kept apart; the second tells how long an epoch takes.
EPOCHS_BEFORE_TURNS = 2
BUSY_CORES = 0.2  # used by others; if it is more, caches and memory bandwidth are noticeably shared
MIN_WAIT_S = 3.0  # over less, a tick of the CPU's clock, 0.01 s, is no longer small
BUSY_WHILE_WAITING = 0.01  # cores that a run may use while others have their turns
STOLEN_SHARE = 0.02  # of the CPU's time taken by the hypervisor: the margin of a verdict


class Meter:
    """What the work cost the devices and who else used the CPU, over the spans between `begin` and `end`.

    Attributes:
        sm_clock_mhz: Mean clock of the GPUs in use at the end of the last span; None where it cannot be read.
    """

    def __init__(self, gpu_uuids: tuple[str, ...]) -> None:
        self._gpu_uuids = gpu_uuids
        self._spans: list[tuple[HostLoad, HostLoad]] = []
        self._energy_j: float | None = 0.0 if gpu_uuids else None
        self._begun: tuple[HostLoad, float | None] | None = None
        self.sm_clock_mhz: float | None = None

    def begin(self) -> None:
        """Begin a span."""
        self._begun = host_load(), self._nvml().energy_j(self._gpu_uuids)

    def end(self) -> None:
        """End the span that was begun last."""
        load, before_j = self._begun
        nvml = self._nvml()
        self.sm_clock_mhz = nvml.sm_clock_mhz(self._gpu_uuids)
        after_j = nvml.energy_j(self._gpu_uuids)
        self._spans.append((load, host_load()))
        if None in (self._energy_j, before_j, after_j):
            self._energy_j = None
        else:
            self._energy_j += after_j - before_j

    @property
    def energy_j(self) -> float | None:
        """Joules that the devices in use consumed, by a counter; None where they have none."""
        return self._energy_j if self._spans else None

    def notes(self) -> list[AnyNote]:
        """Return a note where others used the CPU noticeably, on average over the spans that can tell."""
        notes: list[AnyNote] = []
        if (others := self._average(foreign_cores)) is not None and others > BUSY_CORES:
            notes.append(CoresBusy(cores=others))
        if (stolen := self._average(stolen_share)) is not None and stolen > STOLEN_SHARE:
            notes.append(CpuTimeStolen(share=stolen))
        return notes

    def _average(self, value: Callable[[HostLoad, HostLoad], float | None]) -> float | None:
        known = [
            (found, after.monotonic_s - before.monotonic_s)
            for before, after in self._spans
            if (found := value(before, after)) is not None
        ]
        seconds = sum(span_s for _, span_s in known)
        return sum(found * span_s for found, span_s in known) / seconds if known else None

    def _nvml(self) -> Nvml:
        return open_nvml() if self._gpu_uuids else Nvml()


class Alone:
    """Epochs or calls in a row, with nobody waiting.

    Args:
        whole: The epochs or calls, as if they were one turn.
    """

    def __init__(self, whole: TakeTurn, meter: Meter) -> None:
        self._epochs, self._meter = whole.epochs, meter
        self._calls: TakeTurn | None = whole
        self.turns: tuple[Turn, ...] = ()
        self.waiting_cores: float | None = None
        self.waited_s = 0.0

    def notes(self) -> list[AnyNote]:
        """Return nothing: it never waits."""
        return []

    def begin(self) -> None:
        """Call before the first epoch or call."""
        self._meter.begin()

    def another(self, epoch_s: Sequence[float]) -> bool:
        """Return whether to train another epoch, given the seconds of those so far."""
        return len(epoch_s) < self._epochs

    def rest(self, *, call_s: tuple[float, ...] = (), resident_s: tuple[float, ...] = ()) -> TakeTurn | None:
        """Return all calls as one turn, then None."""
        calls, self._calls = self._calls, None
        return calls

    def end(self) -> None:
        """Call after the last epoch or call."""
        self._meter.end()


class InTurns:
    """Epochs or calls by turns that the runner gives out over a channel; between them the run rests.

    Args:
        started_s: `time.monotonic()` from which turns are counted: the request's.
    """

    def __init__(self, channel: Channel, started_s: float, meter: Meter) -> None:
        self._channel, self._started_s, self._meter = channel, started_s, meter
        self._left = EPOCHS_BEFORE_TURNS - 1
        self._turn: TakeTurn | None = None
        self._begun_s = 0.0
        self._counted = 0
        self._waits: list[tuple[HostLoad, HostLoad]] = []
        self._turns: list[Turn] = []

    def begin(self) -> None:
        """Nothing is measured before the first turn."""

    def another(self, epoch_s: Sequence[float]) -> bool:
        """Return whether to train another epoch; at the end of a turn wait for the next one, at rest."""
        if not self._left:
            seconds = tuple(epoch_s[self._counted :])
            self._counted = len(epoch_s)
            if (turn := self.rest(epoch_s=seconds)) is None:
                return False
            self._left = turn.epochs
        self._left -= 1
        return True

    def rest(
        self,
        *,
        epoch_s: tuple[float, ...] = (),
        call_s: tuple[float, ...] = (),
        resident_s: tuple[float, ...] = (),
    ) -> TakeTurn | None:
        """End a turn, or what comes before the first one, and wait for the next, at rest; None where there is none.

        Args:
            epoch_s, call_s, resident_s: What was measured since the last rest, as in `Turn`.
        """
        if self._turn is not None:
            ended_s = time.monotonic()
            self._meter.end()
            self._turns.append(
                Turn(
                    round=self._turn.round,
                    place=self._turn.place,
                    start_s=self._begun_s - self._started_s,
                    end_s=ended_s - self._started_s,
                    epoch_s=epoch_s,
                    call_s=call_s,
                    resident_s=resident_s,
                    sm_clock_mhz=self._meter.sm_clock_mhz,
                )
            )
        self._channel.send(encode(TurnEnded(epoch_s=epoch_s)))
        return self._wait()

    def end(self) -> None:
        """Everything has been measured turn by turn."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns taken, in their order."""
        return tuple(self._turns)

    @property
    def waited_s(self) -> float:
        """Seconds in which it waited."""
        return sum(after.monotonic_s - before.monotonic_s for before, after in self._waits)

    @property
    def waiting_cores(self) -> float | None:
        """Cores that this run used while it waited, on average; None where it never waited long enough to tell."""
        used_s = sum(after.own_s - before.own_s for before, after in self._waits)
        return used_s / self.waited_s if self.waited_s >= MIN_WAIT_S else None

    def notes(self) -> list[AnyNote]:
        """Return a note where it did not rest while it waited."""
        cores = self.waiting_cores
        busy = cores is not None and cores > BUSY_WHILE_WAITING
        return [BusyWhileWaiting(cores=cores)] if busy else []

    def _wait(self) -> TakeTurn | None:
        before = host_load()
        line = self._channel.receive()
        command = decode_command(line) if line else Finish()  # the runner has ended
        self._waits.append((before, host_load()))
        if isinstance(command, Finish):
            return None
        self._turn = command
        self._meter.begin()
        self._begun_s = time.monotonic()
        return command
