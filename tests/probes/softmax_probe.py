"""Write of which models of a user's own the loss takes logits, as it is set before the training."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trainspeed.core.trial import Trial
from trainspeed.worker import backends
from trainspeed.worker.data import sets

SIZE = 16
NAMES = ("sequential", "sequential_with_input", "of_its_own", "probabilities", "behind_a_softmax")


def main(framework: str, file: str) -> None:
    os.environ["TRAINSPEED_MODEL_FOLDER"] = str(Path(__file__).parent)
    backend = backends.load_backend(backends.MODULES[framework])
    fields = {"framework": framework, "layout": "channels_first", "batch_size": 8, "images_per_epoch": 16}
    fields |= {"epochs": 3, "image_size": SIZE, "dataset": "digits", "compile": framework == "jax"}
    images, of_logits = sets.load_data_set("digits", SIZE), {}
    for name in NAMES:
        trial = Trial(model=f"own_keras.py:{name}", **fields)
        training = backend.start(trial, images, device="cpu", default_allocation=False)
        of_logits[name] = training.model.loss.get_config()["from_logits"]
    Path(file).write_text(json.dumps(of_logits))
