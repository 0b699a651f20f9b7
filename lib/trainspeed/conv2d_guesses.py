"""What became of article 004's findings and guesses on this machine: an experiment and an answer for each.

Pure functions on runs. An answer is about the article's own pair, TensorFlow against SciPy, where both
were measured; the others are in the verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from trainspeed.comparison import Verdict
from trainspeed.conv2d_study import ARTICLE, call_times, first_call_s, pair_of
from trainspeed.conv2d_sweeps import sized
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.conv2d_verdicts import across, growth, within
from trainspeed.published_conv2d import Conv2dClaim, conv2d_claims
from trainspeed.run import Run
from trainspeed.verdict import Judgement, Outcome
from trainspeed.wording import library_of, measured

SUPPORTED, REFUTED, OPEN, UNMEASURED = "supported", "refuted", "undecided", "not measured here"
FEW, MANY = 3, 4  # devices: the article's slow ones, and from where on it was fast
EXTREMELY = 2.0  # times as long, from here on
ROOM = 0.5  # of the memory: data that need less are not swapped

Answer = tuple[str, str]  # one of the four above, and why


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the answers are computed from.

    Attributes:
        device, cpu: The article's pair at its size, or what stands for them: see `pair_of`.
        sweep_base: Sweep -> the article's pair (device, CPU) at one of its sizes.
        sizes: Sweep -> its sizes, ascending.
        machine: As in the ledger.
    """

    runs: Sequence[Run]
    device: Conv2dTrial
    cpu: Conv2dTrial | None
    library_verdicts: Sequence[Verdict]
    device_verdicts: Sequence[Verdict]
    machine: Mapping[str, Any]
    sweep_base: Mapping[str, tuple[Conv2dTrial, Conv2dTrial]] = field(default_factory=dict)
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    filters_fixed: bool = False

    @property
    def has_gpu(self) -> bool:
        """Whether the devices are GPUs."""
        return self.machine.get("device") == "gpu"


def evidence(
    measured: Any,
    core: Sequence[Conv2dTrial],
    library_verdicts: Sequence[Verdict],
    device_verdicts: Sequence[Verdict],
    sweep_base: Mapping[str, tuple[Conv2dTrial, Conv2dTrial]],
    sweeps: Mapping[str, Sequence[int]],
    filters_fixed: bool,
) -> Evidence:
    """Return the evidence of a study.

    Args:
        measured: A `study.Measured`: its runs and its machine are used.
    """
    device, cpu = pair_of(core)
    return Evidence(
        runs=measured.runs,
        device=device,
        cpu=cpu,
        library_verdicts=library_verdicts,
        device_verdicts=device_verdicts,
        machine=measured.machine,
        sweep_base=sweep_base,
        sizes={name: sorted(values) for name, values in sweeps.items()},
        filters_fixed=filters_fixed,
    )


def answers(evidence: Evidence) -> list[tuple[Conv2dClaim, str, str]]:
    """Return (claim, answer, why) for every finding and guess of the article."""
    found = []
    for claim in conv2d_claims():
        answer, why = EXPERIMENTS[claim.id](evidence)
        unsaid = answer != UNMEASURED and not evidence.has_gpu and "GPU" not in why
        found.append((claim, answer, why + " Devices here are CPU cores." * unsaid))
    return found


def _decided(judgement: Judgement, text: str) -> Answer:
    """Supported where it is faster, refuted where it is not."""
    if judgement.speedup is None:
        return UNMEASURED, f"{text}: not measured."
    answer = {Outcome.FASTER: SUPPORTED, Outcome.UNDECIDED: OPEN}.get(judgement.outcome, REFUTED)
    return answer, f"{text}: {measured(judgement)}."


