"""Bars of training time and memory per model and precision, by their artists."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from showing_data import dots, found, legend, texts
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.frame import to_frame
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, PRECISIONS
from trainspeed.core.trial import ZOO as ALL_MODELS
from trainspeed.show.bars import cut_of
from trainspeed.show.theme import PRECISION_STYLES
from trainspeed.studies.amp.charts import families, plot_peak_memory, plot_training_times

mpl.use("Agg")

ZOO = {"model": "mobilenet", "image_size": 32}


def run(seconds=1.0, **more):
    """Return a run whose training takes 102 times the seconds: 3 for the first epoch, 99 for the others."""
    return make_run(seconds, **{**ZOO, **more})


def failed(status, **more):
    return make_run(status=status, **{**ZOO, **more})


def frame(*runs):
    return to_frame(runs)


def heights(ax):
    return [bar.get_height() for bar in found(ax, "bar")]


class TestBars:
    def test_a_bar_is_the_median_and_each_run_a_dot(self):
        """Trainings of 102, 51 and 10.2 s."""
        runs = [run(seconds, block=block) for block, seconds in enumerate((1.0, 0.5, 0.1))]
        ax = plot_training_times(frame(*runs)).axes[0]
        assert heights(ax) == pytest.approx([51])
        assert [y for _, y in dots(ax)] == pytest.approx([102, 51, 10.2])

    def test_dots_are_seen_on_a_black_bar(self):
        ax = plot_training_times(frame(run())).axes[0]
        drawn = next(artist for artist in found(ax, "run") if len(artist.get_offsets()))
        assert [to_hex(colour) for colour in drawn.get_edgecolor()] == ["#ffffff"]

    def test_precisions_stand_side_by_side_in_their_colours_and_hatches(self):
        """In their own order, whatever that of the runs."""
        figure = plot_training_times(frame(*[run(precision=name) for name in reversed(PRECISIONS)]))
        bars = found(figure.axes[0], "bar")
        lefts = [bar.get_x() for bar in bars]
        assert lefts == sorted(lefts) and len(set(lefts)) == 5
        styles = [PRECISION_STYLES[name] for name in PRECISIONS]
        assert [to_hex(bar.get_facecolor()).upper() for bar in bars] == [style["color"] for style in styles]
        assert [bar.get_hatch() or "" for bar in bars] == [style["hatch"] for style in styles]
        assert legend(figure) == list(PRECISIONS)

    def test_the_legend_has_what_is_drawn(self):
        """On a CPU it named tf32 and fp16, of which there was no bar."""
        runs = [run(precision="fp32"), failed(Status.UNSUPPORTED, precision="fp16")]
        figure = plot_training_times(frame(*runs))
        assert legend(figure) == ["fp32"]
        assert texts(figure.axes[0], "failed") == ["fp16 unsupported"]

    def test_models_stand_in_the_order_of_the_article(self):
        runs = [run(model=model) for model in ("efficientnet_b0", "mobilenet", "vgg16")]
        ax = plot_training_times(frame(*runs)).axes[-1]
        assert [tick.get_text() for tick in ax.get_xticklabels()] == [
            "vgg16",
            "mobilenet",
            "efficientnet\nb0",
        ]

    def test_nine_names_are_turned_and_fit(self):
        """They are as many as the article has."""
        ax = plot_training_times(frame(*[run(model=model) for model in ALL_MODELS])).axes[-1]
        ticks = ax.get_xticklabels()
        assert [tick.get_text() for tick in ticks] == [model.replace("_", " ") for model in ALL_MODELS]
        assert {tick.get_rotation() for tick in ticks} == {30}

    @pytest.mark.parametrize(
        ("seconds", "unit", "height"),
        [(1.0, "seconds", 102), (2.0, "minutes", 3.4), (100.0, "hours", 17 / 6)],
    )
    def test_the_unit_suits_the_longest_training(self, seconds, unit, height):
        ax = plot_training_times(frame(run(seconds))).axes[0]
        assert ax.get_ylabel() == f"{unit} (less is better)"
        assert heights(ax) == pytest.approx([height])
        assert ax.get_ylim()[0] == 0

    @pytest.mark.parametrize(("epochs", "words"), [(4, "projected from the first epoch"), (100, "measured")])
    def test_a_projection_is_called_one(self, epochs, words):
        (note,) = texts(plot_training_times(frame(run(epochs=epochs))).axes[-1], "note")
        assert f"100 epochs, {words}" in note
        assert max(map(len, note.split("\n"))) <= 74, "a longer line would take the room of the bars"

    def test_the_second_half_of_the_control_is_no_data(self):
        ax = plot_training_times(frame(run(1.0, label="A"), run(9.0, label="A again"))).axes[0]
        assert heights(ax) == pytest.approx([102])


class TestCutBars:
    def test_a_bar_many_times_as_long_as_the_others_is_cut_off_and_says_its_value(self):
        """102 s and 51 s beside 2,040 s, which is 34 minutes."""
        runs = [run(1.0), run(0.5, precision="bf16"), run(20.0, precision="fp16")]
        figure = plot_training_times(frame(*runs))
        ax = figure.axes[0]

        assert ax.get_ylim()[1] == pytest.approx(1.3 * 1.7)
        assert texts(ax, "cut") == ["34 ↑"]
        assert "↑: cut off, with its value" in texts(ax, "note")[0].replace("\n", " ")

    def test_a_bar_three_times_as_long_stays_whole(self):
        runs = [run(1.0), run(0.5, precision="bf16"), run(3.0, precision="fp16")]
        ax = plot_training_times(frame(*runs)).axes[0]

        assert texts(ax, "cut") == [] and "cut off" not in texts(ax, "note")[0]

    @pytest.mark.parametrize(
        ("lengths", "most"),
        [([], None), ([9.0], None), ([9.0, 1.0], None), ([9.0, 1.0, 0.5], 1.3), ([9, 8, 1, 1, 1, 1], 1.3)],
    )
    def test_at_most_a_third_of_the_bars_is_cut_off(self, lengths, most):
        assert cut_of(lengths) == most


class TestFailures:
    def test_an_arm_without_a_result_is_a_word_in_its_place(self):
        runs = [run(), failed(Status.OOM, precision="fp16"), failed(Status.UNSUPPORTED, precision="bf16")]
        ax = plot_training_times(frame(*runs)).axes[0]
        assert texts(ax, "failed") == ["fp16 OOM", "bf16 unsupported"]
        (bar,) = found(ax, "bar")
        assert bar.get_width() < 0.8 / 3, "the words stand next to it, not on it"
        (word, _) = [text.get_position()[0] for text in ax.texts if text.get_gid() == "failed"]
        assert bar.get_x() + bar.get_width() < word

    def test_one_finished_block_is_a_bar(self):
        ax = plot_training_times(frame(run(), failed(Status.CRASHED, block=1))).axes[0]
        assert (len(found(ax, "bar")), texts(ax, "failed")) == (1, [])

    def test_a_panel_without_a_bar_has_no_numbers(self):
        figure = plot_training_times(frame(failed(Status.TIMEOUT)))
        assert texts(figure.axes[0], "failed") == ["default timeout"]
        assert list(figure.axes[0].get_yticks()) == []

    def test_words_are_small_where_places_are_narrow(self):
        def size(models):
            runs = [
                failed(Status.OOM, model=model, precision=name) for model in models for name in PRECISIONS
            ]
            return found(plot_training_times(frame(*runs)).axes[0], "failed")[0].get_fontsize()

        assert size(ALL_MODELS) < size(ALL_MODELS[:1])


class TestPanels:
    def test_frameworks_have_a_panel_each_in_their_order(self):
        figure = plot_training_times(frame(*[run(framework=name) for name in reversed(FRAMEWORKS)]))
        assert [ax.get_title("left") or ax.get_title() for ax in figure.axes] == [
            "TensorFlow",
            "PyTorch",
            "JAX",
        ]
        assert figure.get_suptitle() == "Does a lower precision train faster?"

    def test_layouts_and_compilation_are_not_mixed(self):
        """JAX always compiles, which is no choice."""
        runs = [run(compile=compiled) for compiled in (False, True)] + [run(framework="jax")]
        assert titles(plot_training_times(frame(*runs))) == [
            "PyTorch, not compiled",
            "PyTorch, compiled",
            "JAX",
        ]
        runs = [run(layout=layout) for layout in ("channels_first", "channels_last")]
        assert titles(plot_training_times(frame(*runs))) == [
            "PyTorch, channels_first",
            "PyTorch, channels_last",
        ]

    def test_a_title_may_be_given(self):
        figure = plot_training_times(frame(run()), title="Training time of EfficientNet")
        assert figure.get_suptitle() == "Training time of EfficientNet"


def titles(figure):
    return [ax.get_title("left") or ax.get_title() for ax in figure.axes]


class TestMemory:
    def test_is_in_the_unit_that_suits_it(self):
        ax = plot_peak_memory(frame(run(peak_memory_bytes=300_000_000))).axes[0]
        assert heights(ax) == pytest.approx([300]) and ax.get_ylabel() == "MB (less is better)"
        ax = plot_peak_memory(frame(run(peak_memory_bytes=30_000_000_000))).axes[0]
        assert heights(ax) == pytest.approx([30]) and ax.get_ylabel() == "GB (less is better)"
        assert plt.gcf().get_suptitle() == "Does a lower precision need less memory?"

    def test_that_cannot_be_read_is_a_word(self):
        ax = plot_peak_memory(frame(run(), run(precision="bf16", peak_memory_bytes=2_000_000))).axes[0]
        assert texts(ax, "failed") == ["default not known"] and heights(ax) == pytest.approx([2])


@pytest.mark.parametrize("plot", [plot_training_times, plot_peak_memory])
class TestNothing:
    def test_no_row_is_a_sentence(self, plot):
        """With columns or without."""
        for rows in (pd.DataFrame(), frame(run())[:0], frame(run(label="A again"))):
            (said,) = texts(plot(rows).axes[0], "sentence")
            assert said == "Nothing to draw: not measured on this machine."

    def test_a_missing_column_is_named(self, plot):
        with pytest.raises(UserError, match=r"lacks the columns \['precision'\]"):
            plot(frame(run()).drop(columns="precision"))


@pytest.mark.parametrize(
    ("models", "left"),
    [
        (["vgg16", "efficientnet_b0", "efficientnet_b1"], ["vgg16", "efficientnet_b0"]),
        (["efficientnet_b3", "efficientnet_b2"], ["efficientnet_b2"]),
        (["mobilenet"], ["mobilenet"]),
    ],
)
def test_of_several_efficientnets_the_smallest_stands_for_the_family(models, left):
    assert sorted(families(frame(*[run(model=model) for model in models]))["model"]) == sorted(left)
