"""Two nodes on this machine: network namespaces of a core each, and a link of a set rate between them.

The namespaces have no names: the kernel drops them, and their ends of the link, with their last process, and that dies
with this one. Addresses exist inside them only. Needs root. Knows no framework: what runs on a node is `one_node.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trainspeed.core.paths import ROOT
from trainspeed.sensors.processes import usable_cores

COMMANDS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
LINK = "link0"  # name of its end on either node
ADDRESSES = ("10.77.0.1", "10.77.0.2")
BURST_BYTES = 1600  # hardly more than a packet: a larger bucket lets small messages through at full speed
QUEUE_BYTES = 8_000_000
PROGRAM = Path(__file__).parent / "one_node.py"
END_S = 60.0


class NotPossible(Exception):
    """There can be no such nodes here; the message says why, in one line."""


class Node:
    """A process in a namespace of its own, on one core, which measures what it is asked to.

    Attributes:
        address: On the link.
    """

    def __init__(self, core: int, address: str) -> None:
        command = ["unshare", "--net", sys.executable, str(PROGRAM), str(core), str(os.getpid())]
        self.address = address
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "lib")},
        )
        self.answer()  # it is inside

    @property
    def pid(self) -> int:
        """Process id, by which its namespace is found."""
        return self._process.pid

    def inside(self, *command: str) -> None:
        """Run a command in its namespace.

        Raises:
            NotPossible: It failed.
        """
        _run(*command, within=["nsenter", f"--net=/proc/{self.pid}/ns/net"])

    def ask(self, **request: Any) -> None:
        """Have something measured; `answer` waits for it."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Mapping[str, Any]:
        """Return what was measured.

        Raises:
            NotPossible: The process has ended.
        """
        if not (line := self._process.stdout.readline()):
            raise NotPossible(
                f"the process in a namespace has ended with exit code {self._process.wait(END_S)}"
            )
        return json.loads(line)

    def close(self) -> None:
        """Have it end what it started, and itself."""
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def obstacle() -> str | None:
    """Return why there can be no two nodes here, in one line; None where there can."""
    missing = {f"{command} ({package})" for command, package in COMMANDS.items() if not shutil.which(command)}
    if missing:
        return f"two nodes need {', '.join(sorted(missing))}"
    if os.geteuid() != 0:
        return "two nodes need network namespaces, which need root"
    if len(usable_cores()) < 2:
        return "two nodes need two CPU cores"
    return None


@contextmanager
def two_nodes() -> Iterator[tuple[Node, Node]]:
    """Yield two nodes with a link between them, which is as fast as the machine until it is shaped.

    Raises:
        NotPossible: There can be none here.
    """
    if reason := obstacle():
        raise NotPossible(reason)
    nodes: list[Node] = []
    try:
        for core, address in zip(usable_cores(), ADDRESSES, strict=False):
            nodes.append(Node(core, address))
        one, other = nodes
        ends = ["netns", str(one.pid), "type", "veth", "peer", "name", LINK, "netns", str(other.pid)]
        _run("ip", "link", "add", LINK, *ends)
        for node in nodes:
            node.inside("ip", "address", "add", f"{node.address}/24", "dev", LINK)
            for device in ("lo", LINK):
                node.inside("ip", "link", "set", device, "up")
        yield one, other
    finally:
        for node in nodes:
            node.close()


def shape(nodes: tuple[Node, Node], rate_mbit: float) -> None:
    """Have the link carry so many megabits a second in either direction: by a bucket of tokens of a packet.

    Source: https://man7.org/linux/man-pages/man8/tc-tbf.8.html
    """
    limits = ["rate", f"{rate_mbit}mbit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES)]
    for node in nodes:
        node.inside("tc", "qdisc", "replace", "dev", LINK, "root", "tbf", *limits)


def _run(*command: str, within: Sequence[str] = ()) -> None:
    done = subprocess.run([*within, *command], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise NotPossible(f"`{' '.join(command[:3])}` could not set up two nodes: {said}")