def _cpu_wins(evidence: Evidence) -> Answer:
    if evidence.cpu is None:
        return UNMEASURED, "No library was measured on the CPU."
    if evidence.device.on_cpu:
        return UNMEASURED, "No library was measured on a device."
    cpu = evidence.cpu
    device = max([evidence.device, *_spread(evidence)], key=lambda trial: trial.devices)
    warm = across(evidence.runs, device, cpu, lambda run: run.median_s)
    cold = across(evidence.runs, device, cpu, lambda run: first_call_s(run) if run.call_s else None)
    many = f" on {device.devices} devices" * (device.devices > 1)
    answer, why = _decided(warm, f"{library_of(cpu)} over {library_of(device)}{many}, warm calls")
    if cold.speedup is not None:
        why += f" The first call of each: {measured(cold)}."
    return answer, why


def _spread(evidence: Evidence) -> list[Conv2dTrial]:
    """Return the article's library as it was measured on several devices, the fewest first."""
    alone = evidence.device.without_seed()
    mine = [v.candidate for v in evidence.device_verdicts if v.baseline == alone]
    return sorted(mine, key=lambda trial: trial.devices)


def _few_slow(evidence: Evidence) -> Answer:
    spread = _spread(evidence)
    most = spread[-1].devices if spread else 1
    if most < MANY:
        return (
            UNMEASURED,
            f"It takes {MANY} devices or more, and {most} {'were' if most > 1 else 'was'} measured.",
        )
    few = [evidence.device, *(trial for trial in spread if trial.devices <= FEW)]
    judged = {trial.devices: across(evidence.runs, trial, spread[-1], first_call_s) for trial in few}
    known = {count: judgement for count, judgement in judged.items() if judgement.speedup is not None}
    if not known:
        return UNMEASURED, "No first call was measured on few devices and on many."
    told = "; ".join(f"{count}: {_times(judgement)}" for count, judgement in known.items())
    why = f"First call of {library_of(evidence.device)} on few devices, relative to that on {most}: {told}."
    if any(judgement.low is None for judgement in known.values()):
        return OPEN, why
    if all(judgement.low >= EXTREMELY for judgement in known.values()):
        return SUPPORTED, why
    return (REFUTED if any(j.high < EXTREMELY for j in known.values()) else OPEN), why


def _no_scaling(evidence: Evidence) -> Answer:
    alone = evidence.device.without_seed()
    mine = [v for v in evidence.device_verdicts if v.baseline == alone]
    if not mine:
        return UNMEASURED, f"{library_of(alone)} was measured on one device only."
    every = "; ".join(f"{v.candidate.devices} devices {measured(v.judgement)}" for v in mine)
    outcomes = {v.outcome for v in mine}
    answer = REFUTED if Outcome.FASTER in outcomes else OPEN if Outcome.UNDECIDED in outcomes else SUPPORTED
    return answer, f"{library_of(alone)} over one device, warm calls: {every}."


def _unoptimised(evidence: Evidence) -> Answer:
    if evidence.device.library != ARTICLE[0]:
        return UNMEASURED, "TensorFlow was not measured on the device."
    if not evidence.library_verdicts:
        return UNMEASURED, "No other library was measured on the device."
    every = "; ".join(f"{library_of(v.candidate)} {measured(v.judgement)}" for v in evidence.library_verdicts)
    outcomes = {v.outcome for v in evidence.library_verdicts}
    answer = SUPPORTED if Outcome.FASTER in outcomes else OPEN if Outcome.UNDECIDED in outcomes else REFUTED
    return answer, f"Over {library_of(evidence.device)}, warm calls: {every}."


def _times(judgement: Judgement) -> str:
    """Return a ratio and its interval, without saying who is faster."""
    interval = "no interval" if judgement.low is None else f"{judgement.low:.2f} to {judgement.high:.2f}"
    return f"{judgement.speedup:.2f} times ({interval})"


