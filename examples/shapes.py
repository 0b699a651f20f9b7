"""A network of your own on data of your own: discs, squares and crosses, drawn here.

make report MODEL=examples/shapes.py:build
"""

import numpy as np
import torch
from torch import nn

SHAPES = ("disc", "square", "cross")
TRAIN_IMAGES, TEST_IMAGES = 1500, 300


class Network(nn.Module):
    """Three convolutions, each of which halves the image, and a dense layer."""

    def __init__(self, classes):
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.second = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.third = nn.Conv2d(64, 64, 3, stride=2, padding=1)
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        for convolution in (self.first, self.second, self.third):
            x = torch.relu(convolution(x))
        return self.head(x.mean((2, 3)))


def build(input_shape, classes, layout):
    """Return the network for as many classes as `data` has labels."""
    return Network(classes)


def data(image_size):
    """Return train_x, train_y, test_x, test_y.

    Images are (count, height, width, 3), uint8, or float from 0 to 1; labels are (count,) whole numbers from 0.
    The amp notebook trains on the first 1,000, so have them shuffled.
    """
    random = np.random.default_rng(0)
    labels = random.integers(0, len(SHAPES), TRAIN_IMAGES + TEST_IMAGES)
    images = np.stack([drawn(SHAPES[label], image_size, random) for label in labels])
    return images[:TRAIN_IMAGES], labels[:TRAIN_IMAGES], images[TRAIN_IMAGES:], labels[TRAIN_IMAGES:]


def drawn(shape, size, random):
    """Return a shape of random colour and place before noise: (size, size, 3), uint8."""
    radius = size * random.uniform(0.2, 0.3)
    x, y = random.uniform(radius, size - radius, 2)
    rows, columns = np.mgrid[:size, :size] + 0.5
    down, right = abs(rows - y), abs(columns - x)
    inside = {
        "disc": down**2 + right**2 < radius**2,
        "square": np.maximum(down, right) < radius,
        "cross": (np.minimum(down, right) < radius / 3) & (np.maximum(down, right) < radius),
    }[shape]
    image = random.integers(0, 100, (size, size, 3))
    image[inside] = random.integers(150, 256, 3)
    return image.astype(np.uint8)
