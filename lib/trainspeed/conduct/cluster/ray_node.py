"""Make this machine a node of a fleet: the words with which Ray is started, so that it keeps out of the measurement.

Imports no Ray: it is started as a program. Source: https://docs.ray.io/en/latest/cluster/cli.html#ray-start
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.sensors.machine import logical_cores

PORT = 6379
OBJECT_STORE_BYTES = 80_000_000  # about the least that it takes; by default it is 30 % of the memory
# What its defaults do to timings: nice 15 for all runs, a memory killer, a mark for the kernel's; GPUs renamed.
VARIABLES = {
    "RAY_worker_niceness": "0",
    "RAY_worker_oom_score_adjustment": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    "RAY_AUTH_MODE": "token",
}
TOKEN_VARIABLE = "RAY_AUTH_TOKEN_PATH"
TOKEN = Path("~/.trainspeed/token")  # the same on all nodes: whoever has it runs code on them


def token_path() -> Path:
    """Return where the token of the fleet lies on this machine."""
    return Path(os.environ.get(TOKEN_VARIABLE) or TOKEN).expanduser()


def make_token() -> Path:
    """Make a token where there is none yet, for this user's eyes only, and return its path."""
    path = token_path()
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    return path


def with_token() -> dict[str, str]:
    """Return the variables that everything of the fleet needs on this machine.

    Raises:
        UserError: There is no token.
    """
    path = token_path()
    if not path.is_file():
        raise UserError(
            f"no token in {path}: copy it from the head, where `make node` without HEAD has made it, mode 600."
        )
    return {**VARIABLES, TOKEN_VARIABLE: str(path)}


def command(machine: str, head: str | None, address: str | None, *, measures: bool, cpus: int) -> list[str]:
    """Return the command that makes this machine a node.

    Args:
        machine: What it is called in fleet.yaml.
        head: The head's `host:port`; None where this is the head.
        address: This node's own; None for what Ray finds.
        measures: Whether runs may be measured here.
        cpus: Number of its cores.
    """
    words = ["start", "--block", "--include-log-monitor", "false", "--disable-usage-stats"]
    words += ["--object-store-memory", str(OBJECT_STORE_BYTES), "--num-cpus", str(cpus if measures else 0)]
    words += ["--resources", f'{{"{machine}": 1}}'] if measures else []
    words += ["--node-ip-address", address] if address else []
    words += ["--address", head] if head else ["--head", "--port", str(PORT), "--include-dashboard", "false"]
    return words


def start(machine: str, head: str | None, address: str | None, *, measures: bool) -> int:
    """Be a node until Ctrl-C; return the exit code.

    Raises:
        UserError: There is no token, or a name is missing.
    """
    if measures and not machine:
        raise UserError("AS", machine, "is no name of a machine in fleet.yaml: make node AS=a10g HEAD=…")
    if not head:
        make_token()
    environment = {**os.environ, **with_token()}
    words = command(machine, head, address, measures=measures, cpus=logical_cores())
    program = Path(sys.executable).with_name("ray")
    return subprocess.run([str(program), *words], env=environment).returncode
