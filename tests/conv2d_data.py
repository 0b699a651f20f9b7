"""Made-up runs of convolutions from planted seconds: exact numbers, no noise, nothing is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trainspeed.articles.claims import Result, claims
from trainspeed.articles.text import reason
from trainspeed.core.convolution import CPU_LIBRARIES, Conv2dTrial
from trainspeed.core.run import Run, Status
from trainspeed.judge.roofline import Ceiling
from trainspeed.studies.conv2d.answers import EXPERIMENTS, Measurements
from trainspeed.studies.conv2d.sweeps import Sweep, SweepGrid, crossovers
from trainspeed.studies.conv2d.trials import core_trials, library_trial

ARTICLE_SIZE = {"images": 840, "height": 100, "width": 100}
CPU_MACHINE = {"device": "cpu", "cpu": "Test CPU", "gpus": [], "memory_bytes": 16 * 10**9}
GPU = {"name": "Test GPU", "memory_bytes": 80 * 10**9}
GPU_MACHINE = {**CPU_MACHINE, "device": "gpu", "gpus": [GPU] * 4}
VERSIONS = {
    "tensorflow": {"tensorflow": "2.21.0", "keras": "3.12.0", "cuda": "12.9"},
    "torch": {"torch": "2.15.0", "cuda": "13.0"},
    "jax": {"jax": "0.10.2", "keras": "3.13.0"},
    "scipy": {"scipy": "1.17.1", "opencv": "4.13.0"},
}
# Of a warm call that waits after each stage: its shares, which add up to 1.
SHARES = {"to_device": 1 / 8, "kernel": 1 / 2, "from_device": 1 / 4, "gather": 1 / 8}
CONTEXT_S, IMPORT_S, FIRST = 1.0, 2.0, 4  # the first call's stages take so many times as long as warm ones
BLOCKS = 6  # enough for an interval
# 1 GFLOP/s and 0.1 GB/s: a convolution of 2.25 FLOP per byte is limited by memory.
ROOF = {"fp32": Ceiling(precision="fp32", conv_flop_per_s=1e9, bandwidth_bytes_per_s=1e8)}

Seconds = Callable[[Conv2dTrial, int], float | None]


def make_trial(spec: str = "tensorflow", **changed: Any) -> Conv2dTrial:
    """Return a trial of the article's size that differs from it as told."""
    return library_trial(spec, **{**ARTICLE_SIZE, **changed})


def make_run(
    trial: Conv2dTrial,
    seconds: float = 1.0,
    *,
    block: int = 0,
    shares: Mapping[str, float] = SHARES,
    resident: float | None = 0.5,
    first: float | None = None,
    status: Status = Status.OK,
    **more: Any,
) -> Run:
    """Return a run whose warm calls took so many seconds.

    Args:
        shares: Of the warm stages.
        resident: Share of a call that is left when the data stay; None: it was not measured. A library of
            the CPU has nothing to send, and neither this nor warm stages.
        first: Seconds of the first call, without the import; by default a context and then slower stages.
    """
    staged = trial.library not in CPU_LIBRARIES
    cold = {stage: FIRST * seconds * share for stage, share in SHARES.items()}
    context = CONTEXT_S if first is None else first - sum(cold.values())
    measured = {
        "call_s": (1.5 * seconds, seconds, 0.5 * seconds),
        "resident_s": (resident * seconds,) * 3 if staged and resident else (),
        "warm_s": {stage: (share * seconds,) * 3 for stage, share in shares.items()} if staged else {},
        "stages_s": {"start": 0.25, "context": context, **cold, "check": 8.0, "warm": 30 * seconds},
        "import_s": IMPORT_S,
        "placement": "GPU:0" if staged else "cpu",
    }
    fields = {
        "session": "20261120T100000Z-abcd",
        "study": "conv2d",
        "trial": trial.in_block(block),
        "block": block,
        "status": status,
        "machine": CPU_MACHINE,
        "versions": VERSIONS[trial.framework],
        **(measured if status == Status.OK else {"reason": "for a test"}),
    }
    return Run(**{**fields, **more})


def make_runs(
    trials: Iterable[Conv2dTrial], seconds: Seconds | float, *, blocks: int = BLOCKS, **more: Any
) -> list[Run]:
    """Return a run of each trial in each block; `seconds` of a trial and a block, None where it did not run."""
    runs = []
    for block in range(blocks):
        for trial in trials:
            took = seconds(trial, block) if callable(seconds) else seconds
            if took is not None:
                runs.append(make_run(trial, took, block=block, **more))
    return runs


def by_library(**seconds: float) -> Seconds:
    """Return planted seconds by the library's name alone."""
    return lambda trial, block: seconds[trial.library]


