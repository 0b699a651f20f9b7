"""The monitor's chart, by its artists."""

import matplotlib as mpl
import pandas as pd
import pytest

from showing_data import START, found, make_samples, make_spans, texts
from trainspeed.show import monitor
from trainspeed.show.fitting import fit_figure
from trainspeed.show.theme import FRAMEWORK_COLOURS, NARROW_IN, WIDE_IN

mpl.use("Agg")


@pytest.fixture(scope="module")
def monitor_figure():
    return monitor.plot_monitor(make_samples(), make_spans(6))


def make_core_samples(*cores):
    """Return samples of the host and of cores, which have only their load."""
    samples = make_samples(devices=("host", *(f"core{core}" for core in cores)))
    others = samples.columns.difference(["utc", "device", "load_percent"])
    samples[others] = samples[others].where(samples["device"] == "host", None)
    return samples


def _active_load(samples, spans):
    """Return the GPU's median load by the samples whose time was nearly all within a run's turns, one by one."""
    rows = samples[samples["device"] == "gpu0"]
    second, spans = pd.Timedelta(seconds=1), [span for timed in spans["timed"] for span in timed]
    within = [
        sum(
            (min(moment, ended) - max(moment - second, begun)).total_seconds() > 0.79
            for begun, ended in spans
        )
        for moment in rows["utc"]
    ]
    return rows["load_percent"][[bool(count) for count in within]].median()


