"""In torch's environment: a process that is killed while its loader's workers wait for the next epoch."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil

from probes.pipeline_probe import images, trial
from trainspeed.worker.pipelines.torch_pipelines import loader


def main(out: str) -> None:
    batches = loader(trial("torch", "processes", 2, "channels_last"), *images())
    list(batches)
    Path(out).write_text(" ".join(str(child.pid) for child in psutil.Process().children()))
    os.kill(os.getpid(), signal.SIGKILL)
