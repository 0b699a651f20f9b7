"""A node's share of each batch that Keras on JAX is fed with: all nodes go through the same batches. Knows no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from trainspeed.core.phase import COMPUTE, WHOLE
from trainspeed.core.trial import Trial
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.pipelines.batches import PLAIN


def node_share(trial: Trial, fed: Mapping[str, Any], node: int) -> dict[str, Any]:
    """Return the arguments for `Model.fit` that give it one node's share of each batch.

    Args:
        fed: Those that give it the whole batches: see `keras_pipelines`.
        node: From 0.
    Raises:
        Unsupported: The trial has another pipeline or phase than those that are fed by nodes.
    """
    if trial.pipeline not in PLAIN or trial.phase not in (WHOLE, COMPUTE):
        raise Unsupported("on several nodes JAX trains whole steps, or computes alone, from arrays")
    each = trial.batch_size // trial.nodes
    own = slice(node * each, (node + 1) * each)
    if trial.phase is COMPUTE:
        return {**fed, "x": _ShareOfDataset(fed["x"], own)}
    return {"x": _ShareOfArrays(fed["x"], fed["y"], fed["batch_size"], own), "shuffle": False}


class _ShareOfArrays(ArrayDataAdapter):
    """Arrays that are shuffled as `fit` does: each batch is the same on all nodes, and each has a share of it."""

    def __init__(self, x: Any, y: Any, batch_size: int, own: slice) -> None:
        super().__init__(x, y, batch_size=batch_size, shuffle=True)
        self._own = own

    def _get_iterator(self, slice_and_convert_fn: Callable[..., Any], inputs: Any) -> Iterator[Any]:
        def of_share(sliceable: Any, indices: Any) -> Any:
            return slice_and_convert_fn(sliceable, indices=indices[self._own])

        return super()._get_iterator(of_share, inputs)


class _ShareOfDataset(keras.utils.PyDataset):
    def __init__(self, whole: keras.utils.PyDataset, own: slice) -> None:
        super().__init__(workers=0)
        self._whole, self._own = whole, own

    def __len__(self) -> int:
        return len(self._whole)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(part[self._own] for part in self._whole[index])
