"""Random shifts and flips of a batch of images, with NumPy. Knows no framework and no order of batches.

They are distributed as in Keras's old `ImageDataGenerator(width_shift_range=0.1, height_shift_range=0.1,
horizontal_flip=True)`; every other way to augment in this package is held to it.
Source: https://www.tensorflow.org/api_docs/python/tf/keras/preprocessing/image/ImageDataGenerator
"""

from __future__ import annotations

import numpy as np

SHIFT_SHARE = 0.1  # share of the height or width, in either direction
FLIP_PROBABILITY = 0.5
Draws = tuple[np.ndarray, np.ndarray, np.ndarray]


def draw_augmentation(count: int, height: int, width: int, random: np.random.Generator) -> Draws:
    """Return the shifts down and right, in pixels, and whether to mirror, each (count,)."""
    down = height * random.uniform(-SHIFT_SHARE, SHIFT_SHARE, count)
    right = width * random.uniform(-SHIFT_SHARE, SHIFT_SHARE, count)
    return down, right, random.random(count) < FLIP_PROBABILITY


def moved(images: np.ndarray, down: np.ndarray, right: np.ndarray, mirrored: np.ndarray) -> np.ndarray:
    """Return new images, each shifted, by parts of a pixel too, and then perhaps mirrored left to right.

    Between pixels it interpolates linearly; beyond the border the nearest pixel is repeated.

    Args:
        images: (count, height, width, channels), float32; so is what comes back.
        down, right: Shifts in pixels, (count,).
        mirrored: Whether to mirror an image, (count,).
    """
    count, height, width, channels = images.shape
    rows = np.arange(height) - down[:, None]
    columns = np.arange(width) - right[:, None]
    columns = np.where(mirrored[:, None], columns[:, ::-1], columns)
    # A shift is separable: whole rows first, which are long pieces of memory.
    by_rows = _read_between(images.reshape(count, height, width * channels), rows)
    by_both = _read_between(
        by_rows.reshape(count * height, width, channels), np.repeat(columns, height, axis=0)
    )
    return by_both.reshape(images.shape)


def _read_between(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Read x, (count, size, length), at positions (count, size) along its second axis."""
    count, size = positions.shape
    positions = np.clip(positions, 0, size - 1)
    lower = positions.astype(np.intp)
    upper = np.minimum(lower + 1, size - 1)
    share = (positions - lower).astype(np.float32)[..., None]
    flat, start = x.reshape(count * size, -1), size * np.arange(count)[:, None]
    low, high = flat.take(start + lower, axis=0), flat.take(start + upper, axis=0)
    high -= low
    high *= share
    high += low
    return high
