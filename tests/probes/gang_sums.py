"""A torch backend each of whose ranks writes what it has learned into TRAINSPEED_TEST_OUT/<rank>.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trainspeed.worker.backends import torch_backend


class Telling(torch_backend.TorchTraining):
    """Writes the loss of its own share and the sum of all weights, in the digits that they have."""

    def train(self, another):
        epoch_s = super().train(another)
        weights = sum(parameter.detach().double().sum().item() for parameter in self.model.parameters())
        learned = {"epochs": len(epoch_s), "loss": self.final_loss, "weights": weights}
        Path(os.environ["TRAINSPEED_TEST_OUT"], f"{self.rank}.json").write_text(json.dumps(learned))
        return epoch_s


torch_backend.TorchTraining = Telling
BACKEND = torch_backend.BACKEND
