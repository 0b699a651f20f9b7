"""What a Keras model is: its layers, parameters, FLOPs and bytes, counted from its shapes.

Import it after the backend module, which determines the library that Keras runs on. Knows no trial.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import layers

from trainspeed.core import layer_table
from trainspeed.core.notes import AnyNote, PrecisionNotAsked
from trainspeed.core.result import EffectivePrecision

FEW = 8  # images
NEARLY = 0.01  # that the sum of probabilities of 16 bits may be away from 1
PRODUCTS = (layers.Conv2D, layers.DepthwiseConv2D, layers.Dense)  # layers that multiply by a kernel


def leaves(network: keras.Model) -> list[layers.Layer]:
    """Return the layers that compute, in order, also those inside the models and layers that a network is made of."""
    computing: list[layers.Layer] = []
    known, waiting = set(), [network]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in known:  # a layer may hold the model that holds it
            known.add(id(layer))
            waiting += reversed(layer._layers)  # `_flatten_layers` turns the order of nested ones round
            if not layer._layers:
                computing.append(layer)
    return computing


def uncompilable(network: keras.Model) -> list[str]:
    """Return the names of the layers that say that XLA cannot compile them; one keeps Keras from compiling all."""
    return [layer.name for layer in network._flatten_layers() if not layer.supports_jit]


def effective_precision(
    network: keras.Model, ran: Sequence[str | None]
) -> tuple[EffectivePrecision | None, list[AnyNote]]:
    """Return the dtypes in which the convolutions compute, and a note if they are not those asked for.

    Args:
        ran: dtype of each convolution in the compiled program; empty or None where it is not known. The
            dtypes that the layers were given are returned then.
    """
    asked = Counter(layer.compute_dtype for layer in leaves(network) if isinstance(layer, layers.Conv2D))
    if not ran or None in ran:
        return EffectivePrecision(dtypes=asked, asked=True) if asked else None, []
    same = set(ran) == set(asked)
    notes = [] if same else [PrecisionNotAsked(asked=tuple(sorted(asked)), ran=tuple(sorted(set(ran))))]
    return EffectivePrecision(dtypes=Counter(ran)), notes


def layer_rows(network: keras.Model, layout: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of the layer table: the settings of each layer."""
    return tuple(
        layer_table.row(
            layer=layer.name,
            type=type(layer).__name__,
            output_shape=list(layer.output.shape[1:]),
            data_format=getattr(layer, "data_format", None),
            bn_axis=layer.axis % len(layer.output.shape)
            if isinstance(layer, layers.BatchNormalization)
            else None,
            layout=layout,
        )
        for layer in leaves(network)
        if _has_output(layer)
    )


def _has_output(layer: layers.Layer) -> bool:
    """Return whether a layer has one known output; inside a model that is a user's class it has none."""
    return hasattr(getattr(layer, "output", None), "shape")


def _is_sized(layer: layers.Layer) -> bool:
    """Return whether the shapes of a layer's inputs and output are known, to the last number."""
    return _has_output(layer) and None not in [n for x in _inputs_and_output(layer) for n in x.shape[1:]]


def returns_probabilities(network: keras.Model) -> bool:
    """Return whether a model ends in a softmax: by its last layer, or, where that does not tell, by what it returns."""
    told = _ends_in_softmax(network)
    return _sums_to_one(network) if told is None else told


def _ends_in_softmax(network: keras.Model) -> bool | None:
    """Return whether the last layer is a softmax; None where it may be one: in a class of the user's, or behind it."""
    if not (outputs := getattr(network, "outputs", None)):
        return None
    last = outputs[0]._keras_history.operation
    if isinstance(last, keras.Model):
        return _ends_in_softmax(last)
    activation = getattr(last, "activation", None)
    if isinstance(last, layers.Softmax) or activation is keras.activations.softmax:
        return True
    return False if isinstance(last, PRODUCTS) and activation is keras.activations.linear else None


def _sums_to_one(network: keras.Model) -> bool:
    """Return whether what a model returns for random images are probabilities; False where it cannot be called here."""
    images = np.random.default_rng(0).random((2, FEW, *network.input.shape[1:]), np.float32)
    with contextlib.suppress(Exception):  # the training will fail in its turn, and say why
        for batch in images:
            returned = keras.ops.convert_to_numpy(network(batch, training=False)).astype(np.float64)
            if not ((returned >= 0).all() and np.abs(returned.sum(axis=1) - 1).max() < NEARLY):
                return False
        return True
    return False


def parameters(network: keras.Model) -> int:
    """Return the number of trainable parameters."""
    return sum(math.prod(weights.shape) for weights in network.trainable_weights)


def flops_per_image(network: keras.Model) -> int | None:
    """Return the FLOPs of a training step per image: convolutions and dense layers, forward and backward.

    None where a layer of another kind multiplies by weights too, is frozen, or its shape is not known.
    """
    if not all(_is_countable(layer) for layer in leaves(network)):
        return None
    products = [
        (_positions(layer), math.prod(layer.kernel.shape))
        for layer in leaves(network)
        if isinstance(layer, PRODUCTS)
    ]
    return layer_table.training_flops(products)


def _is_countable(layer: layers.Layer) -> bool:
    """Return whether all products of a layer are known: it has no matrix, or is trained, used once, in a known way."""
    matrices = [weights for weights in layer.weights if len(weights.shape) > 1]
    return not matrices or (
        isinstance(layer, PRODUCTS)
        and _is_sized(layer)
        and not _is_frozen(layer)
        and len(layer._inbound_nodes) == 1
    )


def _is_frozen(layer: layers.Layer) -> bool:
    """Return whether a layer that multiplies is not trained: it takes fewer passes than three."""
    return isinstance(layer, PRODUCTS) and not layer.trainable


def _positions(layer: layers.Layer) -> int:
    """Return how often a layer multiplies its kernel for one image."""
    shape = layer.output.shape[1:]
    if isinstance(layer, layers.Dense):
        return math.prod(shape[:-1])
    return math.prod(shape[:2] if layer.data_format == "channels_last" else shape[1:])


def bytes_per_step(network: keras.Model, batch_size: int) -> int | None:
    """Return the least memory traffic of a training step in fp32: see `core.layer_table.training_bytes`.

    None where the shape of a layer is not known, or a convolution or a dense layer is frozen.
    """
    if not all(_is_sized(layer) and not _is_frozen(layer) for layer in leaves(network)):
        return None
    tensors = [
        (
            sum(math.prod(x.shape[1:]) for x in _inputs_and_output(layer)),
            sum(math.prod(weights.shape) for weights in layer.weights),
        )
        for layer in leaves(network)
        if not isinstance(layer, layers.InputLayer)
    ]
    return layer_table.training_bytes(tensors, batch_size)


def _inputs_and_output(layer: layers.Layer) -> list[keras.KerasTensor]:
    return [*(layer.input if isinstance(layer.input, list) else [layer.input]), layer.output]
