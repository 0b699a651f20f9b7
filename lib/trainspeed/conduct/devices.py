"""The devices of this machine that a study may use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from trainspeed.conduct.context import Context, current
from trainspeed.conduct.plan import (
    TrialSet,
    one_per_framework,
)
from trainspeed.conduct.recorded import recorded
from trainspeed.core.errors import UserError
from trainspeed.core.run import Role
from trainspeed.core.trial import Trial
from trainspeed.sensors import machine as detect
from trainspeed.sensors.gpu_ids import visible_uuids
from trainspeed.sensors.nvml import open_nvml

DEVICE_VARIABLE = "TRAINSPEED_DEVICE"  # "cpu": leave the GPUs alone


def default_allocation(trials: Sequence[Trial]) -> TrialSet:
    """Return one run per framework that leaves the memory allocation as it comes; none without a GPU."""
    has_gpu = devices()[0] == "gpu"
    return TrialSet(trials=one_per_framework(trials) if has_gpu else (), blocks=1, label=Role.ALLOCATION)


def devices_here(study: str, context: Context | None = None) -> tuple[int, str]:
    """Return how many devices there are to train on, and what they are: "GPU" or "CPU core".

    While a report is rendered, those are the ones that its runs had.
    """
    context = context or current()
    if context.render_from:
        measured = recorded(study, context, may_be_empty=True)
        kind = "GPU" if measured.machine.get("device") == "gpu" else "CPU core"
        return max((run.trial.devices for run in measured.runs), default=1), kind
    device, uuids, _ = devices()
    return (len(uuids), "GPU") if device == "gpu" else (detect.logical_cores(), "CPU core")


def devices() -> tuple[str, tuple[str, ...], Mapping[str, Any]]:
    """Return "gpu" or "cpu", the UUIDs of the GPUs to use, and the machine."""
    wanted = os.environ.get(DEVICE_VARIABLE, "")
    if wanted not in ("", "cpu", "gpu"):
        raise UserError(DEVICE_VARIABLE, wanted, "must be cpu or gpu, or not be set.")
    nvml = open_nvml()
    uuids = () if wanted == "cpu" else tuple(visible_uuids(nvml.gpus, os.environ.get("CUDA_VISIBLE_DEVICES")))
    nvml.close()
    if wanted == "gpu" and not uuids:
        raise UserError(
            f"{DEVICE_VARIABLE} is gpu, but there is none to use here: {nvml.reason or 'none visible'}."
        )
    device = "gpu" if uuids else "cpu"
    return device, uuids, {"device": device, **detect.detect_machine()}


def gpu_seen() -> bool:
    """Return whether the driver shows a GPU, usable or not."""
    return bool(detect.detect_machine()["gpus"])


def cores_here() -> int:
    """Return how many logical cores this machine has, which is how many workers of an input pipeline fit."""
    return detect.logical_cores()
