"""The models in Keras 3, for its TensorFlow and JAX backends."""

from __future__ import annotations

import keras
from keras import layers

from trainspeed.core import user_model
from trainspeed.core.trial import WIDE_RESNET, ZOO
from trainspeed.worker import hyperparameters
from trainspeed.worker.models import keras_user, keras_zoo


def build(
    model: str,
    *,
    layout: str,
    image_size: int,
    weights: str | None = None,
    classes: int = hyperparameters.CLASSES,
    seed: int = 0,
) -> keras.Model:
    """Return a model from (batch, height, width, 3) images, or channels first, to logits.

    Logits are float32 in every precision: the loss needs the range.

    Args:
        seed: Of Python's and NumPy's random numbers, which only a model of the user's own may draw.
    """
    if user_model.is_user_model(model):
        return keras_user.build(model, layout=layout, image_size=image_size, classes=classes, seed=seed)
    shape = (image_size, image_size, 3) if layout == "channels_last" else (3, image_size, image_size)
    inputs = keras.Input(shape)
    kit = _Layers(layout)
    if model in ZOO:
        x = keras_zoo.features(model, inputs, weights=weights)
    elif WIDE_RESNET.fullmatch(model):
        x = _wide_resnet(kit, inputs, hyperparameters.wide_resnet_width(model))
        x = layers.GlobalAveragePooling2D(data_format=layout)(x)
    elif model == "cnn_keras":
        x = _cnn_keras(kit, inputs)
    else:
        x = _cnn10(kit, inputs)
        x = layers.GlobalAveragePooling2D(data_format=layout)(x)
    x = layers.Dense(classes, kernel_initializer="he_normal", dtype="float32")(x)
    return keras.Model(inputs, x, name=model)


class _Layers:
    """Layers that know the layout: the articles' author forgot it in one, and had to look for it."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self.axis = 3 if layout == "channels_last" else 1

    def conv(
        self, x, channels: int, kernel: int = 3, *, stride: int = 1, bias: bool = False, padded: bool = True
    ):
        if stride > 1 and kernel > 1:  # "same" would pad only the far side; torch pads both
            x = layers.ZeroPadding2D(kernel // 2, data_format=self.layout)(x)
        return layers.Conv2D(
            channels,
            kernel,
            strides=stride,
            padding="same" if stride == 1 and padded else "valid",
            use_bias=bias,
            kernel_initializer="he_normal",
            data_format=self.layout,
        )(x)

    def norm_relu(self, x):
        x = layers.BatchNormalization(
            axis=self.axis, momentum=hyperparameters.BN_DECAY, epsilon=hyperparameters.BN_EPSILON
        )(x)
        return layers.ReLU()(x)

    def halve(self, x):
        return layers.AveragePooling2D(2, data_format=self.layout)(x)


def _cnn10(kit: _Layers, x):
    for stage, channels in enumerate(hyperparameters.CNN10_CHANNELS):
        if stage:
            x = kit.halve(x)
        for _ in range(hyperparameters.CNN10_REPEATS):
            x = kit.norm_relu(kit.conv(x, channels, bias=True))
    return x


def _cnn_keras(kit: _Layers, x):
    """Keras's old example cifar10_cnn.py, which article 002 trained: no normalisation, but dropout."""
    for channels, dropout in zip(
        hyperparameters.CNN_KERAS_CHANNELS, hyperparameters.CNN_KERAS_DROPOUT, strict=False
    ):
        x = layers.ReLU()(kit.conv(x, channels, bias=True))
        x = layers.ReLU()(kit.conv(x, channels, bias=True, padded=False))
        x = layers.Dropout(dropout)(layers.MaxPooling2D(2, data_format=kit.layout)(x))
    x = layers.Flatten(data_format=kit.layout)(x)  # pixels before channels in both layouts
    x = layers.ReLU()(layers.Dense(hyperparameters.CNN_KERAS_UNITS, kernel_initializer="he_normal")(x))
    return layers.Dropout(hyperparameters.CNN_KERAS_DROPOUT[-1])(x)


def _wide_resnet(kit: _Layers, x, width: int):
    """Pre-activation blocks; the shortcut of a block that changes shape is a 1x1 convolution."""
    x = kit.conv(x, hyperparameters.WIDE_RESNET_CHANNELS[0])
    channels_in = hyperparameters.WIDE_RESNET_CHANNELS[0]
    for group, base in enumerate(hyperparameters.WIDE_RESNET_CHANNELS):
        channels = base * width
        for block in range(hyperparameters.WIDE_RESNET_BLOCKS):
            stride = 2 if group and block == 0 else 1
            y = kit.norm_relu(x)
            same_shape = stride == 1 and channels == channels_in
            shortcut = x if same_shape else kit.conv(y, channels, 1, stride=stride)
            y = kit.norm_relu(kit.conv(y, channels, stride=stride))
            x = layers.Add()([kit.conv(y, channels), shortcut])
            channels_in = channels
    return kit.norm_relu(x)
