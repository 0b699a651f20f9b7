"""What the harness adds to a convolution's call, and how near the best library on the CPU comes to the memory."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bounds import Interval, met
from programs import NO_GPU
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.paths import ROOT
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.judge.verdict import judge, median_interval
from trainspeed.studies.conv2d.trials import library_trial
from trainspeed.worker import backends
from trainspeed.worker.request import Request

GROUP = 20  # pairs of calls, whose medians are a block
BLOCKS = 6
CALLS_S = 0.4  # of a library in a block
LIBRARIES = ("opencv", "torch", "tensorflow", "scipy_ndimage")
SIZE = {"images": 840, "height": 100, "width": 100}


def harness() -> list[str]:
    """Calls by the harness and by a bare loop, in torch, alternating in one process."""
    command = [find_interpreter("torch"), str(Path(__file__).parent / "harness_conv2d.py")]
    environment = {**os.environ, **NO_GPU, "PYTHONPATH": str(ROOT / "lib")}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    pairs = json.loads(result.stdout.splitlines()[-1])
    large = judge(*_grouped(pairs["large"])[::-1])  # ours / bare
    added = [1e6 * (ours - bare) for bare, ours in zip(*_grouped(pairs["small"]), strict=True)]
    add = Interval(*median_interval(added))
    call_ms = 1e3 * median(bare for bare, _ in pairs["large"])
    return [
        f"| conv2d, a call of {call_ms:.1f} ms: harness / bare loop | {large.speedup:.4f} ({large.low:.4f} to "
        f"{large.high:.4f}) | at most 1.01 | {met(large, at_most=1.01)} |",
        f"| conv2d, a small call: what the harness adds | {median(added):.1f} µs ({add.low:.1f} to {add.high:.1f}) | "
        f"at most 20 µs | {met(add, at_most=20)} |",
    ]


def _grouped(pairs: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    groups = [pairs[start : start + GROUP] for start in range(0, len(pairs), GROUP)]
    return tuple([median(pair[side] for pair in group) for group in groups] for side in (0, 1))


def limit() -> list[str]:
    """The best library's bytes per second, every number moved once, relative to a copy's on the same core."""
    trials = {name: library_trial(name, **SIZE) for name in LIBRARIES}
    copy = next(t for t in ceiling_trials(["fp32"], dataset="digits", seed=0) if t.part == "copy")
    workers = {
        name: WorkerProcess(find_interpreter(name), backends.MODULES[name], environment=NO_GPU)
        for name in dict.fromkeys([copy.framework, *(t.framework for t in trials.values())])
    }
    try:
        found: dict[str, list[float]] = {}
        for _ in range(BLOCKS):
            result = _measured(workers, copy)
            step_s = median(result.epoch_s[1:]) / copy.steps_per_epoch
            found.setdefault("copy", []).append(result.step_bytes / step_s)
            for name, trial in trials.items():
                rate = trial.bytes / median(_measured(workers, trial).call_s)
                found.setdefault(name, []).append(rate)
    finally:
        for worker in workers.values():
            worker.close()
    best = max(trials, key=lambda name: median(found[name]))
    share = judge([1 / rate for rate in found["copy"]], [1 / rate for rate in found[best]])
    return [
        f"| conv2d of {SIZE['images']} images on one core: the best library ({best}) / memory bandwidth | "
        f"{share.speedup:.3f} ({share.low:.3f} to {share.high:.3f}) | printed | |"
    ]


def _measured(workers: dict[str, WorkerProcess], trial) -> RunResult:
    request = Request(trial=trial, device="cpu", requested_at=time.monotonic(), inspect=True, calls_s=CALLS_S)
    outcome = workers[trial.framework].run(request, timeout_s=300)
    if outcome.status != Status.OK:
        raise SystemExit(f"bench: {trial}: {outcome.status}: {outcome.reason}")
    return outcome.result
