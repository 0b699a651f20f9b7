"""Kill processes of a report with SIGKILL at random moments, and see that nothing is lost and nothing is left.

    nice .venv/bin/python tests/kill_at_random.py               # 20 reports, a victim in each
    nice .venv/bin/python tests/kill_at_random.py --kills 5 --seed 7

Each report measures `layout` with the smoke preset, on a model whose every run starts a process that makes itself a
session of its own and is deaf to SIGTERM. After the kill all processes must be gone, and every line of the ledger
be whole and still there; RESUME must then measure what is left, and no finished block again. No test: run by hand.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Run, Status

ROOT = Path(__file__).resolve().parents[1]
VICTIMS = ("report", "runner", "worker", "reaper", "arm", "other", "everything")
VARIABLE = "TRAINSPEED_KILLED_REPORT"  # every process of a report has it: the report's folder
PARAMETERS = {"layout": {"frameworks": ["torch"], "blocks": 3}}
MODEL = "tests/probes/own_daemon.py:convolution"
GONE_S = 30.0  # the kernel looks once a second whether its parent is still there
LONGEST_S = 600.0  # of a whole report


class NobodyToKill(Exception):
    """The report ended before its victim began."""


@dataclass(frozen=True)
class Report:
    """A report in a folder of its own, and the processes that it started."""

    out: Path

    def start(self, *, resume: bool = False) -> subprocess.Popen[bytes]:
        """Start to measure what is not measured yet."""
        parameters = self.out.with_suffix(".yaml")
        parameters.write_text(yaml.safe_dump(PARAMETERS))
        command = [sys.executable, "-m", "trainspeed", "report", "--preset", "smoke", "--notebooks", "layout"]
        command += ["--params", str(parameters), "--model", MODEL, "--out", str(self.out)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib"), "TRAINSPEED_DEVICE": "cpu"}
        with self.out.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                [*command, *["--resume"] * resume],
                cwd=ROOT,
                env={**environment, VARIABLE: str(self.out)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def was_recorded(self) -> bool:
        """Whether there is a session to resume."""
        return (self.out / "sessions.jsonl").exists()

    def processes(self) -> list[psutil.Process]:
        """Return all that live, wherever they hang now."""
        return [process for process in psutil.process_iter() if self._is_mine(process)]

    def victims(self, kind: str) -> list[psutil.Process]:
        """Return the processes to kill: one of a kind, or all; none where there is none of it now."""
        found = defaultdict(list)
        for process in self.processes():
            found[_kind(process)].append(process)
            found["everything"].append(process)
        return found[kind] if kind == "everything" else random.sample(found[kind], min(1, len(found[kind])))

    def runs(self) -> tuple[Run, ...]:
        """Return what the ledger holds.

        Raises:
            AssertionError: A line of it is not whole.
        """
        runs, doubts = Ledger(self.out).read()
        assert not doubts, doubts
        return runs

    def _is_mine(self, process: psutil.Process) -> bool:
        try:
            mine = process.environ().get(VARIABLE) == str(self.out)
            return mine and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:  # ended meanwhile, or another user's
            return False


def _kind(process: psutil.Process) -> str:
    """Return what a process is by its command and its parents': a fork has its parent's command."""
    try:
        commands = [" ".join(each.cmdline()) for each in (process, *process.parents()[:2])]
    except psutil.Error:
        return "gone"
    of_worker = ["trainspeed.worker.main" in command for command in commands]
    if of_worker[0]:
        return ("reaper", "worker", "arm")[sum(of_worker) - 1]
    if "ipykernel_launcher" in commands[0]:
        return "runner"
    if " -c " in commands[0]:  # what the model has started
        return "daemon"
    return "report" if " -m trainspeed report " in commands[0] else "other"  # the monitor, what forks kernels


def finished_blocks(runs: Sequence[Run], planned: Counter[Any]) -> set[int]:
    """Return the blocks of which every run has ended well.

    Args:
        planned: Block -> how many runs it has.
    """
    done = Counter(run.block for run in runs if run.status is Status.OK)
    return {block for block in planned if done[block] == planned[block]}


def lost(before: Sequence[Run], after: Sequence[Run], planned: Counter[Any]) -> list[str]:
    """Return what is wrong with the ledger after a resume, given that of the moment of the kill."""
    wrong = [] if list(after[: len(before)]) == list(before) else ["lines of the ledger are gone"]
    times = Counter(run.key for run in after)
    finished = finished_blocks(before, planned)
    again = {run.block for run in after if times[run.key] > 1} & finished
    wrong += [f"block {block} was finished, and was measured again" for block in sorted(again)]
    missing = set(planned) - finished_blocks(_last_of_each(after), planned)
    return wrong + [f"block {block} is not complete" for block in sorted(missing)]


def _last_of_each(runs: Sequence[Run]) -> list[Run]:
    return list({run.key: run for run in runs}.values())


def kill(report: Report, victim: str, after_s: float) -> Iterator[str]:
    """Kill a victim so many seconds after the report's start, and yield what is wrong then.

    Where there is none at that moment, the next one is killed.

    Raises:
        NobodyToKill: None came.
    """
    running = report.start()
    time.sleep(after_s)
    while not (processes := report.victims(victim)) and running.poll() is None:
        time.sleep(0.01)
    if not processes:
        raise NobodyToKill
    while processes:  # again where it is everything: what was forked meanwhile is part of it
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        processes = report.victims(victim) if victim == "everything" else []
    yield from _ended(report, running)


def _ended(report: Report, running: subprocess.Popen[bytes]) -> Iterator[str]:
    """Wait for the end of a report, and yield what it leaves."""
    try:
        running.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        yield f"the report did not end within {LONGEST_S:g} s"
    end = time.monotonic() + GONE_S
    while (left := report.processes()) and time.monotonic() < end:
        time.sleep(0.1)
    for process in left:
        yield f"process {process.pid} is left: {_kind(process)}"
        process.kill()


def check(report: Report, victim: str, after_s: float, planned: Counter[Any]) -> list[str]:
    """Return what is wrong after a kill and a resume; nothing where all is well."""
    wrong = list(kill(report, victim, after_s))
    before = report.runs() if report.was_recorded else ()
    running = report.start(resume=report.was_recorded)
    wrong += _ended(report, running)
    if running.returncode:
        wrong.append(f"after RESUME the report ended with {running.returncode}")
    return wrong + lost(before, report.runs(), planned)


def main() -> int:
    """Return 0 where nothing was lost or left by any kill, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how many reports")
    parser.add_argument("--seed", type=int, default=0, help="of victims and moments")
    asked = parser.parse_args()
    random.seed(asked.seed)
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        whole = Report(Path(folder) / "whole")
        begun = time.time()
        running = whole.start()
        wrong = list(_ended(whole, running))
        length_s = (whole.out / "runs.jsonl").stat().st_mtime - begun
        planned = Counter(run.block for run in whole.runs())
        if wrong or running.returncode or finished_blocks(whole.runs(), planned) != set(planned):
            print("the report fails though nothing is killed", *wrong, sep="\n", file=sys.stderr)
            print(whole.out.with_suffix(".log").read_text(), file=sys.stderr)
            return 1
        print(
            f"a report measures {length_s:.0f} s: {sum(planned.values())} runs in {len(planned)} blocks",
            flush=True,
        )
        passed = done = 0
        for number in itertools.count():
            if done == asked.kills:
                break
            victim, after_s = random.choice(VICTIMS), random.uniform(0, length_s)
            try:
                wrong = check(Report(Path(folder) / str(number)), victim, after_s, planned)
            except NobodyToKill:
                continue
            except AssertionError as problem:
                wrong = [str(problem)]
            done, passed = done + 1, passed + (not wrong)
            print(f"{done}: {victim} after {after_s:.1f} s: {'; '.join(wrong) or 'passed'}", flush=True)
    print(f"\n{passed} of {asked.kills} passed")
    return int(passed < asked.kills)


if __name__ == "__main__":
    sys.exit(main())
