"""A torch backend whose rank 1 fails in its second epoch, as TRAINSPEED_TEST_RANK says."""

from __future__ import annotations

import os
import signal

from trainspeed.worker.backends import torch_backend

ACTION = os.environ["TRAINSPEED_TEST_RANK"]


class Failing(torch_backend.TorchTraining):
    """Ends as asked for on rank 1."""

    epochs = 0

    def _epoch(self) -> None:
        self.epochs += 1
        if self.rank == 1 and self.epochs == 2:
            if ACTION == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if ACTION == "hang":
                signal.pause()
            if ACTION == "run out of memory":
                raise MemoryError("cannot allocate memory")
        super()._epoch()


torch_backend.TorchTraining = Failing
BACKEND = torch_backend.BACKEND
