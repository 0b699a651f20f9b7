"""What the multi-GPU notebook asks of its runs: does a second device pay, and how far from ideal is it?

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trainspeed.core.errors import UserError, check_name, check_whole
from trainspeed.core.format import counted, percent
from trainspeed.core.run import Run
from trainspeed.core.trial import ACROSS_NODES, FRAMEWORKS, SINGLE, STRATEGIES, Trial, grid
from trainspeed.judge.comparison import Verdict, compare_with
from trainspeed.studies.multi_gpu.efficiency import efficiency_of, rating_of

STRONG, WEAK = "strong", "weak"
# An epoch's start and its wait for all devices take a millisecond or two. On a GPU that is a good part of a step, and
# with fewer steps would pass for a lack of efficiency; on a CPU core a step takes a tenth of a second or more.
LEAST_STEPS = {"GPU": 20, "CPU core": 1}


def device_counts(devices: Sequence[int], most: int, available: int, *, name: str = "devices") -> list[int]:
    """Return the numbers of devices to measure: 1 and those asked for; if none are, 1, 2, 4 … as far as there are.

    Args:
        most: The largest number where none is asked for; 0 for all there are.
        name: The parameter of the notebook that `devices` comes from.
    Raises:
        UserError: A number that is not whole, is below 1, or is larger than there are devices.
    """
    for count in devices:
        check_whole(name, count, 1)
        if count > available:
            raise UserError(name, count, f"is more than there are: {available} to use here. Lower {name}.")
    if devices:
        return sorted({1, *devices})
    check_whole("max_devices", most, 0, "0 is all there are")
    top = min(available, most) if most else available
    return [2**k for k in range(top.bit_length())]  # batches are powers of two, and others do not share them


def scaling_trials(
    frameworks: Sequence[str],
    strategies: Sequence[str],
    counts: Sequence[int],
    *,
    kinds: Sequence[str] = (STRONG, WEAK),
    asked: Sequence[int] = (),
    nodes: Sequence[int] = (1,),
    least_steps: int = 1,
    **factors: Any,
) -> tuple[Trial, ...]:
    """Return one device, and N devices at the same global batch and at the same batch on each device.

    Numbers of devices over which a batch cannot be spread are left out: see `left_out_sentences`.

    Args:
        strategies: Each framework uses those that it has.
        kinds: The kinds of scaling: the notebook's parameter `compared`.
        counts: Numbers of devices of a node.
        asked: Those that the user named: for these, a batch that they cannot share is an error.
        nodes: Numbers of nodes; more than one with the strategies that may be asked for across nodes.
        least_steps: Steps that an epoch on several devices has; a batch that leaves fewer is left out.
        factors: As for `grid`; `batch_size` is that of one device.
    Raises:
        UserError: A name that does not exist, or no kind of scaling or no strategy to measure with.
    """
    singles = grid(framework=frameworks, **factors)
    known = sorted({name for names in STRATEGIES.values() for name in names} - {SINGLE})
    for strategy in strategies:
        check_name("strategy", strategy, known)
    for kind in kinds:
        check_name("kind of scaling", kind, (STRONG, WEAK))
    if not kinds:
        raise UserError("compared is an empty list: name strong, weak or both.")
    named = dict.fromkeys(trial.framework for trial in singles)
    usable = sorted({strategy for name in named for strategy in STRATEGIES[name][1:]})
    if max(counts, default=1) * max(nodes, default=1) > 1 and not set(usable) & set(strategies):
        raise UserError(
            f"strategies (={list(strategies)}) has none for {', '.join(named)}: name one or more of "
            f"{', '.join(usable)}, or measure one device alone: devices: [1]."
        )
    spread = [
        replace(trial, strategy=strategy, devices=total, nodes=many, batch_size=trial.batch_size * times)
        for trial in singles
        for many in nodes
        for count in counts
        if (total := many * count) > 1
        for strategy in (STRATEGIES[trial.framework][1:] if many == 1 else ACROSS_NODES[trial.framework])
        if strategy in strategies
        for kind, times in ((STRONG, 1), (WEAK, total))
        if kind in kinds
        if (kind == STRONG and count in asked) or not _obstacle(kind, trial, total, least_steps)
    ]
    return tuple(dict.fromkeys([*singles, *spread]))


def node_counts(nodes: Sequence[int], available: int) -> list[int]:
    """Return the numbers of nodes to measure: one, and those asked for.

    Raises:
        UserError: A number that is not whole, is below 1, or is larger than there are nodes.
    """
    for count in nodes:
        check_whole("nodes", count, 1)
        if count > available:
            hint = (
                "Lower nodes, or give the machine more of them in fleet.yaml."
                if available > 1
                else "`make fleet FLEET=fleet.yaml NODES=…` measures on several: see docs/fleet.md."
            )
            there = counted(available, "equal node")
            raise UserError("nodes", count, f"is more than there are: {there} to use here. {hint}")
    return sorted({1, *nodes})


def images_for(
    images: int, batch_sizes: Sequence[int], counts: Sequence[int], kinds: Sequence[str], least_steps: int
) -> int:
    """Return so many images per epoch, or more: so many that every arm trains the least number of steps in one.

    All arms train the same images, so that an epoch of one is compared with an epoch of another.
    """
    most = max(counts, default=1)
    largest = max(batch_sizes, default=0) * (most if WEAK in kinds else 1)
    return max(images, least_steps * largest) if most > 1 else images


def _obstacle(kind: str, single: Trial, count: int, least_steps: int) -> str | None:
    """Return why a trial of one device cannot be scaled to this many; None where it can."""
    batch, images = single.batch_size, single.images_per_epoch
    if kind == STRONG and batch % count:
        return f"batch {batch} cannot be shared evenly by {count} devices"
    together = batch if kind == STRONG else batch * count
    steps = images // together
    if not steps:
        return f"batch {together} on {count} devices is more than an epoch of {images} images"
    if steps < least_steps:
        return (
            f"batch {together} on {count} devices is {counted(steps, 'step')} in an epoch of {images} images, "
            f"fewer than {least_steps}"
        )
    return None


def left_out_sentences(trials: Iterable[Trial], counts: Sequence[int], least_steps: int = 1) -> list[str]:
    """Return what `scaling_trials` left out when it made these trials, and why."""
    singles = [trial for trial in trials if trial.devices == 1]
    obstacles = [
        _obstacle(kind, single, count, least_steps)
        for kind in (STRONG, WEAK)
        for single in singles
        for count in counts
        if count > 1
    ]
    return [f"Left out: {obstacle}." for obstacle in dict.fromkeys(obstacles) if obstacle]


def grown_sentences(trials: Iterable[Trial], images_per_epoch: int) -> list[str]:
    """Return that epochs have more images than were asked for, where they do, and why."""
    grown = {trial.images_per_epoch for trial in trials} - {images_per_epoch}
    return [
        f"Epochs have {images:,} images, not {images_per_epoch:,}, so that every batch is trained for "
        f"{LEAST_STEPS['GPU']} steps or more in one."
        for images in sorted(grown)
    ]


def devices_sentences(runs: Sequence[Run], machine: Mapping[str, Any]) -> list[str]:
    """Return what a device was, and that several were not measured, where they were not."""
    kind = "a GPU" if machine.get("device") == "gpu" else "one CPU core with one thread, not a GPU"
    sentences = [f"A device is {kind}."]
    if all(run.trial.devices == 1 for run in runs):
        sentences.append("More than one device: not measured here.")
    return sentences


def unanswered_sentences(runs: Sequence[Run], machine: Mapping[str, Any]) -> list[str]:
    """Return that the question was not measured here, where every run had one device of one node."""
    if not runs or any(run.trial.devices * run.trial.nodes > 1 for run in runs):
        return []
    device = "GPU" if machine.get("device") == "gpu" else "CPU core"
    return [f"Whether a second device pays was not measured here: every training ran on one {device}."]


def scaling_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return N devices over one: strong scaling first, then the most blocks, then by framework and devices."""

    def strong(trial: Trial) -> list[Trial]:
        return [replace(trial, devices=1, nodes=1, strategy=SINGLE)] if trial.devices > 1 else []

    def weak(trial: Trial) -> list[Trial]:
        share = trial.batch_size // trial.devices
        return [replace(single, batch_size=share) for single in strong(trial)]

    def position(verdict: Verdict) -> tuple:
        trial = verdict.candidate
        framework = FRAMEWORKS.index(trial.framework)
        return scaling_of(verdict), -verdict.blocks, framework, trial.model, trial.batch_size, trial.devices

    verdicts: list[Verdict] = []
    for baselines, equal in ((strong, "global batch"), (weak, "batch on each device")):
        question = f"Do more devices train faster, at the same {equal}?"
        verdicts += compare_with(runs, baselines, "devices", question=question, quantity=quantity)
    return sorted(verdicts, key=position)


