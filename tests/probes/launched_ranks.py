"""Two ranks, each the only one of its node, as torchrun or srun starts them, in the worker's own environment."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping

from probes import gang_sums  # noqa: F401 - each rank writes what it has learned
from trainspeed.sensors.network import free_port
from trainspeed.worker.backends import torchrun

LOCALHOST = "127.0.0.1"


def variables(launcher: str, rank: int, port: int) -> Mapping[str, str]:
    """Return what a launcher sets for the only rank of a node."""
    meeting = {"MASTER_ADDR": LOCALHOST, "MASTER_PORT": str(port)}
    if launcher == "torchrun":
        return meeting | {"RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
    own = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": "0", "SLURM_NODEID": str(rank)}
    return own | {
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "2",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NODELIST": "node[1-2]",
        **meeting,
    }


def main(launcher: str, trial: str) -> None:
    """Train a trial in a JSON file."""
    port, children = free_port(LOCALHOST), []
    for rank in (0, 1):
        if not (pid := os.fork()):
            code = 1
            try:
                os.environ.update(variables(launcher, rank, port))
                sys.argv = ["torchrun", trial]
                torchrun.main()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        children.append(pid)
    ended = [os.waitpid(pid, 0)[1] for pid in children]
    if any(ended):
        raise SystemExit(f"a rank of {launcher} failed")
