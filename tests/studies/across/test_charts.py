"""The charts of a comparison, by their artists."""

import matplotlib as mpl
import pytest

from showing_data import found, legend, texts
from sides_data import blocks, common_of, jobs_of
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.studies.across import charts
from trainspeed.studies.across.pairs import against_first

mpl.use("Agg")
SIZES = (16, 32)


def title(ax):
    return ax.get_figure().get_suptitle().replace("\n", " ")


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bold(ax):
    return [label.get_text() for label in ax.get_yticklabels() if label.get_fontweight() == "bold"]


@pytest.fixture(scope="module")
def sides():
    """Of two jobs, B is fastest in one; in the other B and C are not told apart, and A is out of memory."""
    a = [*blocks(2.0), make_run(image_size=32, status=Status.OOM, dataset="digits")]
    b, c = ([*blocks(s), *blocks(3.0, image_size=32)] for s in (1.0, 4.0))
    return {"A": a, "B": b, "C": c, "D": blocks(3.0, count=2)}


def test_each_job_is_a_group_of_sides_with_the_best_on_top(sides):
    ax = charts.plot_jobs(jobs_of(sides), [*sides])
    assert texts(ax, "job") == [
        "cnn10 on digits, 16 px, 128 images\nan epoch",
        "cnn10 on digits, 32 px, 128 images\nan epoch",
    ]
    assert labels(ax) == ["B", "A", "D", "C", "B", "C", "A"]
    assert texts(ax, "value") == [
        "2.00x (1.99 to 2.01)",
        "1 = 63.8",
        "0.67x (2 blocks)",
        "0.500x (0.499 to 0.501)",
        "1 = 42.6",
        "1.000x (0.997 to 1.003)",
        "OOM",
    ]


def test_the_best_is_told_by_letters_shape_and_colour_and_a_tie_by_others(sides):
    ax = charts.plot_jobs(jobs_of(sides), [*sides])
    assert bold(ax) == ["B", "B", "C"]
    (best,) = found(ax, "best")
    assert list(best.get_xdata()) == pytest.approx([2.0], rel=0.01)
    assert sum(len(tie.get_xdata()) for tie in found(ax, "one of")) == 2
    assert [len(mark.get_xdata()) for mark in found(ax, "hollow")] == [1], "too few blocks"
    assert legend(ax.get_figure()) == [
        "fastest",
        "one of the fastest: not told apart",
        "the others",
        "no interval",
        "margin: same within 2 %",
    ]


def test_the_chart_is_of_dollars_where_prices_are_given(sides):
    ax = charts.plot_jobs(jobs_of(sides, A=1.0, B=4.0), [*sides])
    assert labels(ax) == ["A", "B"]
    assert title(ax) == (
        "Images per dollar: A is best in 1 of 1 job, 1 of 2 jobs have prices, without 2 sides that have no price"
    )
    assert ax.get_xlabel() == "images per dollar / those of A,\nlog scale\n(more is better)"
    assert bold(ax) == ["A"]


def test_sides_and_jobs_that_are_not_drawn_are_counted(sides):
    assert title(charts.plot_jobs(jobs_of(sides), ["A", "B"])) == (
        "Images per second: B is best in 1 of 2 jobs, 2 of 4 sides"
    )
    runs = [run for size in range(16, 16 + charts.MOST_JOBS + 2) for run in blocks(1.0, image_size=size)]
    ax = charts.plot_jobs(jobs_of({"A": runs, "B": runs}), ["A", "B"])
    assert len(texts(ax, "job")) == charts.MOST_JOBS
    assert title(ax).endswith(", 8 of 10 jobs are drawn")


def test_jobs_without_prices_are_counted_in_the_title():
    a, b = ([*blocks(s), *blocks(s, image_size=32)] for s in (1.0, 2.0))
    sides = {"A": a, "B": b, "C": blocks(1.0, image_size=48), "D": blocks(2.0, image_size=48)}
    said = title(charts.plot_jobs(jobs_of(sides, A=1.0, B=1.0), [*sides]))

    assert said == "Images per dollar: A is best in 2 of 2 jobs, 2 of 3 jobs have prices"


