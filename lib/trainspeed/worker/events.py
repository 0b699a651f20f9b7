"""The events that a worker sends to the runner, a JSON line each; both sides use these types."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", forbid_unknown_fields=True):
    """Base of all events."""


class Hello(Event, tag="hello"):
    """The framework is imported."""

    pid: int
    versions: Mapping[str, str]
    import_s: float


class BackendMissing(Event, tag="unavailable"):
    """The framework cannot be imported; the worker ends."""

    reason: str


class Forked(Event, tag="forked"):
    """A child runs the request."""

    pid: int


class StageBegun(Event, tag="stage"):
    """The run has reached this stage."""

    name: str


class MeasurementEnded(Event, tag="measured"):
    """The epochs or calls are over, and `result` holds what they measured: it counts however the run ends.

    What was measured may yet turn out not to be what was asked for: then a `Failed` follows that says so.
    """

    result: RunResult


class ResultSent(Event, tag="result"):
    """The run ended well; `result` holds what was looked up afterwards, too."""

    result: RunResult


class Failed(Event, tag="failed"):
    """The run failed; `result` holds its notes and what it had measured by then."""

    status: Status
    reason: str
    failure: Failure = Failure()
    result: RunResult = RunResult()


class TurnEnded(Event, tag="turn"):
    """A turn is over, or what comes before the first one; the run rests until its next one.

    Attributes:
        epoch_s: Duration of each epoch that it trained, in seconds; empty of a convolution.
        disturbed: Whether others used the machine in it: see `Turn.is_disturbed`.
    """

    epoch_s: tuple[float, ...] = ()
    disturbed: bool = False


class Exited(Event, tag="exit"):
    """The run's process has ended.

    Attributes:
        code: Its exit code, or minus the number of the signal that ended it.
        stderr_tail: The end of what it printed.
    """

    code: int
    stderr_tail: str = ""


AnyEvent = (
    Hello | BackendMissing | Forked | StageBegun | TurnEnded | MeasurementEnded | ResultSent | Failed | Exited
)


class TakeTurn(msgspec.Struct, frozen=True, kw_only=True, tag="take_turn"):
    """To a run that rests: train this many epochs, or make calls for about so long.

    Attributes:
        round: Of the block, from 0: in each every arm has a turn.
        place: Of the turn in its round, from 0.
        epochs: Epochs to train; none of a convolution.
        lead_in: How many of them, from the first on, do not count: see `turn_plan.lead_in_of`.
        calls: Whole calls to make, at least; none of a training.
        seconds: How long whole calls should take together.
    """

    round: int = 0
    place: int = 0
    epochs: int = 0
    lead_in: int = 0
    calls: int = 0
    seconds: float = 0.0


class WarmUp(msgspec.Struct, frozen=True, tag="warm_up"):
    """To a run that rests after its first epoch: train the second one, which tells the pace and is in no turn."""


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """To a run that rests: there are no more turns."""


AnyCommand = TakeTurn | WarmUp | Finish
_decode_command = msgspec.json.Decoder(AnyCommand).decode
_decode = msgspec.json.Decoder(AnyEvent).decode


def encode_event(event: AnyEvent) -> bytes:
    """Return the line of an event; half a character in an error's text becomes a question mark.

    Raises:
        ValueError: It holds a number that JSON does not have, such as nan.
    """
    text = json.dumps(msgspec.to_builtins(event), allow_nan=False, ensure_ascii=False)
    return text.encode(errors="replace") + b"\n"


def decode(line: bytes) -> AnyEvent:
    """Return the event of a line.

    Raises:
        msgspec.ValidationError: The line is no event, or has an unknown field.
    """
    return _decode(line)


def encode_command(command: AnyCommand) -> bytes:
    """Return the line of a command."""
    return msgspec.json.encode(command) + b"\n"


def decode_command(line: bytes) -> AnyCommand:
    """Return the command of a line."""
    return _decode_command(line)
