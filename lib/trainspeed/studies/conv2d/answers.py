"""What became of article 004's findings and guesses on this machine: the evidence of an experiment for each.

An answer is about the article's own pair, TensorFlow against SciPy, where both were measured; the others
are in the verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median
from typing import Any

from trainspeed.articles.claims import Claim, ClaimAnswer, Evidence, Result, claims, decide, without_gpu
from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.format import digits, percent, three
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict, judge_runs
from trainspeed.judge.pairs import paired_s, value_pairs
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import Judgement, Outcome, judge
from trainspeed.studies.conv2d.calls import (
    Calls,
    calls_at,
    calls_of,
    first_call_s,
    paired,
    warm_call_s,
    warm_stage_s,
)
from trainspeed.studies.conv2d.findings import device_verdicts, library_verdicts, residency_verdicts
from trainspeed.studies.conv2d.sweeps import SWEEPS, SweepGrid
from trainspeed.studies.conv2d.trials import ARTICLE, pair_of

FEW, MANY = 3, 4  # devices: up to FEW the article was slow, from MANY on it was fast
SMALL_MEMORY_SHARE = 0.5  # data that need less of the memory are not swapped
NO_GPU = "Devices here are CPU cores, all in the same memory."


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What the answers are computed from.

    Attributes:
        machine: As in the ledger.
        core: The trials at the article's size.
        grid: The grid of the sweeps; its first pair of libraries is the article's, or stands for it.
    """

    runs: Sequence[Run]
    machine: Mapping[str, Any]
    core: Sequence[Conv2dTrial]
    grid: SweepGrid

    @property
    def has_gpu(self) -> bool:
        """Whether the devices are GPUs."""
        return self.machine.get("device") == "gpu"

    @property
    def device(self) -> Conv2dTrial:
        """The article's library on one device, or what stands for it: see `trials.pair_of`."""
        return pair_of(self.core)[0]

    @property
    def spread(self) -> list[Verdict]:
        """The verdicts on that library on several devices over one, the fewest devices first."""
        verdicts = [v for v in device_verdicts(self.runs) if v.baseline == self.device]
        return sorted(verdicts, key=lambda v: v.candidate.devices)

    @cached_property
    def _calls(self) -> dict[Conv2dTrial, Calls]:
        return calls_of(self.runs)

    def of(self, trial: Conv2dTrial) -> Calls:
        """Return the calls of a trial; without runs where it did not run."""
        return calls_at(self._calls, trial)

    def first_calls(self, baseline: Conv2dTrial, candidate: Conv2dTrial) -> Judgement:
        """Judge the first calls of two trials, paired by block."""
        pairs = value_pairs(self.of(baseline).runs, self.of(candidate).runs, first_call_s)
        return judge([one for one, _ in pairs], [other for _, other in pairs])

    def warm_calls(self, baseline: Conv2dTrial, candidate: Conv2dTrial) -> Judgement:
        """Judge the warm calls of two trials, paired by block and turn."""
        return judge_runs(self.of(baseline).runs, self.of(candidate).runs)


def claim_answers(measured: Measurements) -> list[ClaimAnswer]:
    """Return what this machine says of every finding and guess of the article."""
    answered = []
    for claim in claims("conv2d"):
        lacking = claim.hardware and not measured.has_gpu
        answer = without_gpu(claim) if lacking else EXPERIMENTS[claim.id](claim, measured)
        says_where = answer.result == Result.UNMEASURED or measured.has_gpu
        answered.append(answer if says_where else replace(answer, note=f"{answer.note} {NO_GPU}".strip()))
    return answered


def _evidence(verdicts: Sequence[Verdict]) -> list[Evidence]:
    return [Evidence(name=v.label, judgement=v.judgement, verdict=v) for v in verdicts]


def _cpu_wins(claim: Claim, measured: Measurements) -> ClaimAnswer:
    cpu, device = pair_of(measured.core)[1], measured.device
    if cpu is None or device.on_cpu:
        return decide(claim, [], f"No library was measured on {'the CPU' if cpu is None else 'a device'}.")
    most = max([device, *(v.candidate for v in measured.spread)], key=lambda trial: trial.devices)
    name = f"{library_of(cpu)} vs {library_of(most)}" + f" on {most.devices} devices" * (most.devices > 1)
    warm = Evidence(name=f"{name}, warm calls", judgement=measured.warm_calls(most, cpu))
    cold = Evidence(name="the first call of each", judgement=measured.first_calls(most, cpu))
    return decide(claim, [warm, cold])


