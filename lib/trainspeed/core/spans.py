"""When a run was at work between its waits, for a chart over time: seconds from its request. Values in, values out."""

from __future__ import annotations

from itertools import accumulate

from trainspeed.core.run import Run

AFTER_TRAINING = ("evaluate", "inspect")  # stages of a run

Span = tuple[float, float]  # begin and end


def active_spans_s(run: Run) -> list[Span]:
    """Return what it did between its waits, in order."""
    end_s, turns = sum(run.stages_s.values()), turn_spans_s(run)
    if not turns:
        return [(0.0, end_s)]
    if run.trial.phase.calls:
        return [(0.0, run.busy_s - sum(ended - begun for begun, ended in turns)), *turns]
    before_s = run.trained_from_s + sum(_epochs_at_once_s(run))
    after_s = sum(run.stages_s.get(stage, 0.0) for stage in AFTER_TRAINING)
    return [(0.0, before_s), *turns, (end_s - after_s, end_s)]


def turn_spans_s(run: Run) -> list[Span]:
    """Return its turns, in order."""
    return [(t.start_s, t.start_s + sum(t.epoch_s) if t.end_s is None else t.end_s) for t in run.turns]


def epoch_ends_s(run: Run) -> list[float]:
    """Return the end of each epoch, as far as that is known."""
    ends = list(accumulate(_epochs_at_once_s(run), initial=run.trained_from_s))[1:]
    for turn in run.turns:
        ends += list(accumulate(turn.epoch_s, initial=turn.start_s))[1:]
    return ends


def _epochs_at_once_s(run: Run) -> tuple[float, ...]:
    """Return the epochs before its turns, on a CPU the first: its second may have waited until all arms were built."""
    waits = run.turns and run.machine.get("device") == "cpu"
    return run.epoch_s[: min(1, run.epochs_before_turns) if waits else run.epochs_before_turns]
