"""A user's Keras model: call its function, and check that the model can be trained as asked.

Import it after the backend module, which determines the library that Keras runs on.
"""

from __future__ import annotations

import keras

from trainspeed.core import user_model
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid
from trainspeed.worker.models.keras_inspect import leaves

IMAGES = 4  # dimensions of a batch of images; layers of other inputs have no layout to heed


def build_user_keras(model: str, *, layout: str, image_size: int, classes: int, seed: int) -> keras.Model:
    """Return a model of one input and one output, made of what the user's function returns.

    Args:
        model: `file.py:function`; the function is given (height, width, 3), or (3, height, width) with channels
            first, the number of classes and the layout.
    Raises:
        Unsupported, Invalid: As raised by `user_code.call`, or Invalid for a model that is no classifier of such
            images, has nothing to train, or ignores the layout.
    """
    shape = (image_size, image_size, 3) if layout == "channels_last" else (3, image_size, image_size)
    made = user_code.call(model, shape, classes, layout, framework=keras.backend.backend(), seed=seed)
    if not isinstance(made, keras.Model):
        raise Invalid(f"{model} must return a keras.Model, not {user_code.type_name(made)}")
    network = _with_input(model, made, shape)
    returned = tuple(tuple(output.shape) for output in network.outputs)
    if returned != ((None, classes),):
        raise Invalid(
            f"{model}: its model returns {', '.join(map(str, returned))}: it must be {(None, classes)}, a logit "
            "for each class"
        )
    if not network.trainable_weights:
        raise Invalid(f"{model}: its model has no trainable weights")
    if deviation := _other_layout(network, layout):
        raise Invalid(f"{model} ignores the layout: its layer {deviation}, {layout} was asked for")
    return network


def _with_input(model: str, made: keras.Model, shape: tuple[int, ...]) -> keras.Model:
    """Return a model with an input of this shape: the user's may be of any size, or a class that has none yet."""
    if inputs := getattr(made, "inputs", None):
        taken = tuple(tuple(x.shape[1:]) for x in inputs)
        if taken == (shape,):
            return made
        fits = len(taken) == 1 and len(taken[0]) == len(shape)
        if not fits or any(size not in (None, wanted) for size, wanted in zip(taken[0], shape, strict=True)):
            raise Invalid(
                f"{model}: its model takes {', '.join(map(str, taken))}, and not the input_shape that the function "
                f"is given, {shape}"
            )
    x = keras.Input(shape)
    try:
        return keras.Model(x, made(x), name=made.name)
    except Exception as problem:
        text = user_code.exception_text(problem, user_model.find_model(model))
        raise Invalid(f"{model}: its model raised {text}, on images of {shape}") from problem


def _other_layout(network: keras.Model, layout: str) -> str | None:
    """Return the first layer that has another layout, and which; None where there is no such layer."""
    channels = 1 if layout == "channels_first" else IMAGES - 1
    for layer in leaves(network):
        if _dimensions(layer) != IMAGES:
            continue
        data_format = getattr(layer, "data_format", None)
        if data_format not in (None, layout):
            return f"{layer.name} is {data_format}"
        if isinstance(layer, keras.layers.BatchNormalization) and layer.axis % IMAGES != channels:
            return f"{layer.name} normalises axis {layer.axis % IMAGES} and not {channels}"
    return None


def _dimensions(layer: keras.layers.Layer) -> int | None:
    """Return the number of dimensions of a layer's input, with the batch; None where it is not known."""
    try:
        return len(layer.input.shape)
    except AttributeError:  # inside a user's class, or with several inputs
        spec = layer.input_spec
        return getattr(spec, "ndim", None) or getattr(spec, "min_ndim", None)
