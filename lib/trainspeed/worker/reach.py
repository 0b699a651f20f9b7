"""Whether a framework can compute on the GPUs that it was given, and if not, why, in one line. Knows no framework."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from trainspeed.core.cuda import CUDA_13_CAPABILITY, OLDEST_DRIVER, version_pair
from trainspeed.sensors.nvml import open_nvml
from trainspeed.worker.device_errors import Cause, fault_of
from trainspeed.worker.environment import VISIBLE
from trainspeed.worker.failures import Unsupported, first_line

OR_CPU = "set TRAINSPEED_DEVICE=cpu to train everything on the CPU"


class GpuNotReached(Unsupported):
    """No run of this framework can use the GPUs that are here."""

    cause = Cause.NO_DEVICE


@dataclass(frozen=True, kw_only=True)
class Build:
    """What a framework was built for.

    Attributes:
        framework: Its name in words.
        cuda: Version of CUDA, "13.2"; None of a build for CPUs.
        architectures: What it has kernels for, such as "sm_90" and "compute_90"; empty where it does not tell.
    """

    framework: str
    cuda: str | None
    architectures: tuple[str, ...] = ()

    def serves(self, capability: tuple[int, int]) -> bool:
        """Return whether it has kernels that run at this compute capability, as far as it tells.

        A "sm_" runs on the same major version from its own minor one on; a "compute_" is compiled for whatever is
        newer when it is first used.
        Source: CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility"
        """
        if not self.architectures:
            return (version_pair(self.cuda) or (0, 0)) < (13, 0) or capability >= CUDA_13_CAPABILITY
        known = [(name, version_pair(name)) for name in self.architectures]
        return any(
            pair <= capability and (name.startswith("compute") or pair[0] == capability[0])
            for name, pair in known
            if pair
        )


@dataclass(frozen=True, kw_only=True)
class NvidiaDriver:
    """What the NVIDIA driver says of itself and of the GPUs that this process may see.

    Attributes:
        version: "580.65.06".
        cuda: Newest version of CUDA that it runs, "13.0".
        gpus: Name and compute capability of each GPU that may be seen.
    """

    version: str | None = None
    cuda: str | None = None
    gpus: tuple[tuple[str | None, str | None], ...] = ()


def reach(build: Build, count: Callable[[], int], first_step: Callable[[], object]) -> None:
    """Compute something small on every GPU, so that what cannot be used shows before a model is built.

    Args:
        count: Returns how many GPUs the framework sees; may raise anything.
        first_step: Computes on each GPU of the trial and waits; may raise anything.
    Raises:
        GpuNotReached: It never will, with the reason.
        Exception: What the framework raised, where it may go well another time: memory ran out, the GPU is busy, or
            nobody knows what the text means, and build and driver go together.
    """
    try:
        if count():
            first_step()
            return
    except Exception as problem:
        fault, driver = fault_of(problem), driver_here()
        if fault.for_all if fault else mismatch(build, driver):
            raise GpuNotReached(why_not(build, driver, problem)) from problem
        raise
    raise GpuNotReached(why_not(build, driver_here(), None))


def why_not(build: Build, driver: NvidiaDriver, problem: Exception | None) -> str:
    """Return why a framework cannot use the GPUs that are here, and what to do.

    Args:
        problem: What it raised; None where it just sees none.
    """
    if known := mismatch(build, driver):
        return known
    said = "it sees none" if problem is None else f"{type(problem).__name__}: {first_line(problem)}"
    return f"{build.framework} cannot reach the GPU that is here ({said}): see whether it works alone, or {OR_CPU}"


def mismatch(build: Build, driver: NvidiaDriver) -> str | None:
    """Return why a build cannot use a driver or its GPUs whatever is computed, and what to do; None where it can."""
    built, runs = version_pair(build.cuda), version_pair(driver.cuda)
    cannot = f"{build.framework} cannot reach the GPU that is here"
    if built is None:
        return f"this build of {cannot}: install its CUDA build, or {OR_CPU}"
    if runs and runs[0] < built[0]:
        needed = f"{OLDEST_DRIVER[built[0]]} or newer" if built[0] in OLDEST_DRIVER else "a newer one"
        return (
            f"{cannot}: it was built for CUDA {build.cuda}, and the NVIDIA driver {driver.version or 'here'} runs "
            f"CUDA up to {driver.cuda}: install driver {needed}, or {OR_CPU}"
        )
    for name, text in driver.gpus:
        if (capability := version_pair(text)) and not build.serves(capability):
            listed = ", ".join(build.architectures)
            has = f"it has them for {listed}" if listed else f"CUDA {build.cuda} has none"
            return (
                f"{cannot}: it has no kernels for {name or 'its GPU'} with compute capability {text} ({has}): choose "
                f"another GPU with CUDA_VISIBLE_DEVICES, install another build, or {OR_CPU}"
            )
    return None


def driver_here() -> NvidiaDriver:
    """Return what the driver says, of the GPUs that CUDA_VISIBLE_DEVICES names by UUID."""
    visible: Sequence[str] = os.environ.get(VISIBLE, "").split(",")
    with closing(open_nvml()) as nvml:
        devices = [one for gpu in nvml.gpus for one in (gpu, *gpu.instances) if one.uuid in visible]
        gpus = tuple((gpu.name, gpu.compute_capability) for gpu in devices)
        return NvidiaDriver(version=nvml.driver, cuda=nvml.cuda, gpus=gpus)
