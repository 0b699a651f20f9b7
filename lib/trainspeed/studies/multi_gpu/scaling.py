"""What the multi-GPU notebook asks of its runs: does a second device pay, and how far from ideal is it?

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trainspeed.core.check import check_name
from trainspeed.core.errors import UserError
from trainspeed.core.format import percent
from trainspeed.core.names import NAMES
from trainspeed.core.run import Run
from trainspeed.core.trial import FRAMEWORKS, SINGLE, STRATEGIES, Trial, grid
from trainspeed.judge.comparison import Verdict, compare_with
from trainspeed.judge.verdict import Outcome
from trainspeed.snippets import code

STRONG, WEAK = "strong", "weak"
ALL_STRATEGIES = tuple(sorted({name for names in STRATEGIES.values() for name in names} - {SINGLE}))
QUESTIONS = {
    STRONG: "Do more devices train faster, at the same global batch?",
    WEAK: "Do more devices train faster, at the same batch on each device?",
}
COMPARED_FACTORS = ("devices", "strategy", "batch_size")  # between the arms of one comparison
NEAR_IDEAL = 0.9  # efficiency from which a further device is called well used


def device_counts(devices: Sequence[int], most: int, available: int, *, name: str = "devices") -> list[int]:
    """Return the numbers of devices to measure: those asked for and 1, else 1, 2, 4 … as there are.

    Args:
        most: No more than so many where none are named; 0 for all.
        name: Of the notebook's parameter that `devices` is.
    Raises:
        UserError: One that was asked for is not a whole number from 1, or more than there are.
    """
    for count in devices:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UserError(f"{name}: {count!r} must be a whole number of at least 1.")
        if count > available:
            raise UserError(name, count, f"is more than there are: {available} to use here. Lower {name}.")
    if devices:
        return sorted({1, *devices})
    if most < 0:
        raise UserError("max_devices", most, "must be 0, for all, or more.")
    top = min(available, most) if most else available
    return [2**k for k in range(top.bit_length())]  # batches are powers of two, and others do not share them


def scaling_trials(
    frameworks: Sequence[str],
    strategies: Sequence[str],
    counts: Sequence[int],
    *,
    kinds: Sequence[str] = (STRONG, WEAK),
    asked: Sequence[int] = (),
    **factors: Any,
) -> tuple[Trial, ...]:
    """Return one device, and N devices at the same global batch and at the same batch on each device.

    What cannot be measured with a batch is left out: see `left_out_sentences`.

    Args:
        kinds: Of scaling: the notebook's `compared`.
        asked: Numbers of devices that were named: there, a batch that they cannot share is an error.
        strategies: Those that a framework has are used.
        factors: As of `trial.grid`; `batch_size` is that of one device.
    """
    singles = grid(framework=frameworks, **factors)
    for strategy in strategies:
        check_name("strategy", strategy, ALL_STRATEGIES)
    for kind in kinds:
        check_name("kind of scaling", kind, (STRONG, WEAK))
    if not kinds:
        raise UserError("compared is an empty list: name strong, weak or both.")
    named = dict.fromkeys(trial.framework for trial in singles)
    usable = sorted({strategy for name in named for strategy in STRATEGIES[name][1:]})
    if max(counts, default=1) > 1 and not set(usable) & set(strategies):
        raise UserError(
            f"strategies (={list(strategies)}) has none for {', '.join(named)}: name one or more of "
            f"{', '.join(usable)}, or measure one device alone: devices: [1]."
        )
    spread = [
        replace(trial, strategy=strategy, devices=count, batch_size=trial.batch_size * times)
        for trial in singles
        for count in counts
        if count > 1
        for strategy in STRATEGIES[trial.framework][1:]
        if strategy in strategies
        for kind, times in ((STRONG, 1), (WEAK, count))
        if kind in kinds
        if (kind == STRONG and count in asked) or not _why_not(kind, trial, count)
    ]
    return tuple(dict.fromkeys([*singles, *spread]))


def _why_not(kind: str, single: Trial, count: int) -> str | None:
    """Return why a trial of one device cannot be scaled to so many; None where it can."""
    batch, images = single.batch_size, single.images_per_epoch
    if kind == STRONG and batch % count:
        return f"batch {batch} cannot be shared evenly by {count} devices"
    if kind == WEAK and batch * count > images:
        return f"batch {batch * count} on {count} devices is more than an epoch of {images} images"
    return None


def left_out_sentences(
    trials: Iterable[Trial], counts: Sequence[int], kinds: Sequence[str] = (STRONG, WEAK)
) -> list[str]:
    """Return what `scaling_trials` has left out beside these trials, and why."""
    singles = [trial for trial in trials if trial.devices == 1]
    found = (_why_not(kind, t, count) for kind in kinds for t in singles for count in counts if count > 1)
    return [f"Left out: {why}." for why in dict.fromkeys(found) if why]


def devices_sentences(runs: Sequence[Run], machine: Mapping[str, Any]) -> list[str]:
    """Return what a device was, and what was not measured here."""
    kind = "a GPU" if machine.get("device") == "gpu" else "one CPU core with one thread, not a GPU"
    most = max((run.trial.devices for run in runs), default=1)
    sentences = [f"A device is {kind}."]
    if most == 1:
        sentences.append("More than one device: not measured here.")
    return sentences


def scaling_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return N devices over one, strong scaling first: the most blocks, then by framework and devices."""

    def strong(trial: Trial) -> Iterable[Trial]:
        return [replace(trial, devices=1, strategy=SINGLE)] if trial.devices > 1 else []

    def weak(trial: Trial) -> Iterable[Trial]:
        one = trial.batch_size // trial.devices
        return [replace(base, batch_size=one) for base in strong(trial)]

    verdicts = [
        *compare_with(runs, strong, "devices", question=QUESTIONS[STRONG]),
        *compare_with(runs, weak, "devices", question=QUESTIONS[WEAK]),
    ]
    return sorted(verdicts, key=_place)


