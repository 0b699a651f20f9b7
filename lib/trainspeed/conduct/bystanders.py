"""Who else uses the GPUs of a block: before its runs begin, and when they have ended. Runs look meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.notes import AnyNote, GpuTakenMeanwhile

GpusInUse = Callable[[Sequence[str]], Sequence[AnyNote]]  # GPUs' UUIDs -> a note for each that is in use


class Bystanders:
    """Others on the GPUs of runs that are alive together. Make it before they begin.

    Args:
        gpu_uuids: The GPUs that one or more of the runs will use; where there are none, nobody is looked for.
        gpus_in_use: Looks for others, while none of ours is alive.
    """

    def __init__(self, gpu_uuids: Sequence[str], gpus_in_use: GpusInUse) -> None:
        self._gpu_uuids, self._gpus_in_use = gpu_uuids, gpus_in_use
        self._before = gpus_in_use(gpu_uuids) if gpu_uuids else ()

    def noted(self, outcomes: Sequence[RunOutcome]) -> list[RunOutcome]:
        """Return how the runs ended, with a note on each GPU that was in use before them, or came into use since.

        Args:
            outcomes: Of these runs; none is alive any more.
        """
        before = {note.gpu for note in self._before}
        look = len(before) < len(self._gpu_uuids)  # else nobody can be new
        after = self._gpus_in_use(self._gpu_uuids) if look else ()
        came = [GpuTakenMeanwhile(gpu=note.gpu) for note in after if note.gpu not in before]
        return [outcome.noted(*self._before, *came) for outcome in outcomes]
