"""What makes one run doubtful: the notes that it stored, and those that follow from its numbers. Decides no verdict."""

from __future__ import annotations

from statistics import median, median_low

from trainspeed.core.machine_text import gpu_names
from trainspeed.core.notes import CoresBusy, Note
from trainspeed.core.run import Run
from trainspeed.judge.gpu_busy import BUSY_SHARE, busy_share

DRIFT_SHARE = 0.10  # of the median epoch: the later half of those that count against the earlier one
STALLED = 5.0  # times the median epoch: a neighbour on the cores makes it about 2
SHORT_EPOCH_S = 0.05  # below, the framework's own overhead per epoch weighs more than the training
# Frameworks whose compilers keep programs on disk, by themselves or as they were told.
CACHING = ("torch", "jax")


class StepsSkipped(Note, tag="steps_skipped"):
    """The loss scaler left out half of all steps or more."""

    skipped: int
    steps: int


class TurnsLeftOut(Note, tag="turns_left_out"):
    """Others used the machine in this many of its turns, which do not count."""

    turns: int


class GpuIdle(Note, tag="gpu_idle"):
    """The GPU had nothing to do for this share of a step, 0 to 1: more than `BUSY_SHARE` leaves."""

    share: float


class EpochsDrifted(Note, tag="epochs_drifted"):
    """The median epoch of the later half differs from that of the earlier one by more than `DRIFT_SHARE`."""


class EpochsShort(Note, tag="epochs_short"):
    """The median epoch is below `SHORT_EPOCH_S`."""


class EpochStalled(Note, tag="epoch_stalled"):
    """An epoch after the first took this many times as long as the median: `STALLED` or more."""

    times: float


class GpusDiffer(Note, tag="gpus_differ"):
    """The run's GPUs are of several kinds, and the slowest decides."""

    names: tuple[str, ...]


class PerhapsFromCache(Note, tag="perhaps_from_cache"):
    """An older version measured it, which kept the compiled programs of one run for the next ones."""


def run_notes(run: Run) -> list[Note]:
    """Return the doubts about one run: what it noted itself, and what its epochs show."""
    doubts: list[Note] = list(run.notes)
    if left_out := len(run.turns) - len(run.counted_turns):
        doubts = [note for note in doubts if not isinstance(note, CoresBusy)]
        doubts.append(TurnsLeftOut(turns=left_out))
    if len(kinds := dict.fromkeys(gpu_names(run.machine, run.trial))) > 1:
        doubts.append(GpusDiffer(names=tuple(kinds)))
    if run.trial.phase.calls or run.trial.phase.probe:
        return doubts
    steps = run.trial.steps_per_epoch * len(run.epoch_s)
    if run.skipped_steps and 2 * run.skipped_steps >= steps:
        doubts.append(StepsSkipped(skipped=run.skipped_steps, steps=steps))
    if (
        run.trial.framework in CACHING
        and run.trial.compile
        and run.trial.phase.traced
        and run.compiled_anew is None
    ):
        doubts.append(PerhapsFromCache())
    if (busy := busy_share(run)) is not None and busy < BUSY_SHARE:
        doubts.append(GpuIdle(share=1 - busy))
    steady = run.later_epoch_s if run.trial.phase.compared else ()
    if len(steady) >= 2:
        middle, half = median(steady), len(steady) // 2
        # Of two epochs the shorter one: that one of them was disturbed is no drift.
        if abs(median_low(steady[-half:]) - median_low(steady[:half])) > DRIFT_SHARE * middle:
            doubts.append(EpochsDrifted())
        if max(steady) >= STALLED * middle:
            doubts.append(EpochStalled(times=max(steady) / middle))
        if middle < SHORT_EPOCH_S:
            doubts.append(EpochsShort())
    return doubts
