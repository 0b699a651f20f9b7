"""How long a convolution may take and how much memory, before it is measured. Rough, and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainspeed.conv2d_trial import CPU_LIBRARIES, Conv2dTrial
from trainspeed.errors import UserError

# Of one convolution, roughly: what a CPU library computes in a second, and how long it takes to call it once.
CONV2D_FLOP_PER_S = {"scipy_signal": 4e8, "scipy_ndimage": 6e8, "scipy_fft": 8e8, "scipy_oaconvolve": 3e8}
CONV2D_FLOP_PER_S |= {"opencv": 3e9}
CPU_BYTES_PER_S, PLANE_S = 3e9, 1e-5
DEVICE_FLOP_PER_S = 1e10  # of a framework on one CPU core with few channels; a GPU is faster
START_S, LOOP_S = 0.4, 0.2  # of a run, until its first call; of each loop of warm calls
COPIES = 3


def call_s(trial: Conv2dTrial) -> float:
    """Return about how long a call takes on one CPU core, in seconds: a device may well be faster."""
    rate = CONV2D_FLOP_PER_S.get(trial.library, DEVICE_FLOP_PER_S)
    planes = trial.images * trial.channels * trial.filters if trial.library in CPU_LIBRARIES else 1
    return planes * PLANE_S + trial.flops / rate + trial.bytes / CPU_BYTES_PER_S


def run_s(trial: Conv2dTrial) -> float:
    """Return about how long a first call and the loops of warm calls take, in seconds."""
    one_s = call_s(trial)
    loops = 1 if trial.library in CPU_LIBRARIES else 3
    return START_S + one_s + loops * max(one_s, min(trial.calls * one_s, LOOP_S))


def check_memory(trial: Conv2dTrial, allowance_bytes: int, gpus: Sequence[Mapping[str, Any]] = ()) -> None:
    """Raise a UserError where a run takes more memory than it may have, of the host's or of a GPU's.

    In the host's stand the images, a padded copy or the device's, and as many results: an earlier one, too.

    Args:
        gpus: Those that are used, with `memory_bytes`; None where it is not known.
    """
    _check("memory", COPIES * (trial.input_bytes + trial.output_bytes), allowance_bytes, trial)
    there = [gpu["memory_bytes"] for gpu in gpus[: trial.devices] if gpu.get("memory_bytes")]
    if there and not trial.on_cpu:
        _check("a GPU's memory", trial.device_bytes, min(there), trial)


def _check(what: str, needed: int, there: int, trial: Conv2dTrial) -> None:
    if needed > there:
        size = f"{trial.height}x{trial.width}x{trial.channels}"
        raise UserError(
            f"{trial.images} images of {size} with {trial.filters} filter{'s' * (trial.filters > 1)} need about "
            f"{needed / 1e9:.1f} GB of {what}, and {there / 1e9:.1f} GB are there for a run: lower images, channels "
            "or filters."
        )
