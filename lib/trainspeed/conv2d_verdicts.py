"""What was decided about convolutions: libraries, devices, and data that stay there. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median

from trainspeed.comparison import Verdict, compare_with
from trainspeed.conv2d_study import call_times, on_device, pair_of
from trainspeed.conv2d_trial import AnyTrial, Conv2dTrial
from trainspeed.run import Run
from trainspeed.verdict import Judgement, judge
from trainspeed.wording import RESIDENCY, sentence

LIBRARY_QUESTION = "Does another library convolve faster?"
CPU_QUESTION = "Does a device convolve faster than the CPU?"
DEVICES_QUESTION = "Do more devices convolve faster?"
RESIDENCY_QUESTION = "Is a convolution faster when its data stay on the device?"

Value = Callable[[Run], float | None]


def library_verdicts(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[Verdict]:
    """Return every framework over the article's, on one device: see `conv2d_study.pair_of`."""
    alone = [t.without_seed() for t in core if t.devices == 1 and on_device(t)]
    base = pair_of(core)[0].without_seed()
    return _against(runs, [base], [t for t in alone if t != base], LIBRARY_QUESTION)


def cpu_verdicts(runs: Sequence[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return every framework on one device over every baseline on the CPU."""
    alone = [t.without_seed() for t in core if t.devices == 1]
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
        several = isinstance(trial, Conv2dTrial) and trial.devices > 1
        return [replace(trial, devices=1)] if several else []

    return compare_with(runs, one, "devices", question=DEVICES_QUESTION)


def residency_verdicts(runs: Sequence[Run], core: Iterable[Conv2dTrial]) -> list[Verdict]:
    """Return calls whose data stay on the device over whole calls, measured in the same runs."""
    found = []
    times = call_times(runs)
    for trial in (t.without_seed() for t in core if on_device(t) and t.devices == 1):
        several = [run for run in times.get(trial, {}).values() if run.resident_s]
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
    times = call_times(runs)
    here, there = times.get(baseline.without_seed(), {}), times.get(candidate.without_seed(), {})
    pairs = [(value(here[b]), value(there[b])) for b in sorted(here.keys() & there.keys())]
    both = [pair for pair in pairs if None not in pair]
    return judge([a for a, _ in both], [b for _, b in both])


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
    times = call_times(runs)
    arms = [times.get(trial.without_seed(), {}) for trial in (*small, *large)]
    blocks = sorted(set.intersection(*(set(arm) for arm in arms)))
    cpu_small, device_small, cpu_large, device_large = ([arm[b].median_s for b in blocks] for arm in arms)
    shares = [
        [device / cpu for device, cpu in zip(devices, cpus, strict=True)]
        for devices, cpus in ((device_small, cpu_small), (device_large, cpu_large))
    ]
    return judge(*shares)


def fastest(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> dict[str, Conv2dTrial]:
    """Return the fastest core trial by its median call: "device" among frameworks, "cpu" among the others."""
    times = call_times(runs)
    best: dict[str, tuple[float, Conv2dTrial]] = {}
    for trial in (t.without_seed() for t in core if t.devices == 1):
        several = [run.median_s for run in times.get(trial, {}).values()]
        if several:
            where = "device" if on_device(trial) else "cpu"
            middle = median(several)
            best[where] = min(best.get(where, (middle, trial)), (middle, trial), key=lambda pair: pair[0])
    return {where: trial for where, (_, trial) in best.items()}
