"""What became of article 004's findings and guesses on this machine: the evidence of an experiment for each.

An answer is about the article's own pair, TensorFlow against SciPy, where both were measured; the others
are in the verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from trainspeed.articles.claims import Answer, Claim, Evidence, Result, claims, decide
from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.format import percent
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.conv2d.calls import (
    calls_at,
    calls_of,
    first_call_s,
    paired,
    warm_call_s,
    warm_stage_s,
)
from trainspeed.studies.conv2d.findings import across, growth, residency_verdicts, within
from trainspeed.studies.conv2d.sweeps import sized
from trainspeed.studies.conv2d.trials import ARTICLE, SWEEPS, SweepGrid, pair_of

FEW, MANY = 3, 4  # devices: the article's slow ones, and from where on it was fast
SMALL_MEMORY_SHARE = 0.5  # of the memory: data that need less are not swapped
NO_GPU = "Devices here are CPU cores, all in the same memory."


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What the answers are computed from.

    Attributes:
        core: The trials at the article's size.
        by_library, by_devices: Verdicts on them.
        grid: Of the sweeps; the first pair of libraries is the article's, or stands for it.
        machine: As in the ledger.
    """

    runs: Sequence[Run]
    machine: Mapping[str, Any]
    core: Sequence[Conv2dTrial]
    by_library: Sequence[Verdict]
    by_devices: Sequence[Verdict]
    grid: SweepGrid

    @property
    def has_gpu(self) -> bool:
        """Whether the devices are GPUs."""
        return self.machine.get("device") == "gpu"

    @property
    def device(self) -> Conv2dTrial:
        """The article's library on one device, or what stands for it: see `trials.pair_of`."""
        return pair_of(self.core)[0].spec

    @property
    def device_runs(self) -> list[Run]:
        """The runs of that library that ended well."""
        return calls_at(calls_of(self.runs), self.device).runs

    @property
    def spread(self) -> list[Verdict]:
        """That library on several devices over one, the fewest devices first."""
        mine = [v for v in self.by_devices if v.baseline == self.device]
        return sorted(mine, key=lambda v: v.candidate.devices)


def answers(found: Measurements) -> list[Answer]:
    """Return what this machine says of every finding and guess of the article."""
    answered = []
    for claim in claims("conv2d"):
        answer = EXPERIMENTS[claim.id](claim, found)
        told = answer.result == Result.UNMEASURED or found.has_gpu or "GPU" in answer.note
        answered.append(answer if told else replace(answer, note=f"{answer.note} {NO_GPU}".strip()))
    return answered


def _of(verdicts: Sequence[Verdict]) -> list[Evidence]:
    return [Evidence(name=v.label, judgement=v.judgement, verdict=v) for v in verdicts]


def _cpu_wins(claim: Claim, found: Measurements) -> Answer:
    cpu, device = pair_of(found.core)[1], found.device
    if cpu is None or device.on_cpu:
        return decide(claim, [], f"No library was measured on {'the CPU' if cpu is None else 'a device'}.")
    most = max([device, *(v.candidate for v in found.spread)], key=lambda trial: trial.devices)
    name = f"{library_of(cpu)} vs {library_of(most)}" + f" on {most.devices} devices" * (most.devices > 1)
    warm = across(found.runs, most, cpu, warm_call_s)
    cold = across(found.runs, most, cpu, lambda run: first_call_s(run) if run.call_s else None)
    evidence = [Evidence(name=f"{name}, warm calls", judgement=warm)]
    return decide(claim, [*evidence, Evidence(name="the first call of each", judgement=cold)])


def _few_slow(claim: Claim, found: Measurements) -> Answer:
    spread = [found.device, *(v.candidate for v in found.spread)]
    most = spread[-1]
    if most.devices < MANY:
        return decide(
            claim, [], f"It takes {MANY} devices or more, and at most {most.devices} were measured."
        )
    return decide(
        claim,
        [
            Evidence(
                name=f"the first call of {library_of(few)} on {few.devices} over that on {most.devices} devices",
                judgement=across(found.runs, few, most, first_call_s),
            )
            for few in spread
            if few.devices <= FEW
        ],
    )


def _no_scaling(claim: Claim, found: Measurements) -> Answer:
    return decide(claim, _of(found.spread), f"{library_of(found.device)} was measured on one device only.")


