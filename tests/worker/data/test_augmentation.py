"""Random shifts and flips: what they do to one image, and how they are distributed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage, stats

from trainspeed.worker.data.augmentation import FLIP_PROBABILITY, SHIFT_SHARE, draw_augmentation, moved

HEIGHT, WIDTH = 16, 24


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(3).random((8, HEIGHT, WIDTH, 3), dtype=np.float32)


def random() -> np.random.Generator:
    return np.random.default_rng(5)


def augment(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return moved(images, *draw_augmentation(*images.shape[:3], random))


def test_shifts_as_scipy_does_and_mirrors_afterwards(images):
    """`ImageDataGenerator` is `scipy.ndimage` with order 1 and the nearest pixel beyond the border."""
    down, right = random().uniform(-3, 3, (2, len(images)))
    mirrored = np.arange(len(images)) % 2 == 1

    found = moved(images, down, right, mirrored)

    for image, dy, dx, flip, result in zip(images, down, right, mirrored, found, strict=True):
        expected = ndimage.shift(image, (dy, dx, 0), order=1, mode="nearest")
        np.testing.assert_allclose(result, expected[:, ::-1] if flip else expected, atol=1e-5)


def test_a_shift_by_whole_pixels_moves_down_and_right(images):
    found = moved(images[:1], np.array([2.0]), np.array([3.0]), np.array([False]))

    np.testing.assert_array_equal(found[:, 2:, 3:], images[:1, :-2, :-3])
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_no_shift_and_no_flip_is_the_image_itself_in_new_memory(images):
    nothing = np.zeros(len(images))
    found = moved(images, nothing, nothing, nothing > 0)

    np.testing.assert_array_equal(found, images)
    assert not np.shares_memory(found, images)


def test_keeps_shape_and_dtype_and_leaves_its_input_alone(images):
    before = images.copy()
    found = augment(images, random())

    assert found.shape == images.shape
    assert found.dtype == np.float32
    np.testing.assert_array_equal(images, before)


def test_an_even_image_stays_as_it_is_up_to_its_border():
    even = np.full((50, HEIGHT, WIDTH, 3), 0.7, dtype=np.float32)

    np.testing.assert_array_equal(augment(even, random()), even)


def test_shifts_are_uniform_and_half_of_the_images_are_mirrored():
    """One bright pixel, left of the middle: where it goes tells the shift and the flip."""
    count, row, column = 2000, 8, 6
    image = np.zeros((count, HEIGHT, WIDTH, 3), dtype=np.float32)
    image[:, row, column] = 1

    light = augment(image, random())[..., 0]
    down = light.sum(2) @ np.arange(HEIGHT) - row
    at = light.sum(1) @ np.arange(WIDTH)
    mirrored = at > WIDTH / 2
    right = np.where(mirrored, WIDTH - 1 - at, at) - column

    uniform = stats.uniform(-1, 2).cdf
    assert stats.kstest(down / (SHIFT_SHARE * HEIGHT), uniform).pvalue > 0.01
    assert stats.kstest(right / (SHIFT_SHARE * WIDTH), uniform).pvalue > 0.01
    assert abs(mirrored.mean() - FLIP_PROBABILITY) < 0.04
    assert np.abs(np.corrcoef([down, right, mirrored])[np.triu_indices(3, 1)]).max() < 0.1


def test_the_same_stream_gives_the_same_images_and_another_gives_others(images):
    np.testing.assert_array_equal(augment(images, random()), augment(images, random()))
    assert not np.array_equal(augment(images, random()), augment(images, np.random.default_rng(6)))
