"""The numbers of each model, written down once, the same in every framework. Knows no framework.

Its optimizer is in `core.optimizers`, since code to paste has it, too.
"""

from __future__ import annotations

from trainspeed.core.trial import WIDE_RESNET

DATA_SET_CLASSES = 10
CNN_KERAS_CHANNELS = (32, 64)  # two 3x3 convolutions each, the second without padding, then max pooling
CNN_KERAS_UNITS = 512
CNN_KERAS_DROPOUT = (0.25, 0.25, 0.5)  # after each pooling, and before the last layer
CNN10_CHANNELS = (64, 128, 256)
CNN10_REPEATS = 3
WIDE_RESNET_BLOCKS = 4  # (28 - 4) / 6: two convolutions per block, three groups
WIDE_RESNET_CHANNELS = (16, 32, 64)

ZOO_DROPOUT = 0.15  # before the last layer, as in article 003
BN_DECAY = 0.9  # share of the running statistics kept per step (torch calls 1 - this "momentum")
BN_EPSILON = 1e-5


def wide_resnet_width(model: str) -> int:
    """Return the widening factor in a name such as `wrn28_10`."""
    return int(WIDE_RESNET.fullmatch(model)[1])
