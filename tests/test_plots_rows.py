"""Accuracy and the forest of speed-ups, by their artists."""

import matplotlib as mpl
import numpy as np
import pytest

from showing_data import found, make_frame, make_verdicts, select, texts
from trainspeed import plots
from trainspeed.theme import OUTCOME_STYLES, PALE

mpl.use("Agg")


@pytest.fixture(scope="module")
def frame():
    return make_frame()


class TestAccuracy:
    def test_dots_are_in_percent_and_the_bar_is_the_median(self, frame):
        """0.93 is drawn at 93."""
        rows = select(frame, model="cnn10", framework="jax", layout="channels_last")
        ax = plots.plot_accuracy(rows).axes[0]
        np.testing.assert_allclose(found(ax, "runs")[0].get_xdata(), 100 * rows["test_accuracy"])
        assert found(ax, "median")[0].get_segments()[0][0, 0] == pytest.approx(
            100 * rows["test_accuracy"].median()
        )

    def test_pooled_batch_sizes_are_named(self, frame):
        """Accuracy depends on the batch size, so pooling it is said."""
        assert "batch sizes 8, 16, 32, 64 together" in texts(plots.plot_accuracy(frame).axes[1], "note")[0]

    def test_missing_accuracy_is_said_in_its_row(self, frame):
        """A row without a dot says why."""
        written = [t.get_text() for t in plots.plot_accuracy(frame.assign(test_accuracy=None)).axes[1].texts]
        assert written[:6] == ["1 OOM", *["not evaluated"] * 4, "1 timeout"]


class TestSpeedups:
    def test_rows_are_sorted_with_the_blocks_at_the_right(self):
        """The largest speed-up is on top; a comparison without a pair is last."""
        ax = plots.plot_speedups(make_verdicts())
        labels = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
        assert labels[0].startswith("PyTorch cnn10, batch 32") and labels[-1].startswith("TensorFlow wrn28_2")
        assert texts(ax, "blocks") == ["6", "1", "6", "6", "6", "6", "0"]
        assert ax.yaxis_inverted()

    def test_the_outcome_is_a_colour_and_a_marker(self):
        """Each outcome of the data is drawn in its style and listed."""
        ax = plots.plot_speedups(make_verdicts())
        (dot,) = found(ax, "faster")
        style = OUTCOME_STYLES["faster"]
        assert (dot.get_marker(), dot.get_markerfacecolor()) == (style["marker"], style["color"])
        listed = [text.get_text() for text in ax.get_legend().get_texts()]
        assert listed[:4] == ["faster", "slower", "same", "undecided"]

    def test_intervals_are_drawn_and_missing_ones_are_hollow(self):
        """With one block there is a hollow dot and no line."""
        ax = plots.plot_speedups(make_verdicts())
        assert [1.31, 1.37] in [list(bar.get_segments()[0][:, 0]) for bar in found(ax, "interval")]
        assert len(found(ax, "interval")) == 5
        hollow = [dot for dot in found(ax, "undecided") if dot.get_markerfacecolor() == "white"]
        assert [list(dot.get_xdata()) for dot in hollow] == [[1.21]]

    def test_the_margin_is_a_grey_band_around_the_line_at_one(self):
        """2 % reaches from 1 / 1.02 to 1.02, the bounds of "same"."""
        ax = plots.plot_speedups(make_verdicts(), margin=0.02)
        (band,) = found(ax, "margin")
        assert [band.get_x(), band.get_x() + band.get_width()] == pytest.approx([1 / 1.02, 1.02])
        assert band.get_facecolor() == mpl.colors.to_rgba(PALE)
        assert list(found(ax, "one")[0].get_xdata()) == [1, 1] and ax.get_xscale() == "log"

    def test_verdicts_may_be_objects(self):
        """A dataclass with these attributes is as good as a mapping."""

        class Verdict:
            label, speedup, low, high, outcome, blocks = "a vs b", 1.1, 1.05, 1.2, "faster", 8

        assert texts(plots.plot_speedups([Verdict()]), "blocks") == ["8"]

    def test_nothing_decided_is_a_sentence(self):
        """No verdict at all, or none with a pair of runs."""
        for verdicts in ([], make_verdicts()[5:6]):
            assert texts(plots.plot_speedups(verdicts), "sentence") == [
                "No comparison has a pair of finished runs."
            ]

    def test_a_verdict_without_a_label_is_refused(self):
        with pytest.raises(ValueError, match="lacks \\['label'\\]"):
            plots.plot_speedups([{"speedup": 1.1, "outcome": "same", "blocks": 6}])
