"""A JAX backend that writes what it has learned into TRAINSPEED_TEST_OUT/<node>.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from trainspeed.worker.backends import jax_backend


class Telling(jax_backend.JaxTraining):
    """Writes the loss and the sum of all weights, in the digits that they have."""

    def train(self, another):
        epoch_s = super().train(another)
        weights = sum(float(np.asarray(weight, np.float64).sum()) for weight in self.model.get_weights())
        learned = {"epochs": len(epoch_s), "loss": self.final_loss, "weights": weights}
        Path(os.environ["TRAINSPEED_TEST_OUT"], f"{self.node}.json").write_text(json.dumps(learned))
        return epoch_s


jax_backend.JaxTraining = Telling
BACKEND = jax_backend.BACKEND
