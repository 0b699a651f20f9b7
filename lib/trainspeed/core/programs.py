"""Compiled programs that later runs of a session take again: of which trials, in which runs, and what that saves.

On a CPU, torch.compile makes C++ of a graph and has it compiled: three quarters of a first epoch, and the same programs
each time; the graph itself is traced and lowered in every run. JAX has each operation compiled with which a model is
built, and the step: ten seconds of a small model, one of which is tracing. Nothing is chosen by timing there, as it is
on a GPU, so that blocks share no draw. On a GPU JAX takes again only those with which it builds a model: they fill
weights, and nothing in them is chosen by timing either.
"""

from __future__ import annotations

from statistics import median_low

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import OF_SEARCH, Role, Run
from trainspeed.core.trial import Trial

# Looked at beside a plain trial, and so that it is seen what compiling takes.
ALONE = {Role.FEASIBLE, Role.SLOW_WAY}
# Of what a first epoch takes longer than a later one, with JAX of building a model, too. Measured with cnn10: in bf16
# by torch.compile on 2 cores, 27.4 s with and 7.1 to 7.9 s without compiling the programs, 0.71 to 0.74; with JAX on
# one core, 9.5 to 10.2 s with and 1.4 s without, 0.87 to 0.89.
SHARE = {"torch": 0.7, "jax": 0.85}
COMPILES_AS_IT_BUILDS = "jax"


def makes_programs(trial: AnyTrial, device: str) -> bool:
    """Return whether a run of a trial makes programs that another one can take.

    Args:
        device: "gpu" or "cpu": what it trains on.
    """
    # Of several nodes each has a folder of its own, and JAX has the first one alone keep programs: one that has none
    # would have the others wait.
    if not isinstance(trial, Trial) or device != "cpu" or trial.nodes > 1:
        return False
    return trial.framework == "jax" or (trial.framework == "torch" and trial.compile)


def builds_with_programs(trial: AnyTrial, device: str) -> bool:
    """Return whether a run takes programs of earlier ones to build its model with, and compiles its steps anew.

    Args:
        device: "gpu" or "cpu": what it trains on.
    """
    return isinstance(trial, Trial) and (device, trial.framework, trial.nodes) == ("gpu", "jax", 1)


def compiles_anew(label: str, block: int) -> bool:
    """Return whether a run is to take no program of an earlier one, so that its first epoch tells what compiling takes.

    In the first block all do, but what a search tries together, each set of switches once or a few times.
    """
    role = Role.of(label)
    return block == 0 and (role not in OF_SEARCH or role in ALONE)


def again_s(run: Run) -> float:
    """Return the seconds that a later run of a run's trial is busy, by this one."""
    trial = run.trial
    if not run.compiled_anew or not makes_programs(trial, run.machine.get("device", "")):
        return run.busy_s
    # The lower median: a burst may have had the second epoch.
    compiling_s = max(0.0, run.epoch_s[0] - median_low(later)) if (later := run.later_epoch_s) else 0.0
    if trial.framework == COMPILES_AS_IT_BUILDS:
        compiling_s += run.stages_s.get("build", 0.0)
    return run.busy_s - SHARE[trial.framework] * compiling_s
