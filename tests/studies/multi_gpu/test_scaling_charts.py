"""Speed-up and efficiency over devices, by their artists."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from scaling_rows import line, make_forecasts, make_rows
from showing_data import found, legend, select, texts
from trainspeed.show.theme import FRAMEWORK_COLOURS
from trainspeed.studies.multi_gpu.scaling_charts import plot_efficiency, plot_scaling

mpl.use("Agg")


@pytest.fixture
def strong():
    return plot_scaling(make_rows()).axes[0]


class TestPanels:
    def test_strong_and_weak_are_shown_apart(self):
        """The batch that stays equal is named: 64 in all, or 64 for each device."""
        figure = plot_scaling(make_rows())
        assert [ax.get_title() or ax.get_title("left") for ax in figure.axes] == [
            "strong scaling: batch 64",
            "weak scaling: batch 64 per device",
        ]
        assert figure.get_suptitle() == "Do more devices train faster?"
        assert plot_scaling(make_rows(), title="Found").get_suptitle() == "Found"

    def test_devices_are_whole_numbers(self):
        ax = plot_scaling(make_rows()).axes[-1]
        low, high = ax.get_xlim()
        assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [1, 2, 3, 4]

    def test_the_axis_says_which_way_is_better_and_starts_at_0(self, strong):
        assert strong.get_ylabel() == "speed-up\n(more is better)"
        assert strong.get_ylim()[0] == 0


class TestLines:
    def test_a_line_starts_at_one_device_with_1(self, strong):
        np.testing.assert_allclose(line(strong, "PyTorch ddp").get_ydata(), [1, 1.8, 3.0])
        xs = line(strong, "PyTorch ddp").get_xdata()
        assert xs[0] == 1
        np.testing.assert_allclose(xs, [1, 2, 4], atol=0.1)

    def test_frameworks_have_their_colours_and_strategies_their_markers(self, strong):
        looks = {
            (dot.get_color(), dot.get_marker()) for g in ("speedup", "hollow") for dot in found(strong, g)
        }
        assert looks == {(FRAMEWORK_COLOURS["torch"], "s"), (FRAMEWORK_COLOURS["tensorflow"], "o")}

    def test_intervals_are_bars(self, strong):
        (bars,) = found(strong, "interval")
        assert [list(bar[:, 1]) for bar in bars.get_segments()] == [[1.7, 1.9], [2.8, 3.1]]
        assert to_hex(bars.get_color()[0]).upper() == FRAMEWORK_COLOURS["torch"]

    def test_without_an_interval_the_marker_is_hollow(self, strong):
        (hollow,) = found(strong, "hollow")
        assert (list(hollow.get_ydata()), hollow.get_markerfacecolor()) == ([0.9], "white")
        (filled,) = found(strong, "speedup")
        assert (list(filled.get_ydata()), filled.get_markerfacecolor()) == (
            [1.8, 3.0],
            FRAMEWORK_COLOURS["torch"],
        )

    def test_the_ideal_line_is_dashed(self, strong):
        ideal = line(strong, "ideal")
        assert (list(ideal.get_xdata()), list(ideal.get_ydata())) == ([1, 4], [1, 4])
        assert ideal.get_linestyle() == "--"

    def test_the_ideal_line_is_as_long_in_every_panel(self):
        """A forecast for 8 devices in one panel lengthens the axis of both."""
        figure = plot_scaling(make_rows(), make_forecasts())
        assert [line(ax, "ideal").get_xdata()[-1] for ax in figure.axes] == [8, 8]

    def test_the_note_says_how_to_read_the_marks(self):
        marks = "bar: 95 % interval; hollow: fewer than 6 blocks, no interval"
        for on_cores, said in ((False, marks), (True, f"{marks};\na device is a CPU core")):
            assert texts(plot_scaling(make_rows(), on_cores=on_cores).axes[-1], "note") == [said]

    def test_several_batch_sizes_are_several_lines(self):
        """Of one colour, so of two line styles."""
        rows = select(make_rows(), framework="torch", strategy="ddp", scaling="strong")
        ax = plot_scaling(pd.concat([rows, rows.assign(batch_size=256, speedup=1.1)])).axes[0]
        lines = found(ax, "line")
        assert [one.get_label() for one in lines] == ["PyTorch ddp, batch 64", "PyTorch ddp, batch 256"]
        assert lines[0].get_linestyle() != lines[1].get_linestyle()

    def test_equal_speed_ups_do_not_hide_each_other(self):
        rows = make_rows().assign(speedup=1.5)
        xs = [dot.get_xdata()[0] for dot in found(plot_scaling(rows).axes[1], "speedup")]
        assert len(set(xs)) == len(xs) == 2

    def test_the_legend_names_every_line_once(self):
        assert legend(plot_scaling(make_rows(), make_forecasts())) == [
            "TensorFlow mirrored",
            "PyTorch ddp",
            "JAX data_parallel",
            "ideal",
            "forecast",
        ]


class TestOneNumberOfDevices:
    def test_is_a_row_of_each_and_no_lines_from_one_device(self):
        strong, weak = plot_scaling(select(make_rows(), devices=2)).axes
        rows = [found(strong, gid)[0].get_ydata()[0] for gid in ("hollow", "PyTorch ddp")]

        assert not found(strong, "line") and rows[0] < rows[1]
        for ax, names in (
            (strong, ["TensorFlow mirrored", "PyTorch ddp"]),
            (weak, ["PyTorch ddp", "JAX data_parallel"]),
        ):
            assert [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()] == names
        assert list(line(strong, "ideal").get_xdata()) == [2, 2]
        assert list(found(strong, "one")[0].get_xdata()) == [1, 1]
        assert [list(bar[:, 0]) for bar in found(strong, "interval")[0].get_segments()] == [[1.7, 1.9]]
        assert strong.get_xlim()[0] < 0.9 and strong.get_xlim()[1] > 2

    def test_is_a_share_of_the_ideal_in_the_other_chart(self):
        strong = plot_efficiency(select(make_rows(), devices=2)).axes[0]

        assert list(line(strong, "ideal").get_xdata()) == [100, 100]
        assert list(found(strong, "one")[0].get_xdata()) == [50, 50]
        assert strong.get_xlim()[0] == 0

    def test_with_a_forecast_it_has_lines(self):
        figure = plot_scaling(select(make_rows(), devices=2), make_forecasts())
        assert found(figure.axes[0], "line")


class TestVariants:
    def rows(self):
        """Return the rows for a small model in two precisions and for a large one, at fewer batch sizes."""
        small, large = make_rows().assign(model="cnn10"), make_rows().assign(model="wrn28_10", batch_size=256)
        small = [small.assign(precision=name) for name in ("fp32", "bf16")]
        large = select(large, scaling="strong").assign(precision="fp32")
        return pd.concat([*small, large]).assign(compile=lambda rows: rows["framework"] == "jax")

    def test_each_model_and_precision_has_panels_of_its_own(self):
        """JAX always compiles, which is no difference between two rows."""
        assert [ax.get_title() or ax.get_title("left") for ax in plot_scaling(self.rows()).axes] == [
            "strong scaling, cnn10, fp32: batch 64",
            "strong scaling, cnn10, bf16: batch 64",
            "strong scaling, wrn28_10, fp32: batch 256",
            "weak scaling, cnn10, fp32: batch 64 per device",
            "weak scaling, cnn10, bf16: batch 64 per device",
        ]

    def test_a_batch_size_has_the_same_line_in_every_panel(self):
        rows = self.rows()
        more = select(rows, model="cnn10", scaling="strong").assign(batch_size=256, speedup=1.1)
        axes = plot_scaling(pd.concat([rows, more])).axes
        styles = [line(ax, "PyTorch ddp, batch 256").get_linestyle() for ax in axes[:3]]
        assert styles == ["-."] * 3

    def test_a_forecast_is_drawn_for_its_own_model_and_precision(self):
        expected = make_forecasts().assign(model="cnn10", precision="bf16", compile=False)
        drawn = [len(found(ax, "forecast")) for ax in plot_scaling(self.rows(), expected).axes]
        assert drawn == [0, 1, 0, 0, 0]


class TestForecast:
    def test_is_dotted_in_the_colour_of_its_framework(self):
        figure = plot_scaling(make_rows(), make_forecasts())
        (drawn,) = found(figure.axes[0], "forecast")
        np.testing.assert_allclose(drawn.get_xdata(), [1, 2, 4, 8])
        np.testing.assert_allclose(drawn.get_ydata(), [1, 1.7, 2.9, 4.0])
        assert (drawn.get_linestyle(), drawn.get_label()) == (":", "forecast")
        assert drawn.get_color() == FRAMEWORK_COLOURS["torch"]
        assert found(figure.axes[1], "forecast") == []

    def test_a_far_one_leaves_the_markers_at_their_numbers(self):
        """The axis is 64 devices long; no marker moves by more than a tenth of one."""
        far = make_forecasts().assign(devices=[2, 4, 64])
        dots = [dot for gid in ("speedup", "hollow") for dot in found(plot_scaling(make_rows(), far), gid)]
        xs = np.concatenate([dot.get_xdata() for dot in dots])
        np.testing.assert_allclose(xs, np.round(xs), atol=0.1)

    def test_is_not_mentioned_unless_given(self):
        figure = plot_scaling(make_rows())
        assert "forecast" not in legend(figure) and not found(figure.axes[0], "forecast")

    def test_has_a_line_per_strategy(self):
        both = pd.concat([make_forecasts().assign(strategy=name) for name in ("ddp", "data_parallel")])
        assert len(found(plot_scaling(make_rows(), both).axes[0], "forecast")) == 2


class TestEfficiency:
    def test_is_in_percent_of_the_ideal(self):
        figure = plot_efficiency(make_rows(), make_forecasts())
        strong = figure.axes[0]
        np.testing.assert_allclose(line(strong, "PyTorch ddp").get_ydata(), [100, 90, 75])
        np.testing.assert_allclose(found(strong, "forecast")[0].get_ydata(), [100, 85, 72.5, 50])
        np.testing.assert_allclose(
            [bar[:, 1] for bar in found(strong, "interval")[0].get_segments()], [[85, 95], [70, 77.5]]
        )

    def test_the_ideal_is_a_level_line(self):
        ideal = line(plot_efficiency(make_rows()).axes[0], "ideal")
        assert list(ideal.get_ydata()) == [100, 100]

    def test_its_unit_is_on_the_axis(self):
        assert (
            plot_efficiency(make_rows()).axes[0].get_ylabel() == "speed-up / devices in %\n(more is better)"
        )


@pytest.mark.parametrize("plot", [plot_scaling, plot_efficiency])
class TestNothing:
    def test_an_empty_frame_is_a_sentence(self, plot):
        """With its columns or without."""
        said = ["Nothing to draw: not measured on this machine."]
        for rows in (pd.DataFrame(), make_rows()[:0]):
            assert [text.replace("\n", " ") for text in texts(plot(rows).axes[0], "sentence")] == said


class TestBadInput:
    def test_a_missing_column_is_named(self):
        with pytest.raises(ValueError, match=r"lacks the columns \['high', 'low'\]"):
            plot_scaling(make_rows().drop(columns=["low", "high"]))
        with pytest.raises(ValueError, match=r"lacks the columns \['scaling'\]"):
            plot_scaling(make_rows(), make_forecasts().drop(columns="scaling"))
