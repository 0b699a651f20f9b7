"""Load of devices by the samples of what was timed."""

import numpy as np
import pandas as pd
import pytest

from trainspeed.show.loads import FEWEST, median_loads

STEP_S = 0.5


def samples_of(load_percent, device="core0"):
    """Return a sample at the end of each half second."""
    x = STEP_S * np.arange(1, len(load_percent) + 1)
    return pd.DataFrame({"device": device, "x": x, "load_percent": load_percent})


def spans_of(*spans):
    return pd.DataFrame(spans, columns=["x", "x_end"])


def test_a_sample_that_is_half_of_a_neighbours_turn_does_not_count():
    """Turns of 1.25 s of an arm that has the core, and of one that leaves it alone: two whole samples in each."""
    busy = [(2.5 * turn, 2.5 * turn + 1.25) for turn in range(6)]
    load = [100, 100, 50, 0, 0] * 6
    assert median_loads(samples_of(load), spans_of(*busy))["core0"] == 100
    assert median_loads(samples_of(load), spans_of(*((end, end + 1.25) for _, end in busy)))["core0"] == 0


def test_spans_that_overlap_are_one():
    spans = spans_of((0.0, 4.0), (0.2, 0.4), (3.9, 10.0))
    assert median_loads(samples_of([30.0] * 20), spans)["core0"] == 30


@pytest.mark.parametrize("count", [FEWEST, FEWEST + 1])
def test_few_samples_have_no_median(count):
    """The first one has none before it, so that its time is not known."""
    assert len(median_loads(samples_of([30.0] * count), spans_of((0.0, 100.0)))) == (count > FEWEST)


def test_without_a_span_nothing_is_known():
    assert median_loads(samples_of([30.0] * 20), spans_of()).empty
