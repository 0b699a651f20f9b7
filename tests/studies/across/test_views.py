"""Chart and tables of a comparison, by their artists and cells."""

import matplotlib as mpl
import pandas as pd
import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from showing_data import found, texts
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.studies.across import views
from trainspeed.studies.across.costs import pair_costs
from trainspeed.studies.across.pairs import side_by_side

mpl.use("Agg")


def blocks(seconds, count=6, **more):
    return [make_run(seconds * (1 + 0.01 * block), block=block, **more) for block in range(count)]


def pairs_of(a, b):
    return side_by_side(a, b).pairs


@pytest.fixture(scope="module")
def rows():
    """Faster, slower, one block, and out of memory on A."""
    a = [
        *blocks(2.0, batch_size=16),
        *blocks(1.0, batch_size=32),
        *blocks(1.5, batch_size=64, count=1),
        make_run(batch_size=128, status=Status.OOM, reason="12 GB asked for"),
    ]
    b = [run for size in (16, 32, 64, 128) for run in blocks(1.5 if size == 32 else 1.0, batch_size=size)]
    return pairs_of(a, b)


def read(styler):
    """Return a table as a reader sees it."""
    return pd.DataFrame(styler.data)


def test_the_chart_has_a_row_per_trial_the_largest_speed_up_on_top(rows):
    ax = views.plot_pairs("layout", rows)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["batch 16", "batch 64", "batch 32", "batch 128 (OOM on A)"]
    assert texts(ax, "blocks") == ["6", "1", "6", "0"]
    assert ax.get_title() == "layout: B against A with 95 % intervals"


def test_the_axis_says_whose_time_is_divided_by_whose(rows):
    assert views.plot_pairs("layout", rows).get_xlabel().startswith("speed-up = A's time / B's time")


def test_dots_and_intervals_are_those_of_the_judgement(rows):
    ax = views.plot_pairs("layout", rows)
    (dot,) = found(ax, "faster")
    assert dot.get_xdata() == [rows[0].speedup]
    spans = [list(bar.get_segments()[0][:, 0]) for bar in found(ax, "interval")]
    assert [rows[0].low, rows[0].high] in spans and len(spans) == 2


def test_of_many_trials_those_farthest_from_1_are_drawn_and_the_title_says_so():
    sizes = range(1, views.MAX_ROWS + 6)
    a = [run for size in sizes for run in blocks(1.0 + size, batch_size=size)]
    b = [run for size in sizes for run in blocks(1.0, batch_size=size)]
    ax = views.plot_pairs("layout", pairs_of(a, b))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == views.MAX_ROWS
    assert labels[0] == f"batch {views.MAX_ROWS + 5}" and labels[-1] == "batch 6"
    assert ax.get_title().endswith(f", {views.MAX_ROWS} of {views.MAX_ROWS + 5} trials")


def test_without_any_pair_the_chart_is_a_sentence():
    oom = [make_run(status=Status.OOM)]
    ax = views.plot_pairs("layout", pairs_of(oom, blocks(1.0)))
    assert found(ax, "sentence") and not ax.get_xlabel()


def test_times_stand_side_by_side_with_the_verdict(rows):
    table = read(views.times_table("layout", rows))
    assert list(table["trial"]) == ["batch 16", "batch 32", "batch 64", "batch 128"]
    assert list(table["A s"]) == ["2.05", "1.02", "1.50", "—"]
    assert list(table["speed-up"]) == ["2.00×", "0.67×", "1.46×", "—"]
    assert list(table["B is"]) == ["faster", "slower", "undecided", "—"]
    assert list(table["95 % interval"])[2:] == ["—", "—"]
    assert (list(table["blocks on A"]), list(table["on B"])) == ([6, 6, 1, 0], [6, 6, 6, 6])


def test_short_times_are_in_milliseconds_and_their_kind_is_named():
    trial = make_convolution()
    calls = [make_call(trial, 0.002, block=block) for block in range(6)]
    table = views.times_table("conv2d", pairs_of(calls, calls))
    assert list(read(table)["A ms"]) == ["2.00"]
    assert table.caption == "conv2d: a warm call, medians over the blocks"


def test_memory_and_accuracy_are_shown_where_both_sides_have_them():
    measured = {"peak_memory_bytes": 250_000_000, "test_accuracy": 0.5}
    a = [*blocks(1.0, **measured), *blocks(1.0, batch_size=64, peak_memory_bytes=1)]
    b = [*blocks(1.0, **{**measured, "test_accuracy": None}), *blocks(1.0, batch_size=64)]
    table = read(views.resources_table("layout", pairs_of(a, b)))
    assert list(table["trial"]) == ["batch 32"]
    assert list(table["memory A, MB"]) == list(table["memory B, MB"]) == ["250"]
    assert (list(table["accuracy A, %"]), list(table["accuracy B, %"])) == (["50.0"], ["—"])
    assert views.resources_table("layout", pairs_of(blocks(1.0), blocks(1.0))) is None


def test_a_failure_names_its_side_reason_and_share(rows):
    (failure,) = read(views.failed_pairs_table(rows)).to_dict("records")
    assert failure == {
        "study": "layout",
        "trial": "batch 128",
        "side": "A",
        "status": "OOM",
        "reason": "12 GB asked for",
        "blocks": 1,
        "of which failed": 1,
    }
    assert views.failed_pairs_table(rows[:2]) is None


def test_costs_have_prices_only_where_they_are_known(rows):
    plain = read(views.costs_table(pair_costs(rows, (None, None))))
    assert "cost on A" not in plain and "A's time / B's" in plain
    assert plain["training on A"].iloc[0] == "0:03:29" and plain["training on A"].iloc[-1] == "—"
    priced = read(views.costs_table(pair_costs(rows, (36.0, 36.0))))
    assert priced["cost on A"].iloc[0] == "2.09 USD" and priced["cost on A"].iloc[-1] == "—"
    assert "A's cost / B's" in priced
    assert len(read(views.costs_table([]))) == 0


def test_the_sides_are_a_table_of_facts():
    facts = [{"what": "CPU", "A": "one", "B": "two", "": "differs"}]
    assert read(views.sides_table(facts)).to_dict("records") == facts
    assert len(read(views.sides_table([]))) == 0