def _unoptimised(claim: Claim, found: Measurements) -> Answer:
    if found.device.library != ARTICLE[0]:
        return decide(claim, [], "TensorFlow was not measured on the device.")
    return decide(claim, _of(found.by_library), "No other library was measured on the device.")


def _grows(claim: Claim, found: Measurements, *, factor: str) -> Answer:
    """Whether the device gains over the CPU from the smallest size to the largest."""
    grid = found.grid
    if not (pairs := grid.pairs(factor)):
        return decide(claim, [], f"No sizes of {SWEEPS[factor].unit} were measured.")
    device, cpu = pairs[0]
    calls = calls_of(found.runs)
    ratios = {}
    for size in sorted(grid.sizes[factor]):
        pair = tuple(sized(trial, factor, size, grid.filters > 0) for trial in (cpu, device))
        both = zip(*paired(calls_at(calls, trial) for trial in pair), strict=True)
        if ratio := [one / other for one, other in both]:
            ratios[size] = pair, median(ratio)
    if len(ratios) < 2:
        return decide(claim, [], f"Fewer than two sizes of {SWEEPS[factor].unit} were measured with both.")
    small, large = min(ratios), max(ratios)
    told = ", ".join(f"{ratio:.3g}x at {size}" for size, (_, ratio) in ratios.items())
    name = f"{library_of(device)} vs {library_of(cpu)} ({told} {SWEEPS[factor].unit}), gain from {small} to {large}"
    judgement = growth(found.runs, ratios[small][0], ratios[large][0])
    return decide(claim, [Evidence(name=name, judgement=judgement)])


def _transfer_back(claim: Claim, found: Measurements) -> Answer:
    staged = [run for run in found.device_runs if run.warm_s]
    if not staged:
        return decide(claim, [], "No stages were measured.")

    back = warm_stage_s("from_device")

    def rest(run: Run) -> float:
        return sum(median(seconds) for seconds in run.warm_s.values()) - back(run)

    share, name = median(back(r) / (back(r) + rest(r)) for r in staged), library_of(found.device)
    took = f"takes {1e3 * median(map(back, staged)):.3g} ms, {percent(share)} of a warm call of {name}."
    if not found.has_gpu:
        return decide(
            claim, [], f"There is no GPU and no bus to one. Handing the result over in memory {took}"
        )
    judgement = within(staged, back, rest)
    answer = decide(claim, [Evidence(name="the rest of a call vs the transfer back", judgement=judgement)])
    return replace(answer, note=f"The transfer back {took}")


def _stay(claim: Claim, found: Measurements) -> Answer:
    return decide(claim, _of(residency_verdicts(found.runs, [found.device])), "It was not measured.")


def _memory_swap(claim: Claim, found: Measurements) -> Answer:
    gpus = [gpu.get("memory_bytes") for gpu in found.machine.get("gpus") or []]
    there = (gpus[0] if gpus else None) if found.has_gpu else found.machine.get("memory_bytes")
    if not there:
        return decide(claim, [], "The memory of the device is not known.")
    needed = found.device.device_bytes
    where = "the GPU" if found.has_gpu else "this machine; there is no GPU"
    note = f"One device needs {needed / 1e6:,.3g} MB of {there / 1e9:,.3g} GB ({where})."
    if needed >= SMALL_MEMORY_SHARE * there:
        return Answer(claim=claim, result=Result.UNDECIDED, note=note)
    cold = within(found.device_runs, first_call_s, lambda run: run.median_call_s)
    if cold.outcome == Outcome.FASTER:
        ends = f"{cold.low:.2f} to {cold.high:.2f}"
        note += f" What takes long is the first call: {cold.speedup:.2f} times ({ends}) a warm one."
    return Answer(claim=claim, result=Result.DISAGREES, note=note)


EXPERIMENTS = {
    "cpu_wins": _cpu_wins,
    "few_gpus_slow": _few_slow,
    "no_scaling": _no_scaling,
    "unoptimised": _unoptimised,
    "filter_size": partial(_grows, factor="filter_size"),
    "channels": partial(_grows, factor="channels"),
    "transfer_back": _transfer_back,
    "stay_on_device": _stay,
    "memory_swap": _memory_swap,
}
