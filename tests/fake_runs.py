"""Runs that take turns in a moment: for fake workers, which know how a run ends when it is asked for."""

from __future__ import annotations

from collections.abc import Collection

from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.run import Status
from trainspeed.worker.events import AnyEvent, TakeTurn, TurnEnded, decode


class FakeRun:
    """Rests as long as it is to end well; its result is the one that it was made with."""

    def __init__(self, outcome: RunOutcome, disturbed_rounds: Collection[int] = ()) -> None:
        self._end, self._disturbed = outcome, disturbed_rounds
        self.rounds: list[int] = []
        self.outcome = None if outcome.status == Status.OK else outcome

    def rests(self) -> TurnEnded | None:
        return None if self.outcome else TurnEnded(epoch_s=(1.0, 1.0))

    def take_turn(self, turn: TakeTurn) -> TurnEnded | None:
        self.rounds.append(turn.round)
        disturbed = turn.round in self._disturbed
        return None if self.outcome else TurnEnded(epoch_s=(1.0,) * turn.epochs, disturbed=disturbed)

    def warm_up(self) -> TurnEnded | None:
        return None if self.outcome else TurnEnded(epoch_s=(1.0,))

    def finish(self) -> None:
        self.outcome = self._end

    def end(self) -> RunOutcome:
        if self.outcome is None:
            self.finish()
        return self.outcome

    def kill(self) -> None:
        pass

    def give_up(self, outcome: RunOutcome) -> None:
        self.outcome = outcome

    def stop(self) -> None:
        self.outcome = RunOutcome(status=Status.CRASHED, reason="it was stopped")


class BeginsRuns:
    """For a fake worker that has `run`: begins runs that take turns, too."""

    def release(self) -> None:
        self.close()

    def begin(self, request, timeout_s) -> FakeRun:
        return FakeRun(self.run(request, timeout_s))


class EventsSent:
    """A channel of a run that keeps the events."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    def send(self, line: bytes) -> None:
        self.events.append(decode(line))
