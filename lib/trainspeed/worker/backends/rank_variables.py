"""The variables by which ranks find one another, torch's `env://`, whoever starts the ranks. Knows no framework.

Source: https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from trainspeed.sensors.network import address_towards, free_port, interface_of
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.gang import Gang

LOCALHOST = "127.0.0.1"
# What tells gloo and NCCL which network interface to use; NCCL takes "=" for: the one with exactly this name.
GLOO_INTERFACE, NCCL_INTERFACE = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"
SLURM_PORTS = range(15000, 29000)  # below those that systems give out by themselves
FIRST_HOST = re.compile(r"([^,\[]+)(?:\[(\d+)[^\]]*\]([^,]*))?")  # of "gpu[07-09,12]-ib,other"


def meeting_point(ranks: int, gang: Gang | None) -> dict[str, str]:
    """Return what all ranks on this node share.

    Args:
        ranks: Their number, on all nodes together.
        gang: The nodes; None where the ranks are all here.
    Raises:
        Unsupported: Ranks that are all here cannot reach one another: they would go on trying for minutes.
    """
    if not gang and address_towards(LOCALHOST) is None:
        raise Unsupported(
            f"the loopback interface ({LOCALHOST}), over which ranks meet, is down: bring it up, `ip link set lo up`"
        )
    address, port = (gang.addresses[0], gang.port) if gang else (LOCALHOST, free_port(LOCALHOST))
    nodes, node = (gang.nodes, gang.node) if gang else (1, 0)
    variables = {"MASTER_ADDR": address, "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    variables |= {"LOCAL_WORLD_SIZE": str(ranks // nodes), "GROUP_RANK": str(node)}
    if gang and gang.interface:
        variables |= {GLOO_INTERFACE: gang.interface, NCCL_INTERFACE: f"={gang.interface}"}
    return variables


def own_interface(variables: Mapping[str, str]) -> dict[str, str]:
    """Return which interface gloo uses, where nothing says it: the one on the way to the meeting point.

    By itself it takes the one that has the address of the host's name, which may be one that no other machine reaches.
    """
    if GLOO_INTERFACE in variables or sys.platform != "linux":
        return {}
    if (meeting := variables["MASTER_ADDR"]) == LOCALHOST:
        return {GLOO_INTERFACE: "lo"}
    address = address_towards(meeting)
    name = address and interface_of(address)
    return {GLOO_INTERFACE: name} if name else {}


def of_slurm(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what torchrun would set, from what `srun` sets for a task; nothing outside of `srun`.

    What is set already stays, such as MASTER_ADDR where the host's name is not the way to it.
    Source: https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
    """
    if "RANK" in variables or "SLURM_PROCID" not in variables:
        return {}
    nodes = int(variables.get("SLURM_STEP_NUM_NODES") or variables["SLURM_NNODES"])
    tasks = int(variables.get("SLURM_STEP_NUM_TASKS") or variables["SLURM_NTASKS"])
    step = int(variables.get("SLURM_STEP_ID", 0))
    own = {
        "RANK": variables["SLURM_PROCID"],
        "LOCAL_RANK": variables["SLURM_LOCALID"],
        "WORLD_SIZE": str(tasks),
        "LOCAL_WORLD_SIZE": str(tasks // nodes),
        "GROUP_RANK": variables["SLURM_NODEID"],
        "MASTER_ADDR": _first_host(variables.get("SLURM_STEP_NODELIST") or variables["SLURM_JOB_NODELIST"]),
        # The same on all nodes, and another one for each job and each step of it.
        "MASTER_PORT": str(SLURM_PORTS[(int(variables["SLURM_JOB_ID"]) + 997 * step) % len(SLURM_PORTS)]),
    }
    return {name: value for name, value in own.items() if name not in variables}


def _first_host(nodes: str) -> str:
    """Return the first of SLURM's list of nodes: "gpu07-ib" of "gpu[07-09,12]-ib,other"."""
    prefix, number, suffix = FIRST_HOST.match(nodes).groups()
    return f"{prefix}{number or ''}{suffix or ''}"