def node_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return what several nodes are worth over one: with as many devices in all, and with as many on each."""

    def as_many(trial: Trial) -> list[Trial]:
        return [replace(trial, nodes=1)] if trial.nodes > 1 else []

    def each(trial: Trial) -> list[Trial]:
        one = replace(trial, nodes=1, devices=trial.devices_per_node) if trial.devices_per_node > 1 else None
        return [one] if trial.nodes > 1 and one else []

    verdicts: list[Verdict] = []
    for baselines, equal in ((as_many, "in all"), (each, "on each")):
        question = f"Does a further node train faster, with as many devices {equal}?"
        verdicts += compare_with(runs, baselines, "nodes", question=question)
    return verdicts


def scaling_of(verdict: Verdict) -> str:
    """Return "strong" (global batch fixed) or "weak" (batch on each device fixed)."""
    return STRONG if verdict.baseline.batch_size == verdict.candidate.batch_size else WEAK


def scaling_frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return a row per verdict: the candidate's fields below, scaling, speedup, low and high."""
    fields = ["framework", "model", "layout", "precision", "compile", "strategy"]
    fields += ["devices", "nodes", "batch_size"]
    rows = [
        v.candidate.as_dict() | {"scaling": scaling_of(v), "speedup": v.speedup, "low": v.low, "high": v.high}
        for v in verdicts
    ]
    frame = pd.DataFrame(rows, columns=[*fields, "scaling", "speedup", "low", "high"])
    return frame.astype({"speedup": float, "low": float, "high": float})


def scaling_sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the sentence of each verdict that has an interval, and the efficiency that it means.

    Efficiency is the speed-up as a share of the ideal one: 1 where N devices are N times as fast.
    """
    sentences = []
    for verdict in verdicts:
        if verdict.low is None:
            continue
        count = verdict.candidate.devices
        low, high = verdict.low / count, verdict.high / count
        sentences.append(
            f"{scaling_of(verdict).capitalize()} scaling: {verdict.sentence} Efficiency "
            f"{percent(efficiency_of(verdict))} ({percent(low)} to {percent(high)}) of {count} times: "
            f"{rating_of(verdict)}."
        )
    return sentences
