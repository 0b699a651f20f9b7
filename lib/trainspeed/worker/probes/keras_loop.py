"""A plain `fit` beside the instrument's: for Keras on TensorFlow and on JAX."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras


class Timer(keras.callbacks.Callback):
    """Times epochs as a plain script does: Keras itself waits at the end of each."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._started_s = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds.append(time.perf_counter() - self._started_s)


def bare_fit(model: keras.Model, data: Callable[[], Mapping[str, Any]]) -> Callable[[int], Sequence[float]]:
    """Return what trains a compiled model for some epochs by `fit`, and returns their seconds.

    Args:
        data: Returns what a plain script gives `fit`.
    """

    def bare(epochs: int) -> Sequence[float]:
        timer = Timer()
        model.fit(**data(), epochs=epochs, verbose=0, callbacks=[timer])
        return timer.seconds

    return bare
