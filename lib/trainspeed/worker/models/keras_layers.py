"""The layers of a Keras model, one by one."""

from __future__ import annotations

import keras


def leaves(network: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers that compute, also those within models and layers that a network is made of."""
    return [layer for layer in network._flatten_layers(include_self=False) if not layer._layers]
