"""The articles' ratios and this machine's in charts, by their artists."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from amp_data import shares, speedups
from scaling_data import make_verdict
from showing_data import found, texts
from study_data import make_run
from trainspeed.articles import charts, ratios
from trainspeed.articles.numbers import BAND
from trainspeed.core.errors import UserError
from trainspeed.show.fitting import fit_figure
from trainspeed.show.theme import FRAMEWORK_COLOURS, NARROW_IN

mpl.use("Agg")


def convolved(devices=(1, 2), framework="torch"):
    rows = [
        {
            "series": f"PyTorch, {kind}",
            "framework": framework,
            "x": n,
            "value": ms / n,
            "low": ms / n,
            "high": ms,
        }
        for kind, ms in (("first call", 900), ("warm", 8))
        for n in devices
    ]
    rows.append({"series": "SciPy, warm", "value": 190, "low": 180, "high": 200})
    return ratios.convolution_times(pd.DataFrame(rows))


NOTHING_OF_OURS = {
    charts.plot_batch_sizes: ratios.batch_sizes([]),
    charts.plot_second_device: ratios.second_device([]),
    charts.plot_published_pipelines: ratios.input_pipelines([]),
    charts.plot_convolutions: ratios.convolution_times(pd.DataFrame()),
}
BOTH = {
    charts.plot_batch_sizes: ratios.batch_sizes([make_run(batch_size=n) for n in (8, 16)]),
    charts.plot_second_device: ratios.second_device([make_verdict(1.25)]),
    charts.plot_convolutions: convolved(),
}


@pytest.mark.parametrize("plot", NOTHING_OF_OURS, ids=lambda plot: plot.__name__)
def test_the_articles_numbers_are_drawn_without_a_run_of_ours(plot):
    ax = plot(NOTHING_OF_OURS[plot])
    assert ax.figure.get_suptitle().endswith(("?", ")")) and "is better" in ax.get_xlabel() + ax.get_ylabel()
    assert found(ax, "published") and not found(ax, "measured")


@pytest.mark.parametrize("plot", BOTH, ids=lambda plot: plot.__name__)
def test_the_articles_lines_are_hollow_grey_and_dotted_and_ours_are_filled(plot):
    ax = plot(BOTH[plot])
    theirs, ours = found(ax, "published"), found(ax, "measured")
    assert {(line.get_fillstyle(), line.get_color(), line.get_linestyle()) for line in theirs} == {
        ("none", charts.ARTICLE_GREY, ":")
    }
    assert len({line.get_marker() for line in theirs}) == len(theirs) == 2
    assert {(line.get_fillstyle(), line.get_color()) for line in ours} == {
        ("full", FRAMEWORK_COLOURS["torch"])
    }
    assert len({(line.get_marker(), line.get_linestyle()) for line in ours}) == len(ours)
    (legend,) = ax.figure.legends
    assert len(legend.get_texts()) == len(ax.get_legend_handles_labels()[1]) >= len(theirs) + len(ours)
    ax.figure.canvas.draw()


def test_a_speedup_has_its_interval_and_the_ideal_one_is_marked():
    ax = charts.plot_second_device(BOTH[charts.plot_second_device])
    (ours,) = found(ax, "measured")
    assert ours.get_ydata().tolist() == [1.25]
    (segment,) = found(ax, "measured interval")[0].get_segments()
    assert segment[:, 1].tolist() == [1.25, 1.25]
    assert 2 in [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert texts(ax, "note") == [charts.FAIRNESS_NOTE] and "more is better" in ax.get_ylabel()


def test_a_cpus_time_is_a_horizontal_line_with_its_interval():
    ax = charts.plot_convolutions(convolved())
    (theirs,), (ours,) = found(ax, "published flat"), found(ax, "measured flat")
    assert (theirs.get_ydata()[0], ours.get_ydata()[0]) == (222, 190)
    assert ours.get_color() not in FRAMEWORK_COLOURS.values()
    assert ax.get_yscale() == "log" and ax.get_ylim()[1] > 14898
    assert texts(ax, "note") == ["horizontal: not split over devices"]
    cores = charts.plot_convolutions(convolved(), on_cores=True, ax=plt.figure().subplots())
    assert texts(cores, "note")[0].endswith("; a device here is a CPU core")


def test_the_label_of_time_ends_below_the_title_on_a_narrow_screen():
    ax = charts.plot_convolutions(convolved())
    fit_figure(ax.figure, NARROW_IN)
    ax.figure.canvas.draw()
    label, title = ax.yaxis.label.get_window_extent(), ax.figure._suptitle.get_window_extent()
    assert label.y1 <= title.y0


@pytest.mark.parametrize("devices", [(1,), tuple(range(1, 17))])
def test_one_device_and_sixteen_are_drawn(devices):
    ax = charts.plot_convolutions(convolved(devices))
    assert len(found(ax, "measured")) == 2 and ax.get_xlim()[1] > devices[-1]
    ax.figure.canvas.draw()


def test_pipelines_are_drawn_with_what_rounding_leaves_open():
    ax = charts.plot_published_pipelines(NOTHING_OF_OURS[charts.plot_published_pipelines])
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "1 device, 4 threads",
        "8 devices, 4 threads",
        "8 devices, arrays",
        "8 devices, 32 processes",
    ]
    (theirs,) = found(ax, "published")
    assert (theirs.get_markerfacecolor(), theirs.get_markeredgecolor()) == ("white", charts.ARTICLE_GREY)
    measured = NOTHING_OF_OURS[charts.plot_published_pipelines].assign(
        kind="measured", low=math.nan, high=math.nan
    )
    (ours,) = found(charts.plot_published_pipelines(measured), "measured")
    assert ours.get_markerfacecolor() == FRAMEWORK_COLOURS["tensorflow"], "filled"
    second = found(ax, "interval")[0].get_segments()[1]
    assert second[:, 0].tolist() == pytest.approx([17.5 / 21.5, 18.5 / 20.5])
    assert ax.get_xlim()[0] == 0 and texts(ax, "note") == [charts.FAIRNESS_NOTE]


def test_shares_without_an_interval_are_hollow_and_rows_are_read_from_the_top():
    ax = charts.plot_shares(shares())
    filled = {kind: found(ax, kind)[0].get_color() for kind in ("tensorflow", "torch")}
    hollow = [(dots.get_markerfacecolor(), dots.get_color()) for dots in found(ax, "hollow")]
    assert filled == {kind: FRAMEWORK_COLOURS[kind] for kind in filled}
    assert hollow == [("white", FRAMEWORK_COLOURS[kind]) for kind in ("tensorflow", "jax")]
    assert texts(ax, "blocks") == ["6", "2", "6", "1"]
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == [
        "TensorFlow, vgg16, fp16",
        "TensorFlow, vgg16, bf16",
    ]
    assert ax.yaxis_inverted() and "hollow: under 6 blocks" in texts(ax, "note")[0]
    ax.figure.canvas.draw()


def test_the_articles_band_and_fp32_are_marked_and_named():
    ax = charts.plot_shares(shares())
    (band,) = found(ax, "band")
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx(BAND)
    assert "band: article 003, 45 to 60 %" in texts(ax, "note")[0]
    assert list(found(ax, "fp32")[0].get_xdata()) == [1, 1]


def test_a_very_slow_precision_makes_the_axis_logarithmic():
    """fp16 on a CPU may take ten times as long: the band would be a thread."""
    ax = charts.plot_shares(ratios.precision_shares(speedups([0.1] * 6)))
    assert ax.get_xscale() == "log" and ax.get_xlim()[0] < BAND[0]
    ax = charts.plot_shares(shares())
    assert ax.get_xscale() == "linear" and ax.get_xlim()[0] == 0


def test_a_chart_of_nothing_says_so():
    ax = charts.plot_shares(ratios.precision_shares([]))
    assert "no precision was compared" in texts(ax, "sentence")[0].replace("\n", " ")
    assert not ax.lines


def test_a_chart_is_drawn_on_the_callers_axes_and_names_a_missing_column():
    for plot, data in (charts.plot_shares, shares()), (charts.plot_convolutions, convolved()):
        ax = plt.subplots()[1]
        assert plot(data, ax=ax) is ax
        with pytest.raises(UserError, match="lacks the columns"):
            plot(data.drop(columns="value"))
