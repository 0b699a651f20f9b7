"""The charts over batch size, by their artists: what is drawn, where, and what is written next to it."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from showing_data import dots, failed_run, found, legend, make_frame, make_ratios, make_run, select, texts
from trainspeed.core.frame import to_frame
from trainspeed.show import batch_charts
from trainspeed.show.fitting import fit_figure
from trainspeed.show.rows import data_rows, line_note, on_lines
from trainspeed.show.theme import FRAMEWORK_COLOURS, WIDE_IN

mpl.use("Agg")


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def time_figure(frame):
    return batch_charts.plot_time_vs_batch(frame)


def xticks(ax):
    low, high = ax.get_xlim()
    return [
        label.get_text()
        for x, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        if low <= x <= high
    ]


def intervals(ax):
    """Return the intervals, which are bars or bands."""
    return [artist for artist in ax.collections if artist.get_gid() == "interval"]


class TestTimeVsBatch:
    def test_a_panel_per_model_shares_the_axes(self, time_figure):
        """A slow and a fast model are read on one scale, which starts at 0 seconds."""
        cnn, wide = time_figure.axes
        assert [cnn.get_title(), wide.get_title()] == ["cnn10", "wrn28_2"]
        assert cnn.get_ylim() == wide.get_ylim() and cnn.get_ylim()[0] == 0
        assert "less is better" in wide.get_ylabel() and "seconds" in wide.get_ylabel()

    def test_the_ticks_are_the_batch_sizes(self, time_figure):
        """The axis is logarithmic to base 2 and names what was measured, nothing else."""
        ax = time_figure.axes[1]
        assert ax.get_xscale() == "log" and xticks(ax) == ["8", "16", "32", "64"]

    def test_every_data_run_is_a_dot_and_the_median_is_the_line(self, frame):
        """The rows "A" count, "A again" and the memory run do not."""
        torch = select(frame, framework="torch", model="cnn10", layout="channels_first")
        ax = batch_charts.plot_time_vs_batch(torch)
        (dots,), (line,) = found(ax.axes[0], "runs"), found(ax.axes[0], "median")
        data = torch[torch["label"].isin(["", "A"])]
        assert len(torch) == 15 and len(dots.get_ydata()) == len(data) == 9
        medians = data.groupby("batch_size")["median_epoch_s"].median()
        np.testing.assert_allclose(sorted(line.get_ydata()), sorted(medians))

    def test_a_framework_keeps_its_colour_and_a_layout_its_line(self, time_figure):
        """Colour tells the framework, line style the layout."""
        lines = found(time_figure.axes[0], "median")
        looks = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in lines}
        assert looks["PyTorch channels_first"] == (FRAMEWORK_COLOURS["torch"], "-")
        assert looks["JAX channels_last"] == (FRAMEWORK_COLOURS["jax"], "--")
        assert len(looks) == 6

    def test_six_blocks_have_an_interval_and_one_block_has_none(self, frame):
        """With six values the bar reaches from the fastest to the slowest run; one size alone has no band."""
        one = select(frame, framework="jax", model="cnn10", layout="channels_last")
        (bars,) = intervals(batch_charts.plot_time_vs_batch(one).axes[0])
        known = [list(part[:, 1]) for part in bars.get_segments() if part.size and not np.isnan(part).any()]
        values = select(one, batch_size=32)["median_epoch_s"]
        assert known == [pytest.approx([values.min(), values.max()])]
        assert intervals(batch_charts.plot_time_vs_batch(select(one, batch_size=16)).axes[0]) == []

    def test_the_note_promises_no_band_where_there_is_none(self, frame):
        """Six runs of two models are three of each."""
        few = pd.concat([frame.assign(model=name) for name in "ab"])
        few = select(few[few["batch_size"] != 32], framework="jax", layout="channels_last")
        assert texts(batch_charts.plot_time_vs_batch(few).axes[-1], "note") == [
            "dot: one run; line: median; of a run, the median of its later epochs"
        ]

    def test_all_lines_are_named_in_one_legend_below(self, time_figure):
        assert legend(time_figure) == [
            f"{name} channels_{end}" for name in ("TensorFlow", "PyTorch", "JAX") for end in ("first", "last")
        ]

    def test_variants_are_lines_of_their_own(self):
        """Two precisions are never pooled: each is named and has its own marker and fill."""
        runs = [make_run(batch_size=size, precision=p) for size in (8, 16) for p in ("fp32", "bf16")]
        figure = batch_charts.plot_time_vs_batch(to_frame(runs))
        ax = figure.axes[0]
        assert legend(figure) == ["fp32", "bf16"]
        looks = [(dots.get_marker(), dots.get_fillstyle()) for dots in found(ax, "runs")]
        assert looks == [("o", "full"), ("s", "none")]

    def test_a_precision_of_one_framework_only_is_in_its_name(self):
        """bf16 in PyTorch against fp32 in TensorFlow must not read as framework against framework."""
        runs = [make_run("torch", precision="bf16"), make_run("tensorflow", precision="fp32")]
        ax = batch_charts.plot_time_vs_batch(to_frame(runs)).axes[0]
        assert [label.get_text() for label in ax.get_yticklabels()] == ["TensorFlow fp32", "PyTorch bf16"]

    def test_compiled_jax_next_to_plain_torch_is_no_variant(self, time_figure):
        """JAX is always compiled: its name needs no addition."""
        assert not any("compiled" in label for label in legend(time_figure))

    def test_failures_stand_above_the_panel(self, time_figure):
        """OOM and timeout are written above a mark of their arm, and below the title."""
        time_figure.draw_without_rendering()
        ax = time_figure.axes[1]
        assert sorted(texts(ax, "failure")) == ["OOM", "timeout"]
        marks = {mark.get_xdata()[0]: mark for mark in found(ax, "failed")}
        assert {size: mark.get_color() for size, mark in marks.items()} == {
            8: FRAMEWORK_COLOURS["jax"],
            64: FRAMEWORK_COLOURS["tensorflow"],
        }
        panel, title = ax.get_window_extent(), ax.title.get_window_extent()
        assert all(mark.get_window_extent().y0 >= panel.y1 for mark in marks.values())
        assert all(word.get_window_extent().y1 <= title.y0 + 1 for word in found(ax, "failure"))

    def test_arms_that_fail_alike_at_neighbouring_sizes_share_one_word(self):
        """Every arm keeps its marks; the word is written once, in the middle."""
        runs = [
            failed_run("oom", "", framework=f, batch_size=size) for f in ("torch", "jax") for size in (32, 64)
        ]
        done = [make_run(batch_size=16), make_run("jax", batch_size=16)]
        ax = batch_charts.plot_time_vs_batch(to_frame([*done, *runs])).axes[0]
        (word,) = found(ax, "failure")
        assert word.get_text() == "OOM" and word.xy[0] == pytest.approx((32 * 64) ** 0.5)
        assert len(found(ax, "failed")) == 4

    def test_all_failed_is_a_sentence(self):
        """The failures are counted by kind."""
        runs = [
            failed_run("oom", "x"),
            failed_run("oom", "x", block=1),
            failed_run("timeout", "x", batch_size=8),
        ]
        ax = batch_charts.plot_time_vs_batch(to_frame(runs)).axes[0]
        assert texts(ax, "sentence") == ["Nothing to draw: 2 OOM, 1 timeout."]

    def test_the_epochs_of_a_run_that_failed_are_not_drawn(self):
        """A timeout after three epochs has times, but is no result."""
        late = make_run(batch_size=8, status="timeout", reason="longer than 300 s")
        ax = batch_charts.plot_time_vs_batch(to_frame([make_run(batch_size=16), late])).axes[0]
        assert list(found(ax, "runs")[0].get_xdata()) == [16]

    @pytest.mark.parametrize(
        "rows", [{"framework": "torch"}, {"batch_size": 32}, {"batch_size": 8, "framework": "jax"}]
    )
    def test_a_part_of_a_study_is_drawn_too(self, frame, rows):
        """One framework, or one batch size, is enough."""
        figure = batch_charts.plot_time_vs_batch(select(frame, **rows))
        assert found(figure.axes[0], "median")

    def test_one_run_is_a_dot_with_its_name(self, frame):
        """What the rows share moves from the line's name into the title."""
        figure = batch_charts.plot_time_vs_batch(frame.iloc[:1])
        assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["TensorFlow"]
        assert figure.get_suptitle().replace("\n", " ") == "Time per epoch: TensorFlow, channels_first"

    def test_one_batch_size_is_a_dot_plot(self, frame):
        """The arms are rows, each with its name and a bar at its median; another panel keeps its lines."""
        cnn = select(frame, model="cnn10")
        few = pd.concat([cnn, select(frame, model="wrn28_2", batch_size=8)])
        lines, lone = batch_charts.plot_time_vs_batch(few).axes
        rows = data_rows(select(few, model="wrn28_2"))
        medians = rows[rows["status"] == "ok"].groupby("arm")["median_epoch_s"].median()

        assert (lines.get_xscale(), lone.get_xscale()) == ("log", "linear")
        fit_figure(lone.figure, WIDE_IN)
        assert lines.get_xlabel() == "batch size (log scale)", "side by side too"
        assert lone.get_title() == "wrn28_2, batch 8" and "seconds" in lone.get_xlabel()
        names = [label.get_text() for label in lone.get_yticklabels()]
        middles = {names[round(bar.get_ydata()[0])]: bar.get_xdata()[0] for bar in found(lone, "median")}
        assert middles == pytest.approx(dict(medians))
        assert len(dots(lone, "runs")) == (rows["status"] == "ok").sum()
        assert texts(lone, "missing") == ["1 timeout"] and lone.get_xlim()[0] == 0

    def test_rows_of_six_runs_have_an_interval(self, frame):
        """The note says so only then."""
        many, few = (
            batch_charts.plot_time_vs_batch(select(frame, model="cnn10", batch_size=n)) for n in (32, 8)
        )
        assert len(found(many.axes[0], "interval")) == 6 and not found(few.axes[0], "interval")
        notes = [texts(figure.axes[0], "note")[0] for figure in (many, few)]
        assert ["interval" in note for note in notes] == [True, False]

    def test_a_title_says_what_was_found_and_the_panels_what_they_share(self, frame):
        figure = batch_charts.plot_time_vs_batch(select(frame, framework="torch"), title="Last is faster")
        assert figure.get_suptitle() == "Last is faster"
        assert [ax.get_title() for ax in figure.axes] == ["cnn10, PyTorch", "wrn28_2, PyTorch"]

    def test_missing_columns_are_named(self, frame):
        """The message says what is missing, sorted."""
        with pytest.raises(ValueError, match=r"\['batch_size', 'layout'\]"):
            batch_charts.plot_time_vs_batch(frame.drop(columns=["layout", "batch_size"]))
        with pytest.raises(ValueError, match="no rows to draw"):
            batch_charts.plot_memory(frame.iloc[:0])
        with pytest.raises(ValueError, match="unknown y 'speed'"):
            batch_charts.plot_time_vs_batch(frame, y="speed")


