"""What guessing gets right."""

import pytest

from trainspeed.judge.guessing import guessing_range


def test_the_range_is_that_of_the_binomial_distribution():
    """By scipy.stats.binom.ppf: 12 and 29 of 200 at 0.1; of 10 images with 2 classes, 2 and 8."""
    assert guessing_range(0.1, 200) == (12 / 200, 29 / 200)
    assert guessing_range(0.5, 10) == (0.2, 0.8)
    assert guessing_range(0.5, 1) == (0.0, 1.0)


@pytest.mark.parametrize(("chance", "images"), [(0.1, 0), (0.0, 10), (1.0, 10)])
def test_what_is_no_guess_is_refused(chance, images):
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        guessing_range(chance, images)
