"""The process between a runner and its worker: it ends and removes all that either leaves behind, however they end.

    runner ── reaper ── worker ── run ── whatever that starts

Imports no framework, and does nothing while the worker lives.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import NoReturn

from trainspeed.sensors.processes import adopt_orphans, die_with_parent, end_children
from trainspeed.worker import run_folder

HEARD = {signal.SIGTERM, signal.SIGCHLD}


def fork_worker(requests: int, folder: str) -> None:
    """Return in a child, the worker; this process stays behind as its reaper, and ends as the worker does.

    SIGTERM ends the worker. Whoever kills the reaper itself sends the worker a SIGTERM by that.

    Args:
        requests: File descriptor that is the worker's alone.
        folder: Of the worker's runs, which is removed in the end.
    """
    adopt_orphans()
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    reaper, worker = os.getpid(), os.fork()
    if not worker:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        die_with_parent(signal.SIGTERM, parent=reaper)
        return
    os.close(requests)
    ended = 0
    while not ended:
        heard = signal.sigwait(HEARD)
        ended, status = os.waitpid(worker, os.WNOHANG)
        if not ended and heard == signal.SIGTERM:
            os.kill(worker, signal.SIGKILL)
            ended, status = os.waitpid(worker, 0)
    end_children()
    run_folder.remove(folder)
    _end_like(status)


def _end_like(status: int) -> NoReturn:
    """End with the exit code of another process, or by the signal that ended it."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core dump is the worker's
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code)
