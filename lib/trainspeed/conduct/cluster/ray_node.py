"""Make this machine a node of a fleet: the words with which Ray is started, so that it keeps out of the measurement.

Imports no Ray: it is started as a program. Source: https://docs.ray.io/en/latest/cluster/cli.html#ray-start
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import FrameType

from trainspeed.conduct.cluster import addresses, credentials
from trainspeed.conduct.cluster.node import ENGINE_SETS, MACHINE_NAME, USERS_OWN, resource_of
from trainspeed.conduct.context import SHARES_HEAD
from trainspeed.core.errors import UserError
from trainspeed.sensors.machine import logical_cores
from trainspeed.sensors.processes import adopt_orphans, die_with_parent, end_children

OBJECT_STORE_BYTES = 80_000_000  # about the least that it takes; by default it is 30 % of the memory
# Beside the head's own, which listen on every network of the machine: docs/fleet.md names them for the firewall.
PORTS = {"node-manager-port": 6381, "object-manager-port": 6382, "runtime-env-agent-port": 6383}
WORKER_PORTS = {"min-worker-port": 6400, "max-worker-port": 6499}
# What its defaults do to timings: nice 15 for all runs, a mark for the kernel's memory killer, one of its own, GPUs
# renamed, idle processes beside the first report. Source: src/ray/common/ray_config_def.h
VARIABLES = {
    "RAY_worker_niceness": "0",
    "RAY_worker_oom_score_adjustment": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its warnings name addresses
}
ANOTHER_CLUSTER = "RAY_ADDRESS"  # a user's own; this one is named
STARTED = "Ray runtime started"
CHECK_S = 60.0  # seen: 5 s, most of it for importing; on a busy machine several times that
END_S = 15.0  # seen: 2 s
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ALREADY = (
    "a node or a head runs on this machine already, or another program has one of its ports: end that first. "
    "A head that is to measure as well: make node AS=… MEASURE=1."
)
LOGS = Path("/tmp/ray/session_latest/logs")
NATIVE_LOG = "raylet.err"  # in LOGS: what its main service says as it fails, which is printed nowhere
# Its services wait for one another, and one of them imports for seconds: 15 s are not enough on a busy machine.
TOO_SLOW = re.compile(r"Timed out waiting for file \S*_agent_port|timed out during startup")
VERSIONS = re.compile(r"^\s*(Ray|Python): (\S+)$", re.MULTILINE)
RAY_VERSIONS = re.compile(r"Ray version (\S+) but local Ray version is (\S+)")


def engine_variables() -> dict[str, str]:
    """Return the variables that everything of the fleet needs on this machine.

    Raises:
        UserError: There is no token, or others can read it.
    """
    return {**VARIABLES, **credentials.token_variables()}


def command(machine: str, head: str | None, address: str, *, measures: bool, cpus: int) -> list[str]:
    """Return the words that make this machine a node.

    Args:
        machine: What it is called in fleet.yaml.
        head: The head's `host:port`; None where this is the head.
        address: This node's own.
        measures: Whether runs may be measured here.
        cpus: Number of its cores.
    """
    words = ["start", "--block", "--include-log-monitor", "false", "--disable-usage-stats"]
    words += ["--object-store-memory", str(OBJECT_STORE_BYTES), "--num-cpus", str(cpus if measures else 0)]
    words += ["--resources", f'{{"{resource_of(machine)}": 1}}'] if measures else ["--num-gpus", "0"]
    words += ["--node-ip-address", address]
    for name, port in {**PORTS, **WORKER_PORTS}.items():
        words += [f"--{name}", str(port)]
    if head:
        return [*words, "--address", head]
    return [*words, "--head", "--port", str(addresses.PORT), "--include-dashboard", "false"]


def check_head(head: str) -> tuple[str, int]:
    """Return address and port of a head that answers, has our token and runs our version of Ray.

    Raises:
        UserError: It does not; told within seconds where it refuses, which Ray itself takes 20 of and 20 lines.
    """
    address, port = addresses.parse_head(head)
    environment = _environment(engine_variables())
    addresses.check_answers(address, port)
    words = [_program(), "health-check", "--address", f"{address}:{port}"]
    try:
        asked = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=CHECK_S)
    except subprocess.TimeoutExpired:
        raise UserError(
            f"the head at {address}:{port} did not answer within {CHECK_S:.0f} s: it or this machine is busy: "
            "try again."
        ) from None
    if asked.returncode != 0:
        unknown = f"what answers at {address}:{port} is no head of a fleet: see `make node`."
        raise UserError(why_refused(asked.stdout + asked.stderr) or unknown)
    return address, port


def why_refused(said: str) -> str | None:
    """Return in one line why Ray has refused; None where its words are not known."""
    if "InvalidAuthToken" in said or "AuthenticationError" in said:
        path = credentials.token_path()
        return f"the head has another token than the one here: copy the head's to {path}, mode 600."
    if found := RAY_VERSIONS.search(said):
        return _other_versions(f"Ray {found[1]}", f"Ray {found[2]}")
    if "Version mismatch" in said and len(found := VERSIONS.findall(said)) == 4:
        there, here = (", ".join(" ".join(pair) for pair in pairs) for pairs in (found[:2], found[2:]))
        return _other_versions(there, here)
    if "already running" in said or "already in use" in said or "Failed to bind" in said:
        return ALREADY
    if TOO_SLOW.search(said):
        return "Ray's own services took too long to start, as on a busy machine or from a cold disk: `make node` again."
    return None


def _other_versions(there: str, here: str) -> str:
    return (
        f"the head runs {there}; here are {here}: build the environments of both from the same version of "
        "Trainspeed, with the same Python (make clean, then make node PYTHON=…)."
    )


def start_node(machine: str, head: str | None, address: str | None, *, measures: bool) -> int:
    """Be a node until Ctrl-C; return the exit code.

    Raises:
        UserError: Something is wrong or missing, and nothing has been started.
    """
    if measures and not MACHINE_NAME.fullmatch(machine):
        raise UserError(
            "AS", machine, "must be a machine's name in fleet.yaml, in letters, digits, - _ and ."
        )
    if not Path(_program()).exists():
        raise UserError(
            "what reaches other machines is not installed here: `make node` does it; with conda, "
            "pip install -e '.[fleet]' in the checkout."
        )
    if not head:
        credentials.make_token()
    variables = engine_variables()
    at = check_head(head) if head else None
    own = addresses.own_address(address, at)
    if not head:
        at = own, addresses.PORT
        variables |= {SHARES_HEAD: "1"}
    if addresses.any_taken([*PORTS.values(), *(() if head else (addresses.PORT,))]):
        raise UserError(ALREADY)  # Ray takes 40 s to find out, and its words do not say it
    words = command(
        machine, f"{at[0]}:{at[1]}" if head else None, own, measures=measures, cpus=max(1, logical_cores())
    )
    credentials.remember_head(f"{at[0]}:{at[1]}")
    return _serve(
        words, variables, _welcome(machine, f"{at[0]}:{at[1]}", is_head=not head, measures=measures)
    )


def _welcome(machine: str, head: str, *, is_head: bool, measures: bool) -> str:
    does = f"measures as {machine!r}" if measures else "measures nothing itself"
    if not is_head:
        return f"this machine is a node and {does}. Ctrl-C ends it."
    return (
        f"this machine is the head and {does}. On the others, with its token ({credentials.token_path()}):\n"
        f"  make node AS=<name in fleet.yaml> HEAD={head}\nCtrl-C ends it."
    )


def _serve(words: list[str], variables: dict[str, str], welcome: str) -> int:
    """Run the engine until it ends or a signal comes; leave no process of it."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # What is ignored stays ignored, so that `nohup make node` outlives its terminal.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    adopt_orphans()  # so that what is left of it can be ended
    said, ready, start_s = [], False, time.time()
    process = subprocess.Popen(
        [_program(), *words],
        env=_environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM, parent=os.getpid()),
    )
    try:
        for line in process.stdout:
            said = [*said[-100:], line]
            if STARTED in line and not ready:
                ready = True
                print(welcome, flush=True)
    except KeyboardInterrupt:
        print("\nthis node ends", flush=True)
        return 0
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        end_children()
        for number, handler in before.items():
            signal.signal(number, handler)
    if ready:
        print(
            _line("the head is gone, or the way to it: start `make node` again"), file=sys.stderr, flush=True
        )
        return 1
    raise UserError(
        why_refused("".join(said) + _native_log(start_s)) or f"it did not start; what Ray says is in {LOGS}."
    )


def _native_log(since_s: float) -> str:
    """Return what the engine's main service has written since a time; empty where that is of an earlier start."""
    log = LOGS / NATIVE_LOG
    try:
        return log.read_text(errors="replace") if log.stat().st_mtime >= since_s else ""
    except OSError:
        return ""


def _line(text: str) -> str:
    return f"trainspeed: {text}"


def _program() -> str:
    """Return Ray's program in the environment of this interpreter."""
    return str(Path(sys.executable).with_name("ray"))


def _environment(variables: dict[str, str]) -> dict[str, str]:
    """Return what Ray is started with: the user's own values of what it sets itself are kept for `clean_process`."""
    own = {name: text for name, text in os.environ.items() if name != ANOTHER_CLUSTER}
    kept = {USERS_OWN + name: own[name] for name in ENGINE_SETS if name in own}
    return {**own, **kept, **variables}
