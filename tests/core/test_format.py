"""Numbers in words, alike in the whole report."""

import math

import numpy as np
import pandas as pd
import pytest

from trainspeed.core import format


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format.minutes(45.4), "45 s"),
        (format.minutes(200), "3 min 20 s"),
        (format.minutes(7500), "2 h 05 min"),
        (format.minutes(259_140), "71 h 59 min"),
        (format.minutes(1_440_000), "17 days"),
        (format.clock(3661.2), "1:01:01"),
        (format.clock(59.6), "0:01:00"),
        (format.digits(0), "0"),
        (format.digits(1.5), "1.50"),
        (format.digits(1234.5), "1,234"),
        (format.digits(0.00012345), "0.000123"),
        (format.three(1.5), "1.5"),
        (format.three(42.0), "42"),
        (format.three(1234.5), "1,234"),
        (format.three(0.0000435), "0.0000435"),
        (format.significant(149.6, 2), "150"),
        (format.significant(0.078, 2), "0.078"),
        (format.fixed(1.005, 1, "×"), "1.0×"),
        (format.fixed(-0.04, 1, " points", sign="+"), "+0.0 points"),
        (format.interval(1.314, 1.37), "1.31 to 1.37"),
        (format.interval(0.9783, 0.9828), "0.978 to 0.983"),
        (format.interval(1.0, 1.00001), "1.00 to 1.00"),
        (format.interval(-0.3, 0.8, 1, sign="+"), "-0.3 to +0.8"),
        (format.interval(1.0, None), format.MISSING),
        (format.fixed_to_interval(1.0401, 1.0362, 1.0418, 2, "x"), "1.040x"),
        (format.fixed_to_interval(1.34, 1.31, 1.37, 2, "x"), "1.34x"),
        (format.fixed_to_interval(2.2, None, None, 1, " points", sign="+"), "+2.2 points"),
        (format.percent(0.95), "95 %"),
        (format.percent(0.05, sign="+"), "+5 %"),
        (format.percent(-0.004), "0 %"),
        (format.percent_used(0.301), "30 %"),
        (format.percent_used(0.004), "less than 1 %"),
        (format.gigabytes(1.41e11), "141 GB"),
        (format.gigabytes(2.5e9, 1), "2.5 GB"),
        (format.usd(12.345), "12.35 USD"),
        (format.usd(0.01234), "0.0123 USD"),
        (format.usd(None), format.MISSING),
        (format.counted(1, "block"), "1 block"),
        (format.counted(0, "block"), "0 blocks"),
        (format.counted(3, "loss", "losses"), "3 losses"),
        (format.listed([2]), "2"),
        (format.listed([2, 4, 8]), "2, 4 and 8"),
        (format.listed(["a", "b"], last="or"), "a or b"),
        (format.whole(25_600_000), "25,600,000"),
        (format.or_nothing("x"), "x"),
    ],
)
def test_a_number_reads_as_a_reader_says_it(text, expected):
    assert text == expected


@pytest.mark.parametrize("absent", [None, math.nan, np.float64("nan"), pd.NA])
@pytest.mark.parametrize(
    "say",
    [
        format.or_nothing,
        format.clock,
        format.digits,
        format.whole,
        format.gigabytes,
        lambda value: format.fixed(value, 2),
        lambda value: format.interval(1.0, value),
    ],
)
def test_what_was_not_measured_is_a_dash(say, absent):
    assert say(absent) == "—"


def test_rounding_is_that_of_the_number_itself_not_of_numpys_product():
    """numpy rounds 100 * value: 1.115 would be 1.12, while the nearest double lies below it."""
    assert format.fixed(np.float64(1.115), 2) == format.fixed(1.115, 2) == f"{1.115:.2f}"
