"""The process that runs a notebook: its Python, its sockets, its environment. Knows no notebook."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from traitlets.config import Config

from trainspeed.conduct.context import VARIABLES
from trainspeed.core.sockets import folder_for_sockets
from trainspeed.report.interruption import Interruption
from trainspeed.report.kernel_forks import ForkingProvisioner

# A kernel without a running cell has nothing to finish, but ipykernel 7.4 sometimes hangs while it closes its
# own channels, after all other exit handlers. After half of this time it gets SIGTERM.
SHUTDOWN_S = 6
POLL_S = 0.01  # until it has ended
GUARD = "--InteractiveShellApp.extra_extensions=trainspeed.core.guard"  # see `guard.py`


@dataclass(frozen=True)
class KernelSockets:
    """A folder for the kernel's sockets and log.

    Sockets in a folder need no TCP port, which another process could take first, and no other user can
    connect to them.
    """

    folder: Path

    @property
    def config(self) -> Config:
        """The settings that papermill passes on to the kernel manager."""
        return Config({"KernelManager": {"transport": "ipc", "ip": str(self.folder / "k")}})

    def last_line(self) -> str:
        """Return the last line that the kernel's process logged: why it could not start."""
        log = self.folder / "log"
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


@contextlib.contextmanager
def kernel_sockets() -> Iterator[KernelSockets]:
    """Make the folder, and remove it at the end."""
    with folder_for_sockets() as folder:
        yield KernelSockets(folder)


def kernel_class(
    sockets: KernelSockets, environment: Mapping[str, str], folder: Path, interruption: Interruption
) -> type[AsyncKernelManager]:
    """Return a class of kernel managers for this very Python, whatever kernel the user has installed as python3."""

    class Kernel(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            native = KernelSpecManager(kernel_dirs=[])  # only ipykernel's own, of sys.executable
            file = str(sockets.folder / "connection.json")
            super().__init__(kernel_spec_manager=native, connection_file=file, **options)

        async def start_kernel(self, **options: Any) -> None:
            self.provisioner = ForkingProvisioner(parent=self, kernel_spec=self.kernel_spec)
            # What cells print arrives through the sockets; the log holds only the kernel's own messages.
            with (sockets.folder / "log").open("wb") as log:
                options |= {"env": kernel_environment(environment), "cwd": str(folder)}
                options |= {"stdout": log, "stderr": log}
                options["extra_arguments"] = [*options.get("extra_arguments", ()), GUARD]
                await super().start_kernel(**options)
            interruption.kernel_started(getattr(self.provisioner, "pgid", None))

        async def shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
            # The inherited method would interrupt an idle kernel too, which puts a traceback into its log and
            # makes the hang likelier.
            await self.request_shutdown()
            await self.finish_shutdown(waittime=SHUTDOWN_S, pollinterval=POLL_S)
            await self.cleanup_resources()

    return Kernel


def kernel_environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return this process's variables and `added`, without those that another report has set for its kernels."""
    return {key: value for key, value in os.environ.items() if key not in VARIABLES.values()} | dict(added)
