"""Measure Trainspeed itself, as ratios from one run, and write docs/benchmarks.md.

make bench                            everything, about 30 minutes; leave the machine alone meanwhile
python benchmarks/run.py ddp mirrored  only what has one of these words in its name; printed, not written
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from trainspeed import backends, detect, interpreters
from trainspeed.child import Request
from trainspeed.environments import ROOT
from trainspeed.ledger import Ledger
from trainspeed.run import Status
from trainspeed.trial import Trial
from trainspeed.verdict import Judgement, judge
from trainspeed.worker_process import WorkerProcess

BLOCKS = 6
ENOUGH = 0.98  # of the bare script's throughput
HERE = Path(__file__).parent
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}  # one core against one core, wherever it runs


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trial of Trainspeed and the bare script of the same work.

    Attributes:
        script: In this folder; prints the epochs' seconds as JSON in its last line.
        launcher: Arguments of the interpreter before the script.
    """

    name: str
    trial: Trial
    script: str
    launcher: tuple[str, ...] = ()

    @property
    def framework(self) -> str:
        return self.trial.framework


# The work that the bare scripts do too.
SMALL = {"model": "cnn10", "batch_size": 32, "images_per_epoch": 128, "image_size": 16}
LARGE = {"batch_size": 16, "images_per_epoch": 64, "image_size": 32, "pipeline": "resize", "folds": 5}


def trial(framework: str, layout: str, **work: Any) -> Trial:
    return Trial(framework=framework, layout=layout, epochs=5, dataset="digits", **(work or SMALL)).in_block(
        0
    )


SINGLE = [
    Case(name="torch", trial=trial("torch", "channels_first"), script="bare_torch.py"),
    Case(name="tensorflow", trial=trial("tensorflow", "channels_last"), script="bare_tensorflow.py"),
]
SPREAD = [
    Case(
        name="torch ddp on 2 CPU devices",
        trial=trial("torch", "channels_first", **SMALL, strategy="ddp", devices=2),
        script="bare_ddp.py",
        launcher=("-m", "torch.distributed.run", "--nproc-per-node", "2"),
    ),
    Case(
        name="tensorflow mirrored on 2 CPU devices",
        trial=trial("tensorflow", "channels_last", **SMALL, strategy="mirrored", devices=2),
        script="bare_mirrored.py",
    ),
]
ZOO = [
    Case(
        name="timm resnet50",
        trial=trial("torch", "channels_last", **LARGE, model="resnet50"),
        script="bare_timm.py",
    ),
    Case(
        name="keras.applications mobilenet",
        trial=trial("tensorflow", "channels_last", **LARGE, model="mobilenet"),
        script="bare_keras_zoo.py",
    ),
]


def start(framework: str, *, plain: bool = False) -> WorkerProcess:
    module = backends.MODULES[framework]
    return WorkerProcess(interpreters.find(framework), module, plain=plain, environment=NO_GPU)


def run(worker: WorkerProcess, case: Case) -> dict:
    outcome = worker.run(Request(trial=case.trial, device="cpu", requested_at=time.monotonic()), 300)
    if outcome.status != Status.OK:
        raise SystemExit(f"bench: {case.name}: {outcome.status}: {outcome.reason}")
    return dict(outcome.result)


def plain_epoch_s(case: Case) -> float:
    worker = start(case.framework, plain=True)
    try:
        return median(run(worker, case)["epoch_s"][1:])
    finally:
        worker.close()


def bare_epoch_s(case: Case) -> float:
    command = [interpreters.find(case.framework), *case.launcher, str(HERE / case.script)]
    work = case.trial
    command += [str(n) for n in (work.batch_size, work.images_per_epoch, work.epochs, work.image_size)]
    environment = {**os.environ, **NO_GPU, "PYTHONPATH": str(ROOT / "lib")}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return median(json.loads(result.stdout.splitlines()[-1])[1:])


