"""Others that begin to use a GPU while runs are measured. Runs know their own time; this looks when they have ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.notes import AnyNote, GpuBusy, GpuMemoryHeld, GpuTakenMeanwhile


def with_newcomers(
    outcomes: Sequence[RunOutcome],
    gpu_uuids: Sequence[str],
    strangers: Callable[[Sequence[str]], Sequence[AnyNote]],
) -> Sequence[RunOutcome]:
    """Return how runs ended, with a note on each GPU that was free before them and is not now.

    Args:
        outcomes: Of runs that were alive together; none is any more.
        gpu_uuids: The GPUs that they used; where there are none, nobody is looked for.
        strangers: Returns a note for each of some GPUs that is in use.
    """
    if not gpu_uuids:
        return outcomes
    notes = (note for outcome in outcomes for note in outcome.result.notes)
    before = {note.gpu for note in notes if isinstance(note, GpuBusy | GpuMemoryHeld)}
    came = [GpuTakenMeanwhile(gpu=note.gpu) for note in strangers(gpu_uuids) if note.gpu not in before]
    return [outcome.noted(*came) for outcome in outcomes]
