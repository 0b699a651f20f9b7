"""Images in another size."""

import numpy as np
import pytest
from scipy.ndimage import zoom

from trainspeed.worker.data.sets import resize


def test_resizing_keeps_the_picture():
    """A white left half stays left, and the mean brightness about the same."""
    x = np.zeros((1, 8, 8, 1), np.float32)
    x[:, :, :4] = 1
    large = resize(x, 32)
    assert large[0, :, :12].min() == 1
    assert large[0, :, 20:].max() == 0
    assert large.mean() == pytest.approx(0.5)


def test_a_grey_image_is_the_same_in_all_channels_and_a_coloured_one_keeps_them():
    rng = np.random.default_rng(0)
    grey = resize(rng.random((2, 8, 8, 1), np.float32), 8)
    assert (grey[..., :1] == grey).all()
    colour = rng.random((2, 8, 8, 3), np.float32)
    assert (resize(colour, 8) == colour).all()
    assert resize(colour, 16).shape == (2, 16, 16, 3)


def test_resizing_is_scipys_linear_interpolation():
    rng = np.random.default_rng(0)
    for side, size, channels in ((8, 32, 1), (28, 50, 1), (32, 33, 3), (32, 16, 3), (9, 4, 1)):
        x = rng.random((66, side, side, channels), np.float32)  # more than are resized at once
        scale = (1, size / side, size / side, 1)
        expected = zoom(x, scale, order=1, grid_mode=True, mode="nearest")
        assert np.abs(resize(x, size) - expected).max() < 1e-6
