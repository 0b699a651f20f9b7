"""Two ranks under torchrun's own agent, in forks of a process that has imported torch: the rest is torchrun's.

Keeps all that agent and ranks say. In a rank nothing of Trainspeed's is imported, as where torchrun starts Python.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from dataclasses import replace

import torch
from torch.distributed import run
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from probes.pasted_program import keep_what_is_said


def rank(program: str, *arguments: str) -> None:
    """Run a file, or a module, with the variables that the agent has set."""
    torch.set_num_threads(1)  # as torchrun's OMP_NUM_THREADS would have
    for name in [name for name in sys.modules if name.partition(".")[0] in ("trainspeed", "probes")]:
        del sys.modules[name]
    sys.argv = [program, *arguments]
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main(said: str, *command: str) -> None:
    """Do as `torchrun` with these arguments does."""
    keep_what_is_said(said)
    options = run.parse_args(command)

    def launched(config: LaunchConfig, entrypoint: object) -> Callable[..., object]:
        agent = elastic_launch(replace(config, start_method="fork"), rank)
        return lambda *_: agent(options.training_script, *options.training_script_args)

    run.elastic_launch = launched
    run.run(options)
