"""What this machine has for a study: devices, Python interpreters and data sets. Imports no framework."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import Context, current, recorded, twin_names
from trainspeed.conduct.plan import TrialSet, one_per_framework
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.machine_text import cores_at_once, machine_parts
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Role
from trainspeed.core.trial import Trial
from trainspeed.core.variables import speed_variables
from trainspeed.sensors import machine as detect
from trainspeed.sensors.gpus import choose_gpus
from trainspeed.sensors.nvml import open_nvml
from trainspeed.worker.data.folds import data_set_of
from trainspeed.worker.data.sets import download as download  # for reports, which may not import a worker

DEVICE_VARIABLE = "TRAINSPEED_DEVICE"  # "cpu": leave the GPUs alone


def default_allocation(trials: Sequence[Trial]) -> TrialSet:
    """Return one run per framework that does not change how it allocates memory; none without a GPU."""
    firsts = one_per_framework(trials) if has_gpu() else ()
    return TrialSet(trials=firsts, blocks=1, label=Role.ALLOCATION)


def devices_here(study: str, context: Context | None = None) -> tuple[int, str]:
    """Return how many devices there are to train on, and what they are: "GPU" or "CPU core".

    A CPU core is one only where a limit of CPU time grants it: threads on more of them would stand still in turn.
    While a report is rendered, those are the ones that its runs had.
    """
    context = context or current()
    if context.render_from:
        measured = recorded(study, context, may_be_empty=True)
        kind = "GPU" if measured.machine.get("device") == "gpu" else "CPU core"
        return max((run.trial.devices_per_node for run in measured.runs), default=1), kind
    device, uuids, machine = devices()
    return (len(uuids), "GPU") if device == "gpu" else (cores_at_once(machine), "CPU core")


def machine_here(study: str, context: Context | None = None) -> Mapping[str, Any]:
    """Return this machine as JSON; while a report is rendered, the one of its runs."""
    context = context or current()
    return recorded(study, context, may_be_empty=True).machine if context.render_from else devices()[2]


def gpu_bytes_here(study: str, context: Context | None = None) -> int | None:
    """Return the memory of the smallest GPU to train on, in bytes; None where it is not known, or there is no GPU.

    While a report is rendered, that of the machine that its runs had.
    """
    sizes = [gpu.get("memory_bytes") for gpu in machine_here(study, context).get("gpus") or ()]
    return None if not sizes or None in sizes else min(sizes)


def cores_here(study: str, context: Context | None = None) -> int:
    """Return how many logical cores can be busy at a time, which limits the workers of an input pipeline.

    While a report is rendered, as many as the machine of its runs had.
    """
    return cores_at_once(machine_here(study, context)) or 1


def nodes_here(study: str, context: Context | None = None) -> int:
    """Return how many equal nodes may train together: this one, and those that the fleet's head has given it.

    A plan counts on those that it is told of, which are not there yet.
    While a report is rendered, those are the ones that its runs had. One that is resumed keeps to what it was begun
    with: where a node has been lost since then, the runs across nodes say so, and the others go on.
    """
    context = context or current()
    if context.render_from:
        return max((run.trial.nodes for run in recorded(study, context, may_be_empty=True).runs), default=1)
    begun = Ledger(context.out).read({study: context.id})[0] if context.resume else ()
    return max([context.hands or 1, 1 + len(twin_names()), *(run.trial.nodes for run in begun)])


def devices() -> tuple[str, tuple[str, ...], Mapping[str, Any]]:
    """Return "gpu" or "cpu", the UUIDs of the GPUs to use in the order of use, and the machine.

    That is as `describe_machine` returns it, with `device`, and with the variables that users set as `environment`.

    Raises:
        UserError: The variable has another value, or asks for GPUs where none can be used.
    """
    wanted = os.environ.get(DEVICE_VARIABLE, "")
    if wanted not in ("", "cpu", "gpu"):
        raise UserError(DEVICE_VARIABLE, wanted, "must be cpu or gpu, or not be set.")
    with closing(open_nvml()) as nvml:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        chosen = choose_gpus(nvml.gpus, visible, wanted=wanted != "cpu")
        device = "gpu" if chosen.used else "cpu"
        machine = {
            "device": device,
            **detect.describe_machine(nvml, chosen),
            "environment": speed_variables(),
        }
    if wanted == "gpu" and device == "cpu":
        why = nvml.reason or machine_parts(machine)["GPUs"]
        raise UserError(f"{DEVICE_VARIABLE} is gpu, but there is none to use here: {why}.")
    return device, chosen.uuids, machine


def has_gpu() -> bool:
    """Return whether a report would train on a GPU here."""
    return devices()[0] == "gpu"


def find_interpreter(framework: str) -> str | None:
    """Return the interpreter that has a framework, or None where none is known.

    It looks at `TRAINSPEED_PYTHON_<FRAMEWORK>`, then at the environment that `make setup` built, then at the
    current interpreter.

    Raises:
        UserError: The variable does not name a program.
    """
    variable = f"TRAINSPEED_PYTHON_{framework.upper()}"
    if named := os.environ.get(variable):
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise UserError(variable, named, "is not a program: give the path of a Python interpreter.")
        return named
    built = ROOT / ".venvs" / framework / "bin/python"
    if built.exists():
        return str(built)
    return sys.executable if importlib.util.find_spec(framework) else None


def with_data_sets(part: TrialSet, *, auto: str = "cifar10") -> TrialSet:
    """Return a part of a study whose trials name their data sets, resolved by `data_set_of` with `auto`."""

    def named(trials: tuple[AnyTrial, ...]) -> tuple[AnyTrial, ...]:
        return tuple(replace(t, dataset=data_set_of(t, auto=auto)) if t.dataset else t for t in trials)

    return replace(
        part, trials=named(part.trials), controls=named(part.controls), anchors=named(part.anchors)
    )
