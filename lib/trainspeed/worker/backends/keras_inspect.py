"""What a Keras model is: its layers, parameters, FLOPs and bytes, counted from its shapes.

Import it after the backend module, which says on what Keras runs. Knows no trial.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
from keras import layers as kinds

from trainspeed.core import layer_table
from trainspeed.core.notes import AnyNote, PrecisionNotAsked
from trainspeed.core.result import EffectivePrecision
from trainspeed.worker.models.keras_layers import leaves

PRODUCTS = (kinds.Conv2D, kinds.DepthwiseConv2D, kinds.Dense)  # layers that multiply by a kernel


def precision(
    network: keras.Model, ran: Sequence[str | None]
) -> tuple[EffectivePrecision | None, list[AnyNote]]:
    """Return the dtypes in which the convolutions compute, and a note where they are not what was asked for.

    Args:
        ran: dtype of each convolution in the compiled program; empty or None where it was not found out.
            Then the dtypes are those that the layers were told.
    """
    convolutions = [layer for layer in leaves(network) if isinstance(layer, keras.layers.Conv2D)]
    asked = Counter(layer.compute_dtype for layer in convolutions)
    if not ran or None in ran:
        return EffectivePrecision(dtypes=asked, asked=True) if asked else None, []
    found = EffectivePrecision(dtypes=Counter(ran))
    if set(ran) == set(asked):
        return found, []
    return found, [PrecisionNotAsked(asked=tuple(sorted(asked)), ran=tuple(sorted(found.dtypes)))]


def layers(network: keras.Model, layout: str) -> tuple[Mapping[str, Any], ...]:
    """Rows of the layer table: what each layer was told."""
    return tuple(
        layer_table.row(
            layer=layer.name,
            type=type(layer).__name__,
            output_shape=list(layer.output.shape[1:]),
            data_format=getattr(layer, "data_format", None),
            bn_axis=_bn_axis(layer),
            layout=layout,
        )
        for layer in leaves(network)
        if _single(layer)
    )


def _single(layer: keras.layers.Layer) -> bool:
    """Whether it is known what one layer puts out: not within a model that is a class of the user's own."""
    try:
        return hasattr(layer.output, "shape")
    except AttributeError:
        return False


def _sized(layer: keras.layers.Layer) -> bool:
    """Whether the shapes of what goes into a layer and of what it puts out are known, to the last number."""
    return _single(layer) and None not in [n for x in (*_inputs(layer), layer.output) for n in x.shape[1:]]


def ends_in_softmax(network: keras.Model) -> bool:
    """Whether a model puts out probabilities; False where it cannot be told."""
    outputs = getattr(network, "outputs", None)
    if not outputs:
        return False
    last = outputs[0]._keras_history.operation
    if isinstance(last, keras.Model):
        return ends_in_softmax(last)
    return isinstance(last, kinds.Softmax) or getattr(last, "activation", None) is keras.activations.softmax


def parameters(network: keras.Model) -> int:
    """Number of trainable parameters."""
    return sum(math.prod(weights.shape) for weights in network.trainable_weights)


def flops_per_image(network: keras.Model) -> int | None:
    """FLOPs of a training step per image: convolutions and dense layers, both ways.

    None where a layer of another kind multiplies by weights too, or its shape is not known.
    """
    if not all(_countable(layer) for layer in leaves(network)):
        return None
    products = [
        (_positions(layer), math.prod(layer.kernel.shape))
        for layer in leaves(network)
        if isinstance(layer, PRODUCTS)
    ]
    return layer_table.training_flops(products)


def _countable(layer: keras.layers.Layer) -> bool:
    """Whether all products of a layer are known: it has no matrix, or is used once and in a known way."""
    matrices = [weights for weights in layer.weights if len(weights.shape) > 1]
    return not matrices or (isinstance(layer, PRODUCTS) and _sized(layer) and len(layer._inbound_nodes) == 1)


def _positions(layer: keras.layers.Layer) -> int:
    """How often a layer multiplies its kernel for one image."""
    shape = layer.output.shape[1:]
    if isinstance(layer, kinds.Dense):
        return math.prod(shape[:-1])
    return math.prod(shape[:2] if layer.data_format == "channels_last" else shape[1:])


def bytes_per_step(network: keras.Model, batch_size: int) -> int | None:
    """Least memory traffic of a training step in fp32: see `trainspeed.core.layer_table.training_bytes`.

    None where the shape of a layer is not known.
    """
    if not all(_sized(layer) for layer in leaves(network)):
        return None
    tensors = [
        (
            sum(math.prod(x.shape[1:]) for x in (*_inputs(layer), layer.output)),
            sum(math.prod(w.shape) for w in layer.weights),
        )
        for layer in leaves(network)
        if not isinstance(layer, kinds.InputLayer)
    ]
    return layer_table.training_bytes(tensors, batch_size)


def _inputs(layer: keras.layers.Layer) -> Iterator[keras.KerasTensor]:
    yield from layer.input if isinstance(layer.input, list) else [layer.input]


def _bn_axis(layer: keras.layers.Layer) -> int | None:
    if not isinstance(layer, keras.layers.BatchNormalization):
        return None
    return layer.axis % len(layer.output.shape)
