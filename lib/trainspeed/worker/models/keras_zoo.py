"""Models of others, from keras.applications, with the head of article 003."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import keras
from keras import applications, layers

from trainspeed.worker import hyperparameters
from trainspeed.worker.failures import Unsupported

# Name of a trial -> what makes it.
MAKERS = {
    "vgg16": applications.VGG16,
    "mobilenet": applications.MobileNet,
    "resnet50": applications.ResNet50,
    **{f"efficientnet_b{n}": getattr(applications, f"EfficientNetB{n}") for n in range(6)},
}
ANSWER_TIMEOUT_S = 10  # of a server; Keras itself waits for ever
NO_ANSWER = "URL fetch failure"  # Keras raises a plain Exception that says so


def features(model: str, inputs: keras.KerasTensor, *, weights: str | None) -> keras.KerasTensor:
    """Return a model's features of (batch, height, width, 3) images in [0, 1], or channels first, pooled.

    Args:
        weights: "imagenet" downloads Keras's; None draws them at random, as Keras does.
    Raises:
        Unsupported: The weights are not here and cannot be downloaded.
    """
    if model.startswith("efficientnet"):
        inputs = layers.Rescaling(255.0)(inputs)  # its first layer divides by 255
    with _download_of(model) if weights else nullcontext():
        backbone = MAKERS[model](include_top=False, weights=weights, input_tensor=inputs)
    x = layers.GlobalAveragePooling2D()(backbone.output)
    return layers.Dropout(hyperparameters.ZOO_DROPOUT)(x)


@contextmanager
def _download_of(model: str) -> Iterator[None]:
    """Within it, a server that does not answer soon is an error, and a failed download is Unsupported."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(ANSWER_TIMEOUT_S)
    try:
        yield
    except Exception as problem:
        why = str(problem).partition("\n")[0][:250]
        if not (isinstance(problem, OSError) or why.startswith(NO_ANSWER)):
            raise
        raise Unsupported(
            f"imagenet weights of {model} could not be downloaded ({why or type(problem).__name__}): "
            "use weights = null"
        ) from None
    finally:
        socket.setdefaulttimeout(before)
