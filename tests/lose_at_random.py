"""Lose parts of a real fleet at random moments of a report, and see that nothing is lost and nothing is left.

    .venv/bin/python tests/lose_at_random.py           # 20 reports, a loss in each; as root
    .venv/bin/python tests/lose_at_random.py --losses 4 --seed 7

Two nodes in two network namespaces of this machine, reached by Ray, share the blocks of `layout` with the smoke preset,
on a backend that only pretends. In each report an actor or a raylet is killed, the link goes down, or the head is
killed. Then every line of the ledger must be whole and still there, RESUME measures what is left and no finished block
again, no block is of two nodes; at the end no process, namespace or port is left. No test: run by hand.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml

from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Run, Status

ROOT = Path(__file__).resolve().parents[1]
LOSSES = ("actor", "raylet", "link", "head")
NAMESPACES = ("losea", "loseb")
ADDRESSES = ("10.78.0.1", "10.78.0.2")
VARIABLE = "TRAINSPEED_LOST_FLEET"  # every process of it has it
PARAMETERS = {"layout": {"frameworks": ["torch"], "blocks": 6}}
PRETENDED = """import contextlib
with contextlib.suppress(ImportError):
    from trainspeed.worker import backends
    backends.MODULES.update(dict.fromkeys(backends.MODULES, "fake_backend"))
"""
LONGEST_S, STARTS_S, GONE_S = 400.0, 90.0, 90.0


def ip(*words: str) -> None:
    """Run the program that makes namespaces."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


def pids_in(namespace: str) -> list[int]:
    """Return the processes in a network namespace; none where it is gone."""
    told = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True)
    return [int(word) for word in told.stdout.split()]


@dataclass
class TwoNodes:
    """Two namespaces, a head that measures in the first and a node in the second."""

    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> TwoNodes:
        sites = self.folder / "pretended"
        sites.mkdir()
        (sites / "sitecustomize.py").write_text(PRETENDED)
        for namespace in NAMESPACES:
            ip("netns", "add", namespace)
        a, b = NAMESPACES
        ip("link", "add", "lva", "netns", a, "type", "veth", "peer", "name", "lvb", "netns", b)
        for namespace, link, address in zip(NAMESPACES, ("lva", "lvb"), ADDRESSES, strict=True):
            ip("-n", namespace, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", namespace, "link", "set", "lo", "up")
            ip("-n", namespace, "link", "set", link, "up")
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()
        for namespace in NAMESPACES:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", namespace)

    def python(self, namespace: str, *words: str, log: str) -> subprocess.Popen[bytes]:
        """Start `python -m trainspeed` in a namespace."""
        paths = [self.folder / "pretended", ROOT / "tests", ROOT / "lib"]
        environment = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
        environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "HOME": str(self.folder)}
        environment |= {"TRAINSPEED_LOCKS": "", "TRAINSPEED_DEVICE": "cpu", VARIABLE: str(self.folder)}
        environment |= {"TRAINSPEED_PYTHON_TORCH": sys.executable, "RAY_TMPDIR": str(self.folder)}
        command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "trainspeed", *words]
        with (self.folder / log).open("ab") as file:
            return subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
            )

    def start(self) -> None:
        """Start the head and the node, and wait until both are there."""
        (a, b), (head, other) = NAMESPACES, ADDRESSES
        ip("-n", b, "link", "set", "lvb", "up")
        for namespace, words in (
            (a, ["--measure", "--address", head]),
            (b, ["--head", head, "--address", other]),
        ):
            log = self.folder / f"{namespace}.log"
            log.unlink(missing_ok=True)
            self.running.append(self.python(namespace, "node", "--as", "box", *words, log=log.name))
            until_s = time.monotonic() + STARTS_S
            while "measures as" not in log.read_text():
                if self.running[-1].poll() is not None or time.monotonic() > until_s:
                    raise RuntimeError(f"the node in {namespace} does not start: {log.read_text()}")
                time.sleep(0.2)

    def stop(self) -> list[str]:
        """End both, as Ctrl-C would; return what is left then, which is killed."""
        for process in self.running:
            process.terminate()
        self.running.clear()
        until_s = time.monotonic() + GONE_S
        while (left := self.left()) and time.monotonic() < until_s:
            time.sleep(0.5)
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        return [f"process {process.pid} is left" for process in left]

    def left(self) -> list[psutil.Process]:
        """Return all processes of the fleet, in a namespace or not."""
        pids = {pid for namespace in NAMESPACES for pid in pids_in(namespace)}
        return [process for process in psutil.process_iter() if process.pid in pids or self._is_mine(process)]

    def _is_mine(self, process: psutil.Process) -> bool:
        try:
            mine = process.environ().get(VARIABLE) == str(self.folder)
            return mine and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def lose(self, what: str) -> bool:
        """Lose something; return whether it was there."""
        if what == "link":
            ip("-n", NAMESPACES[1], "link", "set", "lvb", "down")
            return True
        namespaces = {"actor": NAMESPACES, "raylet": NAMESPACES[1:], "head": NAMESPACES[:1]}[what]
        name = {"actor": "ray::_Actor", "raylet": "raylet", "head": "gcs_server"}[what]
        found = []
        for pid in (pid for namespace in namespaces for pid in pids_in(namespace)):
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                words = process.cmdline()
                if words and (Path(words[0]).name == name or words[0].startswith(f"{name}")):
                    found.append(process)
        for process in random.sample(found, min(1, len(found))):
            process.kill()
        return bool(found)

    def report(self, out: Path, *, resume: bool = False) -> subprocess.Popen[bytes]:
        """Start the report of the fleet."""
        (self.folder / "fleet.yaml").write_text("machines: {box: {nodes: 2}}\n")
        (self.folder / "params.yaml").write_text(yaml.safe_dump(PARAMETERS))
        words = [
            "fleet",
            "--fleet",
            str(self.folder / "fleet.yaml"),
            "--head",
            ADDRESSES[0],
            "--out",
            str(out),
        ]
        words += ["--preset", "smoke", "--notebooks", "layout", "--params", str(self.folder / "params.yaml")]
        log = f"{out.name}.log"
        return self.python(NAMESPACES[0], *words, *["--resume"] * resume, log=log)