def _few_slow(claim: Claim, measured: Measurements) -> ClaimAnswer:
    spread = [measured.device, *(v.candidate for v in measured.spread)]
    most = spread[-1]
    if most.devices < MANY:
        missing = f"It takes {MANY} devices or more, and at most {most.devices} were measured."
        return decide(claim, [], missing)
    return decide(
        claim,
        [
            Evidence(
                name=f"the first call of {library_of(few)} on {few.devices} "
                f"over that on {most.devices} devices",
                judgement=measured.first_calls(few, most),
            )
            for few in spread
            if few.devices <= FEW
        ],
    )


def _no_scaling(claim: Claim, measured: Measurements) -> ClaimAnswer:
    missing = f"{library_of(measured.device)} was measured on one device only."
    return decide(claim, _evidence(measured.spread), missing)


def _unoptimised(claim: Claim, measured: Measurements) -> ClaimAnswer:
    if measured.device.library != ARTICLE[0]:
        return decide(claim, [], "TensorFlow was not measured on the device.")
    verdicts = library_verdicts(measured.runs, measured.core)
    return decide(claim, _evidence(verdicts), "No other library was measured on the device.")


def _grows(claim: Claim, measured: Measurements, *, factor: str) -> ClaimAnswer:
    """Whether the device gains over the CPU from the smallest size to the largest."""
    unit = SWEEPS[factor].unit
    if not (sweeps := measured.grid.sweeps(factor)):
        return decide(claim, [], f"No {SWEEPS[factor].plural} were measured.")
    sweep = sweeps[0]
    by_block, ratios = {}, {}
    for size in sorted(measured.grid.sizes[factor]):
        device, cpu = (measured.of(trial).runs for trial in sweep.at(size))
        if pairs := paired_s(cpu, device):
            by_block[size] = {block: cpu_s / device_s for block, (cpu_s, device_s) in pairs.items()}
            ratios[size] = median(by_block[size].values())
    if len(ratios) < 2:
        return decide(claim, [], f"No two {SWEEPS[factor].plural} were measured with both libraries.")
    small, large = min(ratios), max(ratios)
    listed = ", ".join(f"{digits(ratio)}x at {size}" for size, ratio in ratios.items())
    pair = f"{library_of(sweep.device)} vs {library_of(sweep.cpu)}"
    name = f"{pair} ({listed} {unit}), gain from {small} to {large}"
    # Block by block: CPU time / device time at the large size over the same at the small one.
    judgement = judge(*paired(by_block[large], by_block[small]))
    return decide(claim, [Evidence(name=name, judgement=judgement)])


def _transfer_back(claim: Claim, measured: Measurements) -> ClaimAnswer:
    calls = measured.of(measured.device)
    back_s = calls.by_block(warm_stage_s("from_device"))
    if not back_s:
        return decide(claim, [], "No stages were measured.")
    whole_s = calls.by_block(lambda run: sum(map(median, run.warm_s.values())))
    rest_s = {block: whole_s[block] - back_s[block] for block in back_s}
    share = median(back_s[block] / whole_s[block] for block in back_s)
    took = (
        f"takes {three(1e3 * median(back_s.values()))} ms, {percent(share)} of a warm call of "
        f"{library_of(measured.device)}."
    )
    if not measured.has_gpu:
        missing = f"There is no GPU and no bus to one. Handing the result over in memory {took}"
        return decide(claim, [], missing)
    name = "the rest of a call vs the transfer back"
    answer = decide(claim, [Evidence(name=name, judgement=judge(*paired(back_s, rest_s)))])
    return replace(answer, note=f"The transfer back {took}")


def _stay(claim: Claim, measured: Measurements) -> ClaimAnswer:
    verdicts = residency_verdicts(measured.runs, [measured.device])
    return decide(claim, _evidence(verdicts), "It was not measured.")


def _memory_swap(claim: Claim, measured: Measurements) -> ClaimAnswer:
    gpus = [gpu.get("memory_bytes") for gpu in measured.machine.get("gpus") or []]
    memory_bytes = next(iter(gpus), None)
    if not memory_bytes:
        return decide(claim, [], "The memory of the device is not known.")
    needed = measured.device.device_bytes
    note = f"One device needs {needed / 1e6:,.3g} MB of {memory_bytes / 1e9:,.3g} GB (the GPU)."
    if needed >= SMALL_MEMORY_SHARE * memory_bytes:
        return ClaimAnswer(claim=claim, result=Result.UNDECIDED, note=note)
    calls = measured.of(measured.device)
    cold = judge(*paired(calls.by_block(first_call_s), calls.by_block(warm_call_s)))
    if cold.outcome == Outcome.FASTER:
        size = size_of(cold, times=" times")
        note += f" What takes long is the first call: {size} ({interval_of(cold)}) a warm one."
    return ClaimAnswer(claim=claim, result=Result.DISAGREES, note=note)


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
