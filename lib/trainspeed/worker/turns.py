"""How long a run trains or calls: in a row alone, or a turn at a time while the other arms of its block rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from trainspeed.core.notes import AnyNote, BusyWhileWaiting, GpuBusyWhileWaiting
from trainspeed.core.result import Turn
from trainspeed.sensors.cpu import HostLoad, host_load
from trainspeed.worker.channel import Channel
from trainspeed.worker.events import Finish, TakeTurn, TurnEnded, WarmUp, decode_command, encode_event
from trainspeed.worker.meter import Meter

# The first epoch holds compiling and is kept apart; the second tells how long an epoch takes, where that is not known.
EPOCHS_BEFORE_TURNS = 2
MIN_WAIT_S = 0.3  # over less, what waking up takes, 0.1 ms, is no longer small
MIN_WAIT_IN_TICKS_S = 3.0  # over less, a tick of the CPU's clock, 0.01 s, is none either
# PyTorch's threads on a CPU go on to spin after each step, on two cores for 3 ms, 5 at most: into the next arm's turn.
SPIN_S = 0.006
BUSY_WHILE_WAITING = 0.01  # cores, and as a share a GPU, that a run may use while others have their turns


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

    def another(self, epoch_s: Sequence[float]) -> bool:
        """Return whether to train another epoch, given the seconds of those so far.

        What the first one costs, which holds compiling, is not metered.
        """
        if len(epoch_s) == 1:
            self._meter.begin()
        elif len(epoch_s) < self._epochs:
            self._meter.look()
        if len(epoch_s) < self._epochs:
            return True
        self._meter.end()
        return False

    def rest(self, *, call_s: tuple[float, ...] = (), resident_s: tuple[float, ...] = ()) -> TakeTurn | None:
        """Return all calls as one turn, then None."""
        calls, self._calls = self._calls, None
        if calls is None:
            self._meter.end()
        else:
            self._meter.begin()
        return calls

    def end(self) -> None:
        """Call after the last epoch or call."""
        self._meter.close()


class InTurns:
    """Epochs or calls by turns that the runner gives out over a channel; between them the run rests.

    Args:
        started_s: `time.monotonic()` from which turns are counted: the request's.
        settle: Called after the first epoch of a run that may be built beside others: moves it to the core of its
            turns, where it rests until none of them is being built any more: then it is told to train its second
            epoch, unless it is `paced`. None of all other runs.
        paced: Whether it rests after its first epoch, and has no second one before its turns.
        spin_s: Seconds for which its threads may go on to spin after a turn: it ends when these are over.
    """

    def __init__(
        self,
        channel: Channel,
        started_s: float,
        meter: Meter,
        settle: Callable[[], None] | None = None,
        *,
        paced: bool = False,
        spin_s: float = 0.0,
    ) -> None:
        self._channel, self._started_s, self._meter = channel, started_s, meter
        self._left = 0 if settle or paced else EPOCHS_BEFORE_TURNS - 1
        self._settle, self._spin_s = settle, spin_s
        self._turn: TakeTurn | None = None
        self._begun_s = 0.0
        self._counted = 0
        self._waits: list[tuple[HostLoad, HostLoad]] = []
        self._turns: list[Turn] = []

    def another(self, epoch_s: Sequence[float]) -> bool:
        """Return whether to train another epoch; at the end of a turn wait for the next one, at rest."""
        if self._settle and len(epoch_s) == 1:
            self._settle()
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

        The epoch of a warm-up is returned as if it were a turn, and is none.

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
                    lead_in=self._turn.lead_in,
                    call_s=call_s,
                    resident_s=resident_s,
                    sm_clock_mhz=self._meter.sm_clock_mhz,
                    throttle_reasons=self._meter.throttle_reasons,
                    others_cores=self._meter.others_cores,
                )
            )
        disturbed = self._turn is not None and self._turns[-1].is_disturbed
        time.sleep(self._spin_s)
        self._channel.send(encode_event(TurnEnded(epoch_s=epoch_s, disturbed=disturbed)))
        command = self._wait()
        if isinstance(command, WarmUp):
            return TakeTurn(epochs=EPOCHS_BEFORE_TURNS - 1)
        self._turn = command
        if command is not None:
            self._meter.begin()
            self._begun_s = time.monotonic()
        return command

    def end(self) -> None:
        """Call after the last turn."""
        self._meter.close()

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
        used_s = max(0.0, sum(after.own_s - before.own_s for before, after in self._waits))
        in_ticks = any(load.in_ticks for wait in self._waits for load in wait)
        least_s = MIN_WAIT_IN_TICKS_S if in_ticks else MIN_WAIT_S
        return used_s / self.waited_s if self.waited_s >= least_s else None

    def notes(self) -> list[AnyNote]:
        """Return what of the CPU and of the GPUs did not rest while it waited."""
        cores, share = self.waiting_cores, self._meter.waiting.share
        notes: list[AnyNote] = []
        if cores is not None and cores > BUSY_WHILE_WAITING:
            notes.append(BusyWhileWaiting(cores=cores))
        if share is not None and share > BUSY_WHILE_WAITING:
            notes.append(GpuBusyWhileWaiting(share=share))
        return notes

    def _wait(self) -> TakeTurn | WarmUp | None:
        before = host_load()
        self._meter.rest()
        line = self._channel.receive()
        command = decode_command(line) if line else Finish()  # the runner has ended
        woken_s, after = time.process_time(), host_load()
        reading_s = time.process_time() - woken_s  # milliseconds, which a short wait would show
        self._waits.append((before, replace(after, own_s=after.own_s - reading_s)))
        self._meter.waited()
        return None if isinstance(command, Finish) else command
