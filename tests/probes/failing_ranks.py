"""A torch backend whose rank 1 fails in its second epoch, as TRAINSPEED_TEST_RANK says.

"die while rank 0 waits" and so on: rank 0 neither notices nor raises, as over NCCL, where it waits in the driver.
"""

from __future__ import annotations

import os
import signal
import threading

from trainspeed.core.paths import ROOT
from trainspeed.worker.backends import rank_watch, torch_backend, torch_ranks

ACTION, WAITS, _ = os.environ["TRAINSPEED_TEST_RANK"].partition(" while rank 0 waits")
torch_ranks.ERROR_WAIT_S = 0.5
if ACTION == "hang":
    rank_watch.ANSWER_S = rank_watch.LONG_ANSWER_S = 2.0


class Failing(torch_backend.TorchTraining):
    """Ends as asked for on rank 1."""

    epochs = 0

    def _epoch(self) -> None:
        self.epochs += 1
        if self.rank == 0 and self.epochs == 2 and WAITS:
            threading.Event().wait()
        if self.rank == 1 and self.epochs == 2:
            if ACTION == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if ACTION == "hang":
                signal.pause()
            if ACTION == "run out of memory":
                raise MemoryError(f"cannot allocate memory in {ROOT}/lib")
        super()._epoch()


torch_backend.TorchTraining = Failing
BACKEND = torch_backend.BACKEND