def whole(runs: Sequence[Run], planned: Collection[object]) -> dict[int, set[str | None]]:
    """Return block -> the nodes that have all of its runs.

    Args:
        planned: (block, label, trial) of every run.
    """
    needed, found = defaultdict(set), defaultdict(lambda: defaultdict(set))
    for label, block, trial in planned:
        needed[block].add((label, trial))
    for run in runs:
        if run.status is Status.OK:
            found[run.block][run.node].add((run.label, run.trial))
    return {b: {n for n, keys in found[b].items() if keys >= needed[b]} for b in needed if found[b]}


def lost(before: Sequence[Run], after: Sequence[Run], planned: Collection[object]) -> list[str]:
    """Return what is wrong with a ledger after a resume, given that of the moment of the loss."""
    wrong = [] if list(after[: len(before)]) == list(before) else ["lines of the ledger are gone"]
    finished = {block for block, nodes in whole(before, planned).items() if nodes}
    again = {run.block for run in after[len(before) :]} & finished
    wrong += [f"block {block} was finished, and was measured again" for block in sorted(again)]
    done = whole(after, planned)
    missing = {key[1] for key in planned} - {block for block, nodes in done.items() if nodes}
    return wrong + [f"block {block} is whole on no node" for block in sorted(missing)]


def check(nodes: TwoNodes, out: Path, what: str, after_s: float, planned: Collection[object]) -> list[str]:
    """Return what is wrong after a loss and a resume; nothing where all is well."""
    running, wrong = nodes.report(out), []
    time.sleep(after_s)
    while not nodes.lose(what) and running.poll() is None:
        time.sleep(0.1)
    try:
        running.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        wrong.append(f"the report did not end within {LONGEST_S:g} s")
        running.kill()
    before, doubts = Ledger(out / "box").read()
    wrong += doubts
    wrong += nodes.stop()
    nodes.start()
    if running.returncode:
        again = nodes.report(out, resume=True)
        again.wait(LONGEST_S)
        wrong += [f"after RESUME the report ended with {again.returncode}"] if again.returncode else []
    return wrong + lost(before, Ledger(out / "box").read()[0], planned)


def main() -> int:
    """Return 0 where nothing was lost or left by any loss, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--losses", type=int, default=20, help="how many reports")
    parser.add_argument("--seed", type=int, default=0, help="of losses and moments")
    parser.add_argument("--of", nargs="*", default=LOSSES, choices=LOSSES, help="what is lost")
    asked = parser.parse_args()
    random.seed(asked.seed)
    passed = 0
    with tempfile.TemporaryDirectory(prefix="lost-") as folder, TwoNodes(Path(folder)) as nodes:
        nodes.start()
        begun_s = time.time()
        running = nodes.report(Path(folder) / "whole")
        running.wait(LONGEST_S)
        runs = Ledger(Path(folder) / "whole/box").read()[0]
        planned = {run.key for run in runs}
        if running.returncode or not runs or not all(whole(runs, planned).values()):
            print((Path(folder) / "whole.log").read_text(), file=sys.stderr)
            return 1
        length_s = (Path(folder) / "whole/box/runs.jsonl").stat().st_mtime - begun_s
        on = {node: sum(run.node == node for run in runs) for node in sorted({run.node for run in runs})}
        print(f"a report measures {length_s:.0f} s: {len(runs)} runs, {on}", flush=True)
        for number in range(1, asked.losses + 1):
            what, after_s = random.choice(asked.of), random.uniform(0, length_s)
            wrong = check(nodes, Path(folder) / str(number), what, after_s, planned)
            passed += not wrong
            print(f"{number}: {what} after {after_s:.1f} s: {'; '.join(wrong) or 'passed'}", flush=True)
        left = nodes.stop()
    left += [f"namespace {name} is left" for name in NAMESPACES if Path(f"/run/netns/{name}").exists()]
    print(*left, f"{passed} of {asked.losses} passed", sep="\n")
    return int(passed < asked.losses or bool(left))


if __name__ == "__main__":
    sys.exit(main())
