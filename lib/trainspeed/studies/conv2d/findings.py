"""What was decided about convolutions: libraries, devices, data that stay there. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.factors import RESIDENCY
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import Verdict, compare_with, judge_runs, verdict_between
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.conv2d.calls import calls_at, calls_of, warm_call_s
from trainspeed.studies.conv2d.trials import on_one_device, pair_of

LIBRARY_QUESTION = "Does another library convolve faster?"
CPU_QUESTION = "Does a device convolve faster than the CPU?"
DEVICES_QUESTION = "Do more devices convolve faster?"
RESIDENCY_QUESTION = "Is a convolution faster when its data stay on the device?"


def library_verdicts(runs: Iterable[Run], core: Sequence[Conv2dTrial]) -> list[Verdict]:
    """Return the verdicts on the frameworks over the article's, on one device: see `trials.pair_of`."""
    base = pair_of(core)[0]
    others = [trial for trial in on_one_device(core)[0] if trial != base]
    return compare_with(runs, lambda t: [base] if t in others else [], "library", question=LIBRARY_QUESTION)


def cpu_verdicts(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return the verdicts on each framework on one device over each baseline on the CPU."""
    devices, cpus = on_one_device(core)
    return compare_with(runs, lambda t: cpus if t in devices else [], "library", question=CPU_QUESTION)


def device_verdicts(runs: Iterable[Run]) -> list[Verdict]:
    """Return the verdicts on several devices over one, library by library."""
    return compare_with(
        runs,
        lambda t: [replace(t, devices=1)] if t.phase.calls and t.devices > 1 else [],
        "devices",
        question=DEVICES_QUESTION,
    )


def residency_verdicts(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return the verdicts on calls whose data stay on the device over whole calls of the same runs."""
    calls = calls_of(runs)
    verdicts = []
    for trial in on_one_device(core)[0]:
        whole = [run for run in calls_at(calls, trial).runs if run.resident_s]
        if whole:
            verdicts.append(verdict_between(whole, [*map(_staying, whole)], RESIDENCY, RESIDENCY_QUESTION))
    return verdicts


def _staying(run: Run) -> Run:
    """Return a run as if the calls whose data stay on the device were its whole ones, in each turn too."""
    turns = tuple(msgspec.structs.replace(turn, call_s=turn.resident_s) for turn in run.turns)
    return replace(run, call_s=run.resident_s, turns=turns)


def fastest(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> dict[str, Conv2dTrial]:
    """Return the trials on one device with the shortest median call, the faster one first.

    Keys: "device" for the fastest framework, "cpu" for the fastest baseline; those that ran only.
    """
    medians = RunSet(tuple(runs)).data().medians(warm_call_s)
    sides = zip(("device", "cpu"), on_one_device(core), strict=True)
    ran = {side: [trial for trial in trials if trial in medians] for side, trials in sides}
    best = {side: min(trials, key=medians.get) for side, trials in ran.items() if trials}
    return dict(sorted(best.items(), key=lambda side: medians[side[1]]))


def tied_trials(runs: Iterable[Run], core: Iterable[Conv2dTrial], best: Conv2dTrial) -> list[Conv2dTrial]:
    """Return the other trials of its side, on one device, over which the fastest was not shown to be faster."""
    calls = calls_of(runs)
    side = next(trials for trials in on_one_device(core) if best in trials)
    others = [(trial, calls_at(calls, trial).runs) for trial in side if trial != best]
    mine = calls_at(calls, best).runs
    return [trial for trial, ran in others if ran and judge_runs(ran, mine).outcome is not Outcome.FASTER]
