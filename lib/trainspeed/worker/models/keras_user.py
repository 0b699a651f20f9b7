"""A Keras model of the user's own: call its function, and check that what comes can be trained as asked.

Import it after the backend module, which says on what Keras runs.
"""

from __future__ import annotations

import keras

from trainspeed.core import user_model
from trainspeed.worker import user_code
from trainspeed.worker.failures import Invalid
from trainspeed.worker.models.keras_layers import leaves

IMAGES = 4  # dimensions of a batch of images; other layers have no layout to heed


def build(model: str, *, layout: str, image_size: int, classes: int, seed: int = 0) -> keras.Model:
    """Return a model of one input and one output from what the user's function returns.

    Args:
        model: `file.py:function`; the function is given (height, width, 3), or (3, height, width) with channels
            first, the number of classes and the layout.
    Raises:
        Unsupported, Invalid: As `user_code.call`; or it is no such model, has nothing to train, or ignores the
            layout.
    """
    shape = (image_size, image_size, 3) if layout == "channels_last" else (3, image_size, image_size)
    made = user_code.call(model, shape, classes, layout, framework=keras.backend.backend(), seed=seed)
    if not isinstance(made, keras.Model):
        raise Invalid(f"{model} must return a keras.Model, not {user_code.kind(made)}")
    network = _with_input(model, made, shape)
    returned = tuple(tuple(output.shape) for output in network.outputs)
    if returned != ((None, classes),):
        raise Invalid(
            f"{model}: its model returns {', '.join(map(str, returned))}: it must be {(None, classes)}, a logit "
            "for each class"
        )
    if not network.trainable_weights:
        raise Invalid(f"{model}: its model has no trainable weights")
    if forgotten := _forgotten(network, layout):
        raise Invalid(f"{model} ignores the layout: its layer {forgotten}, {layout} was asked for")
    return network


def _with_input(model: str, made: keras.Model, shape: tuple[int, ...]) -> keras.Model:
    """Return a model with an input of this shape: the user's may be of any size, or a class that has none yet."""
    inputs = getattr(made, "inputs", None)
    if inputs:
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
        said = user_code.exception_text(problem, user_model.find_model(model))
        raise Invalid(f"{model}: its model raised {said}, on images of {shape}") from problem


def _forgotten(network: keras.Model, layout: str) -> str | None:
    """Return the first layer that was not told the layout, and what it does instead; None where all were."""
    channels = 1 if layout == "channels_first" else IMAGES - 1
    for layer in leaves(network):
        if _dimensions(layer) != IMAGES:
            continue
        told = getattr(layer, "data_format", None)
        if told not in (None, layout):
            return f"{layer.name} is {told}"
        if isinstance(layer, keras.layers.BatchNormalization) and layer.axis % IMAGES != channels:
            return f"{layer.name} normalises axis {layer.axis % IMAGES} and not {channels}"
    return None


def _dimensions(layer: keras.layers.Layer) -> int | None:
    """Return how many dimensions a layer's input has, with the batch; None where that is not known."""
    try:
        return len(layer.input.shape)
    except AttributeError:  # within a class of the user's own, or of several inputs
        spec = layer.input_spec
        return getattr(spec, "ndim", None) or getattr(spec, "min_ndim", None)
