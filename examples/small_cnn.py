"""A small network of your own, once in Keras and once in PyTorch.

    make report MODEL=examples/small_cnn.py:build_keras
    make report MODEL=examples/small_cnn.py:build_torch

Each function imports its framework itself, so that the other one's environment can read this file too.
"""

CHANNELS = (32, 64)


def build_keras(input_shape, classes, layout):
    """Return a Keras model from images to logits.

    Args:
        input_shape: (height, width, 3), or (3, height, width) where the channels come first.
        layout: "channels_last" or "channels_first": Keras's own layers go by it unless they are told otherwise;
            only BatchNormalization must be told the axis of the channels.
    """
    import keras
    from keras import layers

    channel_axis = -1 if layout == "channels_last" else 1
    x = inputs = keras.Input(input_shape)
    for channels in CHANNELS:
        x = layers.Conv2D(channels, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization(axis=channel_axis)(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(classes, dtype="float32")(x))


def build_torch(input_shape, classes, layout):
    """Return a torch module from (batch, 3, height, width) images to logits.

    Args:
        input_shape: (3, height, width), whatever the layout.
        layout: Not needed here: in PyTorch it is the memory format, which Trainspeed sets.
    """
    from torch import nn

    parts, before = [], input_shape[0]
    for channels in CHANNELS:
        parts += [nn.Conv2d(before, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        parts += [nn.MaxPool2d(2)]
        before = channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))
