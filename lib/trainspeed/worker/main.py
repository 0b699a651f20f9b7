"""Import one framework once, then measure each request in a forked child.

    python -m trainspeed.worker.main --backend MODULE --events FD --parent PID [--plain]

Requests come as JSON lines on standard input; events go as JSON lines to the file descriptor FD,
because frameworks print what they like on standard output. Does not know what is measured or why.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
import tempfile
import time
from typing import NoReturn, TextIO

from trainspeed.core.errors import UserError
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.sensors.processes import die_with_parent
from trainspeed.worker import backends
from trainspeed.worker.backends.base import Backend
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.data.sets import Images
from trainspeed.worker.events import AnyEvent, BackendMissing, Exited, Failed, Forked, Hello, encode
from trainspeed.worker.failures import Invalid, Unsupported, first_line
from trainspeed.worker.measure import Emit, Request, is_fault_of_user, measure_trial

STDERR_TAIL_BYTES = 4000  # what a killed child printed last, to say why


def serve(backend: Backend, requests: TextIO, emit: Emit, *, plain: bool) -> None:
    """Measure every request in a child of its own; with `plain`, only the first one, in this process.

    Images are loaded here, so that every child has them from its first moment.
    """
    gc.collect()
    gc.freeze()  # else each child's first collection walks, and so copies, all that was imported
    for line in requests:
        request = Request.from_json(line)
        try:
            images = images_of(request.trial) if request.trial.dataset else None
            backend.prepare(request.trial)
        except (UserError, Unsupported, Invalid) as problem:
            status = Status.INVALID if isinstance(problem, Invalid) else Status.UNSUPPORTED
            failure = Failure(in_user_file=is_fault_of_user(problem, request.trial))
            emit(Failed(status=status, reason=str(problem), failure=failure))
            emit(Exited(code=0))
        else:
            if plain:
                measure_trial(request, backend, images, emit)
                emit(Exited(code=0))
            else:
                _fork(request, backend, images, emit)
        if plain:
            return


def _fork(request: Request, backend: Backend, images: Images | None, emit: Emit) -> None:
    with tempfile.TemporaryFile() as output:
        parent, child = os.getpid(), os.fork()
        if not child:
            _be_child(request, backend, images, emit, output.fileno(), parent)
        with contextlib.suppress(OSError):  # the child does it too: whichever comes first
            os.setpgid(child, child)
        signal.signal(signal.SIGTERM, lambda *_: _end_with(child))
        emit(Forked(pid=child))
        _, status = os.waitpid(child, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        code = os.waitstatus_to_exitcode(status)
        output.seek(max(0, output.tell() - STDERR_TAIL_BYTES))
        emit(Exited(code=code, stderr_tail=output.read().decode(errors="replace")))


def _end_with(child: int) -> NoReturn:
    """End this worker, whose runner is gone, with the child's whole group: data loaders and other ranks too."""
    os.killpg(child, signal.SIGKILL)
    os._exit(1)


def _be_child(
    request: Request, backend: Backend, images: Images | None, emit: Emit, output: int, parent: int
) -> None:
    """Measure in a process group of its own, so that a timeout ends whatever is started here. Never returns."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setpgid(0, 0)
        die_with_parent(signal.SIGKILL, parent=parent)
        os.dup2(
            os.open(os.devnull, os.O_RDONLY), 0
        )  # a user's model that reads it must not take the next request
        os.dup2(output, 1)
        os.dup2(output, 2)
        measure_trial(request, backend, images, emit)
        code = 0
    finally:
        os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Serve until standard input ends, which is also what happens when the runner dies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--plain", action="store_true", help="measure one request in this process")
    options = parser.parse_args(arguments)
    die_with_parent(signal.SIGTERM, parent=options.parent)

    def emit(event: AnyEvent) -> None:
        data = encode(event)
        while data:
            data = data[os.write(options.events, data) :]

    try:
        started = time.monotonic()
        backend = backends.load_backend(options.backend)
        import_s = time.monotonic() - started
        # torch's version has a class of its own.
        versions = {name: str(version) for name, version in backend.versions().items()}
        emit(Hello(pid=os.getpid(), versions=versions, import_s=import_s))
    except Exception as problem:
        emit(BackendMissing(reason=f"{type(problem).__name__}: {first_line(problem)}"))
        return 1
    serve(backend, sys.stdin, emit, plain=options.plain)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # frameworks' own threads may hang at interpreter exit
