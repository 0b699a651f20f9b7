"""The roofline, by its artists."""

import itertools
import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from showing_data import found, legend, texts
from trainspeed.core.errors import UserError
from trainspeed.show.roofline import CEILING_COLUMNS, QUESTION, SHAPES, SWATCH, plot_roofline
from trainspeed.show.theme import FRAMEWORK_COLOURS, PRECISION_STYLES

mpl.use("Agg")

PEAKS = {"fp32": 200e9, "tf32": 400e9, "fp16": 790e9, "bf16": 800e9}
MODELS = {"cnn10": 30, "wrn28_10": 90, "resnet50": 22, "mobilenet": 6}


def make_points(models=("cnn10",), precisions=("fp32", "bf16"), frameworks=("torch",)):
    """Return points at half of their peak; 16 bits are at twice the intensity."""
    rows = [
        {
            "framework": framework,
            "model": model,
            "precision": precision,
            "batch_size": 64,
            "compile": framework == "jax",
            "parameters": 1_925_000.0,
            "flops_per_image": 1.6e9,
            "intensity": MODELS[model] * (2 if precision in ("fp16", "bf16") else 1),
            "flop_per_s": PEAKS.get(precision, PEAKS["fp32"]) / 2,
            "mfu": 0.5,
        }
        for framework, model, precision in itertools.product(frameworks, models, precisions)
    ]
    return pd.DataFrame(rows)


def make_ceilings(precisions=("fp32", "bf16")):
    rows = [(name, PEAKS[name], 20e9) for name in precisions]
    return pd.DataFrame(rows, columns=list(CEILING_COLUMNS))


@pytest.mark.parametrize(
    ("models", "precisions", "roofs", "said"),
    [
        (
            ("cnn10", "mobilenet"),
            ("fp32",),
            ("fp32",),
            "memory traffic for 1 of 2, arithmetic for 1 of 2; 50 to 83 % of it was reached",
        ),
        (
            ("mobilenet",),
            ("fp32", "bf16"),
            ("fp32", "bf16"),
            "memory traffic for 2 of 2; 83 to 167 % of it was reached",
        ),
        # how near it comes to which of two roofs is not known
        (("mobilenet",), ("default",), ("fp32", "tf32"), "memory traffic for 1 of 1"),
        (("mobilenet",), ("default",), ("fp32",), "memory traffic for 1 of 1; 83 % of it was reached"),
        (
            ("cnn10",),
            ("default",),
            ("fp32", "tf32"),
            None,
        ),  # only one of the two roofs is beyond its knee there
        (("cnn10",), ("fp32", "bf16"), ("fp32",), None),
    ],
)
def test_the_title_counts_what_is_left_of_the_knee_and_says_how_near_they_come_or_asks(
    models, precisions, roofs, said
):
    points = make_points(models, precisions)
    title = draw(points.assign(intensity=points["intensity"].clip(upper=12)), make_ceilings(roofs))
    assert title.get_suptitle().replace("\n", " ") == (f"The lower ceiling is {said}" if said else QUESTION)


def draw(points=None, ceilings=None):
    return plot_roofline(
        make_points() if points is None else points, make_ceilings() if ceilings is None else ceilings
    )


def note(figure):
    return texts(figure.axes[-1], "note")[0].replace("\n", " ")


class TestRoofs:
    def test_roofs_rise_with_the_bandwidth_and_stay_at_the_peak(self):
        """fp32: up to 200 GFLOP/s at 10 FLOP per byte."""
        roof = found(draw().axes[0], "roof")[0]
        xs, ys = roof.get_xdata(), roof.get_ydata()
        assert (xs[1], ys[1], ys[2]) == pytest.approx((10, 200, 200))
        assert ys[0] == pytest.approx(20 * xs[0])

    def test_both_axes_are_logarithmic_and_say_what_they_are(self):
        ax = draw().axes[0]
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert ax.get_xlabel() == "FLOP per byte of memory traffic"
        assert ax.get_ylabel() == "GFLOP/s achieved\n(more is better)"

    def test_roofs_are_named_with_their_peaks(self):
        figure = draw(make_points(MODELS, PEAKS), make_ceilings(PEAKS))
        peaks = {"fp32": 200, "tf32": 400, "fp16": 790, "bf16": 800}
        assert legend(figure)[:4] == [f"{name}: {peak} GFLOP/s at most" for name, peak in peaks.items()]

    def test_a_fast_device_has_tera_as_its_unit(self):
        ceilings = make_ceilings().assign(peak_flop_per_s=[50e12, 800e12], bandwidth_bytes_per_s=4e12)
        figure = draw(ceilings=ceilings)
        assert legend(figure)[:2] == ["fp32: 50 TFLOP/s at most", "bf16: 800 TFLOP/s at most"]
        assert figure.axes[0].get_ylabel().startswith("TFLOP/s")

    @pytest.mark.parametrize("column", ["peak_flop_per_s", "bandwidth_bytes_per_s"])
    def test_a_missing_ceiling_leaves_the_point_and_is_in_the_note(self, column):
        ceilings = make_ceilings()
        ceilings.loc[1, column] = math.nan
        figure = draw(ceilings=ceilings)
        assert len(found(figure.axes[0], "roof")) == 1
        assert len(found(figure.axes[0], "point")) == 2
        assert "no roof for bf16: peak or bandwidth was not measured" in note(figure)

    def test_without_ceilings_the_points_are_drawn_alone(self):
        figure = draw(ceilings=make_ceilings(()))
        assert len(found(figure.axes[0], "point")) == 2
        assert "no roof for fp32, bf16" in note(figure)
        assert "line:" not in note(figure)

    def test_the_default_precision_stands_below_the_roof_of_what_it_may_use(self):
        figure = draw(make_points(precisions=("default", "bf16")), make_ceilings(("fp32", "bf16")))
        assert "default: below the roof of tf32 where that is allowed, else of fp32" in note(figure)
        assert "no roof for" not in note(figure)


