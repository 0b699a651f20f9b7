"""A trial of a convolution, and SciPy's and NumPy's own results to compare with."""

from __future__ import annotations

import numpy as np
from scipy import signal

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.reference import padded


def trial(**sizes) -> Conv2dTrial:
    usual = {"images": 3, "height": 9, "width": 9, "channels": 2, "filters": 2}
    return Conv2dTrial(library="torch", mode="eager", **{**usual, **sizes})


def correlated(images, filters, before, after):
    """Return SciPy's own cross-correlation in float64 of images framed by zeros."""
    framed = np.pad(images.astype(np.float64), ((0, 0), (before, after), (before, after), (0, 0)))
    planes = [
        [
            sum(
                signal.correlate2d(image[:, :, channel], filters[:, :, channel, index], "valid")
                for channel in range(filters.shape[2])
            )
            for index in range(filters.shape[3])
        ]
        for image in framed
    ]
    return np.moveaxis(np.array(planes), 1, 3)


def in_float32(images, filters):
    """Return the convolution with each product and sum rounded to float32."""
    size = len(filters)
    height, width = images.shape[1:3]
    result = np.zeros((*images.shape[:3], filters.shape[3]), np.float32)
    framed = padded(images, size)
    for row in range(size):
        for column in range(size):
            for channel in range(filters.shape[2]):
                seen = framed[:, row : row + height, column : column + width, channel, np.newaxis]
                result += seen * filters[row, column, channel]
    assert result.dtype == np.float32
    return result


def rounded(numbers, bits):
    """Return float32 numbers with fewer bits of mantissa, rounded as hardware does it."""
    dropped = 23 - bits
    whole = numbers.view(np.uint32) + np.uint32(1 << (dropped - 1))
    return (whole >> np.uint32(dropped) << np.uint32(dropped)).view(np.float32)
