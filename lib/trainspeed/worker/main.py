"""Import one framework once, then measure each request in a forked child; several children may be alive at once.

    python -m trainspeed.worker.main --backend MODULE --requests FD --parent PID [--plain]

Requests come as JSON lines over the socket FD, each with the end of a channel of its own, on which the run reports
its events: frameworks print what they like on standard output. Does not know what is measured or why.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import selectors
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO, NoReturn

from trainspeed.core.errors import UserError
from trainspeed.core.programs import makes_programs
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.sensors.processes import (
    adopt_orphans,
    child_pids,
    die_with_parent,
    end_children,
    remember_cores,
)
from trainspeed.worker import backends, run_folder
from trainspeed.worker.backends.base import Backend
from trainspeed.worker.channel import Channel
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.data.sets import Images
from trainspeed.worker.events import AnyEvent, BackendMissing, Exited, Failed, Forked, Hello, encode_event
from trainspeed.worker.failed_run import failed_by, is_fault_of_user
from trainspeed.worker.failures import Invalid, Unsupported, first_line
from trainspeed.worker.measure import measure_trial
from trainspeed.worker.reaper import fork_worker
from trainspeed.worker.request import Request

STDERR_TAIL_BYTES = 16000  # what a killed child printed last, to say why: NCCL's abort prints 5 kB of frames
GRACE_S = 0.2  # for what a run has left behind, such as Python's resource tracker, which ends by itself


@dataclass(frozen=True)
class _Child:
    """A run in a process of its own: where it reports, where it prints, and where it keeps its files."""

    channel: Channel
    output: IO[bytes]
    folder: str


@dataclass
class Server:
    """Measures requests, each in a child of its own, until the runner closes the socket or dies.

    Attributes:
        folder: For the folders of the runs.
    """

    backend: Backend
    requests: Channel
    folder: str
    _children: dict[int, _Child] = field(default_factory=dict, init=False)
    _helpers: set[int] = field(default_factory=set, init=False)

    @property
    def _programs(self) -> str:
        return os.path.join(self.folder, "programs")

    def serve(self) -> None:
        """Fork a child for each request, and report how each child ended.

        Images are loaded here, so that every child has them from its first moment.
        """
        self._helpers = child_pids()  # of the framework itself
        adopt_orphans()
        gc.collect()
        gc.freeze()  # else each child's first collection walks, and so copies, all that was imported
        wakeup, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end())
        with selectors.DefaultSelector() as selector:
            selector.register(self.requests.fileno(), selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if wakeup in ready:
                    os.read(wakeup, 4096)
                    self._report_ended()
                if self.requests.fileno() in ready:
                    if (line := self.requests.receive()) is None:
                        self._end()
                    self._begin(Request.from_json(line), self.requests.passed())

    def _begin(self, request: Request, channel: Channel) -> None:
        if (prepared := _prepared(self.backend, request, channel)) is None:
            channel.close()
            return
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the child has ended
        folder = run_folder.new_folder(self.folder)
        if request.takes_programs:
            run_folder.share_programs(self._programs, folder)
        parent = os.getpid()
        try:
            child = os.fork()
        except OSError as problem:  # too many processes: this request's end, not the worker's
            output.close()
            run_folder.remove(folder)
            _send(channel, failed_by(problem, request.trial, "start", RunResult()))
            _send(channel, Exited(code=0))
            channel.close()
            return
        if not child:
            self.requests.close()
            run_folder.use(folder, self._programs)
            _be_child(request, self.backend, prepared.images, channel, output.fileno(), parent)
        with contextlib.suppress(OSError):  # the child does it too: whichever comes first
            os.setpgid(child, child)
        self._children[child] = _Child(channel, output, folder)

    def _report_ended(self) -> None:
        for pid in [*self._children]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                child = self._children.pop(pid)
                end_children(keep={*self._children, *self._helpers}, grace_s=GRACE_S)
                child.output.seek(max(0, os.fstat(child.output.fileno()).st_size - STDERR_TAIL_BYTES))
                tail = child.output.read().decode(errors="replace")
                run_folder.remove(child.folder)
                _send(child.channel, Exited(code=os.waitstatus_to_exitcode(status), stderr_tail=tail))
                child.channel.close()
                child.output.close()

    def _end(self) -> NoReturn:
        """End this worker, whose runner is gone, with all that its runs started: data loaders and other ranks too."""
        end_children()
        run_folder.remove(self.folder)  # as the reaper does, where there still is one
        os._exit(0)


@dataclass(frozen=True)
class _Prepared:
    images: Images | None


def _prepared(backend: Backend, request: Request, channel: Channel) -> _Prepared | None:
    """Return what the children of a request start from; None, and why, where it cannot be measured."""
    try:
        images = images_of(request.trial) if request.trial.dataset else None
        backend.prepare(request.trial)
    except (UserError, Unsupported, Invalid) as problem:
        status = Status.INVALID if isinstance(problem, Invalid) else Status.UNSUPPORTED
        failure = Failure(in_user_file=is_fault_of_user(problem, request.trial))
        failed = Failed(status=status, reason=str(problem), failure=failure)
    except Exception as problem:  # of this request alone: the worker goes on
        failed = failed_by(problem, request.trial, "start", RunResult())
    else:
        return _Prepared(images)
    _send(channel, failed)
    _send(channel, Exited(code=0))
    return None


def _send(channel: Channel, event: AnyEvent) -> None:
    """Report an event; a runner that no longer listens has ended the run."""
    with contextlib.suppress(OSError):
        channel.send(encode_event(event))


def _be_child(
    request: Request,
    backend: Backend,
    images: Images | None,
    channel: Channel,
    output: int,
    parent: int,
) -> None:
    """Measure in a process group of its own, so that a timeout ends whatever is started here. Never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setpgid(0, 0)
        die_with_parent(signal.SIGKILL, parent=parent)
        adopt_orphans()  # so that the worker's orphans are those of runs that have ended
        channel.send(encode_event(Forked(pid=os.getpid())))

        os.dup2(output, 1)
        os.dup2(output, 2)
        if measure_trial(request, backend, images, channel) and makes_programs(request.trial, request.device):
            run_folder.leave_programs()
        code = 0
    finally:
        os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Serve until the runner closes the socket, which is also what happens when it dies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--plain", action="store_true", help="measure one request in this process")
    options = parser.parse_args(arguments)
    die_with_parent(signal.SIGTERM, parent=options.parent)
    folder = run_folder.new_folder()
    fork_worker(options.requests, folder)
    requests = Channel.at(options.requests)
    run_folder.use_for_import(folder)
    remember_cores()  # OpenMP may keep the thread that loads it to one
    try:
        started = time.monotonic()
        gc.disable()  # what is imported is no garbage, and to look for some takes time
        backend = backends.load_backend(options.backend)
        gc.enable()
        import_s = time.monotonic() - started
        # torch's version has a class of its own.
        versions = {name: str(version) for name, version in backend.versions().items()}
        _send(requests, Hello(pid=os.getpid(), versions=versions, import_s=import_s))
    except Exception as problem:
        _send(requests, BackendMissing(reason=f"{type(problem).__name__}: {first_line(problem)}"))
        return 1
    if options.plain:
        run_folder.use(folder)
        _measure_here(backend, requests)
    else:
        Server(backend, requests, folder).serve()
    return 0


def _measure_here(backend: Backend, requests: Channel) -> None:
    """Measure one request in this process."""
    if (line := requests.receive()) is not None:
        request, channel = Request.from_json(line), requests.passed()
        if prepared := _prepared(backend, request, channel):
            measure_trial(request, backend, prepared.images, channel)
            _send(channel, Exited(code=0))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # frameworks' own threads may hang at interpreter exit
