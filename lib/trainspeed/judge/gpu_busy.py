"""How much of a training step the GPU computes, and how much of it it waits for the host. Decides no verdict."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import percent, precision_of
from trainspeed.core.run import Run

BUSY_SHARE = 0.90  # of a step; below it, the host's time is a noticeable part


def busy_share(run: Run) -> float | None:
    """Return the share of a step, 0 to 1, in which its GPUs ran kernels; None on a CPU and where it is not known.

    Kernels are timed in one step after training, by the profiler, and held against the median step that was timed
    without it. Where none was profiled, it is the driver's load at the ends of turns.
    """
    if not run.trial.whole_steps:
        return None
    device_s, step_s = device_s_of(run), run.step_s
    if device_s and step_s:
        return min(1.0, device_s / run.trial.devices / step_s)
    return None if run.gpu_load_percent is None else run.gpu_load_percent / 100


def device_s_of(run: Run) -> float | None:
    """Return the seconds that the kernels of a step take, on all its GPUs together; None where it was not profiled."""
    return (run.profile or {}).get("device_s")


def busy_share_of(runs: Iterable[Run]) -> float | None:
    """Return `busy_share` of the run that tells it best, of several of one trial; None where none tells."""
    run = _looked_at(runs)
    return None if run is None else busy_share(run)


def waiting_sentence(base: Iterable[Run], candidate: Iterable[Run]) -> str | None:
    """Return how much of a step the GPU waits in the candidate's precision; None where that is little or not known.

    Args:
        base: Runs of one trial; candidate: of another one, in another precision.
    """
    here, there = (_looked_at(runs) for runs in (base, candidate))
    if there is None or (share := busy_share(there)) >= BUSY_SHARE:
        return None
    beside, faster = "", ""
    if here is not None:
        beside = f" ({percent(busy_share(here))} in {precision_of(here.trial.precision)})"
        if work := own_work([here], [there]):
            faster = f"; its own work is {work:.2f}x as fast"
    return (
        f"In {precision_of(there.trial.precision)} the GPU computes for {percent(share)} of a step{beside} and waits "
        f"for the host in the rest{faster}: train larger batches, or compile."
    )


def own_work(base: Iterable[Run], candidate: Iterable[Run]) -> float | None:
    """Return how many times as fast the candidate's kernels are as the base's; None where a step was not profiled."""
    here, there = (next(filter(None, map(device_s_of, runs)), None) for runs in (base, candidate))
    return None if here is None or there is None else here / there


def _looked_at(runs: Iterable[Run]) -> Run | None:
    """Return a run whose share is known, rather one that was profiled."""
    known = [run for run in runs if busy_share(run) is not None]
    return next(filter(device_s_of, known), known[0] if known else None)
