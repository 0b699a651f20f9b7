"""What checks the instrument from inside: a module for each framework, with its probes by name.

A probe is a function of `Surroundings` that returns what it measured as plain values, by name; it judges nothing.
What it cannot measure is None; where nothing of it can be measured here, it raises `Unsupported` with the reason,
and the check is not applicable.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trainspeed.core.format import NAMES
from trainspeed.core.probe import PROBES, ROUNDS, WITHOUT_FRAMEWORK, Probe, ProbeValue
from trainspeed.worker.backends.base import Backend
from trainspeed.worker.failures import Unsupported

Values = Mapping[str, ProbeValue]
MODULE = f"{__name__}.{{framework}}_probes"  # its `PROBES`: name -> function
PLAIN_MODULE = f"{__name__}.monitor"  # likewise, of those that need no framework


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a probe runs.

    Attributes:
        backend: The framework, imported; no device is touched yet.
        device: "gpu" or "cpu".
        devices: How many it may use. On a CPU, so many cores: the process is pinned to them.
        gpu_uuids: Those that it may use, as NVML and CUDA name them; none on a CPU.
        rounds: As in `Probe`.
    """

    backend: Backend
    device: str
    devices: int = 1
    gpu_uuids: tuple[str, ...] = ()
    rounds: int = ROUNDS


Measure = Callable[[Surroundings], Values]


def run_probe(probe: Probe, backend: Backend, device: str, gpu_uuids: tuple[str, ...] = ()) -> Values:
    """Return what a probe measured, by name.

    Args:
        device, gpu_uuids: As in `Surroundings`.
    Raises:
        Unsupported: Its framework has no such probe, or it cannot be measured here.
    """
    name = PLAIN_MODULE if probe.name in WITHOUT_FRAMEWORK else MODULE.format(framework=probe.framework)
    known: Mapping[str, Measure] = importlib.import_module(name).PROBES
    if probe.name not in known:
        raise Unsupported(f"{NAMES[probe.framework]} has no probe of {PROBES[probe.name]}")
    where = Surroundings(
        backend=backend, device=device, devices=probe.devices, gpu_uuids=gpu_uuids, rounds=probe.rounds
    )
    return known[probe.name](where)
