"""What is wrong with a convolution's result is found, whatever it is."""

from __future__ import annotations

import numpy as np
import pytest

from reference_data import correlated, rounded, trial
from trainspeed.worker.convolution.reference import (
    CHECKED_IMAGES,
    WrongResult,
    check_result,
    convolve,
    padding,
    random_data,
)

# The check: what it catches. What goes wrong -> the result, from images, filters and the right result.

WRONG = {
    "flipped filter": lambda x, w, right: convolve(x, w[::-1, ::-1]),
    "filter flipped top to bottom": lambda x, w, right: convolve(x, w[::-1]),
    "transposed filter": lambda x, w, right: convolve(x, w.swapaxes(0, 1)),
    "shifted down by a pixel": lambda x, w, right: np.roll(right, 1, axis=1),
    "shifted right by a pixel": lambda x, w, right: np.roll(right, 1, axis=2),
    "transposed images": lambda x, w, right: right.swapaxes(1, 2),
    "images in another order": lambda x, w, right: right[::-1],
    "channels in another order": lambda x, w, right: convolve(x, w[:, :, ::-1]),
    "filters in another order": lambda x, w, right: right[..., ::-1],
    "one channel left out": lambda x, w, right: convolve(x[..., :1], w[:, :, :1]),
    "a border of repeated pixels": lambda x, w, right: correlated(
        np.pad(x, ((0, 0), padding(len(w)), padding(len(w)), (0, 0)), mode="edge"), w, 0, 0
    ),
    "inputs rounded to TF32": lambda x, w, right: convolve(rounded(x, 10), rounded(w, 10)),
    "inputs rounded to bfloat16": lambda x, w, right: convolve(rounded(x, 7), rounded(w, 7)),
    "inputs rounded to float16": lambda x, w, right: convolve(x.astype(np.float16), w.astype(np.float16)),
    "result rounded to bfloat16": lambda x, w, right: rounded(right.astype(np.float32), 7),
    "one pixel of the last image": lambda x, w, right: (
        right + (np.arange(right.size) == right.size - 1).reshape(right.shape)
    ),
}


@pytest.mark.parametrize(
    "sizes", [{"filter_size": 3}, {"filter_size": 4}, {"filter_size": 3, "channels": 64}], ids=str
)
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_result_is_refused(mistake, sizes):
    images, filters = random_data(trial(**sizes))
    right = convolve(images, filters)
    wrong = WRONG[mistake](images, filters, right).astype(np.float32)

    check_result(right.astype(np.float32), images, filters)
    with pytest.raises(
        WrongResult, match=r"differs from a float64 reference by [\d.e+-]+ of its root mean square"
    ):
        check_result(wrong, images, filters)


@pytest.mark.parametrize("bits", [10, 7])
@pytest.mark.parametrize("channels", [1, 64])
def test_rounded_inputs_are_refused_whatever_the_numbers(bits, channels):
    """TF32 has 10 bits of mantissa, bfloat16 7. The article's filter, and one with many channels."""
    for seed in range(20):
        images, filters = random_data(trial(images=8, height=20, width=20, channels=channels, seed=seed))
        with pytest.raises(WrongResult):
            check_result(
                convolve(rounded(images, bits), rounded(filters, bits)).astype(np.float32), images, filters
            )


@pytest.mark.parametrize("size", [2, 4, 10])
def test_the_other_padding_of_an_even_filter_is_refused(size):
    """More zeros before than after, as scipy.ndimage and scipy.signal have it."""
    images, filters = random_data(trial(filter_size=size))
    other = correlated(images, filters, size // 2, (size - 1) // 2)

    with pytest.raises(WrongResult):
        check_result(other.astype(np.float32), images, filters)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_an_error_in_the_first_or_the_last_image_alone_is_refused(count):
    """Some of many images are compared: among them both ends, since the last device has the last ones."""
    images, filters = random_data(trial(images=count))
    right = convolve(images, filters).astype(np.float32)
    for place in (0, -1):
        wrong = right.copy()
        wrong[place, 0, 0, 0] += 0.01
        with pytest.raises(WrongResult):
            check_result(wrong, images, filters)


@pytest.mark.parametrize("devices", [2, 3, 8])
def test_an_error_on_any_device_is_refused(devices):
    """With as many devices as images are compared, or fewer, each has one of them."""
    assert devices <= CHECKED_IMAGES
    images, filters = random_data(trial(images=24))
    right = convolve(images, filters).astype(np.float32)
    for share in np.split(np.arange(24), devices):
        wrong = right.copy()
        wrong[share] = wrong[share, ::-1]
        with pytest.raises(WrongResult):
            check_result(wrong, images, filters)


@pytest.mark.parametrize("place", [(0, 0, 0, 0), (7, 3, 3, 1), (19, 8, 8, 1)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused_in_every_image(place, value):
    images, filters = random_data(trial(images=20))
    result = convolve(images, filters).astype(np.float32)
    result[place] = value

    with pytest.raises(WrongResult, match="not finite"):
        check_result(result, images, filters)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda right: right, r"float64 \(3, 9, 9, 2\), not float32 \(3, 9, 9, 2\)"),
        (lambda right: right.astype(np.float16), "float16"),
        (lambda right: right.astype(np.float32)[:2], r"\(2, 9, 9, 2\)"),
        (lambda right: right.astype(np.float32)[..., 0], r"\(3, 9, 9\)"),
        (lambda right: right.astype(np.float32)[:, 1:-1, 1:-1], r"\(3, 7, 7, 2\)"),
        (lambda right: np.moveaxis(right.astype(np.float32), 3, 1), r"\(3, 2, 9, 9\)"),
    ],
    ids=["float64", "float16", "an image less", "no filters", "valid", "channels first"],
)
def test_another_dtype_or_shape_is_refused_by_name(change, told):
    images, filters = random_data(trial())

    with pytest.raises(WrongResult, match=told):
        check_result(change(convolve(images, filters)), images, filters)
