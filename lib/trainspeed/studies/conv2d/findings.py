"""What was decided about convolutions: libraries, devices, and data that stay there. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.factors import RESIDENCY
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict, compare_with
from trainspeed.judge.text import sentence
from trainspeed.judge.verdict import Judgement, judge
from trainspeed.studies.conv2d.calls import Calls, Value, calls_at, calls_of, paired, warm_call_s
from trainspeed.studies.conv2d.trials import on_device, pair_of

LIBRARY_QUESTION = "Does another library convolve faster?"
CPU_QUESTION = "Does a device convolve faster than the CPU?"
DEVICES_QUESTION = "Do more devices convolve faster?"
RESIDENCY_QUESTION = "Is a convolution faster when its data stay on the device?"


def library_verdicts(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[Verdict]:
    """Return every framework over the article's, on one device: see `trials.pair_of`."""
    alone = [t.spec for t in core if t.devices == 1 and on_device(t)]
    base = pair_of(core)[0].spec
    return _against(runs, [base], [t for t in alone if t != base], LIBRARY_QUESTION)


def cpu_verdicts(runs: Sequence[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return every framework on one device over every baseline on the CPU."""
    alone = [t.spec for t in core if t.devices == 1]
    return _against(
        runs, [t for t in alone if not on_device(t)], [t for t in alone if on_device(t)], CPU_QUESTION
    )


def _against(
    runs: Sequence[Run], baselines: Sequence[Conv2dTrial], candidates: Sequence[Conv2dTrial], question: str
) -> list[Verdict]:
    wanted = set(candidates)
    return compare_with(runs, lambda t: baselines if t in wanted else (), "library", question=question)


def device_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return every number of devices over one, library by library."""

    def one(trial: AnyTrial) -> Sequence[AnyTrial]:
        several = trial.phase.calls and trial.devices > 1
        return [replace(trial, devices=1)] if several else []

    return compare_with(runs, one, "devices", question=DEVICES_QUESTION)


def residency_verdicts(runs: Sequence[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return calls whose data stay on the device over whole calls, measured in the same runs."""
    found = []
    calls = calls_of(runs)
    for trial in (t.spec for t in core if on_device(t) and t.devices == 1):
        several = [run for run in calls_at(calls, trial).runs if run.resident_s]
        if several:
            judgement = within(several, lambda r: r.median_call_s, lambda r: r.median_resident_s)
            first = several[0]
            found.append(
                Verdict(
                    session=first.session,
                    study=first.study,
                    question=RESIDENCY_QUESTION,
                    quantity="time",
                    factor=RESIDENCY,
                    baseline=trial,
                    candidate=trial,
                    judgement=judgement,
                    sentence=sentence(first, first, RESIDENCY, judgement, "time"),
                )
            )
    return found


def within(runs: Iterable[Run], baseline: Value, candidate: Value) -> Judgement:
    """Judge two times of the same runs, a pair from each block."""
    pairs = [(baseline(run), candidate(run)) for run in runs]
    both = [pair for pair in pairs if None not in pair]
    return judge([a for a, _ in both], [b for _, b in both])


def across(runs: Iterable[Run], baseline: Conv2dTrial, candidate: Conv2dTrial, value: Value) -> Judgement:
    """Judge one time of two trials, paired by block."""
    calls = calls_of(runs)
    return judge(*paired((calls_at(calls, baseline), calls_at(calls, candidate)), value))


def growth(
    runs: Iterable[Run],
    small: tuple[Conv2dTrial, Conv2dTrial],
    large: tuple[Conv2dTrial, Conv2dTrial],
) -> Judgement:
    """Judge how many times more a device gains over the CPU at a large size than at a small one.

    Args:
        small, large: (CPU, device). Block by block, device time / CPU time at the small size over the same
            at the large one.
    """
    calls = calls_of(runs)
    arms = paired(calls_at(calls, trial) for trial in (*small, *large))
    cpu_small, device_small, cpu_large, device_large = map(np.array, arms)
    return judge((device_small / cpu_small).tolist(), (device_large / cpu_large).tolist())


def fastest(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> dict[str, Conv2dTrial]:
    """Return the fastest core trial by its median call: "device" among frameworks, "cpu" among the others."""
    calls = calls_of(runs)
    best: dict[str, Calls] = {}
    for one in (calls[t.spec] for t in core if t.devices == 1 and t.spec in calls):
        where = "device" if on_device(one.trial) else "cpu"
        best[where] = min(best.get(where, one), one, key=lambda some: some.median(warm_call_s))
    return {where: one.trial for where, one in best.items()}
