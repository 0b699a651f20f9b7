"""The convolution that all others are compared with, and what the comparison lets pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from reference_data import correlated, in_float32, trial
from trainspeed.worker.convolution.reference import (
    WrongResult,
    check_result,
    convolve,
    padding,
    random_data,
)

FEW = settings(derandomize=True, deadline=None, max_examples=40)


TRIALS = st.builds(
    trial,
    images=st.integers(1, 12),
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    channels=st.integers(1, 3),
    filters=st.integers(1, 3),
    filter_size=st.integers(1, 9),
    seed=st.integers(0, 10**6),
)


# The reference.


@FEW
@given(trial=TRIALS)
def test_the_reference_is_scipys_cross_correlation(trial):
    images, filters = random_data(trial)
    size = trial.filter_size

    expected = correlated(images, filters, (size - 1) // 2, size // 2)
    assert np.allclose(convolve(images, filters), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_for_odd_filters_that_is_scipys_mode_same(size):
    (image,), filters = random_data(trial(images=1, channels=1, filters=1, filter_size=size))

    expected = signal.correlate2d(image[:, :, 0].astype(float), filters[:, :, 0, 0], "same")
    assert np.allclose(convolve(image[np.newaxis], filters)[0, :, :, 0], expected, rtol=1e-12)


def test_a_known_answer_with_a_filter_that_only_looks_down_and_right():
    """An even filter sees no zero before and one after: 2 x 2, of which the last cell alone is 1."""
    image = np.arange(1.0, 7.0, dtype=np.float32).reshape(1, 2, 3, 1)
    look = np.zeros((2, 2, 1, 1), np.float32)
    look[1, 1] = 1

    assert padding(2) == (0, 1)
    assert convolve(image, look)[0, :, :, 0].tolist() == [[5, 6, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("size", "zeros"), [(1, (0, 0)), (2, (0, 1)), (3, (1, 1)), (4, (1, 2)), (10, (4, 5))]
)
def test_the_zeros_around_make_the_output_as_large_as_the_input(size, zeros):
    assert padding(size) == zeros
    assert sum(zeros) == size - 1


# The data.


@FEW
@given(trial=TRIALS)
def test_random_data_come_from_the_seed_alone_and_are_never_constant(trial):
    """With equal numbers a flipped or shifted filter gives the right result."""
    images, filters = random_data(trial)
    again = random_data(trial)

    assert images.shape == (trial.images, trial.height, trial.width, trial.channels)
    assert filters.shape == (trial.filter_size, trial.filter_size, trial.channels, trial.filters)
    assert images.dtype == filters.dtype == np.float32
    for numbers, same in zip((images, filters), again, strict=True):
        assert np.array_equal(numbers, same)
        assert len(np.unique(numbers)) > numbers.size * 0.99


def test_another_block_has_other_images_and_filters():
    images, filters = random_data(trial().in_block(0))
    others = random_data(trial().in_block(1))

    assert not np.isin(images, others[0]).any()
    assert not np.isin(filters, others[1]).any()


def test_random_data_are_standard_normal():
    images, _ = random_data(trial(images=20, height=50, width=50))

    assert images.mean() == pytest.approx(0, abs=0.02)
    assert images.std() == pytest.approx(1, abs=0.02)


# The check: what it accepts.


@FEW
@given(trial=TRIALS)
def test_what_float32_rounds_is_accepted_in_every_shape(trial):
    images, filters = random_data(trial)

    check_result(in_float32(images, filters), images, filters)
    check_result(convolve(images, filters).astype(np.float32), images, filters)


def test_long_sums_in_float32_are_accepted():
    """Each number is a sum of 6,400 terms."""
    images, filters = random_data(trial(channels=64, filter_size=10))

    check_result(in_float32(images, filters), images, filters)


def test_a_single_pixel_whose_terms_cancel_is_accepted():
    """The error is that of the terms: relative to a sum near zero it may be as large as you like."""
    images = np.array([1.0, 1.0, -1.0], np.float32).reshape(1, 1, 1, 3)
    filters = np.array([1.0, 2**-20, 1.0], np.float32).reshape(1, 1, 3, 1)
    one_bit_off = (convolve(images, filters) + 2**-23).astype(np.float32)

    check_result(one_bit_off, images, filters)


def test_images_of_zeros_have_a_result_of_zeros():
    images, filters = np.zeros((2, 5, 5, 1), np.float32), np.ones((3, 3, 1, 1), np.float32)

    check_result(np.zeros((2, 5, 5, 1), np.float32), images, filters)
    with pytest.raises(WrongResult):
        check_result(np.ones((2, 5, 5, 1), np.float32), images, filters)