class TestPoints:
    def test_points_stand_at_their_intensity_and_speed(self):
        first, second = found(draw().axes[0], "point")
        assert (first.get_xdata()[0], first.get_ydata()[0]) == (30, 100)
        assert (second.get_xdata()[0], second.get_ydata()[0]) == (60, 400)

    def test_points_have_the_shape_of_the_model_and_the_colour_of_the_precision(self):
        points = found(draw(make_points(("cnn10", "resnet50"))).axes[0], "point")
        assert [p.get_marker() for p in points] == [SHAPES[0], SHAPES[0], SHAPES[1], SHAPES[1]]
        colours = [to_hex(p.get_color()) for p in points]
        wanted = [to_hex(PRECISION_STYLES[name]["color"]) for name in ("fp32", "bf16")]
        assert colours == wanted * 2
        assert all(p.get_fillstyle() == "full" for p in points)

    def test_points_of_one_model_and_as_many_bits_do_not_hide_each_other(self):
        points = make_points(precisions=("fp16", "bf16")).assign(flop_per_s=4e11)
        figure = draw(points, make_ceilings(("fp16", "bf16")))
        first, second = found(figure.axes[0], "point")
        figure.canvas.draw()
        apart = np.diff([p.get_transform().transform((p.get_xdata()[0], 1))[0] for p in (first, second)])[0]
        assert apart / figure.dpi * 72 == pytest.approx(7)

    def test_a_precision_alone_stays_at_its_place(self):
        (point,) = found(draw(make_points(precisions=("bf16",))).axes[0], "point")
        shift = point.get_transform().transform((60, 400)) - point.axes.transData.transform((60, 400))
        assert list(shift) == pytest.approx([0, 0])

    def test_a_point_without_bytes_is_not_drawn_but_named(self):
        points = make_points()
        points.loc[1, "intensity"] = None
        assert "not drawn, FLOPs or bytes unknown: cnn10 bf16" in note(draw(points))

    def test_everything_drawn_is_within_the_axes(self):
        figure = draw(make_points(MODELS, PEAKS), make_ceilings(PEAKS))
        ax = figure.axes[0]
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        for point in found(ax, "point"):
            assert left < point.get_xdata()[0] < right
            assert low < point.get_ydata()[0] < high


class TestFigure:
    def test_a_framework_has_its_panel_in_the_fixed_order(self):
        figure = draw(make_points(frameworks=("jax", "torch", "tensorflow")))
        titles = [ax.get_title() or ax.get_title("left") for ax in figure.axes]
        assert titles == ["TensorFlow", "PyTorch", "JAX"]

    def test_the_legend_lists_precisions_and_then_models(self):
        """A precision without a roof has no peak."""
        figure = draw(make_points(("cnn10", "resnet50")), make_ceilings(("fp32",)))
        assert legend(figure) == ["fp32: 200 GFLOP/s at most", "bf16", "cnn10", "resnet50"]

    def test_without_a_measurement_the_chart_is_a_sentence(self):
        figure = draw(make_points().iloc[:0])
        assert texts(figure.axes[0], "sentence")[0].startswith("Nothing to draw")

    def test_a_precision_has_no_colour_of_a_framework_and_no_shape_of_a_model(self):
        assert not {look["color"] for look in PRECISION_STYLES.values()} & set(FRAMEWORK_COLOURS.values())
        assert SWATCH not in SHAPES

    def test_missing_columns_and_unknown_precisions_are_refused(self):
        with pytest.raises(UserError, match="lacks the columns"):
            draw(make_points().drop(columns="flop_per_s"))
        with pytest.raises(UserError, match="unknown precision 'int8'"):
            draw(make_points().assign(precision="int8"))
