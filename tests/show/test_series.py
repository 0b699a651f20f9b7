"""Lines over a size, by their artists."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from showing_data import found, texts
from trainspeed.show.series import mark_failures, marks, nudged, series, series_legend

mpl.use("Agg")

LOOK = {"color": "black", "linestyle": "-", "marker": "o"}


def rows(values):
    """Return one row per run of one arm, from x -> values."""
    cells = [("a", x, value) for x, several in values.items() for value in several]
    return pd.DataFrame(cells, columns=["arm", "x", "value"])


def drawn(values):
    return series(rows(values), looks={"a": LOOK}, ax=plt.subplots()[1])


def bars_of(ax):
    """Return the ends of every interval that is a bar."""
    (bars,) = [artist for artist in ax.collections if artist.get_gid() == "interval"]
    return [part[:, 1].tolist() for part in bars.get_segments() if part.size and not np.isnan(part).any()]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([{1: 6, 2: 6}], "; band: 95 % interval of the median"),
        ([{1: 6, 2: 1}], "; pale bar: 95 % interval of the median"),
        ([{1: 6, 2: 6}, {1: 6}], "; band or pale bar: 95 % interval of the median"),
        ([{1: 5, 2: 1}], ""),
    ],
)
def test_the_legend_names_the_intervals_as_they_are_drawn(counts, said):
    panels = [rows({x: [1.0] * runs for x, runs in sizes.items()}) for sizes in counts]

    assert series_legend(panels) == "dot: one run; line: median" + said


def test_the_line_goes_through_the_medians_and_every_run_is_a_dot():
    ax = drawn({1: [3.0, 9.0, 4.0], 2: [5.0, 6.0]})
    assert list(found(ax, "median")[0].get_ydata()) == [4, 5.5]
    assert sorted(found(ax, "runs")[0].get_ydata()) == [3, 4, 5, 6, 9]


def test_intervals_are_a_band_where_every_size_has_one_and_bars_elsewhere():
    """A band between a size with an interval and one without has no width."""
    (band,) = found(drawn({1: range(6), 2: range(6)}), "interval")
    assert isinstance(band, mpl.collections.FillBetweenPolyCollection)
    assert bars_of(drawn({1: range(1, 7), 2: [5.0]})) == [[1, 6]]
    assert found(drawn({1: range(5), 2: range(5)}), "interval") == []


def test_the_medians_of_a_logarithmic_axis_are_those_of_the_values():
    """The median of 1 and 100 is 50.5, not their geometric mean."""
    ax = drawn({1: [1.0, 100.0]})
    ax.set_yscale("log")
    assert list(found(ax, "median")[0].get_ydata()) == [50.5]


def test_arms_at_one_size_stand_side_by_side():
    both = pd.concat([rows({8: [1.0]}), rows({8: [1.0]}).assign(arm="b")])
    assert list(nudged(both, ["a", "b"], 1.21)["x"]) == pytest.approx([8 / 1.1, 8 * 1.1])


@pytest.mark.parametrize("along", ["x", "y"])
def test_a_mark_without_an_interval_is_hollow(along):
    ax = plt.subplots()[1]
    table = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0], "low": [0.5, math.nan], "high": [5.0, math.nan]})
    marks(ax, table, along=along, look=LOOK)
    (bar,) = found(ax, "interval")[0].get_segments()
    assert bar[:, 0 if along == "x" else 1].tolist() == [0.5, 5.0]
    assert (found(ax, "hollow")[0].get_markerfacecolor(), list(found(ax, "hollow")[0].get_xdata())) == (
        "white",
        [2],
    )
    assert list(found(ax, "estimate")[0].get_ydata()) == [3]


@pytest.mark.parametrize(("count", "ends"), [(6, [1, 6]), (9, [2, 8])])
def test_the_interval_is_that_of_the_verdicts(count, ends):
    assert bars_of(drawn({1: range(1, count + 1), 2: [5.0]})) == [ends]


@pytest.mark.parametrize(("failed", "words"), [(["b"], ["b: OOM"]), (["a", "b"], ["OOM"])])
def test_a_failure_has_the_name_of_the_one_arm_that_failed(failed, words):
    runs = [(arm, x, "OOM" if arm in failed else None) for arm in "ab" for x in (8, 16, 32)]
    ax = plt.subplots()[1]
    mark_failures(pd.DataFrame(runs, columns=["arm", "x", "failure"]), looks={"a": LOOK, "b": LOOK}, ax=ax)

    assert texts(ax, "failure") == words
