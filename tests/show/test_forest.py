"""Accuracy and the forest of speed-ups, by their artists."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from showing_data import dots, found, legend, make_frame, make_verdicts, select, texts
from trainspeed.show import forest
from trainspeed.show.theme import OUTCOME_STYLES, PALE

mpl.use("Agg")


@pytest.fixture(scope="module")
def frame():
    return make_frame()


class TestAccuracy:
    def test_dots_are_in_percent_and_the_bar_is_the_median(self, frame):
        """0.93 is drawn at 93."""
        rows = select(frame, model="cnn10", framework="jax", layout="channels_last", batch_size=16)
        ax = forest.plot_accuracy(rows).axes[0]
        np.testing.assert_allclose([x for x, _ in dots(ax, "runs")], 100 * rows["test_accuracy"])
        (middle,) = found(ax, "median")
        assert list(middle.get_xdata()) == pytest.approx([100 * rows["test_accuracy"].median()])

    def test_pooled_batch_sizes_are_named(self, frame):
        """Accuracy depends on the batch size, so the note says that sizes are pooled, and none is their median."""
        ax = forest.plot_accuracy(frame).axes[1]
        assert not found(ax, "median") and not found(ax, "interval")
        note = texts(ax, "note")[0].replace("\n", " ")
        assert "batch sizes 8, 16, 32, 64 together" in note and "dotted: chance" in note
        assert found(ax, "chance")[0].get_xdata()[0] == 10  # of ten classes

    def test_models_that_trained_for_other_numbers_of_epochs_are_not_to_be_compared(self, frame):
        longer = frame.assign(epochs_trained=frame["epochs_trained"].mask(frame["batch_size"] == 8, 10))
        note = texts(forest.plot_accuracy(longer).axes[1], "note")[0].replace("\n", " ")
        assert "after 5 to 10 epochs" in note and "compare what trained equally long" in note
        note = texts(forest.plot_accuracy(frame).axes[1], "note")[0].replace("\n", " ")
        assert "after 5 epochs" in note and "equally long" not in note

    def test_a_row_without_accuracy_says_why(self, frame):
        """A failure and a run that was not evaluated differ."""
        figure = forest.plot_accuracy(frame.assign(test_accuracy=None))
        assert texts(figure.axes[1], "missing") == ["1 OOM", *["not evaluated"] * 4, "1 timeout"]
        assert not found(figure.axes[1], "chance")

    def test_the_rows_of_a_panel_are_its_models_own_arms_and_failed_runs_are_counted(self, frame):
        """Also where runs of the same arm went well, in a row of another panel for the same arm."""
        cnn, wide = select(frame, model="cnn10"), select(frame, model="wrn28_2", framework="tensorflow")
        first, second = forest.plot_accuracy(pd.concat([cnn, wide])).axes
        rows = [[label.get_text() for label in ax.get_yticklabels()] for ax in (first, second)]
        assert len(rows[0]) == 6 and rows[1] == [f"TensorFlow channels_{way}" for way in ("first", "last")]
        assert texts(first, "missing") == [] and texts(second, "missing") == ["1 OOM"]
        (why,) = found(second, "missing")
        assert why.get_position() == (1.01, 0) and len(found(second, "runs")) == 2


class TestSpeedups:
    def test_rows_are_sorted_with_the_blocks_at_the_right(self):
        """The largest speed-up is on top; a comparison without a pair is last."""
        ax = forest.plot_speedups(make_verdicts())
        labels = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
        assert labels[0].startswith("PyTorch cnn10, batch 32") and labels[-1].startswith("TensorFlow wrn28_2")
        assert texts(ax, "blocks") == ["6", "1", "6", "6", "6", "6", "0"]
        assert ax.yaxis_inverted()

    def test_the_outcome_is_a_colour_and_a_marker(self):
        """Each outcome of the data is drawn in its style and listed."""
        ax = forest.plot_speedups(make_verdicts())
        (dot,) = found(ax, "faster")
        style = OUTCOME_STYLES["faster"]
        assert (dot.get_marker(), dot.get_markerfacecolor()) == (style["marker"], style["color"])
        assert legend(ax.get_figure())[:4] == ["faster", "slower", "same", "undecided"]

    def test_intervals_are_drawn_and_missing_ones_are_hollow(self):
        """With one block there is a hollow dot and no line."""
        ax = forest.plot_speedups(make_verdicts())
        bars = [list(bar[:, 0]) for bars in found(ax, "interval") for bar in bars.get_segments()]
        assert [1.31, 1.37] in bars and len(bars) == 5
        (hollow,) = found(ax, "hollow")
        assert (list(hollow.get_xdata()), hollow.get_markerfacecolor()) == ([1.21], "white")
        assert "fewer than 6 blocks: no interval" in legend(ax.get_figure())
        alone = forest.plot_speedups([one for one in make_verdicts() if one["low"] is None])
        assert "undecided" not in legend(alone.get_figure()), "no filled mark is drawn"

    def test_two_comparisons_of_one_name_are_two_rows(self):
        """One of them may be from an earlier session."""
        ax = forest.plot_speedups(make_verdicts()[:2] * 2)
        assert len(ax.get_yticks()) == 4 and len(found(ax, "faster")[0].get_xdata()) == 2

    def test_the_margin_is_a_grey_band_around_the_line_at_one(self):
        """2 % reaches from 1 / 1.02 to 1.02, the bounds of "same"."""
        ax = forest.plot_speedups(make_verdicts())
        (band,) = found(ax, "margin")
        assert [band.get_x(), band.get_x() + band.get_width()] == pytest.approx([1 / 1.02, 1.02])
        assert band.get_facecolor() == mpl.colors.to_rgba(PALE)
        assert list(found(ax, "one")[0].get_xdata()) == [1, 1] and ax.get_xscale() == "log"

    def test_verdicts_may_be_objects(self):
        """A dataclass with these attributes is as good as a mapping."""

        class Verdict:
            label, speedup, low, high, outcome, blocks = "a vs b", 1.1, 1.05, 1.2, "faster", 8

        assert texts(forest.plot_speedups([Verdict()]), "blocks") == ["8"]

    def test_nothing_decided_is_a_sentence(self):
        """There may be no verdict at all, or none with a pair of runs."""
        for verdicts in ([], make_verdicts()[5:6]):
            assert texts(forest.plot_speedups(verdicts), "sentence") == [
                "No comparison has a pair of finished runs."
            ]
