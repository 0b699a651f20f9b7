"""Charts and tables of article 003's numbers on mixed precision, by their artists and cells."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from amp_data import shares, speedups
from showing_data import found, texts
from trainspeed.errors import UserError
from trainspeed.published_amp import (
    BAND,
    amp_claims,
    check_amp,
    ec2_gpus,
    matrix_units,
    mixed_accuracy,
    shares_beside,
    tflops_per_dollar,
)
from trainspeed.published_amp_views import accuracies_table, matrix_units_table, plot_shares, prices_table
from trainspeed.published_views import claims_table
from trainspeed.theme import FRAMEWORK_COLOURS

mpl.use("Agg")

# The chart of shares.


def test_rows_with_an_interval_are_filled_and_the_others_hollow():
    ax = plot_shares(shares())
    filled, hollow = found(ax, "share"), found(ax, "hollow")
    assert [float(dot.get_xdata()[0]) for dot in filled] == pytest.approx([0.5, 1.0])
    assert [float(dot.get_xdata()[0]) for dot in hollow] == pytest.approx([0.8, 0.25])
    assert {dot.get_markerfacecolor() for dot in hollow} == {"white"}
    assert len(found(ax, "interval")) == 2
    assert texts(ax, "note")[0].split("\n")[1] == "hollow: fewer than 6 blocks, no interval"
    assert texts(ax, "blocks") == ["6", "2", "6", "1"]


def test_frameworks_have_their_colours_and_precisions_their_markers():
    ax = plot_shares(shares())
    looks = [(dot.get_color(), dot.get_marker()) for gid in ("share", "hollow") for dot in found(ax, gid)]
    assert looks == [
        (FRAMEWORK_COLOURS["tensorflow"], "o"),
        (FRAMEWORK_COLOURS["torch"], "o"),
        (FRAMEWORK_COLOURS["tensorflow"], "s"),
        (FRAMEWORK_COLOURS["jax"], "o"),
    ]


def test_the_band_and_fp32_are_named_and_rows_are_read_from_the_top():
    ax = plot_shares(shares())
    (band,) = found(ax, "band")
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx(BAND)
    assert texts(ax, "band name") == ["article 003: 45 to 60 %"]
    assert list(found(ax, "fp32")[0].get_xdata()) == [1, 1] and texts(ax, "fp32 name") == ["FP32"]
    assert ax.get_xlabel() == "share of FP32's time in % (less is better)"
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "vgg16, TensorFlow fp16",
        "vgg16, TensorFlow bf16",
        "vgg16, PyTorch fp16",
        "mobilenet, JAX fp16",
    ]
    assert ax.yaxis_inverted() and len(found(ax, "divider")) == 1


@pytest.mark.parametrize("count", [1, 30])
def test_one_row_and_thirty_are_drawn(count):
    data = pd.concat([shares()] * 8, ignore_index=True).head(count)
    ax = plot_shares(data)
    assert len(found(ax, "share")) + len(found(ax, "hollow")) == len(texts(ax, "blocks")) == count
    ax.figure.canvas.draw()


def test_a_very_slow_precision_makes_the_axis_logarithmic():
    """fp16 on a CPU may take ten times as long: the band would be a thread."""
    ax = plot_shares(shares_beside(speedups([0.1] * 6)))
    assert ax.get_xscale() == "log" and ax.get_xlim()[0] < BAND[0]
    ax = plot_shares(shares())
    assert ax.get_xscale() == "linear" and ax.get_xlim()[0] == 0


def test_a_chart_of_nothing_says_so():
    ax = plot_shares(shares_beside([]))
    assert "no precision was compared" in texts(ax, "sentence")[0].replace("\n", " ")
    assert not found(ax, "share")


def test_a_chart_is_drawn_on_the_callers_axes_and_names_a_missing_column():
    ax = plt.subplots()[1]
    assert plot_shares(shares(), ax=ax) is ax
    with pytest.raises(UserError, match="lacks the columns"):
        plot_shares(shares().drop(columns="share"))


# Tables.


def test_the_table_of_matrix_units_names_the_articles_slips():
    table = matrix_units_table(matrix_units())
    assert "“Tuning” for Turing, “BP16” for BF16" in table.caption
    assert table.data.set_index("generation")["bf16"].to_dict() == {
        "Volta": "—",
        "Turing": "—",
        "Ampere": "yes",
    }
    assert table.data["fp16"].tolist() == ["yes"] * 3


def test_accuracies_are_shown_with_the_decimals_that_are_printed():
    table = accuracies_table(mixed_accuracy())
    assert table.data["FP32"].tolist()[1::4] == ["65.40 %", "69.1 %"]
    assert table.data["points"].tolist()[3:6] == ["-0.01", "+2.14", "+0.6"]


def test_prices_are_shown_with_what_a_dollar_buys():
    table = prices_table(tflops_per_dollar(ec2_gpus()))
    assert table.data["mixed TFLOPS per USD/h"].tolist() == ["21.3", "65.4"]
    assert table.data["mixed / FP32"].tolist() == ["16.0x", "8.0x"]
    assert "Tokyo, 2022-02-28 (article 003)" in table.caption


def test_the_claims_are_shown_by_the_table_of_all_articles():
    html = claims_table([(claim, *check_amp(claim, [])) for claim in amp_claims()]).to_html()
    assert "003, Tesla T4, 2022" in html and html.count("cannot tell") == 11
