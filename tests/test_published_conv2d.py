"""Article 004's times of one convolution and its guesses, against the text's own figures; its chart."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from showing_data import found, texts
from trainspeed.errors import UserError
from trainspeed.published import CANNOT_TELL, FOLDER
from trainspeed.published_conv2d import (
    FINDING,
    GUESS,
    article_sentence,
    article_series,
    conv2d_claims,
    cpu_ratios,
    cpu_times,
    device_ratios,
    gpu_times,
)
from trainspeed.published_conv2d_views import ARTICLE_GREY, devices_table, guesses_table, plot_devices
from trainspeed.published_views import claims_table
from trainspeed.theme import FRAMEWORK_COLOURS

mpl.use("Agg")

# Copied from section 6 of the article once more: number of GPUs and time.
PRINTED = {
    "V100": "14897.803307 4328.074455 5645.370483 684.230804 744.736195 731.468678 726.519346 721.646070",
    "K80": "3248.390198 3380.734682 3837.318182 690.669060 691.730976 588.120937 581.115961 647.247314",
}


# The transcribed numbers.


def test_the_times_are_as_printed():
    text = pd.read_csv(FOLDER / "conv2d_gpus.csv", dtype=str)
    data = gpu_times()
    assert len(data) == 16
    for gpu, times in PRINTED.items():
        assert text.loc[text["gpu"] == gpu, "ms"].tolist() == times.split()
        assert data.loc[data["gpu"] == gpu, "devices"].tolist() == list(range(1, 9))
        assert data.loc[data["gpu"] == gpu, "place"].str.endswith(f"GPU {gpu}").all()


def test_the_settings_are_those_of_the_articles_code():
    for data in (gpu_times(), cpu_times()):
        setting = data[["images", "width", "height", "channels", "filter_px"]]
        assert setting.drop_duplicates().values.tolist() == [[840, 100, 100, 1, 3]]
        assert set(data["source"]) == {"004"}
    assert set(gpu_times()["timed"]) == {"the first sess.run of a fresh process, once"}


def test_the_cpus_time_is_as_printed():
    (row,) = cpu_times().to_dict("records")
    assert (row["ms"], row["std_ms"], row["runs"], row["loops_per_run"]) == (222, 4, 7, 1)
    assert row["call"] == "[scipy.signal.convolve2d(a, fltr, 'same') for _ in range(N_images)]"
    assert "222 ms ± 4 ms per loop" in row["place"] and row["cpu"] == "virtual 12 core"


# Ratios.


def test_each_time_is_relative_to_one_device_of_its_type():
    data = device_ratios(gpu_times()).set_index(["gpu", "devices"])
    assert data.loc[("V100", 8), "relative_time"] == pytest.approx(721.646070 / 14897.803307)
    assert data.loc[("K80", 8), "speedup"] == pytest.approx(3248.390198 / 647.247314)
    assert (data.xs(1, level="devices")["relative_time"] == 1).all()


def test_a_type_without_a_time_on_one_device_has_no_ratio():
    data = device_ratios(gpu_times().query("devices > 1 or gpu == 'K80'"))
    assert data.loc[data["gpu"] == "V100", "relative_time"].isna().all()


def test_the_cpu_is_about_three_times_as_fast_as_8_gpus_as_the_article_says():
    data = cpu_ratios(gpu_times(), cpu_times()).set_index("gpu")
    assert (1 / data["cpu_over_most"]).to_dict() == pytest.approx(
        {"V100": 721.646070 / 222, "K80": 647.247314 / 222}
    )
    assert (1 / data["cpu_over_most"]).round().tolist() == [3, 3]
    assert data["best_devices"].to_dict() == {"V100": 4, "K80": 7}
    assert data.loc["K80", "cpu_over_best"] == pytest.approx(222 / 581.115961)


def test_the_sentence_has_the_numbers_and_says_what_the_times_are_of():
    assert article_sentence(gpu_times(), cpu_times()) == (
        "Article 004: 840 images of 100×100 took 222 ms with scipy on a CPU (mean of 7 warm runs); 8 V100 took 3.3 "
        "times as long, 4 (the fastest) 3.1 times; 8 K80 took 2.9 times as long, 7 (the fastest) 2.6 times. "
        "Each GPU time is of the first sess.run of a fresh process, once."
    )


# Claims.


def test_the_findings_come_first_and_then_the_six_guesses():
    claims = conv2d_claims()
    assert [claim.kind for claim in claims] == [FINDING] * 3 + [GUESS] * 6
    assert [claim.id for claim in conv2d_claims(GUESS)] == [
        *("unoptimised", "filter_size", "channels", "transfer_back", "stay_on_device", "memory_swap")
    ]
    assert len({claim.id for claim in claims}) == len(claims)


@pytest.mark.parametrize("claim", conv2d_claims(), ids=lambda claim: claim.id)
def test_a_claim_has_its_place_and_an_experiment(claim):
    assert all((claim.place, claim.gpu, claim.claim, claim.size, claim.experiment))
    assert (claim.source, claim.year) == ("004", None)
    assert claim.place.startswith({FINDING: ("7.", "8.", "10."), GUESS: ("8.", "9.")}[claim.kind])
    assert (claim.kind == GUESS) == claim.size.startswith("not tested there")


def test_the_finding_on_few_gpus_holds_in_the_articles_own_table():
    data = gpu_times()
    few, more = data[data["devices"] <= 3]["ms"], data[data["devices"] >= 4]["ms"]
    assert few.min() > 1000
    assert (round(more.min()), round(more.max())) == (581, 745)


def test_the_claims_are_shown_by_the_table_of_all_articles():
    html = claims_table([(claim, CANNOT_TELL, "") for claim in conv2d_claims()]).to_html()
    assert "004, K80, V100<" in html and html.count("cannot tell") == 9


# Tables.


def test_the_table_has_a_row_per_number_of_devices_and_both_ratios():
    table = devices_table(gpu_times(), cpu_times())
    assert table.data["devices"].tolist() == list("12345678")
    last = table.data.iloc[-1].to_dict()
    assert last["V100, ms"] == "722" and last["V100 / its 1 device"] == "0.048"
    assert last["CPU / K80"] == "0.343"
    assert "scipy on a CPU (222 ± 4 ms, warm)" in table.caption


def test_a_number_of_devices_that_one_type_lacks_is_a_dash():
    table = devices_table(gpu_times().query("devices < 8 or gpu == 'K80'"), cpu_times())
    assert table.data.iloc[-1]["V100, ms"] == "—"


def test_the_table_of_guesses_names_each_experiment():
    table = guesses_table(conv2d_claims(GUESS))
    assert len(table.data) == 6
    assert table.data["tested here by"].str.contains("transfer alone").sum() == 1


# The chart.


def theirs():
    return article_series(gpu_times(), cpu_times())


def ours(**more):
    rows = [
        *(
            {"series": "PyTorch, warm", "devices": n, "ms": 8 / n, "low_ms": 7 / n, "high_ms": 9 / n}
            for n in (1, 2)
        ),
        *({"series": "PyTorch, cold", "devices": n, "ms": 900 + n} for n in (1, 2)),
        {"series": "SciPy", "devices": None, "ms": 190, "low_ms": 180, "high_ms": 200},
    ]
    return pd.DataFrame(rows).assign(**more)


def test_the_articles_times_are_hollow_and_grey_and_its_cpu_a_horizontal_line():
    ax = plot_devices(theirs())
    lines = found(ax, "published")
    assert len(lines) == 2
    assert {line.get_fillstyle() for line in lines} == {"none"}
    assert {line.get_color() for line in lines} == {ARTICLE_GREY}
    assert len({line.get_marker() for line in lines}) == 2
    assert lines[0].get_xdata().tolist() == list(range(1, 9))
    assert lines[0].get_ydata()[0] == pytest.approx(14897.803307)
    (cpu,) = found(ax, "published cpu")
    assert list(cpu.get_ydata()) == [222, 222]
    assert not found(ax, "measured") and ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < 222 and high > 14898


def test_our_times_are_filled_with_their_intervals():
    ax = plot_devices(theirs(), ours())
    lines = found(ax, "measured")
    assert {line.get_fillstyle() for line in lines} == {"full"}
    assert len(found(ax, "published")) == len(lines) == 2
    bars, band = found(ax, "measured interval")
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[7, 9], [3.5, 4.5]]
    assert len(found(ax, "measured cpu")) == 1 and band is not None
    assert "filled: this machine, with the 95 % interval" in texts(ax, "note")[0]


def test_up_to_six_lines_that_end_alike_are_named_at_their_ends_and_others_in_a_legend():
    """From a line that ends at 2 of 8 devices a pointer to its name would look like data."""
    ax = plot_devices(theirs().query("not devices > 2"), ours())
    assert set(texts(ax, "end label")) == set(theirs()["series"]) | set(ours()["series"])
    more = pd.concat([ours(), ours().assign(series=ours()["series"] + ", XLA")])
    for data, count in ((ours(), 6), (more, 9)):
        ax = plot_devices(theirs(), data)
        assert not texts(ax, "end label")
        assert len(ax.figure.legends[0].get_texts()) == count
    ax.figure.canvas.draw()


def test_a_framework_lends_its_colour_and_its_series_differ_in_line_and_marker():
    data = ours(framework=["torch"] * 4 + [None])
    looks = [
        (line.get_color(), line.get_marker()) for line in found(plot_devices(theirs(), data), "measured")
    ]
    assert looks == [(FRAMEWORK_COLOURS["torch"], "o"), (FRAMEWORK_COLOURS["torch"], "s")]
    colours = {line.get_color() for line in found(plot_devices(theirs(), ours()), "measured")}
    assert len(colours) == 2 and not colours & set(FRAMEWORK_COLOURS.values())


@pytest.mark.parametrize("devices", [1, 2, 16])
def test_one_device_and_sixteen_are_drawn(devices):
    data = pd.DataFrame(
        {"series": "x", "devices": range(1, devices + 1), "ms": 1e-3, "low_ms": None, "high_ms": None}
    )
    for first in (theirs(), theirs().head(0)):
        ax = plot_devices(first, data)
        assert len(found(ax, "measured")) == 1 and ax.get_xlim()[1] > devices
        ax.figure.canvas.draw()


def test_a_chart_of_nothing_says_so():
    ax = plot_devices(theirs().head(0), None)
    assert "no time was measured" in texts(ax, "sentence")[0].replace("\n", " ")


def test_bad_frames_are_refused_in_one_line():
    with pytest.raises(UserError, match="lacks the columns"):
        plot_devices(theirs().drop(columns="ms"))
    with pytest.raises(UserError, match=r"'SciPy' .* twice"):
        plot_devices(theirs(), pd.concat([ours(), ours().tail(1)]))
    with pytest.raises(UserError, match="ms must be positive"):
        plot_devices(theirs(), ours(ms=0))


def test_a_chart_is_drawn_on_the_callers_axes():
    ax = plt.subplots()[1]
    assert plot_devices(theirs(), ours(), ax=ax) is ax
