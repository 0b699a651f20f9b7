"""What a kernel's process does that was forked, not started: it has imported already what notebooks import.

The fork server imports this module before its first fork: that takes seconds, once for all notebooks of a report.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import multiprocessing
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module

# As ipykernel does, which would come too late: matplotlib reads it when it is imported.
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

from ipykernel import kernelapp

from trainspeed import articles, judge, search, show, snippets, studies

# What ends the process group of a report ends this process by its pipe alone: the kernel is asked to end by the report.
BEFORE = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGHUP)}

# What a Python has that is started: not the folder of the report, nor what its process has put there for itself.
GIVEN = os.environ.get("PYTHONPATH", "").split(os.pathsep)
PATH = [path for path in sys.path if path and (path != os.getcwd() or path in GIVEN)]

for package in (show, articles, judge, search, snippets, studies):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(found.name)
gc.freeze()  # a kernel looks for garbage as it ends, and need not look at all of this


def run_kernel(arguments: Sequence[str], environment: Mapping[str, str], folder: str, log: str) -> None:
    """Be a kernel, as `python -m ipykernel_launcher` is one, until it is shut down.

    Args:
        arguments: Of the launcher.
        environment: All variables of the process.
        folder: To work in.
        log: File that gets what the process itself prints; what cells print goes through sockets.
    """
    os.setsid()  # a group that can be interrupted by itself
    for number, handler in BEFORE.items():
        signal.signal(number, handler)
    with open(log, "ab") as file, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = PATH
    sys.argv = ["ipykernel_launcher", *arguments]
    threading.Thread(target=_end_with_the_report, daemon=True).start()
    try:
        app = kernelapp.IPKernelApp.instance()
        app.initialize()
        # It closes what ends with the process, and ipykernel 7.4 hangs in it now and then: of 28 kernels 4 did, until
        # they got SIGTERM after three seconds.
        atexit.unregister(app.close)
        app.start()
    finally:
        # A forked child ends without them: connections, history, workers.
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()


def _end_with_the_report() -> None:
    """End at once where the process that asked for the kernel has ended, however it did."""
    multiprocessing.parent_process().join()
    os._exit(1)