class TestMemory:
    def test_the_unit_is_on_the_axis(self, frame):
        """248,000,000 bytes are drawn as 248 MB; 20,000,000,000 as 20 GB."""
        ax = batch_charts.plot_memory(
            select(frame, model="cnn10", framework="tensorflow", batch_size=8)
        ).axes[0]
        assert ax.get_xlabel().startswith("peak memory in MB")
        assert max(x for x, _ in dots(ax, "runs")) == pytest.approx(248)
        large = batch_charts.plot_memory(to_frame([make_run(peak_memory_bytes=20_000_000_000)])).axes[0]
        assert large.get_xlabel().startswith("peak memory in GB")
        assert [x for x, _ in dots(large, "runs")] == [20]

    def test_oom_is_marked(self, frame):
        """The batch size that did not fit stands at the top edge."""
        assert "OOM" in texts(batch_charts.plot_memory(frame).axes[1], "failure")

    def test_an_unknown_peak_is_a_sentence(self, frame):
        """None is not 0 bytes."""
        ax = batch_charts.plot_memory(frame.assign(peak_memory_bytes=None)).axes[0]
        assert texts(ax, "sentence") == ["Nothing to draw: not measured on this machine."]


class TestRatioTrend:
    def test_a_pair_is_a_line_named_candidate_first(self):
        """Above 1 the first named is faster, which the axis says; 1 is a line."""
        figure = batch_charts.plot_ratio_trend(make_ratios())
        ax = figure.axes[0]
        assert "PyTorch vs TensorFlow channels_last" in legend(figure)
        assert len(legend(figure)) == 6
        assert ax.get_yscale() == "log" and len(found(ax, "one")) == 1
        assert "first named faster" in ax.get_ylabel()

    def test_ratios_are_ticks_people_read(self):
        """1x is among the ticks, and there are several though the range is narrow."""
        ax = batch_charts.plot_ratio_trend(make_ratios()).axes[0]
        low, high = ax.get_ylim()
        inside = [ax.yaxis.get_major_formatter()(t) for t in ax.get_yticks() if low < t < high]
        assert "1x" in inside and "1.2x" in inside and len(inside) < 12

    def test_one_framework_alone_is_a_sentence(self):
        """There is no pair of frameworks, and so no row and no column."""
        ax = batch_charts.plot_ratio_trend(pd.DataFrame([])).axes[0]
        assert texts(ax, "sentence") == ["No two frameworks ran with the same model,\nlayout and batch size."]

    def test_no_ratio_is_a_sentence(self):
        """Where no pair finished there is nothing to draw, and the chart says so."""
        ax = batch_charts.plot_ratio_trend(make_ratios().assign(ratio=None)).axes[0]
        assert len(texts(ax, "sentence")) == 1


