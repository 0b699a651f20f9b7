"""Time over size, by its artists."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from showing_data import found, legend, texts
from trainspeed.articles.charts import plot_convolutions
from trainspeed.articles.ratios import convolution_times
from trainspeed.core.errors import UserError
from trainspeed.judge.crossover import Crossover, CrossoverKind
from trainspeed.show.theme import FRAMEWORK_COLOURS
from trainspeed.studies.conv2d.frames import SWEEP_COLUMNS
from trainspeed.studies.conv2d.sweep_charts import plot_sweeps
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import library_trial

mpl.use("Agg")

LIBRARIES = {
    "TensorFlow (graph)": ("tensorflow", True),
    "TensorFlow (eager)": ("tensorflow", True),
    "PyTorch": ("torch", True),
    "JAX": ("jax", True),
    "scipy.signal.convolve2d": ("scipy_signal", False),
    "OpenCV filter2D": ("opencv", False),
    "PyTorch on the CPU": (None, False),
}


def make_sweep(libraries=("PyTorch", "scipy.signal.convolve2d"), sizes=(8, 64, 840), blocks=6):
    rows = [
        (library, *LIBRARIES[library], size, block, 1e-4 * (place + 1) * size * (1 + block / 100))
        for place, library in enumerate(libraries)
        for size in sizes
        for block in range(blocks)
    ]
    return pd.DataFrame(rows, columns=SWEEP_COLUMNS)


def make_crossover(
    size=30.0, *, factor="images", kind=CrossoverKind.SINGLE, device="torch", low=20.0, high=40.0, **more
):
    shape = {"images": 8, "height": 100, "width": 100}
    return Sweep(
        factor=factor,
        device=library_trial(device, **shape),
        cpu=library_trial("scipy_signal", **shape),
        filters_follow=False,
        crossover=Crossover(kind=kind, points=(), size=size, low=low, high=high, **more),
    )


def lines(ax):
    """Return library -> its line of medians."""
    return {line.get_label(): line for line in found(ax, "median")}


class TestLines:
    def test_a_line_is_the_median_in_ms_and_a_dot_one_run(self):
        (ax,) = plot_sweeps({"images": make_sweep()}).axes
        line = lines(ax)["PyTorch"]
        assert list(line.get_xdata()) == [8, 64, 840]
        np.testing.assert_allclose(line.get_ydata(), [0.82, 6.56, 86.1])
        dots = [dot for dot in found(ax, "runs") if to_hex(dot.get_color()) == to_hex(line.get_color())]
        assert len(dots) == 1
        assert len(dots[0].get_xdata()) == 18

    def test_the_axes_are_logarithmic_and_say_unit_and_direction(self):
        sweeps = {factor: make_sweep(sizes=(1, 3, 10)) for factor in ("images", "channels", "filter_size")}
        axes = plot_sweeps(sweeps).axes
        assert {(ax.get_xscale(), ax.get_yscale()) for ax in axes} == {("log", "log")}
        assert [ax.get_xlabel() for ax in axes] == [
            "images in a call",
            "channels",
            "filter size in pixels (k of k×k)",
        ]
        assert {ax.get_ylabel() for ax in axes} == {"time of a warm call in ms\n(less is better)"}

    def test_the_ticks_are_the_sizes(self):
        (ax,) = plot_sweeps({"images": make_sweep()}).axes
        assert list(ax.get_xticks()) == [8, 64, 840]
        assert list(ax.get_xticks(minor=True)) == []
        assert [ax.xaxis.get_major_formatter()(size) for size in (8, 16384)] == ["8", "16,384"]

    def test_sizes_without_room_have_no_tick_and_both_ends_always_do(self):
        sizes = (1, 2, 64, 65, 66, 67, 1000, 1024)
        (ax,) = plot_sweeps({"images": make_sweep(sizes=sizes)}).axes
        assert list(ax.get_xticks()) == [1, 2, 64, 1024]

    @pytest.mark.parametrize("seconds", [1.0, 1.05, 3.0, 1e5])
    def test_y_has_two_ticks_or_more(self, seconds):
        """From a flat line to one over five decades."""
        frame = make_sweep(("PyTorch",), (1, 10), 1)
        for scale in (1e-3, 1.4e-3, 4.2e-3):
            (ax,) = plot_sweeps({"images": frame.assign(call_s=[scale, scale * seconds])}).axes
            low, high = ax.get_ylim()
            assert 2 <= sum(low <= tick <= high for tick in ax.get_yticks()) <= 8

    def test_a_band_needs_six_blocks(self):
        """One run alone has no interval, and the note promises none."""
        for blocks, intervals in ((1, 0), (5, 0), (6, 1)):
            (ax,) = plot_sweeps({"images": make_sweep(("PyTorch",), blocks=blocks)}).axes
            assert len(found(ax, "interval")) == intervals
            assert ("95 %" in texts(ax, "note")[0]) == bool(intervals)


class TestLooks:
    def test_a_framework_keeps_its_colour_and_its_second_library_differs_in_line_and_marker(self):
        (ax,) = plot_sweeps({"images": make_sweep(("TensorFlow (graph)", "TensorFlow (eager)", "JAX"))}).axes
        graph, eager, jax = (lines(ax)[name] for name in ("TensorFlow (graph)", "TensorFlow (eager)", "JAX"))
        assert graph.get_color() == eager.get_color() == FRAMEWORK_COLOURS["tensorflow"]
        assert jax.get_color() == FRAMEWORK_COLOURS["jax"]
        assert graph.get_linestyle() != eager.get_linestyle()
        assert len({(dots.get_marker(), dots.get_fillstyle()) for dots in found(ax, "runs")}) == 3

    def test_the_cpus_libraries_have_colours_lines_and_markers_of_their_own(self):
        """Also that of a framework, when it ran on the CPU; of the same colour as beside the articles."""
        cpu = [name for name, (_, on_device) in LIBRARIES.items() if not on_device]
        (ax,) = plot_sweeps({"images": make_sweep(cpu)}).axes
        columns = {"framework": [LIBRARIES[name][0] for name in cpu], "series": cpu, "x": None}
        flat = plot_convolutions(convolution_times(pd.DataFrame(columns | {"value": 1, "low": 1, "high": 1})))
        beside = {line.get_label(): line.get_color() for line in found(flat, "measured flat")}
        assert {name: line.get_color() for name, line in lines(ax).items()} == beside
        assert len(set(beside.values()) - set(FRAMEWORK_COLOURS.values())) == 3
        assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in lines(ax).values()}) == 3
        assert len({dots.get_marker() for dots in found(ax, "runs")}) == 3

    def test_a_library_looks_the_same_in_every_panel(self):
        """Though the first panel has others before it."""
        axes = plot_sweeps(
            {"images": make_sweep(list(LIBRARIES)[:5]), "channels": make_sweep(["TensorFlow (graph)"])}
        ).axes
        looks = [
            (line.get_color(), line._dash_pattern)
            for line in (lines(ax)["TensorFlow (graph)"] for ax in axes)
        ]
        assert looks[0] == looks[1]

    def test_every_library_is_in_one_legend(self):
        """Also one that is in one of the panels only, or ends early."""
        some = make_sweep(list(LIBRARIES)[:5])
        figure = plot_sweeps({"images": some[some["size"] < 840], "channels": make_sweep(list(LIBRARIES))})
        assert sorted(legend(figure)) == sorted(LIBRARIES)


class TestCrossover:
    def test_is_a_line_at_its_size_with_its_interval_as_band(self):
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover()]).axes
        (line,) = found(ax, "crossover")
        assert list(line.get_xdata()) == [30, 30]
        (band,) = [patch for patch in ax.patches if patch.get_gid() == "crossover interval"]
        assert (band.get_x(), band.get_width()) == (20, 20)
        assert texts(ax, "crossover text") == [
            "PyTorch faster than\nscipy.signal.convolve2d from about 30 on"
        ]
        assert "PyTorch and scipy.signal.convolve2d" in texts(ax, "note")[0].replace("\n", " ")

    def test_the_text_stands_between_the_panel_and_its_title(self):
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover()]).axes
        ax.get_figure().draw_without_rendering()
        (text,) = found(ax, "crossover text")
        box = text.get_window_extent()
        assert ax.get_window_extent().y1 <= box.y0 and box.y1 <= ax.title.get_window_extent().y0

    @pytest.mark.parametrize("size", [8.5, 30.0, 80.0, 200.0, 800.0])
    def test_the_text_stays_within_the_panel(self, size):
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover(size, low=None, high=None)]).axes
        ax.get_figure().draw_without_rendering()
        (text,) = [text for text in ax.texts if text.get_gid() == "crossover text"]
        box, panel = text.get_window_extent(), ax.get_window_extent()
        assert panel.x0 <= box.x0 and box.x1 <= panel.x1

    def test_says_up_to_where_the_device_is_faster_below_it(self):
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover(1200.4, rising=False)]).axes
        assert texts(ax, "crossover text") == [
            "PyTorch faster than\nscipy.signal.convolve2d up to about 1,200"
        ]

    def test_without_an_interval_has_no_band(self):
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover(low=None, high=None)]).axes
        assert found(ax, "crossover") and not ax.patches
        assert "grey" not in texts(ax, "note")[0]
        assert "no interval: by medians alone" in texts(ax, "note")[0].replace("\n", " ")

    def test_one_of_two_without_an_interval_is_said_to_be_the_one_without_grey(self):
        pairs = [make_crossover(), make_crossover(factor="channels", low=None, high=None)]
        axes = plot_sweeps({"images": make_sweep(), "channels": make_sweep()}, pairs).axes
        note = texts(axes[-1], "note")[0].replace("\n", " ")
        assert "grey: uncertainty; without grey: by medians alone" in note

    @pytest.mark.parametrize("kind", [kind for kind in CrossoverKind if kind is not CrossoverKind.SINGLE])
    def test_what_was_not_found_is_not_drawn(self, kind):
        missing = make_crossover(None, kind=kind, low=None, high=None)
        for crossovers in ([missing], []):
            (ax,) = plot_sweeps({"images": make_sweep()}, crossovers).axes
            assert not found(ax, "crossover") and not texts(ax, "crossover text") and not ax.patches

    def test_further_pairs_are_marks_at_the_top_edge(self):
        """The first pair that has one is the line, though another pair comes before it."""
        missing = make_crossover(None, kind=CrossoverKind.NEVER, low=None, high=None)
        several = [missing, make_crossover(), make_crossover(100.0, device="jax"), make_crossover(300.0)]
        (ax,) = plot_sweeps({"images": make_sweep()}, several).axes
        assert [line.get_xdata()[0] for line in found(ax, "crossover")] == [30]
        marks = found(ax, "further crossover")
        assert [mark.get_xdata()[0] for mark in marks] == [100, 300]
        assert all(0.9 < mark.get_ydata()[0] < mark.get_ydata()[1] == 1 for mark in marks)

    def test_stands_in_the_panel_of_its_factor(self):
        axes = plot_sweeps(
            {"images": make_sweep(), "channels": make_sweep()}, [make_crossover(factor="channels")]
        ).axes
        assert [len(found(ax, "crossover")) for ax in axes] == [0, 1]


class TestNothing:
    def test_nothing_measured_is_a_sentence(self):
        empty = make_sweep()[:0]
        for sweeps in ({}, {"images": pd.DataFrame()}, {"images": empty, "channels": empty}):
            (ax,) = plot_sweeps(sweeps, [make_crossover()]).axes
            assert "not measured on this machine" in texts(ax, "sentence")[0].replace("\n", " ")

    def test_one_factor_not_measured_is_a_sentence_in_its_panel(self):
        axes = plot_sweeps({"images": pd.DataFrame(), "channels": make_sweep()}).axes
        assert [len(texts(ax, "sentence")) for ax in axes] == [1, 0]
        assert [len(found(ax, "median")) for ax in axes] == [0, 2]

    def test_a_single_size_is_drawn_as_dots(self):
        figure = plot_sweeps({"images": make_sweep(sizes=(840,))})
        assert list(figure.axes[0].get_xticks()) == [840]
        assert legend(figure) == ["PyTorch", "scipy.signal.convolve2d"]

    def test_a_missing_column_is_named(self):
        with pytest.raises(ValueError, match=r"lacks the columns \['call_s', 'size'\]"):
            plot_sweeps({"images": make_sweep().drop(columns=["size", "call_s"])})

    def test_a_run_that_is_there_twice_is_refused(self):
        """Such as one of another sweep: medians of two different convolutions would be drawn."""
        other = make_sweep(sizes=(840,), blocks=1)
        with pytest.raises(UserError, match="rows hold images of PyTorch at 840, block 0 twice"):
            plot_sweeps({"images": pd.concat([make_sweep(), other])})

    def test_an_unknown_factor_is_refused(self):
        with pytest.raises(UserError, match="unknown sweep 'colours'"):
            plot_sweeps({"colours": make_sweep()})

    def test_between_sizes_that_are_far_apart_is_not_drawn(self):
        """The line from one of them to the other is no measurement: a size on it has no name either."""
        (ax,) = plot_sweeps({"images": make_sweep()}, [make_crossover(bracket=(1.0, 840.0))]).axes
        assert not found(ax, "crossover") and not texts(ax, "crossover text") and not ax.patches
        assert "PyTorch and scipy" not in texts(ax, "note")[0].replace("\n", " ")