class TestMonitor:
    def test_panels_share_time_since_the_first_run(self, monitor_figure):
        """There are five quantities, and the first run starts at 0 seconds."""
        names = [ax.get_ylabel().replace("\n", " ") for ax in monitor_figure.axes]
        assert names == ["load in %", "memory in GB", "power in W", "temperature in °C", "SM clock in MHz"]
        assert monitor_figure.axes[-1].get_xlabel() == "seconds since the start of the first run"
        assert found(monitor_figure.axes[0], "gpu0")[0].get_xdata()[0] == -5
        assert found(monitor_figure.axes[1], "gpu0")[0].get_ydata().max() == 30

    def test_what_others_took_is_drawn_where_turns_do_not_count(self, monitor_figure):
        """A page said that a neighbour disturbed runs, and its chart showed cores that were busy, by whom ever."""
        spans = make_spans(2)
        begun = spans["timed"][1][0]
        spans["others"] = [[], [(*begun, 45.0)]]
        figure = monitor.plot_monitor(make_samples(), spans)
        (line,) = found(figure.axes[0], "others")
        ((left, right),) = line.get_segments()

        assert (left[1], right[1]) == (45, 45)
        assert right[0] - left[0] == pytest.approx((begun[1] - begun[0]).total_seconds())
        assert monitor.OTHERS in [text.get_text() for text in figure.legends[0].get_texts()]
        assert found(monitor_figure.axes[0], "others") == [], "a quiet machine has no such line"

    def test_the_time_axis_has_the_same_ticks_at_every_width(self):
        """A tick that comes with the last layout of a narrow chart would be cut off at its edge."""
        figure = monitor.plot_monitor(make_samples(), make_spans(6))
        ticks = []
        for width_in in (WIDE_IN, NARROW_IN):
            fit_figure(figure, width_in)
            figure.draw_without_rendering()
            ticks.append(list(figure.axes[-1].get_xticks()))
        assert ticks[0] == ticks[1]

    def test_long_recordings_count_minutes(self):
        figure = monitor.plot_monitor(make_samples(seconds=1200, step=5), make_spans(4, seconds=1200))
        assert figure.axes[-1].get_xlabel().startswith("minutes")
        assert found(figure.axes[0], "gpu0")[0].get_xdata()[-1] == pytest.approx(20)

    def test_a_missing_sensor_is_a_line_of_text(self):
        """A host without a power sensor has a sentence in place of an empty panel."""
        samples = make_samples(devices=("host",)).assign(sm_clock_mhz=None)
        figure = monitor.plot_monitor(samples, make_spans())
        assert len(figure.axes) == 2
        assert (
            "Not recorded on this machine: power, temperature, SM clock." in texts(figure.axes[-1], "note")[0]
        )

    def test_few_runs_are_numbered_and_named(self, monitor_figure):
        """Twelve runs or fewer are listed by number, those of one trial in a line, in their framework's colour."""
        assert texts(monitor_figure.axes[0], "number") == list("123456")
        listed = [text.get_text() for text in monitor_figure.legends[0].get_texts()]
        assert listed[1:3] == ["GPU 0: NVIDIA H200 (141 GB)", "1, 4  tensorflow cnn10 channels_last 32"]
        (shade,) = found(monitor_figure.axes[3], "runs of torch")
        assert tuple(shade.get_facecolor()[0][:3]) == mpl.colors.to_rgb(FRAMEWORK_COLOURS["torch"])
        assert len(shade.get_paths()) == 2 * 2, "before and after each run's wait"

    def test_runs_that_are_too_short_for_numbers_of_their_own_share_one_over_their_bands(self):
        """Two long runs and four short ones: the numbers of these stood over other bands, and beside all."""
        spans = make_spans(6)
        seconds = [0, 80, 200, 205, 209, 216, 220]
        moments = [START + pd.Timedelta(seconds=second) for second in seconds]
        spans["start"], spans["end"] = moments[:-1], moments[1:]
        figure = monitor.plot_monitor(make_samples(), spans)
        low, high = figure.axes[0].get_xlim()
        numbers = {n.get_text(): n.get_position()[0] for n in found(figure.axes[0], "number")}
        middles = {"1": 40, "2": 140, "3–6": 210}
        assert {words: low + share * (high - low) for words, share in numbers.items()} == pytest.approx(
            middles
        )

    def test_the_numbers_of_runs_that_end_together_stay_within_the_frame(self):
        spans = make_spans(12)
        spans["end"] = spans["end"].max()
        spans["start"] = spans["end"] - pd.Timedelta(seconds=1)
        figure = monitor.plot_monitor(make_samples(), spans)
        places = [number.get_position()[0] for number in found(figure.axes[0], "number")]
        assert texts(figure.axes[0], "number") == ["1–12"] and places[-1] < 1

    def test_the_title_is_the_median_load_while_runs_were_active(self):
        """The GPU rests for 6 of 40 seconds, and before and after the runs."""
        samples, spans = make_samples(), make_spans(6)
        title = monitor.plot_monitor(samples, spans).get_suptitle().replace("\n", " ")
        load = _active_load(samples, spans)
        assert title == f"Load of GPU 0 while runs were measured: median {load:.0f} %"
        two = monitor.plot_monitor(make_core_samples(2, 10), spans).get_suptitle().replace("\n", " ")
        assert two.startswith("Median load while runs were measured: core 2 ") and ", core 10 " in two
        host = monitor.plot_monitor(make_samples(devices=("host",)), spans).get_suptitle()
        assert host.startswith("Load of the host while runs")
        unloaded = samples.assign(load_percent=None)
        assert monitor.plot_monitor(unloaded, spans).get_suptitle() == monitor.QUESTION

    def test_the_title_is_of_runs_on_several_devices_where_others_have_one(self):
        """Core 2 rests in the turns of runs on core 10 alone; one whose devices are missing has all."""
        spans = make_spans(6).assign(devices=[1, 2, 1, None, 1, 2])
        samples = make_core_samples(2, 10)
        alone = samples["utc"].map(
            lambda moment: any(a <= moment <= b for own in spans["timed"][::2] for a, b in own)
        )
        cores = samples["device"] != "host"
        samples.loc[cores, "load_percent"] = 97.0
        samples.loc[alone & (samples["device"] == "core2"), "load_percent"] = 0.0
        title = monitor.plot_monitor(samples, spans).get_suptitle().replace("\n", " ")
        assert title == "Median load while runs on several cores were measured: core 2 97 %, core 10 97 %"
        title = monitor.plot_monitor(samples, spans.assign(devices=1)).get_suptitle().replace("\n", " ")
        assert title.startswith("Median load while runs were measured: core 2 ")
        some_have_all = spans.assign(devices=[1, None] * 3)
        figure = monitor.plot_monitor(samples, some_have_all)
        assert "runs on several cores" in figure.get_suptitle().replace("\n", " ")
        shaded = [found(figure.axes[0], f"runs of {name}")[0] for name in set(spans["framework"])]
        assert sum(len(bars.get_paths()) for bars in shaded) == 2 * len(spans), (
            "a run with all is shaded, too"
        )

    def test_turns_between_which_no_gap_is_to_be_seen_are_one_bar_where_they_are_many(self):
        """Sixty turns of 1 s follow one another, and after 30 s of nothing sixty more do."""
        spans = make_spans(1)
        seconds = [second + 30 * (second >= 60) for second in range(120)]
        turns = [[START + pd.Timedelta(seconds=second + more) for more in (0, 0.999)] for second in seconds]
        spans["active"], spans["end"] = [turns], turns[-1][1]
        figure = monitor.plot_monitor(make_samples(), spans)
        (bars,) = found(figure.axes[0], f"runs of {spans['framework'][0]}")
        ends = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars.get_paths()]

        assert ends == [pytest.approx((0, 59.999)), pytest.approx((90, 149.999))]

    def test_many_runs_are_listed_by_framework(self):
        """Sixty-six runs have no numbers, only three colours with their frameworks."""
        figure = monitor.plot_monitor(make_samples(), make_spans(66))
        assert texts(figure.axes[0], "number") == []
        listed = [text.get_text() for text in figure.legends[0].get_texts()]
        assert listed[2:] == ["runs of TensorFlow", "runs of PyTorch", "runs of JAX"]

    def test_epoch_ends_are_ticks(self, monitor_figure):
        """Six runs of four epochs have 24 ticks, which the caption explains."""
        assert len(found(monitor_figure.axes[0], "epoch ends")[0].get_xdata()) == 24
        assert "ends of epochs" in texts(monitor_figure.axes[-1], "note")[0]

    def test_throttled_spans_are_hatched_and_their_reason_written(self):
        """A clock that its user has set is no throttling; a power cap is."""
        samples = make_samples()
        samples.loc[samples["throttle_reasons"] == "", "throttle_reasons"] = "applications_clocks_setting"
        figure = monitor.plot_monitor(samples, make_spans())
        (hatched,) = found(figure.axes[-1], "throttled")
        box = hatched.get_paths()[0].get_extents()
        assert (box.x0, box.x1) == pytest.approx((121, 140))
        assert "throttled (sw_power_cap)" in texts(figure.axes[-1], "note")[0]

    def test_the_caption_says_what_load_means_for_the_devices_of_the_chart(self, monitor_figure):
        caption = texts(monitor_figure.axes[-1], "note")[0].replace("\n", " ")
        assert "not how full the GPU was" in caption and "Load of the host" in caption
        assert "Load of a core" not in caption

    def test_cores_are_lines_in_the_panel_of_the_load_alone(self):
        """A core has no other sensor, so no other panel has a line of it; the host stays grey."""
        figure = monitor.plot_monitor(make_core_samples(2, 10), make_spans())
        assert [ax.get_ylabel() for ax in figure.axes] == ["load\nin %", "memory\nin GB"]
        (line,) = found(figure.axes[0], "core10")
        assert (
            len(line.get_xdata()) == 250 and line.get_color() != found(figure.axes[0], "host")[0].get_color()
        )
        assert found(figure.axes[1], "host") and not found(figure.axes[1], "core10")
        listed = [text.get_text() for text in figure.legends[0].get_texts()]
        assert listed[:3] == ["host: AMD EPYC 9454 (128 GB)", "core 2", "core 10"]
        caption = texts(figure.axes[-1], "note")[0].replace("\n", " ")
        assert "Load of a core: share of time it was busy, by any process." in caption
        assert "GPU" not in caption

    def test_a_device_that_never_answered_is_not_in_the_legend(self):
        samples = make_core_samples(2)
        samples.loc[samples["device"] == "core2", "load_percent"] = None
        figure = monitor.plot_monitor(samples, make_spans())
        assert "core 2" not in [text.get_text() for text in figure.legends[0].get_texts()]

    def test_no_sample_and_no_run_are_allowed(self):
        """An empty recording is a sentence; a recording without runs is drawn from its first sample."""
        samples, spans = make_samples(), make_spans(1)
        empty = monitor.plot_monitor(samples.iloc[:0], spans)
        assert texts(empty.axes[0], "sentence") == ["The monitor recorded no sample."]
        alone = monitor.plot_monitor(samples, spans.iloc[:0])
        assert found(alone.axes[0], "gpu0")[0].get_xdata()[0] == 0

    def test_times_may_be_text(self):
        """A CSV holds ISO 8601, as do the runs of the ledger."""
        spans = make_spans(1).assign(start=START.isoformat())
        samples = make_samples().assign(utc=lambda rows: rows["utc"].map(pd.Timestamp.isoformat))
        assert found(monitor.plot_monitor(samples, spans).axes[0], "gpu0")[0].get_xdata()[0] == -5

    def test_missing_columns_are_named(self):
        with pytest.raises(ValueError, match="epoch_ends"):
            monitor.plot_monitor(make_samples(), make_spans().drop(columns="epoch_ends"))
