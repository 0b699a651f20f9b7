"""Images as bytes: rounded, never cut off, and refused where the user's own would lose detail."""

from __future__ import annotations

import numpy as np
import pytest

from trainspeed.worker.data.eight_bits import AT_ONCE, Statistics, as_bytes, seen_as_bytes
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported


def images(x) -> Images:
    x = np.asarray(x, np.float32).reshape(-1, 1, 1, 1)
    y = np.zeros(len(x), np.int32)
    return Images(train_x=x, train_y=y, test_x=x[:1], test_y=y[:1])


def test_every_brightness_of_a_file_comes_back():
    levels = np.tile(np.arange(256, dtype=np.uint8), 1 + AT_ONCE // 256)
    made = as_bytes(images(levels / np.float32(255)), exact=True)

    np.testing.assert_array_equal(made.train_x.ravel(), levels)
    assert made.train_x.dtype == made.test_x.dtype == np.uint8


def test_what_lies_between_two_levels_is_rounded_not_cut_off():
    assert as_bytes(images([0.0, 1.6 / 255, 1.4 / 255, 1.0]), exact=False).train_x.ravel().tolist() == [
        0,
        2,
        1,
        255,
    ]


def test_the_users_own_images_are_refused_where_they_would_lose_detail():
    with pytest.raises(Unsupported, match="lose detail as uint8"):
        as_bytes(images([0.5, 0.25]), exact=True)


def test_statistics_of_bytes_are_those_of_the_floats_that_they_stand_for():
    x = np.random.default_rng(1).integers(0, 256, (4, 3, 3, 3)).astype(np.uint8)
    of_bytes, of_floats = Statistics.of(x), Statistics.of(x / np.float32(255))

    assert (of_bytes.mean, of_bytes.sd) == pytest.approx((of_floats.mean, of_floats.sd), rel=1e-5)


@pytest.mark.parametrize(("times", "seen"), [(1, "on"), (0.7, "on"), (255, "off"), (1 / 255, "off")])
def test_a_model_that_gets_them_undivided_or_divided_twice_is_seen(times, seen):
    expected = Statistics(mean=0.3, sd=0.2)
    got = Statistics(mean=times * 0.3, sd=times * 0.2)

    assert seen_as_bytes("uint8", got, expected)[0] == seen


def test_images_that_came_as_floats_are_not_in_effect():
    same = Statistics(mean=0.3, sd=0.2)

    assert seen_as_bytes("float32", same, same)[0] == "off"