def _place(verdict: Verdict) -> tuple:
    trial = verdict.candidate
    order = FRAMEWORKS.index(trial.framework)
    return scaling_of(verdict), -verdict.blocks, order, trial.model, trial.batch_size, trial.devices


def scaling_of(verdict: Verdict) -> str:
    """Return "strong" (global batch fixed) or "weak" (batch on each device fixed)."""
    return STRONG if verdict.baseline.batch_size == verdict.candidate.batch_size else WEAK


def efficiency(verdict: Verdict) -> float | None:
    """Return the speed-up as a share of the ideal one: 1 where N devices are N times as fast."""
    return None if verdict.speedup is None else verdict.speedup / verdict.candidate.devices


def scaling_frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return a row per verdict: framework, model, strategy, scaling, devices, batch_size, speedup, low, high."""
    columns = ["framework", "model", "strategy", "scaling", "devices", "batch_size", "speedup", "low", "high"]
    rows = [
        {
            "framework": v.candidate.framework,
            "model": v.candidate.model,
            "strategy": v.candidate.strategy,
            "scaling": scaling_of(v),
            "devices": v.candidate.devices,
            "batch_size": v.candidate.batch_size,
            "speedup": v.speedup,
            "low": v.low,
            "high": v.high,
        }
        for v in verdicts
    ]
    return pd.DataFrame(rows, columns=columns).astype({"speedup": float, "low": float, "high": float})


def scaling_sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """Return, for each decided or undecided verdict with an interval, its sentence and its efficiency."""
    sentences = []
    for verdict in verdicts:
        if verdict.low is None:
            continue
        count, share = verdict.candidate.devices, efficiency(verdict)
        low, high = verdict.low / count, verdict.high / count
        well = (
            "near ideal"
            if low >= NEAR_IDEAL
            else "far from ideal"
            if high < NEAR_IDEAL
            else "not decided how near"
        )
        sentences.append(
            f"{scaling_of(verdict).capitalize()} scaling: {verdict.sentence} Efficiency {percent(share)} "
            f"({percent(low)} to {percent(high)}) of {count} times: {well}."
        )
    return sentences


def strategy_settings(verdicts: Sequence[Verdict]) -> list[str]:
    """Return, for each framework, the strategy to copy as Markdown: only where more devices were faster."""
    texts = []
    for framework in FRAMEWORKS:
        mine = [v for v in verdicts if v.candidate.framework == framework]
        wins = [v for v in mine if v.outcome == Outcome.FASTER]
        decided = [v for v in mine if v.outcome != Outcome.UNDECIDED]
        if mine and not wins:
            advice = "were not faster; use one" if decided else "are undecided: measure more blocks"
            texts.append(f"**{NAMES[framework]}**: more devices {advice}.")
        for strategy in dict.fromkeys(v.candidate.strategy for v in wins):
            found = [v for v in wins if v.candidate.strategy == strategy]
            gains = [(f"{v.label}, {scaling_of(v)} scaling", v.speedup) for v in found]
            lines = code.lines("strategy", framework=framework, strategy=strategy)
            texts.append(code.faster_block(framework, strategy, gains, lines))
    return texts
