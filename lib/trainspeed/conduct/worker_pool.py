"""Workers that outlive a study, so that a report imports a framework once, not in each of its notebooks.

    report ── pool ── reaper ── worker          kernel of a study ── lease ── pool

A study takes a worker on lease and has its runs forked there. One whose runs have all ended is kept for the next study,
until the report ends; a lease that is over without a word, as that of a kernel that was killed, ends the worker with
all that runs there. Knows neither frameworks nor requests.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from trainspeed.conduct.own_process import OwnProcess
from trainspeed.conduct.worker_lease import (
    EndWorker,
    KeepWorker,
    LookAtWorker,
    PoolAnswer,
    TakeWorker,
    pool_line,
    pool_message,
)
from trainspeed.core.sockets import folder_for_sockets
from trainspeed.worker.channel import Channel

MESSAGE_S = 10.0  # until a message that has begun is whole
CONNECTIONS = 64  # that wait to be taken


@dataclass
class _Leased:
    """What is known of a connection: whose worker it has, if any."""

    channel: Channel
    process: OwnProcess | None = None
    asked: TakeWorker | None = None


@dataclass
class WorkerPool:
    """Keeps idle workers between the studies of a report: at most one of each command.

    One thread starts all workers and listens: a worker ends with the thread that started it.

    Attributes:
        path: Of its socket.
    """

    path: Path
    _idle: dict[tuple[str, ...], _Leased] = field(default_factory=dict, init=False)
    _out: list[_Leased] = field(default_factory=list, init=False)

    def __enter__(self) -> Self:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(CONNECTIONS)
        self._over, self._waker = Channel.pair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        """End all workers, idle or not."""
        self._waker.close()
        self._thread.join()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._over.fileno(), selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._listener:
                        leased = _Leased(Channel(self._listener.accept()[0]))
                        self._out.append(leased)
                        selector.register(leased.channel.fileno(), selectors.EVENT_READ, leased)
                    elif key.data is None:
                        self._end_all()
                        return
                    elif not self._heard(key.data):
                        selector.unregister(key.fd)
                        key.data.channel.close()

    def _end_all(self) -> None:
        for leased in (*self._idle.values(), *self._out):
            if leased.process:
                leased.process.end()
        self._listener.close()
        self._over.close()

    def _heard(self, leased: _Leased) -> bool:
        """Answer the next message of a lease; return whether the lease goes on."""
        line = leased.channel.receive(time.monotonic() + MESSAGE_S)
        message, passing = pool_message(line), None
        if leased.process is None and not isinstance(message, TakeWorker):
            message = EndWorker()
        goes_on = isinstance(message, TakeWorker | LookAtWorker)
        match message:
            case TakeWorker():
                try:
                    leased.asked, leased.process = message, self._taken(message)
                    answer, passing = _introduced(leased.process), leased.process.requests
                except OSError as problem:
                    answer = PoolAnswer(last_words=str(problem))
            case LookAtWorker():
                answer = PoolAnswer(alive=leased.process.alive)
            case KeepWorker():
                self._keep(leased, message.hello)
                answer = PoolAnswer()
            case EndWorker():
                answer = _ended(leased.process)
        if not goes_on:
            self._out.remove(leased)
        with contextlib.suppress(OSError):  # nobody listens any more: the end of the connection comes next
            leased.channel.send(pool_line(answer), passing=passing)
        return goes_on

    def _taken(self, message: TakeWorker) -> OwnProcess:
        """Return the idle worker that was asked for, if there is one; else a new one, in the place of another."""
        idle = self._idle.pop(tuple(message.command), None)
        if idle and idle.asked == message and idle.process.alive:
            return idle.process
        if idle:
            idle.process.end()
        return OwnProcess(message.command, message.environment)

    def _keep(self, leased: _Leased, hello: str) -> None:
        leased.process.hello = hello.encode()
        if before := self._idle.pop(tuple(leased.asked.command), None):
            before.process.end()
        self._idle[tuple(leased.asked.command)] = leased


def _introduced(process: OwnProcess) -> PoolAnswer:
    hello = process.hello.decode() if process.hello else None
    return PoolAnswer(pid=process.pid, parent_pid=process.parent_pid, hello=hello)


def _ended(process: OwnProcess | None) -> PoolAnswer:
    if process is None:
        return PoolAnswer()
    return PoolAnswer(code=process.end(), last_words=process.last_words())


@contextlib.contextmanager
def worker_pool() -> Iterator[Path]:
    """Open a pool, and yield the path of its socket; at the end no worker is left."""
    with folder_for_sockets() as folder, WorkerPool(folder / "workers") as pool:
        yield pool.path