def test_without_a_job_the_chart_is_a_sentence():
    assert texts(charts.plot_jobs([], []), "sentence") == ["No model was trained by two sides or more."]
    (job,) = jobs_of({"a": blocks(1.0), "b": blocks(1.0, status=Status.CRASHED)})
    assert texts(charts.plot_jobs([job], ["a"]), "sentence") == [
        "No model has a result of two sides or more."
    ]


# Each side against the first.


@pytest.fixture(scope="module")
def pairs():
    """Faster, slower, one block, and out of memory on A."""
    a = [
        *blocks(2.0, batch_size=16, step=0.01),
        *blocks(1.0, batch_size=32, step=0.01),
        *blocks(1.5, batch_size=64, count=1),
        make_run(batch_size=128, status=Status.OOM, dataset="digits"),
    ]
    b = [run for s in (16, 32, 64, 128) for run in blocks(1.5 if s == 32 else 1.0, batch_size=s, step=0.01)]
    return against_first(common_of(A=a, B=b))


def test_the_chart_has_a_row_per_trial_the_largest_speed_up_on_top(pairs):
    ax = charts.plot_pairs("layout", pairs)
    assert labels(ax) == ["batch 16", "batch 64", "batch 32", "batch 128 (OOM on A)"]
    assert texts(ax, "blocks") == ["6", "1", "6", "0"]
    assert title(ax) == "layout, B against A: 1 faster, 1 slower"
    assert ax.get_xlabel() == "speed-up = time of A / time of B, log scale\n(above 1: B is faster)"


def test_dots_and_intervals_are_those_of_the_judgement(pairs):
    ax = charts.plot_pairs("layout", pairs)
    (dot,) = found(ax, "faster")
    assert dot.get_xdata() == [pairs[0].speedup]
    spans = [list(bar.get_segments()[0][:, 0]) for bar in found(ax, "interval")]
    assert [pairs[0].low, pairs[0].high] in spans and len(spans) == 2


def test_of_several_sides_each_row_names_its_own():
    found_ = against_first(common_of(A=blocks(2.0), B=blocks(1.0), C=blocks(4.0)))
    ax = charts.plot_pairs("layout", found_)
    assert [label.split(":")[0] for label in labels(ax)] == ["B", "C"]
    assert title(ax) == "layout, each side against A: 1 faster, 1 slower"
    sides = {f"B{number}": blocks(1.0 + number) for number in range(charts.ROWS_OF_SEVERAL + 2)}
    ax = charts.plot_pairs("layout", against_first(common_of(A=blocks(2.0), **sides)))
    assert len(labels(ax)) == charts.ROWS_OF_SEVERAL


def test_of_many_trials_those_farthest_from_1_are_drawn_and_the_title_says_so():
    sizes = range(1, charts.MOST_ROWS + 6)
    a = [run for size in sizes for run in blocks(1.0 + size, batch_size=size)]
    b = [run for size in sizes for run in blocks(1.0, batch_size=size)]
    ax = charts.plot_pairs("layout", against_first(common_of(A=a, B=b)))
    assert len(labels(ax)) == charts.MOST_ROWS
    assert labels(ax)[0] == f"batch {charts.MOST_ROWS + 5}" and labels(ax)[-1] == "batch 6"
    assert title(ax).endswith(f"({charts.MOST_ROWS} of {charts.MOST_ROWS + 5} are drawn)")


def test_without_any_pair_the_chart_is_a_sentence():
    oom = [make_run(status=Status.OOM, dataset="digits")]
    ax = charts.plot_pairs("layout", against_first(common_of(A=oom, B=blocks(1.0))))
    assert found(ax, "sentence") and not ax.get_xlabel()