SECONDS = by_library(tensorflow=4.0, torch=1.0, scipy_signal=2.0, opencv=0.5)


def shared(trial: Conv2dTrial, block: int) -> float:
    """Return `SECONDS` where devices share the work, but for half a second of TensorFlow."""
    alone = SECONDS(trial, block)
    return alone / trial.devices + (0.5 if trial.library == "tensorflow" and trial.devices > 1 else 0)


PAIR = (["tensorflow"], ["scipy_signal"])
SWEEP_SIZE = {**ARTICLE_SIZE, "images": 12, "filter_size": 3}
Libraries = tuple[Sequence[str], Sequence[str]]  # (devices', CPU's)


# For sweeps.


def grid(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sizes: Mapping[str, Sequence[int]],
    *,
    filters: int = 0,
    longest_call_s: float = 1e9,
    **equal: int,
) -> SweepGrid:
    """Return a grid of sweeps in which, by default, no call takes too long."""
    return SweepGrid(
        device_libraries=device_libraries,
        cpu_libraries=cpu_libraries,
        sizes=sizes,
        equal=equal,
        filters=filters,
        longest_call_s=longest_call_s,
    )


def planted(factor: str, a: float, b: float, c: float) -> Seconds:
    """Return seconds by the size: a + b n on a device, c n on the CPU."""
    return lambda trial, block: (
        c * getattr(trial, factor) if trial.library in CPU_LIBRARIES else a + b * getattr(trial, factor)
    )


def swept(
    factor: str,
    values: Sequence[int],
    seconds: Seconds | float,
    *,
    filters: int = 0,
    libraries: Libraries = PAIR,
    blocks: int = BLOCKS,
) -> list[Run]:
    """Return the runs of a sweep."""
    trials = grid(*libraries, {factor: values}, filters=filters, **SWEEP_SIZE).trials()
    return make_runs(trials, seconds, blocks=blocks)


def look(
    runs: Sequence[Run],
    factor: str,
    values: Sequence[int],
    *,
    filters: int = 0,
    libraries: Libraries = PAIR,
) -> list[Sweep]:
    """Return what was found in a sweep, for each pair of libraries."""
    return crossovers(runs, grid(*libraries, {factor: values}, filters=filters, **SWEEP_SIZE))


# For the article's findings and guesses.

ARTICLE_LIBRARIES = ["tensorflow", "torch", "scipy_signal", "opencv"]
CORE = core_trials(ARTICLE_LIBRARIES, ["tensorflow"], [1, 2, 4], **ARTICLE_SIZE)
NOISE = (0.5, 2.0, 0.5, 2.0, 0.5, 2.0)  # an interval from half to twice


def asked(
    claim: str,
    runs: Sequence[Run],
    *,
    core: Sequence[Conv2dTrial] = CORE,
    machine: Mapping[str, Any] = GPU_MACHINE,
    sweeps: Mapping[str, Sequence[int]] | None = None,
    filters: int = 0,
) -> tuple[Result, str]:
    """Return what this machine says of one statement of the article, and why."""
    sweeps = sweeps or {}
    held = Measurements(
        runs=runs,
        machine=machine,
        core=core,
        grid=grid(*PAIR, sweeps, filters=filters, **SWEEP_SIZE),
    )
    stated = next(c for c in claims("conv2d") if c.id == claim)
    answer = EXPERIMENTS[claim](stated, held)
    return answer.result, reason(answer)


def world(core: Sequence[Conv2dTrial] = CORE, blocks: int = BLOCKS, **seconds: float) -> list[Run]:
    """Return runs of the core whose seconds are by library (else 4), shared evenly by devices."""
    of = {**dict.fromkeys(ARTICLE_LIBRARIES, 4.0), **seconds}
    return make_runs(core, lambda trial, block: of[trial.library] / trial.devices, blocks=blocks)


def planted_world(core=CORE, blocks=BLOCKS, resident=1.0, first=0.1, **seconds: float) -> list[Run]:
    """Return runs of the core in which nothing gains, but for what is planted: seconds by library (else 4)."""
    of = {**dict.fromkeys(ARTICLE_LIBRARIES, 4.0), **seconds}
    return make_runs(core, by_library(**of), blocks=blocks, resident=resident, first=first)


def on_cores(runs: Iterable[Run]) -> list[Run]:
    """Return the runs as on a machine of which no GPU was used."""
    return [replace(run, placement="CPU:0") for run in runs]


def noisy_arm(library: str, field: str = "library") -> list[Run]:
    """Return runs in which one arm is now half, now twice as slow as the others."""
    return make_runs(CORE, lambda t, block: NOISE[block] if getattr(t, field) == library else 1.0)
