"""Start a worker on this machine: in the environment of its framework, with the GPUs to use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trainspeed.conduct.environments import environment_for
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.levers.lever import Setting
from trainspeed.core.run import Role
from trainspeed.worker import backends


def start_worker(
    gpu_uuids: Sequence[str], framework: str, settings: tuple[Setting, ...], *, pool: Path | None = None
) -> WorkerProcess:
    """Start the worker of a framework, with these levers in its environment.

    Args:
        pool: Where to take one from that no lever is to be set for: see `worker_pool`.
    Raises:
        Unavailable: The framework is not installed.
    """
    python = find_interpreter(framework)
    if python is None:
        raise Unavailable("it is not installed here; `make setup` installs it")
    # With GPUs named by UUID, the framework's first device is the monitor's, whatever the order.
    environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(gpu_uuids)}
    environment |= environment_for(settings)
    pool = None if settings else pool
    return WorkerProcess(python, backends.MODULES[framework], environment=environment, pool=pool)


def imports_are_timed(planned: Iterable[Planned]) -> bool:
    """Return whether the seconds of an import are asked for: of a convolution, but not where it is measured again."""
    return any(run.trial.phase.calls and Role.of(run.label) is not Role.CONFIRMATION for run in planned)
