"""The convolution that every library must agree with, in float64, and the check. Knows no library but NumPy."""

from __future__ import annotations

import numpy as np

from trainspeed.core.convolution import Conv2dTrial

# Largest error, relative to the result's root mean square. float32 stays below 1e-5 for sums of thousands (FFT
# and Winograd too); TF32 and 16 bits, a shifted or a flipped filter are far above.
TOLERANCE = 1e-4
CANCELLED = 0.01  # share of the terms' size: where a lone pixel's sum is smaller, errors are relative to this
CHECKED_IMAGES = 8  # images do not affect each other, so a few suffice: the first, the last, some in between


class WrongResult(Exception):
    """A library's result is not the convolution that was asked for; the message says by how much."""


def padding(filter_size: int) -> tuple[int, int]:
    """Return how many zeros to put before and after an axis for an output as long as the input."""
    return (filter_size - 1) // 2, filter_size // 2


def random_data(trial: Conv2dTrial) -> tuple[np.ndarray, np.ndarray]:
    """Return images (images, height, width, channels) and filters (size, size, channels, filters).

    They are float32, standard normal, drawn from the trial's seed: with equal numbers, a wrong filter would
    give the right result.
    """
    random = np.random.default_rng(trial.seed)
    size = trial.filter_size
    images = (trial.images, trial.height, trial.width, trial.channels)
    filters = (size, size, trial.channels, trial.filters)
    return tuple(random.standard_normal(shape, dtype=np.float32) for shape in (images, filters))


def padded(images: np.ndarray, filter_size: int) -> np.ndarray:
    """Return images framed by the zeros that make the output as large as they are."""
    around = padding(filter_size)
    return np.pad(images, ((0, 0), around, around, (0, 0)))


def convolve(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the cross-correlation in float64, (images, height, width, filters): slow and plain."""
    count, height, width, _ = images.shape
    size = filters.shape[0]
    framed = padded(images.astype(np.float64), size)
    result = np.zeros((count, height, width, filters.shape[3]))
    for row in range(size):
        for column in range(size):
            window = framed[:, row : row + height, column : column + width]
            result += window @ filters[row, column].astype(np.float64)
    return result


def check_result(result: np.ndarray, images: np.ndarray, filters: np.ndarray) -> None:
    """Compare the shape of a result with what was asked for, and some of its images with the reference.

    Raises:
        WrongResult: The shape or dtype is another one, or an error is beyond `TOLERANCE`.
    """
    shape = (*images.shape[:3], filters.shape[3])
    if result.shape != shape or result.dtype != np.float32:
        raise WrongResult(f"the result is {result.dtype} {result.shape}, not float32 {shape}")
    if not np.isfinite(result).all():
        raise WrongResult("the result holds numbers that are not finite")
    chosen = np.unique(np.linspace(0, len(images) - 1, CHECKED_IMAGES).astype(int))
    expected = convolve(images[chosen], filters)
    terms = np.linalg.norm(filters) * np.sqrt(np.mean(images[chosen] ** 2) / filters.shape[3])
    scale = max(np.sqrt(np.mean(expected**2)), CANCELLED * terms) or 1.0
    error = np.abs(result[chosen] - expected).max() / scale
    if error > TOLERANCE:
        raise WrongResult(
            f"the result differs from a float64 reference by {error:.2g} of its root mean square, "
            f"more than the {TOLERANCE:g} that float32 explains"
        )
