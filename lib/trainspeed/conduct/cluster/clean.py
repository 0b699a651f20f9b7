"""Take away what an engine hands down to the processes that it starts: a run is to be as it is without a fleet."""

from __future__ import annotations

import contextlib
import os
import signal
from contextlib import closing
from pathlib import Path

from trainspeed.conduct.cluster.node import ENGINE_SETS, USERS_OWN, Refused
from trainspeed.conduct.machine import DEVICE_VARIABLE
from trainspeed.sensors.nvml import open_nvml

ENGINE_VARIABLES = "RAY_"  # beginning of the names of what the engine sets for itself
# By which a report reaches its twins; `WorkerProcess` keeps them from runs.
TO_REACH_OTHERS = ("RAY_AUTH_", "RAY_USE_TLS", "RAY_TLS_", "RAY_BACKEND_LOG_LEVEL")
VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"


def clean_process() -> None:
    """Take away variables, a blocked Ctrl-C and a mark for the kernel's memory killer; a user's own values come back.

    Raises:
        Refused: The process has a lower priority, which only root could mend, or GPUs are hidden from it.
    """
    for name in [*os.environ]:
        of_engine = name.startswith(ENGINE_VARIABLES) and not name.startswith(TO_REACH_OTHERS)
        if of_engine or name in ENGINE_SETS:
            del os.environ[name]
    for name in ENGINE_SETS:
        if (own := os.environ.pop(USERS_OWN + name, None)) is not None:
            os.environ[name] = own
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("0")
    if nice := os.nice(0):
        raise Refused(
            f"what runs here has the priority nice {nice}, and runs would have: start it with `make node`"
        )
    _check_gpus_visible()


def _check_gpus_visible() -> None:
    """Raise where GPUs are here, and hidden: the runs would train on the CPU without a word."""
    if os.environ.get(VISIBLE_GPUS) == "" and os.environ.get(DEVICE_VARIABLE) != "cpu":
        with closing(open_nvml()) as nvml:
            if nvml.gpus:
                raise Refused(
                    f"it has GPUs, and {VISIBLE_GPUS} is empty there: unset it before `make node`, or set "
                    f"{DEVICE_VARIABLE}=cpu"
                )
