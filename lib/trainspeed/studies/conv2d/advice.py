"""What to do instead, from what won: sentences and the lines to copy. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.format import interval, listed, percent, three
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.crossover import CrossoverKind
from trainspeed.judge.text import interval_of, size_of, what_decides
from trainspeed.judge.verdict import Outcome, median_interval
from trainspeed.snippets import code
from trainspeed.studies.conv2d.by_size import by_size_sentences
from trainspeed.studies.conv2d.calls import Calls, calls_of, first_call_s
from trainspeed.studies.conv2d.findings import (
    cpu_verdicts,
    device_verdicts,
    fastest,
    residency_verdicts,
    tied_trials,
)
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import on_device

WARM_UP_FROM = 2.0  # a first call that takes this many times a warm one is worth a sentence


def advice(runs: Sequence[Run], core: Sequence[Conv2dTrial], sweeps: Iterable[Sweep]) -> list[str]:
    """Return what to do about a convolution of the size measured, each with the number that says so.

    Args:
        sweeps: As returned by `sweeps.crossovers`.
    """
    best = fastest(runs, core)
    of_processors = cpu_verdicts(runs, core)
    cores = all_on_cores(runs)
    sentences = [
        _processor(v, cores=cores)
        for v in of_processors
        if {"device": v.candidate, "cpu": v.baseline} == best
    ]
    sweeps = list(sweeps)
    sentences += by_size_sentences(runs, sweeps, cores=cores)
    sentences += _device_counts(device_verdicts(runs), cores=cores)
    sentences += _stay(residency_verdicts(runs, core), cores=cores)
    # A crossover without an interval is not decided.
    decided = [s for s in sweeps if s.crossover.kind == CrossoverKind.SINGLE and s.crossover.low]
    sentences += [_images_per_call(sweep) for sweep in decided if sweep.factor == "images"]
    if device := best.get("device"):
        sentences += _warm_up(calls_of(runs)[device])
    return [*sentences, _without_gpu(runs)] if sentences and cores else sentences


def _warm_up(calls: Calls) -> list[str]:
    """Return that the first call takes much longer than a later one, where it does."""
    ratios = [*calls.by_block(lambda run: first_call_s(run) / run.median_call_s).values()]
    if median(ratios) < WARM_UP_FROM:
        return []
    ends = median_interval(ratios)
    decimals = 1 if median(ratios) < 100 else 0
    sure = interval(*ends, decimals) if ends else "no interval"
    return [
        f"Make a call before the one that counts: in {library_of(calls.trial)} the first one of a process takes "
        f"{median(ratios):,.{decimals}f} times ({sure}) as long as a later one."
    ]


def _stay(verdicts: Iterable[Verdict], *, cores: bool) -> list[str]:
    """Return in which libraries data had better stay where they are: where that is decided."""
    where = "in the library's own memory" if cores else "on the device"
    takes = {}
    for verdict in verdicts:
        if verdict.outcome == Outcome.FASTER:
            share, *ends = (percent(1 / times) for times in (verdict.speedup, verdict.high, verdict.low))
            takes[library_of(verdict.candidate)] = f"{share} ({' to '.join(ends)})"
    if not takes:
        return []
    return [
        f"In {listed(takes)}, keep images and results {where} from call to call where you can: that takes "
        f"{listed(takes.values())} of a round trip."
    ]


def _on_gpu(runs: Iterable[Run], trial: Conv2dTrial) -> bool:
    """Return whether a trial ran on a GPU, as far as its runs say."""
    return on_device(trial) and not all_on_cores(run for run in runs if run.trial.spec == trial.spec)


def all_on_cores(runs: Iterable[Run]) -> bool:
    """Return whether all that frameworks ran on was CPU cores, as far as their runs say."""
    places = [
        run.placement for trial, calls in calls_of(runs).items() if on_device(trial) for run in calls.runs
    ]
    return bool(places) and all((place or "").lower().startswith("cpu") for place in places)


def _without_gpu(runs: Iterable[Run]) -> str:
    """Return what was compared, where no GPU was used."""
    sizes = {one.names["case"] for one in calls_of(runs).values()}
    at_one = ", at one size" * (len(sizes) == 1)
    return f"No GPU was used: libraries were compared on CPU cores{at_one}, and a device here is such a core."


def _processor(verdict: Verdict, *, cores: bool) -> str:
    """Return whether to use the device or the CPU; between libraries alone where both ran on CPU cores."""
    device, cpu = library_of(verdict.candidate), library_of(verdict.baseline)
    case = Calls(verdict.candidate).names["case"]
    if cores and verdict.outcome in (Outcome.FASTER, Outcome.SLOWER):
        fast, slow = (device, cpu) if verdict.outcome is Outcome.FASTER else (cpu, device)
        return f"For {case}, use {fast}: it is {_times(verdict)} as fast as {slow}."
    return {
        Outcome.FASTER: f"For {case}, use the device: {device} is {_times(verdict)} as fast as {cpu}.",
        Outcome.SLOWER: f"For {case}, stay on the CPU: {cpu} is {_times(verdict)} as fast as {device}.",
        Outcome.SAME: f"For {case}, {device} and {cpu} are equally fast: take what is simpler.",
        Outcome.UNDECIDED: (
            f"Whether {device} or {cpu} is faster for {case} is undecided{what_decides([verdict])}."
        ),
    }[verdict.outcome]


def _times(verdict: Verdict) -> str:
    """Return by what factor the faster one is faster, with the interval: "2.71x (2.70 to 2.78)"."""
    judged = verdict.judgement.turned if verdict.outcome is Outcome.SLOWER else verdict.judgement
    return f"{size_of(judged)} ({interval_of(judged)})"


def _device_counts(verdicts: Sequence[Verdict], *, cores: bool) -> list[str]:
    """Return how many devices should share the images, for each library where that is decided.

    Args:
        cores: Whether a device is a CPU core: several are no more than a plain script has.
    """
    sentences, device = [], "CPU core" if cores else "device"
    for library in dict.fromkeys(library_of(v.candidate) for v in verdicts):
        alike = [v for v in verdicts if library_of(v.candidate) == library]
        wins = [v for v in alike if v.outcome == Outcome.FASTER]
        if wins:
            best = max(wins, key=lambda v: v.speedup)
            several = f"{best.candidate.devices} {device}s"
            sentences.append(
                f"{library}: {several} share the images: {_times(best)} over one core; a plain script uses all cores."
                if cores
                else f"{library}: share the images over {several}: {_times(best)}."
            )
            sentences += _more_than_shared(best, device)
        elif all(v.outcome in (Outcome.SAME, Outcome.SLOWER) for v in alike):
            sentences.append(f"{library}: stay on one {device}; no other number was faster.")
    return sentences


def _more_than_shared(verdict: Verdict, device: str) -> list[str]:
    """Return a doubt about devices that are faster than their number; where its interval allows less, it says so."""
    devices = verdict.candidate.devices
    if verdict.low is None or verdict.speedup <= devices:
        return []
    if verdict.low <= devices:
        return [
            f"{size_of(verdict)} is more than the {devices} times that sharing the images gives; its "
            f"interval begins at {verdict.low:.2f}, so that noise may explain it."
        ]
    return [
        f"{library_of(verdict.candidate)} on {devices} {device}s was {verdict.low:.2f} to {verdict.high:.2f} times as "
        f"fast as on one, more than the {devices} times that sharing the images gives: a share may fit into a "
        "cache where the whole does not, so do not expect as much at another size."
    ]


def _images_per_call(sweep: Sweep) -> str:
    device, cpu = library_of(sweep.device), library_of(sweep.cpu)
    size = f"{sweep.crossover.nearest_faster:,}"
    if sweep.crossover.is_rough:
        faster, slower = (device, cpu) if sweep.crossover.rising else (cpu, device)
        few, many = map(three, sweep.crossover.bracket)
        sides = f"with {few} {slower} is faster, with {many} {faster}"
        return f"Images in a call: {sides}; measure sizes between (`image_counts`)."
    if sweep.crossover.rising:
        return f"Put about {size} images or more into a call of {device}; for fewer, {cpu} is faster."
    return f"Put no more than about {size} images into a call of {device}; beyond, {cpu} is faster."


def fastest_code(runs: Sequence[Run], core: Sequence[Conv2dTrial]) -> list[str]:
    """Return the lines to copy for the fastest library on the device and on the CPU, as Markdown; the faster first."""
    places = {"device": "on the device", "cpu": "on the CPU; for one channel"}
    if all_on_cores(runs):
        places = {
            "device": "of the frameworks, on a CPU core",
            "cpu": "of the CPU's libraries; for one channel",
        }
    alike = {side: tied_trials(runs, core, trial) for side, trial in fastest(runs, core).items()}
    return [
        code.block(
            f"**{library_of(trial)}**, {_rank(places[side], alike[side])}",
            code.lines("convolution", library=trial.library, mode=trial.mode, on_gpu=_on_gpu(runs, trial)),
        )
        for side, trial in fastest(runs, core).items()
    ]


def _rank(place: str, alike: Sequence[Conv2dTrial]) -> str:
    """Return that it is the fastest there, or who may be as fast."""
    if not alike:
        return f"the fastest {place}"
    return f"the shortest median {place}; not told apart from {listed(map(library_of, alike))}"