# Lines over batch size.


def anchored():
    """A frame in which batch 8 ran for its comparison, and once more beside 16."""

    def run(size, seconds, **fields):
        return make_run(batch_size=size, epoch_s=(9.0, seconds), images_per_epoch=2048, **fields)

    own = [run(8, 1.0), run(8, 1.5, block=1)]
    return to_frame([*own, run(8, 2.0, label="anchor"), run(16, 3.0)])


def test_a_line_is_drawn_through_what_took_turns():
    rows = on_lines(anchored())

    assert list(rows.sort_values("batch_size")["median_epoch_s"]) == [2.0, 3.0]
    assert set(rows["label"]) == {""}


def test_the_note_says_which_runs_a_line_joins_where_the_table_has_others():
    """2 s in the chart, and 1.25 s in the table: both are right, and the chart says why they differ."""
    frame = anchored()
    for y in ("median_epoch_s", "images_per_s"):
        (note,) = texts(batch_charts.plot_time_vs_batch(frame, y=y).axes[-1], "note")
        said = " ".join(note.split())
        assert "at batch 8 from 1 block in which it took turns with the other sizes" in said
        assert "tables and verdicts have the 2 blocks of the comparison, measured at another time" in said
    assert line_note(frame[frame["label"] == ""]) == ""


def test_a_line_without_anything_beside_it_stays_as_it_is():
    frame = anchored()
    plain = frame[frame["label"] == ""]

    assert on_lines(plain) is plain


def test_the_other_charts_know_nothing_of_what_ran_once_more():
    assert list(data_rows(anchored())["median_epoch_s"]) == [1.0, 1.5, 3.0]