def interleaved(arms: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Run every arm once a block, forwards in even and backwards in odd blocks."""
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    for block in range(BLOCKS):
        for name in list(arms)[:: 1 if block % 2 == 0 else -1]:
            seconds[name].append(arms[name]())
    return seconds


def ratio(judged: Judgement) -> str:
    return f"{judged.speedup:.3f} ({judged.low:.3f} to {judged.high:.3f})"


def against_bare(case: Case, *, fork: bool = True) -> list[str]:
    """Epochs of a forked run, of a plain process and of the bare script, and the bare script twice.

    Args:
        fork: Whether to look at what the fork costs, too.
    """
    worker = start(case.framework)
    run(worker, case)  # the first run of a worker loads its images
    starts: list[float] = []

    def forked() -> float:
        result = run(worker, case)
        starts.append(result["stages_s"]["start"])
        return median(result["epoch_s"][1:])

    arms = {"bare": lambda: bare_epoch_s(case), "forked": forked, "again": lambda: bare_epoch_s(case)}
    seconds = interleaved(arms | ({"plain": lambda: plain_epoch_s(case)} if fork else {}))
    worker.close()
    bare = [math.sqrt(one * two) for one, two in zip(seconds["bare"], seconds["again"], strict=True)]
    throughput = judge(bare, seconds["forked"])
    noise = judge(seconds["bare"], seconds["again"])
    resolution = max(noise.high, 1 / noise.low)
    met = throughput.speedup >= ENOUGH or throughput.high * resolution >= 1 >= throughput.low
    rows = [
        f"| {case.name}: throughput of a measured epoch / bare script | {ratio(throughput)} | at least {ENOUGH} "
        f"or not distinguishable from 1 | {'yes' if met else 'NO'} |",
        f"| {case.name}: the bare script against itself (A/A) | {ratio(noise)} | the resolution | |",
    ]
    if not fork:
        return rows
    forking = judge(seconds["plain"], seconds["forked"])
    return [
        *rows,
        f"| {case.name}: plain process / forked child, epoch time | {ratio(forking)} | covers 1 within the "
        f"resolution | {'yes' if forking.low / resolution <= 1 <= forking.high * resolution else 'NO'} |",
        f"| {case.name}: start-up of a run after the first | {median(starts):.3f} s | at most 0.3 s | "
        f"{'yes' if median(starts) <= 0.3 else 'NO'} |",
    ]


@contextmanager
def monitor(interval_s: float) -> Iterator[psutil.Process]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "trainspeed.monitor", "--interval", str(interval_s)]
        process = subprocess.Popen([*command, "--out", f"{folder}/monitor.csv"])
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def monitor_cost(case: Case = SINGLE[0]) -> list[str]:
    """Epochs with and without the monitor beside them, and what the monitor itself uses."""
    worker = start(case.framework)
    run(worker, case)
    shares: list[float] = []

    def off() -> float:
        return median(run(worker, case)["epoch_s"][1:])

    def on() -> float:
        with monitor(1.0) as process:
            time.sleep(2)  # past its imports
            before, began = sum(process.cpu_times()[:2]), time.monotonic()
            seconds = off()
            shares.append((sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began))
            return seconds

    seconds = interleaved({"off": off, "on": on, "off again": off})
    worker.close()
    judged = judge(seconds["on"], seconds["off"])
    noise = judge(seconds["off again"], seconds["off"])
    return [
        f"| monitor on / off, epoch time | {ratio(judged)} | at most 1.01 | "
        f"{'yes' if judged.speedup <= 1.01 or judged.low <= 1 else 'NO'} |",
        f"| monitor off / off (A/A) | {ratio(noise)} | the resolution | |",
        f"| monitor at 1 s, share of one core | {median(shares):.2%} | under 1 % | "
        f"{'yes' if median(shares) < 0.01 else 'NO'} |",
    ]


def report_share(out: Path = ROOT / "outputs") -> list[str]:
    """Share of a report's wall time inside timed epochs, and how long rendering it again takes."""
    runs, _ = Ledger(out).read()
    if not runs:
        return ["| quick report | not measured: run `make report` first | | |"]
    newest = [run for run in runs if run.session == max(r.session for r in runs)]
    begun = [datetime.fromisoformat(run.started_at).timestamp() for run in newest]
    ended = max(b + sum(run.stages_s.values()) for b, run in zip(begun, newest, strict=True))
    timed, wall = sum(sum(run.epoch_s) for run in newest), ended - min(begun)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "trainspeed", "render", "--from", str(out), "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rendering = time.monotonic() - started
    notebooks = len({run.study for run in newest})
    return [
        f"| last report: share of {wall:.0f} s inside timed epochs | {timed / wall:.0%} | as high as can be | |",
        f"| rendering {notebooks} notebook(s) again | {rendering:.1f} s | under 30 s each | "
        f"{'yes' if rendering < 30 * notebooks else 'NO'} |",
    ]


def work_of(case: Case) -> str:
    work = case.trial
    images = f"{work.images_per_epoch} images of {work.image_size} px"
    return f"batch {work.batch_size}, {images}, {work.epochs} epochs"


def write(rows: list[str], machine: dict) -> None:
    """Write what is measured so far: an interrupted benchmark loses nothing."""
    gpus = ", ".join(gpu["name"] for gpu in machine["gpus"]) or "no GPU"
    text = [
        "# Benchmarks of Trainspeed itself",
        "",
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine['cpu']}, "
        f"{machine['cores']['logical']} cores, {gpus}, {machine['os']}. {BLOCKS} blocks; ratios with their "
        f"95 % interval. On one core where nothing else is said; cnn10: {work_of(SINGLE[0])}; "
        f"{' and '.join(case.name for case in ZOO)}: {work_of(ZOO[0])}, enlarged in each step.",
        "",
        "| what | measured | wanted | met |",
        "|---|---|---|---|",
        *rows,
        "",
    ]
    (ROOT / "docs/benchmarks.md").write_text("\n".join(text))


def main(wanted: Sequence[str]) -> int:
    machine = detect.machine()
    cases = [(case, case in SINGLE) for case in (*SINGLE, *SPREAD, *ZOO) if interpreters.find(case.framework)]
    parts = {"report": report_share, "monitor": monitor_cost}
    parts |= {case.name: partial(against_bare, case, fork=fork) for case, fork in cases}
    rows: list[str] = []
    for name, part in parts.items():
        if wanted and not any(word in name for word in wanted):
            continue
        found = part()
        print(*found, sep="\n", flush=True)
        rows += found
        if not wanted:
            write(rows, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
