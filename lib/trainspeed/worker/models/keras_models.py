"""The models in Keras 3, for its TensorFlow and JAX backends: ours, those of keras.applications, and users'.

Import it after the backend module, which determines the library that Keras runs on.
"""

from __future__ import annotations

import socket

import keras
from keras import applications, layers

from trainspeed.core import user_model
from trainspeed.core.library_model import is_library_model
from trainspeed.core.trial import WIDE_RESNET, ZOO
from trainspeed.worker import hyperparameters as hyper
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid, Unsupported, first_line
from trainspeed.worker.models.keras_inspect import leaves
from trainspeed.worker.models.library import check_fits

# Name of a trial -> what makes it.
APPLICATIONS = {
    "vgg16": applications.VGG16,
    "mobilenet": applications.MobileNet,
    "resnet50": applications.ResNet50,
    **{f"efficientnet_b{n}": getattr(applications, f"EfficientNetB{n}") for n in range(6)},
}
SCALES_ITSELF = ("EfficientNet", "MobileNetV3", "ConvNeXt")  # their first layers expect 0 to 255
ANSWER_TIMEOUT_S = 10  # of a server; Keras itself waits for ever
IMAGES = 4  # dimensions of a batch of images; layers of other inputs have no layout to heed
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
        model: Name of a model; `keras/<name>`: that of keras.applications, with its own head; or `file.py:function`:
            a user's, given (height, width, 3) or (3, height, width), the number of classes and the layout.
        weights: "imagenet" downloads those of Keras, for a model of others; None draws them at random.
        seed: Seeds Python's and NumPy's random numbers, which only a user's model may draw.
    Raises:
        Unsupported: The weights are not here and cannot be downloaded, a library's model is not for Keras or lacks the
            layout, or as raised by `user_code.call`.
        Invalid: A user's model is no classifier of such images, has nothing to train, or ignores the layout; or as
            raised by `user_code.call`.
        NotImplementedError: The model has a name, and is not built here.
    """
    shape = (image_size, image_size, 3) if layout == "channels_last" else (3, image_size, image_size)
    if user_model.is_user_model(model):
        return _users_network(model, shape, layout, classes, seed)
    inputs = keras.Input(shape)
    if is_library_model(model):
        check_fits(model, keras.backend.backend(), layout)
        return _library_network(model, inputs, classes)
    kit = _Layers(layout)
    if model in ZOO:
        x = _zoo(model, inputs, weights)
    elif WIDE_RESNET.fullmatch(model):
        x = _wide_resnet(kit, inputs, hyper.wide_resnet_width(model))
    elif model == "cnn_keras":
        x = _cnn_keras(kit, inputs)
    elif model == "cnn10":
        x = _cnn10(kit, inputs)
    else:
        raise NotImplementedError(f"no model {model!r} in worker/models/keras_models.py")
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


def _library_network(model: str, inputs: keras.KerasTensor, classes: int) -> keras.Model:
    """Return a model of keras.applications as it is, with its own head, of images in [0, 1]."""
    name = model.partition("/")[2]
    x = layers.Rescaling(255.0)(inputs) if name.startswith(SCALES_ITSELF) else inputs
    built = getattr(applications, name)(
        weights=None, classes=classes, classifier_activation=None, input_tensor=x
    )
    logits = layers.Activation("linear", dtype="float32")(built.output)
    return keras.Model(inputs, logits, name=name)


def _users_network(model: str, shape: tuple[int, ...], layout: str, classes: int, seed: int) -> keras.Model:
    """Return a model of one input and one output, made of what the user's function returns."""
    built = user_code.call(model, shape, classes, layout, framework=keras.backend.backend(), seed=seed)
    if not isinstance(built, keras.Model):
        raise Invalid(f"{model} must return a keras.Model, not {user_code.type_name(built)}")
    network = _with_input(model, built, shape)
    returned = tuple(tuple(output.shape) for output in network.outputs)
    if returned != ((None, classes),):
        raise Invalid(
            f"{model}: its model returns {', '.join(map(str, returned))}: it must be {(None, classes)}, "
            f"{user_code.class_rule(classes)}"
        )
    if not isinstance(network.output, keras.KerasTensor):  # the one tensor is in a dict, a list or a tuple
        network = keras.Model(network.input, network.outputs[0], name=network.name)
    if not network.trainable_weights:
        raise Invalid(f"{model}: its model has no trainable weights")
    if deviation := _other_layout(network, layout):
        raise Invalid(f"{model} ignores the layout: its layer {deviation}, {layout} was asked for")
    return network


def _with_input(model: str, built: keras.Model, shape: tuple[int, ...]) -> keras.Model:
    """Return a model with an input of this shape: the user's may be of any size, or a class that has none yet.

    It is one of Keras's own classes. A step or a loss of the user's class would be used where nothing stands before the
    model, and not where something does: two settings would be compared by two trainings.
    """
    if inputs := getattr(built, "inputs", None):
        taken = tuple(tuple(x.shape[1:]) for x in inputs)
        # A Sequential that begins with its Input has none by this name until it is called; a list has no shape.
        one_tensor = isinstance(getattr(built, "input", None), keras.KerasTensor)
        if taken == (shape,) and one_tensor and _is_of_keras(built):
            return built
        fits = len(taken) == 1 and len(taken[0]) == len(shape)
        if not fits or any(size not in (None, wanted) for size, wanted in zip(taken[0], shape, strict=True)):
            raise Invalid(
                f"{model}: its model takes {', '.join(map(str, taken))}, and not the input_shape that the function "
                f"is given, {shape}; {user_code.OTHER_SIZES}"
            )
    x = keras.Input(shape)
    try:
        return keras.Model(x, built(x), name=built.name)
    except Exception as problem:
        text = user_code.exception_text(problem, user_model.find_model(model))
        raise Invalid(
            f"{model}: its model raised {text}, on images of {shape}; {user_code.OTHER_SIZES}"
        ) from problem


def _is_of_keras(built: keras.Model) -> bool:
    """Return whether a model is of one of Keras's own classes, a functional or a sequential one."""
    return type(built).__module__.partition(".")[0] == "keras"


def _other_layout(network: keras.Model, layout: str) -> str | None:
    """Return the first layer that has another layout, and which; None where there is no such layer."""
    channels = 1 if layout == "channels_first" else IMAGES - 1
    for layer in leaves(network):
        if _dimensions(layer) != IMAGES:
            continue
        data_format = getattr(layer, "data_format", None)
        if data_format not in (None, layout):
            return f"{layer.name} is {data_format}"
        if isinstance(layer, layers.BatchNormalization) and layer.axis % IMAGES != channels:
            return f"{layer.name} normalises axis {layer.axis % IMAGES} and not {channels}"
    return None


def _dimensions(layer: layers.Layer) -> int | None:
    """Return the number of dimensions of a layer's input, with the batch; None where it is not known."""
    try:
        return len(layer.input.shape)
    except AttributeError:  # inside a user's class, or with several inputs
        spec = layer.input_spec
        return getattr(spec, "ndim", None) or getattr(spec, "min_ndim", None)
