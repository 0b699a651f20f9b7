"""Kernels that are forked from one process, which has imported what notebooks import. Knows no notebook.

A kernel that is started by itself imports for seconds, in every notebook of a report, and once more for its plan. Where
there is no such process, or variables that a Python reads as it starts are others by now, a kernel is started as usual.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

PRELOADED = ["trainspeed.report.forked_kernel", __name__]
LAUNCHER = "ipykernel_launcher"
# Prefixes of variables that are read as a process starts, or as what is imported first is.
READ_EARLY = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "OMP_", "OPENBLAS_", "MKL_", "MPL")
started_with: list[dict[str, str]] = []  # those of the process that forks; known from the first fork on


class ForkedProcess:
    """A forked kernel, with what a provisioner asks of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait for its end, and return its exit code."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    @property
    def leads_a_group(self) -> bool:
        """Whether signals reach it and what it has started alone."""
        with contextlib.suppress(ProcessLookupError):
            return os.getpgid(self.pid) == self.pid
        return True  # it has ended


class ForkingProvisioner(LocalProvisioner):
    """Starts kernels as Jupyter does, but by forks where these are to be had."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel, and wait until it leads a process group, as one that was started does."""
        server = fork_server(kwargs["env"])
        if server is None or LAUNCHER not in cmd:
            return await super().launch_kernel(cmd, **kwargs)
        arguments = cmd[cmd.index(LAUNCHER) + 1 :]
        told = (arguments, dict(kwargs["env"]), str(kwargs["cwd"]), kwargs["stdout"].name)
        process = server.Process(target=_run_kernel, args=told)
        try:
            process.start()
        except (OSError, EOFError):  # what forks could not start, or has ended
            return await super().launch_kernel(cmd, **kwargs)
        self.process, self.pid = ForkedProcess(process), process.pid
        self.pgid, self.cwd = process.pid, kwargs["cwd"]
        while not self.process.leads_a_group:
            await asyncio.sleep(0.002)
        return self.connection_info


def fork_server(environment: Mapping[str, str]) -> ForkServerContext | None:
    """Return what forks kernels with these variables; None where they have to be started."""
    # Elsewhere system libraries do not outlive a fork; and the user's own start-up files want to be before all imports.
    if sys.platform != "linux" or "IPYTHONDIR" in environment:
        return None
    early = {name: text for name, text in environment.items() if name.startswith(READ_EARLY)}
    if not started_with:
        started_with.append(early)
    if early not in started_with:
        return None
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    return server


def _run_kernel(arguments: Sequence[str], environment: Mapping[str, str], folder: str, log: str) -> None:
    """Be a kernel; not imported here, as only the forks need what it needs."""
    from trainspeed.report.forked_kernel import run_kernel

    run_kernel(arguments, environment, folder, log)
