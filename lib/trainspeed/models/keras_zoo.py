"""Models of others, from keras.applications, with the head of article 003."""

from __future__ import annotations

import keras
from keras import applications, layers

from trainspeed import recipes

# Name of a trial -> what makes it.
MAKERS = {
    "vgg16": applications.VGG16,
    "mobilenet": applications.MobileNet,
    "resnet50": applications.ResNet50,
    **{f"efficientnet_b{n}": getattr(applications, f"EfficientNetB{n}") for n in range(6)},
}


def features(model: str, inputs: keras.KerasTensor, *, weights: str | None) -> keras.KerasTensor:
    """Return a model's features of (batch, height, width, 3) images in [0, 1], or channels first, pooled.

    Args:
        weights: "imagenet" downloads Keras's; None draws them at random, as Keras does.
    """
    if model.startswith("efficientnet"):
        inputs = layers.Rescaling(255.0)(inputs)  # its first layer divides by 255
    backbone = MAKERS[model](include_top=False, weights=weights, input_tensor=inputs)
    x = layers.GlobalAveragePooling2D()(backbone.output)
    return layers.Dropout(recipes.ZOO_DROPOUT)(x)
