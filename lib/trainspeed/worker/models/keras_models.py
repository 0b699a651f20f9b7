"""The models in Keras 3, for its TensorFlow and JAX backends; those of others come from keras.applications."""

from __future__ import annotations

import socket

import keras
from keras import applications, layers

from trainspeed.core import user_model
from trainspeed.core.trial import WIDE_RESNET, ZOO
from trainspeed.worker import hyperparameters as hyper
from trainspeed.worker.failures import Unsupported, first_line
from trainspeed.worker.models.keras_user import build_user_keras

# Name of a trial -> what makes it.
APPLICATIONS = {
    "vgg16": applications.VGG16,
    "mobilenet": applications.MobileNet,
    "resnet50": applications.ResNet50,
    **{f"efficientnet_b{n}": getattr(applications, f"EfficientNetB{n}") for n in range(6)},
}
ANSWER_TIMEOUT_S = 10  # of a server; Keras itself waits for ever
NO_ANSWER = "URL fetch failure"  # Keras raises a plain Exception that says so


def build_keras(
    model: str,
    *,
    layout: str,
    image_size: int,
    weights: str | None = None,
    classes: int = hyper.DATA_SET_CLASSES,
    seed: int = 0,
) -> keras.Model:
    """Return a model from (batch, height, width, 3) images, or channels first, to logits.

    Logits are float32 in every precision: the loss needs the range.

    Args:
        weights: "imagenet" downloads those of Keras, for a model of others; None draws them at random.
        seed: Seeds Python's and NumPy's random numbers, which only a user's model may draw.
    Raises:
        Unsupported: The weights are not here and cannot be downloaded, or as raised by `build_user_keras`.
        Invalid: As raised by `build_user_keras`.
    """
    if user_model.is_user_model(model):
        return build_user_keras(model, layout=layout, image_size=image_size, classes=classes, seed=seed)
    shape = (image_size, image_size, 3) if layout == "channels_last" else (3, image_size, image_size)
    inputs = keras.Input(shape)
    kit = _Layers(layout)
    if model in ZOO:
        x = _zoo(model, inputs, weights)
    elif WIDE_RESNET.fullmatch(model):
        x = _wide_resnet(kit, inputs, hyper.wide_resnet_width(model))
    else:
        x = _cnn_keras(kit, inputs) if model == "cnn_keras" else _cnn10(kit, inputs)
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
        norm = layers.BatchNormalization(axis=self.axis, momentum=hyper.BN_DECAY, epsilon=hyper.BN_EPSILON)
        return layers.ReLU()(norm(x))

    def pool(self, x):
        """Average over all pixels."""
        return layers.GlobalAveragePooling2D(data_format=self.layout)(x)


def _cnn10(kit: _Layers, x):
    for stage, channels in enumerate(hyper.CNN10_CHANNELS):
        if stage:
            x = layers.AveragePooling2D(2, data_format=kit.layout)(x)
        for _ in range(hyper.CNN10_REPEATS):
            x = kit.norm_relu(kit.conv(x, channels, bias=True))
    return kit.pool(x)


def _cnn_keras(kit: _Layers, x):
    """Keras's old example cifar10_cnn.py, which article 002 trained: no normalisation, but dropout."""
    for channels, dropout in zip(hyper.CNN_KERAS_CHANNELS, hyper.CNN_KERAS_DROPOUT, strict=False):
        x = layers.ReLU()(kit.conv(x, channels, bias=True))
        x = layers.ReLU()(kit.conv(x, channels, bias=True, padded=False))
        x = layers.Dropout(dropout)(layers.MaxPooling2D(2, data_format=kit.layout)(x))
    x = layers.Flatten(data_format=kit.layout)(x)  # pixels before channels in both layouts
    x = layers.ReLU()(layers.Dense(hyper.CNN_KERAS_UNITS, kernel_initializer="he_normal")(x))
    return layers.Dropout(hyper.CNN_KERAS_DROPOUT[-1])(x)


def _wide_resnet(kit: _Layers, x, width: int):
    """Pre-activation blocks; the shortcut of a block that changes shape is a 1x1 convolution."""
    channels_in = hyper.WIDE_RESNET_CHANNELS[0]
    x = kit.conv(x, channels_in)
    for group, base in enumerate(hyper.WIDE_RESNET_CHANNELS):
        channels = base * width
        for block in range(hyper.WIDE_RESNET_BLOCKS):
            stride = 2 if group and block == 0 else 1
            y = kit.norm_relu(x)
            same_shape = stride == 1 and channels == channels_in
            shortcut = x if same_shape else kit.conv(y, channels, 1, stride=stride)
            y = kit.norm_relu(kit.conv(y, channels, stride=stride))
            x = layers.Add()([kit.conv(y, channels), shortcut])
            channels_in = channels
    return kit.pool(kit.norm_relu(x))


def _zoo(model: str, inputs: keras.KerasTensor, weights: str | None) -> keras.KerasTensor:
    """Return a model's pooled features of images in [0, 1], and the dropout of article 003."""
    if model.startswith("efficientnet"):
        inputs = layers.Rescaling(255.0)(inputs)  # its first layer divides by 255
    default_timeout_s = socket.getdefaulttimeout()
    socket.setdefaulttimeout(ANSWER_TIMEOUT_S)
    try:
        backbone = APPLICATIONS[model](include_top=False, weights=weights, input_tensor=inputs)
    except Exception as problem:
        if not weights or not (isinstance(problem, OSError) or str(problem).startswith(NO_ANSWER)):
            raise
        why = f"{type(problem).__name__}: {first_line(problem)}"
        raise Unsupported(
            f"imagenet weights of {model} could not be downloaded ({why}): use weights = null"
        ) from None
    finally:
        socket.setdefaulttimeout(default_timeout_s)
    return layers.Dropout(hyper.ZOO_DROPOUT)(layers.GlobalAveragePooling2D()(backbone.output))
