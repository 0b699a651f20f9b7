"""The charts of the switches, by their artists."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from search_findings import BF16, COMPILED, FUSED, LAST, nothing_yet, whole
from study_data import make_trial
from trainspeed.show import waterfall
from trainspeed.show.fitting import fit_figure
from trainspeed.show.theme import NARROW_IN, WIDE_IN, set_theme
from trainspeed.studies.switches import charts, combination_charts
from trainspeed.studies.switches.views import best_waterfall_rows, effect_rows, pair_rows

mpl.use("Agg")
MARK_PT = 7  # of a row of a forest
PARTS = [("PyTorch, cnn10", 2.0, 1.0, 0.4, 0.2, 0.4), ("JAX, cnn10", 1.0, math.nan, 0.1, 0.1, 0.1)]


@pytest.fixture(autouse=True)
def theme():
    """The report's own letters."""
    with plt.rc_context():
        set_theme()
        yield
    plt.close("all")


def found():
    return [whole(), whole(make_trial(model="cnn_keras", dataset="digits"))]


def with_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def words(figure):
    return " ".join(text.get_text() for ax in figure.axes for text in ax.texts).replace("\n", " ")


def test_the_pieces_of_an_epoch_are_its_percent_and_what_was_not_measured_has_no_bar():
    (ax,) = charts.plot_time(pd.DataFrame(PARTS, columns=charts.TIME_COLUMNS)).axes

    assert [bar.get_width() for bars in ax.containers for bar in bars] == pytest.approx([50, 20, 10, 20])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["PyTorch, cnn10"]


def test_what_saves_most_is_on_top_and_what_is_slow_is_at_the_bottom():
    figure = charts.plot_effects(effect_rows(found()))

    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["channels_last =", "bf16 ≈", "fused optimizer =", "compiled ≈", "optimizer in a loop ="]
    assert len(figure.axes) == 2


def test_a_slow_down_many_times_as_large_is_cut_off_and_its_value_is_written():
    effects = effect_rows([whole()])
    extent = charts.plot_effects(effects).axes[0].get_xlim()[1]
    huge = effects.assign(value=[400.0, *effects["value"][1:]], high=[450.0, *effects["high"][1:]])
    ax = charts.plot_effects(huge).axes[0]

    assert [text.get_text() for text in with_gid(ax, "cut")] == ["+400 % →"]
    assert ax.get_xlim()[1] < 100 and extent < 100


def test_the_mark_that_saves_most_is_whole_beside_a_brake_that_costs_far_more():
    effects = effect_rows([whole()])
    effects = effects.assign(value=[60.0, -5.0, *[30.0] * (len(effects) - 2)], low=None, high=None, band=None)
    figure = charts.plot_effects(effects)
    for width_in in (WIDE_IN, NARROW_IN):
        fit_figure(figure, width_in)
        figure.draw_without_rendering()
        ax = figure.axes[0]
        for end, edge in ((-5.0, 0), (60.0, 1)):
            apart_px = abs(ax.transData.transform((end, 0))[0] - ax.transAxes.transform((edge, 0))[0])
            assert apart_px * 72 / figure.dpi > MARK_PT / 2


def test_what_was_not_in_effect_has_no_mark():
    effects = effect_rows(found())

    assert not effects["label"].str.contains("huge pages").any()


def test_the_band_is_what_empty_columns_say():
    ax = charts.plot_effects(effect_rows([whole()])).axes[0]

    (band,) = with_gid(ax, "noise")
    assert band.get_width() == pytest.approx(2 * 2.02, abs=0.01)


def test_a_pair_is_a_row_with_its_interval_the_clear_ones_first_and_the_title_names_the_clearest():
    figure = combination_charts.plot_interactions(pair_rows([whole()]))
    (ax,) = figure.axes

    labels = [" ".join(label.get_text().split()) for label in ax.get_yticklabels()]
    assert labels == [f"{LAST.words} + {BF16.words}", f"{FUSED.words} + {COMPILED.words}"]
    assert [len(with_gid(ax, kind)) for kind in (combination_charts.MORE, combination_charts.NOISE)] == [1, 1]
    assert f"{LAST.words} and {BF16.words} save more together than apart" in figure.get_suptitle().replace(
        "\n", " "
    )


def test_pairs_within_the_noise_leave_the_question_open():
    pairs = pair_rows([whole()])
    noise = pairs.assign(low=-3.0, high=3.0)

    assert combination_charts.PAIRS_QUESTION in combination_charts.plot_interactions(noise).get_suptitle()
    spoiled = pairs.assign(value=5.0, low=2.0, high=8.0)
    assert combination_charts.LESS in combination_charts.plot_interactions(spoiled).get_suptitle()


def test_the_bars_lead_from_plain_to_the_total():
    ax = waterfall.plot_way(best_waterfall_rows([whole()])).axes[0]

    steps = [bar for kind in ("step", "rest") for bar in with_gid(ax, kind)]
    (total,) = with_gid(ax, "total")
    ends = [bar.get_x() + bar.get_width() for bar in steps]
    assert ends[:3] == pytest.approx([1.35, 1.62, 1.6686])
    assert ends[-1] == pytest.approx(1.7)
    assert (total.get_x(), total.get_width()) == pytest.approx((1.0, 0.7034), abs=1e-3)
    assert len(with_gid(ax, "interval")) == 4, "what is only done together has none"


@pytest.mark.parametrize(
    ("plot", "rows"),
    [
        (charts.plot_effects, effect_rows),
        (combination_charts.plot_interactions, pair_rows),
        (waterfall.plot_way, best_waterfall_rows),
    ],
)
def test_without_a_finding_a_sentence_says_so(plot, rows):
    assert words(plot(rows([nothing_yet()]))).endswith(".")


def test_all_letters_are_within_the_picture():
    """Long names too, at the width of a page."""
    for figure in (
        charts.plot_effects(effect_rows(found())),
        combination_charts.plot_interactions(pair_rows(found())),
        waterfall.plot_way(best_waterfall_rows(found())),
    ):
        figure.draw_without_rendering()
        width = figure.bbox.width
        texts = [text for ax in figure.axes for text in (*ax.get_yticklabels(), *with_gid(ax, "number"))]
        boxes = [text.get_window_extent() for text in texts]
        assert min(box.x0 for box in boxes) >= 0 and max(box.x1 for box in boxes) <= width
