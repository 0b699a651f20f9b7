"""What to do instead, from what won: sentences and the lines to copy. Pure functions on verdicts and runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.format import percent
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.crossover import Kind
from trainspeed.judge.verdict import Outcome
from trainspeed.snippets import code
from trainspeed.studies.conv2d.calls import calls_of, first_call_s
from trainspeed.studies.conv2d.findings import fastest
from trainspeed.studies.conv2d.sweeps import Sweep

WARM_UP_FROM = 2.0  # times a warm call: from here on a first call is worth a sentence


def advice(
    by_cpu: Sequence[Verdict],
    by_devices: Sequence[Verdict],
    staying: Sequence[Verdict],
    sweeps: Iterable[Sweep],
    runs: Sequence[Run],
    core: Sequence[Conv2dTrial],
) -> list[str]:
    """Return what to do about a convolution of the size measured, each with the number that says so."""
    told = [*_where(by_cpu, runs, core), *_devices(by_devices)]
    told += [
        f"Keep images and results on the device from call to call where you can: {library_of(v.candidate)} then "
        f"takes {percent(1 / v.speedup)} of a round trip."
        for v in staying
        if v.outcome == Outcome.FASTER
    ]
    told += [_batch(s) for s in sweeps if s.factor == "images" and s.found.kind == Kind.FOUND and s.found.low]
    return [*told, *_warm_up(runs, core)]


def _where(by_cpu: Sequence[Verdict], runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    """Whether the device or the CPU, by the fastest of each."""
    best = fastest(runs, core)
    mine = [v for v in by_cpu if (v.candidate, v.baseline) == (best.get("device"), best.get("cpu"))]
    if not mine:
        return []
    (verdict,) = mine
    device, cpu = library_of(best["device"]), library_of(best["cpu"])
    if verdict.outcome == Outcome.FASTER:
        return [f"For this size use the device: {device} is {verdict.speedup:.2f}x as fast as {cpu}."]
    if verdict.outcome == Outcome.SLOWER:
        return [f"For this size stay on the CPU: {cpu} is {1 / verdict.speedup:.2f}x as fast as {device}."]
    if verdict.outcome == Outcome.SAME:
        return [f"For this size {device} and {cpu} are equally fast: take what is simpler."]
    return [f"Whether {device} or {cpu} is faster at this size is undecided: measure more blocks."]


def _devices(verdicts: Sequence[Verdict]) -> list[str]:
    told = []
    for library in dict.fromkeys(library_of(v.candidate) for v in verdicts):
        mine = [v for v in verdicts if library_of(v.candidate) == library]
        wins = [v for v in mine if v.outcome == Outcome.FASTER]
        if wins:
            best = max(wins, key=lambda v: v.speedup)
            told.append(
                f"{library}: share the images over {best.candidate.devices} devices ({best.speedup:.2f}x)."
            )
        elif all(v.outcome in (Outcome.SAME, Outcome.SLOWER) for v in mine):
            told.append(f"{library}: stay on one device; no other number was faster.")
    return told


def _batch(sweep: Sweep) -> str:
    device, cpu = library_of(sweep.device), library_of(sweep.cpu)
    if sweep.found.rising:
        least = math.ceil(sweep.found.size)
        return f"Put about {least:,} images or more into a call of {device}; for fewer, {cpu} is faster."
    most = math.floor(sweep.found.size)
    return f"Put no more than about {most:,} images into a call of {device}; beyond, {cpu} is faster."


def _warm_up(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    best = fastest(runs, core).get("device")
    if best is None:
        return []
    ratio = calls_of(runs)[best].median(lambda run: first_call_s(run) / run.median_s)
    if ratio < WARM_UP_FROM:
        return []
    return [
        f"Make a call before the one that counts: in {library_of(best)} the first one of a process takes "
        f"{ratio:.1f} times as long as a later one."
    ]


def fastest_code(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    """Return the lines to copy for the fastest library on the device and on the CPU, as Markdown."""
    whose = {"device": "device", "cpu": "CPU; for one channel"}
    return [
        code.block(
            f"**{library_of(trial)}**, the fastest on the {whose[where]}",
            code.lines("convolution", library=trial.library, mode=trial.mode),
        )
        for where, trial in fastest(runs, core).items()
    ]
