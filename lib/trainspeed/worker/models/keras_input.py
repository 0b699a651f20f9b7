"""What stands before a Keras model's first layer: floats made of bytes, images enlarged or augmented on the device.

Does not know how images are fed, nor how the model is trained.
"""

from __future__ import annotations

import keras
import numpy as np

from trainspeed.core.trial import Trial
from trainspeed.worker.data.eight_bits import BRIGHTEST
from trainspeed.worker.data.sets import Images
from trainspeed.worker.pipelines import keras_pipelines


def with_input_layers(network: keras.Model, trial: Trial, images: Images) -> keras.Model:
    """Put before the network what makes floats of bytes, and what the trial's pipeline does in the model."""
    as_bytes = images.train_x.dtype == np.uint8
    shape, first = network.input.shape[1:], []
    if trial.pipeline == "resize":
        shape = images.train_x.shape[1:]
        shape = shape if trial.layout == "channels_last" else (shape[2], *shape[:2])
        first += [Enlarge(trial.image_size, data_format=trial.layout)]
    elif trial.augment and trial.pipeline == "in_model":
        first += keras_pipelines.augmentation_layers(trial)
    if as_bytes:
        first.insert(0, keras.layers.Rescaling(1 / BRIGHTEST, dtype="float32"))
    if not first:
        return network
    x = inputs = keras.Input(shape, dtype="uint8" if as_bytes else None)
    for layer in first:
        x = layer(x)
    return keras.Model(inputs, network(x), name=f"fed_{network.name}")


class Enlarge(keras.layers.Layer):
    """(batch, height, width, 1 or 3) to (batch, size, size, 3), bilinear; or channels first."""

    def __init__(self, size: int, *, data_format: str) -> None:
        super().__init__(dtype="float32", trainable=False)
        self.size, self.data_format = size, data_format

    def call(self, x):
        """Enlarge, then repeat a grey image in all three channels."""
        x = keras.ops.image.resize(x, (self.size, self.size), data_format=self.data_format)
        axis = 3 if self.data_format == "channels_last" else 1
        return x if x.shape[axis] == 3 else keras.ops.repeat(x, 3, axis=axis)
