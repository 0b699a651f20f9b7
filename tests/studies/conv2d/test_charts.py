"""Stages of a call, by their artists."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from showing_data import legend, texts
from trainspeed.studies.conv2d.charts import STAGE_NAMES, plot_stages
from trainspeed.studies.conv2d.frames import STAGE_COLUMNS

mpl.use("Agg")

COLD = {"context": 0.5, "to_device": 0.1, "kernel": 1.0, "from_device": 0.2}
IMPORT = {"import": 2.0}
WARM = {"to_device": 0.004, "kernel": 0.01, "from_device": 0.006}


def make_stages(*calls):
    """Return rows of (library, devices, temperature, stage -> seconds)."""
    rows = [dict(zip(STAGE_COLUMNS, names, strict=False)) | seconds for *names, seconds in calls]
    return pd.DataFrame(rows, columns=STAGE_COLUMNS)


@pytest.fixture
def stages():
    return make_stages(
        ("TensorFlow (graph)", 1, "cold", IMPORT | COLD),
        ("TensorFlow (graph)", 1, "warm", WARM),
        ("TensorFlow (graph)", 2, "cold", IMPORT | COLD | {"gather": 0.3}),
        ("TensorFlow (graph)", 2, "warm", WARM | {"gather": 0.001}),
        ("JAX", 1, "cold", COLD),
    )


def bars(ax, row):
    """Return stage -> bar of one row, the first from the top."""
    stages = {name: stage for stage, name in STAGE_NAMES.items()}
    place = len(ax.get_yticks()) - 1 - row
    middle = lambda bar: bar.get_y() + bar.get_height() / 2  # noqa: E731
    return {
        stages[bar.get_gid()]: bar for bar in ax.patches if np.isclose(middle(bar), place) and bar.get_width()
    }


def names(ax):
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


class TestStages:
    def test_a_width_is_a_stages_time(self, stages):
        """In seconds where the longest bar takes 1 s or more, else in milliseconds: the axis says which."""
        cold, warm = plot_stages(stages).axes
        assert {s: bar.get_width() for s, bar in bars(cold, 0).items()} == pytest.approx(COLD)
        expected = {stage: 1000 * seconds for stage, seconds in WARM.items()}
        assert {s: bar.get_width() for s, bar in bars(warm, 0).items()} == pytest.approx(expected)
        assert cold.get_xlabel() == "seconds (less is better)"
        assert warm.get_xlabel() == "milliseconds (less is better)"

    def test_the_stages_stand_end_to_end_in_their_order(self, stages):
        cold = plot_stages(stages).axes[0]
        left = 0.0
        for stage, bar in bars(cold, 1).items():
            assert bar.get_x() == pytest.approx(left), stage
            left += bar.get_width()
        assert list(bars(cold, 1)) == list(STAGE_NAMES)
        assert left == pytest.approx(2.1)

    def test_the_total_stands_at_the_end(self, stages):
        cold, warm = plot_stages(stages).axes
        imported = "\nimport: 2.00 s"  # beside the bar, which it would hide; JAX's is not known
        assert texts(cold, "total") == ["1.80 s" + imported, "2.10 s" + imported, "1.80 s"]
        assert texts(warm, "total") == ["20.0 ms", "21.0 ms", "not measured"]
        ends = [text.xy[0] for text in cold.texts if text.get_gid() == "total"]
        assert ends == pytest.approx([1.8, 2.1, 1.8])

    def test_a_bar_is_labelled_with_its_sum_and_the_whole_call_is_a_tick(self, stages):
        """A call that waits after each stage is another one: 20 ms in pieces may take 12 ms as a whole."""
        warm = stages["temperature"] == "warm"
        figure = plot_stages(stages.assign(whole=stages["import"].where(~warm, 0.012).where(warm)))
        assert texts(figure.axes[1], "total") == [
            "sum: 20.0 ms\nwhole: 12.0 ms",
            "sum: 21.0 ms\nwhole: 12.0 ms",
            "not measured",
        ]
        ticks = [line.get_xdata() for line in figure.axes[1].lines if line.get_gid() == "whole"]
        assert [float(x) for (x,) in ticks] == pytest.approx([12, 12])
        assert legend(figure) == [*STAGE_NAMES.values(), "whole call"]
        (note,) = texts(figure.axes[1], "note")
        assert "tick: the whole call, as in the table" in " ".join(note.split())
        assert "whole" not in texts(plot_stages(stages).axes[1], "note")[0]

    def test_a_stage_has_one_colour_and_hatch_in_both_panels_and_no_two_share_them(self, stages):
        figure = plot_stages(stages)
        looks = {}
        for bar in (bar for ax in figure.axes for bar in ax.patches):
            looks.setdefault(bar.get_gid(), set()).add((to_hex(bar.get_facecolor()), bar.get_hatch()))
        assert set(looks) == set(STAGE_NAMES.values())
        assert all(len(several) == 1 for several in looks.values())
        for part in zip(*(next(iter(several)) for several in looks.values()), strict=True):
            assert len(set(part)) == len(STAGE_NAMES)

    def test_the_legend_names_every_stage_once(self, stages):
        figure = plot_stages(stages)
        assert legend(figure) == list(STAGE_NAMES.values())

    def test_only_stages_that_are_there_are_in_the_legend(self, stages):
        assert "gather" not in legend(plot_stages(stages.assign(gather=np.nan)))

    def test_the_rows_keep_their_order_and_several_devices_are_named(self, stages):
        for ax in plot_stages(stages).axes:
            assert names(ax) == ["TensorFlow (graph)", "TensorFlow (graph), 2 devices", "JAX"]
            assert list(ax.get_yticks()) == [2, 1, 0]

    def test_each_panel_starts_at_0_on_its_own_scale_and_the_title_says_how_far_apart_they_are(self, stages):
        """3.57 s against 25.6 ms: the axes' ends, as in the cold panel there is room for the import's time, too."""
        cold, warm = plot_stages(stages).axes
        assert cold.get_xlim()[0] == warm.get_xlim()[0] == 0
        assert warm.get_xlim()[1] / 21 < cold.get_xlim()[1] / 2.1
        titles = [ax.get_title() or ax.get_title("left") for ax in (cold, warm)]
        assert titles == [
            "First call of a fresh process",
            "A warm call, stage by stage (scale magnified about 100×)",
        ]

    def test_warm_calls_alone_are_one_panel(self, stages):
        (ax,) = plot_stages(stages[stages["temperature"] == "warm"]).axes
        assert (ax.get_title() or ax.get_title("left")) == "A warm call, stage by stage"

    def test_nothing_measured_is_a_sentence(self, stages):
        for frame in (stages[:0], stages.assign(**dict.fromkeys(STAGE_NAMES, np.nan))):
            (ax,) = plot_stages(frame).axes
            assert "not measured on this machine" in texts(ax, "sentence")[0].replace("\n", " ")

    def test_a_missing_column_is_named(self, stages):
        with pytest.raises(ValueError, match=r"lacks the columns \['gather', 'kernel'\]"):
            plot_stages(stages.drop(columns=["kernel", "gather"]))