def _grows(factor: str, what: str) -> Callable[[Evidence], Answer]:
    def answer(evidence: Evidence) -> Answer:
        sizes = evidence.sizes.get(factor, ())
        if factor not in evidence.sweep_base or len(sizes) < 2:
            return UNMEASURED, f"One size of {what} only was measured."
        device, cpu = evidence.sweep_base[factor]
        times = call_times(evidence.runs)

        def at(size: int) -> tuple[Conv2dTrial, Conv2dTrial]:
            return tuple(sized(t, factor, size, evidence.filters_fixed).without_seed() for t in (cpu, device))

        there = [size for size in sizes if _both(times, *at(size))]
        if len(there) < 2:
            return UNMEASURED, f"{library_of(cpu)} was measured with fewer than two sizes of {what}."
        small, large = there[0], there[-1]
        judgement = growth(evidence.runs, at(small), at(large))
        ratios = [f"{_ratio(times, *at(size)):.3g}x at {size}" for size in there]
        text = (
            f"{library_of(device)} over {library_of(cpu)}: {', '.join(ratios)} {what}; from {small} to {large} the "
            "device gains"
        )
        return _decided(judgement, text)

    return answer


def _ratio(times: Mapping, cpu: Conv2dTrial, device: Conv2dTrial) -> float:
    return median(times[cpu][b].median_s / times[device][b].median_s for b in _both(times, cpu, device))


def _both(times: Mapping, one: Conv2dTrial, other: Conv2dTrial) -> list[int]:
    return sorted(times.get(one, {}).keys() & times.get(other, {}).keys())


def _transfer_back(evidence: Evidence) -> Answer:
    runs = [r for r in call_times(evidence.runs).get(evidence.device.without_seed(), {}).values() if r.warm_s]
    if not runs:
        return UNMEASURED, "No stages were measured."

    def back(run: Run) -> float:
        return median(run.warm_s["from_device"])

    def rest(run: Run) -> float:
        return sum(median(seconds) for stage, seconds in run.warm_s.items() if stage != "from_device")

    share = median(back(r) / (back(r) + rest(r)) for r in runs)
    ms = 1e3 * median(back(r) for r in runs)
    told = f"{library_of(evidence.device)}: {ms:.3g} ms, {100 * share:.0f} % of a warm call"
    if not evidence.has_gpu:
        return (
            UNMEASURED,
            f"There is no GPU and no bus to one. Handing the result over in memory takes {told}.",
        )
    judgement = within(runs, back, rest)
    answer, _ = _decided(judgement, "")
    return answer, f"The transfer back takes {_times(judgement)} what all the rest of a call takes. {told}."


def _stay(evidence: Evidence) -> Answer:
    runs = call_times(evidence.runs).get(evidence.device.without_seed(), {}).values()
    judgement = within(runs, lambda r: r.median_call_s, lambda r: r.median_resident_s)
    where = "" if evidence.has_gpu else " (here a CPU core, in the same memory)"
    text = f"Data that stay on the device{where} over a round trip, {library_of(evidence.device)}"
    return _decided(judgement, text)


def _memory_swap(evidence: Evidence) -> Answer:
    needed = evidence.device.device_bytes
    gpus = [gpu.get("memory_bytes") for gpu in evidence.machine.get("gpus") or []]
    there = (gpus[0] if gpus else None) if evidence.has_gpu else evidence.machine.get("memory_bytes")
    if not there:
        return UNMEASURED, "The memory of the device is not known."
    answer = REFUTED if needed < ROOM * there else OPEN
    where = "the GPU" if evidence.has_gpu else "this machine; there is no GPU"
    why = f"One device needs {needed / 1e6:,.3g} MB of {there / 1e9:,.3g} GB ({where})."
    runs = call_times(evidence.runs).get(evidence.device.without_seed(), {}).values()
    cold = within(runs, first_call_s, lambda r: r.median_call_s)
    if answer == REFUTED and cold.outcome == Outcome.FASTER:
        why += f" What takes long is the first call: {_times(cold)} a warm one."
    return answer, why


EXPERIMENTS: dict[str, Callable[[Evidence], Answer]] = {
    "cpu_wins": _cpu_wins,
    "few_gpus_slow": _few_slow,
    "no_scaling": _no_scaling,
    "unoptimised": _unoptimised,
    "filter_size": _grows("filter_size", "px of filter"),
    "channels": _grows("channels", "channels"),
    "transfer_back": _transfer_back,
    "stay_on_device": _stay,
    "memory_swap": _memory_swap,
}
