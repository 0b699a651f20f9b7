"""What a study and the pool of its report say to each other, and a worker that a study has from there.

Knows neither frameworks nor requests.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from trainspeed.worker.channel import Channel


class TakeWorker(msgspec.Struct, frozen=True, tag="take"):
    """To a pool: give me a worker of this command and environment."""

    command: list[str]
    environment: dict[str, str]


class LookAtWorker(msgspec.Struct, frozen=True, tag="look"):
    """To a pool: does it still run?"""


class EndWorker(msgspec.Struct, frozen=True, tag="end"):
    """To a pool: end it. The lease is over."""


class KeepWorker(msgspec.Struct, frozen=True, tag="keep"):
    """To a pool: nothing runs there any more; keep it for the next one. The lease is over."""

    hello: str


class PoolAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From a pool.

    Attributes:
        pid: Of the reaper of the worker that comes along.
        parent_pid: Of the pool's process.
        hello: What the worker said when it was ready; None where it is a new one.
        code: Its exit code, where it has ended.
        last_words: The last line that it printed, then.
    """

    pid: int | None = None
    parent_pid: int | None = None
    hello: str | None = None
    alive: bool = False
    code: int | None = None
    last_words: str = ""


# Where the report has ended, its workers have, too.
POOL_ENDED = PoolAnswer(code=-signal.SIGTERM, last_words="the report that has started this worker has ended")
AnyPoolMessage = TakeWorker | LookAtWorker | EndWorker | KeepWorker
_decode_message = msgspec.json.Decoder(AnyPoolMessage).decode
_decode_answer = msgspec.json.Decoder(PoolAnswer).decode


def pool_message(line: bytes | None) -> AnyPoolMessage:
    """Return what a study says; the end of the lease where it says nothing, or nothing that can be read."""
    try:
        return _decode_message(line or b"")
    except msgspec.MsgspecError:
        return EndWorker()


def pool_line(message: AnyPoolMessage | PoolAnswer) -> bytes:
    """Return the line of a message or an answer."""
    return msgspec.json.encode(message) + b"\n"


class Lease:
    """A worker of a pool, as long as a study needs it: see `OwnProcess`, whose methods it has.

    Raises:
        OSError: There is no such pool any more, or it cannot start the worker.
    """

    def __init__(self, pool: Path, command: list[str], environment: Mapping[str, str]) -> None:
        """Take a worker that is idle, or a new one."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(pool))
        self._pool = Channel(connection)
        self._ended: PoolAnswer | None = None
        taken = self._asked(TakeWorker(command, dict(environment)))
        if taken.pid is None:
            self._pool.close()
            raise OSError(taken.last_words)
        self.pid, self.parent_pid = taken.pid, taken.parent_pid
        self.hello = taken.hello.encode() if taken.hello else None
        self.requests = self._pool.passed()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._ended is None and self._asked(LookAtWorker()).alive

    def end(self) -> int:
        """End it with all that it has started, and return its exit code."""
        self._ended = self._ended or self._asked(EndWorker())
        self._close()
        return self._ended.code

    def last_words(self) -> str:
        """Return the last line that it printed, when it has ended."""
        return self._ended.last_words if self._ended else ""

    def release(self, hello: bytes) -> None:
        """Give it back, for the next study."""
        if self._ended is None:
            self._ended = self._asked(KeepWorker(hello.decode()))
            self._close()

    def _asked(self, message: AnyPoolMessage) -> PoolAnswer:
        with contextlib.suppress(OSError):  # then the pool says no more
            self._pool.send(pool_line(message))
        line = self._pool.receive()
        return _decode_answer(line) if line else POOL_ENDED

    def _close(self) -> None:
        self._pool.close()
        self.requests.close()
