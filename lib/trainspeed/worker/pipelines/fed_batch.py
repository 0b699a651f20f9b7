"""What Keras's `fit` was fed with: one batch more of the same feed, looked at after the clock. Knows no model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from trainspeed.worker.pipelines.keras_pipelines import InputOnly


@dataclass(frozen=True, kw_only=True)
class FedBatch:
    """A batch as `fit` takes it.

    Attributes:
        x: Images, or numbers of images that stay on the device.
        place: Device that it is on, as the framework names it; None of an array of NumPy's.
        options: Of the data set of TensorFlow's that yields it; None where there is none.
    """

    x: np.ndarray
    place: str | None
    options: Any


def look_at(fed: Mapping[str, Any]) -> FedBatch | None:
    """Return a batch of a feed, None where it gives none any more; call it before the feed is closed.

    Of a feed with workers it is what these make when they are asked: a second iteration would start Keras's threads
    again. Of every other one it is what comes through the iterator of `fit`.
    """
    with suppress(Exception):  # the epochs are worth having without it; nothing is seen in effect then
        return _batch_of(fed)
    return None


def _place(x: Any) -> str | None:
    if keras.backend.backend() == "tensorflow":
        return getattr(x, "device", None)
    if not hasattr(x, "committed"):
        return None
    return f"{', '.join(sorted(map(str, x.devices())))}{', committed' * x.committed}"


def _batch_of(fed: Mapping[str, Any]) -> FedBatch:
    dataset = getattr(fed["x"], "py_dataset", None) or fed["x"]
    if isinstance(dataset, keras.utils.PyDataset):
        x = dataset[0][0]
    else:
        x, _ = next(iter(InputOnly(fed)))
    return FedBatch(
        x=np.asarray(x),
        place=_place(x),
        options=dataset.options() if hasattr(dataset, "options") else None,
    )
