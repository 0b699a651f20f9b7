"""The convolution in TensorFlow: `tf.nn.conv2d` and a Keras layer, eager, in a graph, or compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.reference import padding

_Share = tuple[tf.Tensor, tf.Tensor]  # images and filters on one device


class TensorFlowConvolution:
    """A `calls.Convolution`. One graph computes on all devices, as in article 004."""

    transfers = True

    def __init__(self, trial: Conv2dTrial, device: str) -> None:
        self._names = [f"/{device.upper()}:{n}" for n in range(trial.devices)]
        self._around = padding(trial.filter_size)
        self._layers: list[keras.Layer] | None = None
        if trial.library == "keras":
            make = keras.layers.Conv2D
            self._layers = [
                make(trial.filters, trial.filter_size, padding="same", use_bias=False) for _ in self._names
            ]
        self._in_graph = trial.mode == "graph"
        self._one: Callable = self._on_one
        self._all: Callable = self._on_all
        if trial.mode == "xla":  # a compiled program runs on one device
            self._one = tf.function(self._on_one, jit_compile=True)
        if self._in_graph:
            self._all = tf.function(self._on_all)

    def open(self) -> None:
        for name in self._names:
            with tf.device(name):
                tf.zeros(1)
        tf.test.experimental.sync_devices()

    def send(self, images: np.ndarray, filters: np.ndarray) -> list[_Share]:
        sent = []
        shares = np.split(images, len(self._names))
        for index, (name, share) in enumerate(zip(self._names, shares, strict=True)):
            with tf.device(name):
                sent.append((tf.constant(share), tf.constant(filters)))
                if self._layers:
                    self._fill(self._layers[index], sent[-1])
        return sent

    def _fill(self, layer: keras.Layer, share: _Share) -> None:
        """Give a layer the filters, which are sent in each call, as in the other libraries."""
        if not layer.built:
            layer.build(share[0].shape)
        layer.kernel.assign(share[1])

    def compute(self, sent: Sequence[_Share]) -> list[tf.Tensor]:
        return self._all(list(sent))

    def _on_all(self, shares: list[_Share]) -> list[tf.Tensor]:
        results = []
        for index, (name, share) in enumerate(zip(self._names, shares, strict=True)):
            with tf.device(name):
                results.append(self._layers[index](share[0]) if self._layers else self._one(*share))
        return results

    def _on_one(self, images: tf.Tensor, filters: tf.Tensor) -> tf.Tensor:
        around = [[0, 0], list(self._around), list(self._around), [0, 0]]
        return tf.nn.conv2d(images, filters, strides=1, padding=around)

    def wait(self, value: object) -> None:
        tf.test.experimental.sync_devices()

    def fetch(self, computed: Sequence[tf.Tensor]) -> list[np.ndarray]:
        return [result.numpy() for result in computed]

    def placement(self, sent: Sequence[_Share], computed: Sequence[tf.Tensor]) -> str:
        """Return TensorFlow's names of the devices, without job and task, as `log_device_placement` prints them.

        The results of a graph may lie elsewhere than where its convolutions ran, so these are looked up.
        """
        names = self._graph_devices(sent) if self._in_graph else [result.device for result in computed]
        return ", ".join(name.rpartition("device:")[2] for name in names)

    def _graph_devices(self, sent: Sequence[_Share]) -> list[str]:
        fresh = tf.function(self._on_all)  # only a first call records where it was put
        context.context().enable_run_metadata()
        try:
            fresh(list(sent))
            metadata = context.context().export_run_metadata()
        finally:
            context.context().disable_run_metadata()
        graphs = [graph for function in metadata.function_graphs for graph in function.partition_graphs]
        nodes = [node for graph in graphs for node in graph.node]
        return sorted(node.device for node in nodes if "Conv2D" in node.op and node.device)
