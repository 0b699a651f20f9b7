"""Which pipeline fed Keras's `fit`, by what made its batches. Knows no model and no trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from trainspeed.core.result import Seen
from trainspeed.worker.pipelines.made_by import NOBODY, MadeBy
from trainspeed.worker.pipelines.workers import Processes


def fed_by(fed: Mapping[str, Any]) -> dict[str, Seen]:
    """Return what was seen of the pipeline of a feed.

    Ask in the thread that trained, before the feed is closed, and before a further batch is taken from it.
    """
    x = fed["x"]
    if (dataset := getattr(x, "py_dataset", None)) is not None:
        if isinstance(dataset.make, Processes):
            return MadeBy(processes=dataset.make.alive).seen()
        return MadeBy.of(dataset.make.threads).seen()
    if isinstance(x, (np.ndarray, ArrayDataAdapter)):
        return {"pipeline": ("arrays", "Keras took batches from arrays")}
    if hasattr(x, "element_spec"):
        from trainspeed.worker.pipelines import tensorflow_data

        return {"pipeline": tensorflow_data.pipeline_of_dataset(x)}
    return {"pipeline": (None, NOBODY)}
