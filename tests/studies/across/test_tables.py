"""The tables of a comparison, by their cells."""

import pandas as pd
import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from sides_data import blocks, common_of, jobs_of
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.studies.across import tables
from trainspeed.studies.across.pairs import against_first

MANY = tables.MOST_SIDES + 3


@pytest.fixture(scope="module")
def common():
    """Faster, slower, one block, and out of memory on A."""
    a = [
        *blocks(2.0, batch_size=16, step=0.01),
        *blocks(1.0, batch_size=32, step=0.01),
        *blocks(1.5, batch_size=64, count=1),
        make_run(batch_size=128, status=Status.OOM, reason="12 GB asked for", dataset="digits"),
    ]
    b = [
        run
        for size in (16, 32, 64, 128)
        for run in blocks(1.5 if size == 32 else 1.0, batch_size=size, step=0.01)
    ]
    return common_of(A=a, B=b)


@pytest.fixture(scope="module")
def many():
    return {f"n{number:02}": blocks(1.0 + number) for number in range(MANY)}


def job_tables(jobs, shown):
    return [(name, tables.job_table(job, sides)) for name, job, sides in tables.job_parts(jobs, shown)]


def read(styler):
    """Return a table as a reader sees it."""
    return pd.DataFrame(styler.data)


def test_times_stand_side_by_side_with_the_verdict(common):
    table = read(tables.times_table("layout", against_first(common), ["A", "B"]))
    assert list(table) == ["trial", "A s", "B s", "speed-up (95 % interval)", "B is", "blocks"]
    assert list(table["trial"]) == ["batch 16", "batch 32", "batch 64", "batch 128"]
    assert list(table["A s"]) == ["2.05", "1.02", "1.50", "—"]
    assert list(table["speed-up (95 % interval)"]) == [
        "2.00x (1.94 to 2.06)",
        "0.67x (0.65 to 0.69)",
        "1.46x",
        "—",
    ]
    assert list(table["B is"]) == ["faster", "slower", "undecided", "—"]
    assert list(table["blocks"]) == ["6", "6", "1, 6", "0, 6"]


def test_of_several_sides_each_has_its_time_and_the_speed_up_that_its_column_names(common):
    runs = {**{side: [*common.runs[side]] for side in "AB"}, "C": blocks(4.0, batch_size=16)}
    table = read(tables.times_table("layout", against_first(common_of(**runs)), ["A", "C", "B"]))
    speedups = ["speed-up of C over A", "speed-up of B over A"]
    assert list(table) == ["trial", "A s", "C s", "B s", *speedups, "blocks"]
    assert list(table[speedups[0]]) == ["0.51x (0.50 to 0.52)", "—", "—", "—"]
    row = table.iloc[0]
    for side, heading in zip("CB", speedups, strict=True):
        assert float(row[heading].split("x")[0]) == pytest.approx(
            float(row["A s"]) / float(row[f"{side} s"]), abs=0.01
        )


def test_short_times_are_in_milliseconds_and_their_kind_is_named():
    trial = make_convolution()
    calls = [make_call(trial, 0.002, block=block) for block in range(6)]
    table = tables.times_table("conv2d", against_first(common_of(A=calls, B=calls)), ["A", "B"])
    assert list(read(table)["A ms"]) == ["2.00"]
    assert table.caption == "conv2d: a warm call, medians over the blocks"


def test_memory_and_accuracy_are_shown_where_two_sides_have_them():
    measured = {"peak_memory_bytes": 250_000_000, "test_accuracy": 0.5}
    a = [*blocks(1.0, **measured), *blocks(1.0, batch_size=64, peak_memory_bytes=1)]
    b = [*blocks(1.0, **{**measured, "test_accuracy": None}), *blocks(1.0, batch_size=64)]
    table = read(tables.resources_table("layout", common_of(A=a, B=b).trials, ["A", "B"]))
    assert list(table["trial"]) == ["batch 32"]
    assert list(table["memory A, MB"]) == list(table["memory B, MB"]) == ["250"]
    assert (list(table["accuracy A, %"]), list(table["accuracy B, %"])) == (["50.0"], ["—"])
    longer = blocks(1.0, **measured, epoch_s=(3.0, *[1.0] * 9))
    table = read(tables.resources_table("layout", common_of(A=a, B=longer).trials, ["A", "B"]))
    assert (table["accuracy A, %"][0], table["accuracy B, %"][0]) == (
        "50.0 after 4 epochs",
        "50.0 after 10 epochs",
    )
    none = common_of(A=blocks(1.0), B=blocks(1.0)).trials
    assert tables.resources_table("layout", none, ["A", "B"]) is None


def test_a_failure_names_its_side_reason_and_share(common):
    (failure,) = read(tables.failed_table(common)).to_dict("records")
    assert failure == {
        "study": "layout",
        "trial": "batch 128",
        "side": "A",
        "status": "OOM",
        "reason": "12 GB asked for",
        "blocks": 1,
        "without a result": 1,
    }
    assert tables.failed_table(common_of(A=blocks(1.0), B=blocks(1.0))) is None


def test_failures_of_sides_that_no_other_table_shows_are_told():
    oom = make_run(status=Status.OOM, reason="12 GB asked for", dataset="digits")
    sides = {f"B{number}": blocks(1.0 + number) for number in range(MANY)}
    failures = read(tables.failed_table(common_of(**sides, last=[oom])))

    assert list(failures["side"]) == ["last"]


def test_the_sides_are_a_table_of_facts():
    rows = [{"what": "CPU", "A": "one", "B": "two", "": "differs"}]
    assert read(tables.sides_table(rows, ["A", "B"])).to_dict("records") == rows
    assert len(read(tables.sides_table([], ["A", "B"]))) == 0


def test_each_side_is_a_row_against_the_first(common):
    best, others = tables.against_tables(against_first(common), ["B", "A"])
    (row,) = read(best).to_dict("records")
    assert row == {
        "side": "B",
        "trials": 4,
        "faster": 1,
        "slower": 1,
        "same": 0,
        "undecided": 1,
        "no result": 1,
        "median speed-up": "1.46x",
        "least": "0.67x",
        "most": "2.00x",
    }
    assert others is None


# Jobs.


def test_a_job_has_its_best_sides_with_and_without_prices():
    sides = {"A": blocks(1.0), "B": blocks(0.5), "C": blocks(0.5)}
    plain = read(tables.answers_table(jobs_of(sides)))
    assert list(plain) == ["job", "fastest", "images per second"]
    assert list(plain["fastest"]) == ["one of B, C"]
    priced = read(tables.answers_table(jobs_of(sides, A=36.0, B=36.0, C=360.0)))
    assert (list(priced["cheapest"]), list(priced["images per dollar"])) == (["B"], ["25,536"])
    few = {side: blocks(1.0, count=1) for side in "AB"}
    assert list(read(tables.answers_table(jobs_of(few)))["fastest"]) == ["undecided"]
    assert tables.answers_table([]) is None


def test_the_sides_of_a_job_are_rows_with_setting_training_and_cost():
    sides = {"A": blocks(2.0), "B": [*blocks(3.0), *blocks(1.0, batch_size=64)], "C": blocks(9.0)}
    sides["A"] += blocks(4.0, batch_size=64)
    ((name, table),) = job_tables(jobs_of(sides, A=36.0, B=36.0), ["A", "B", "C"])
    assert name == "cnn10 on digits, 16 px, 128 images an epoch"
    rows = read(table).set_index("side")
    assert list(rows.index) == ["B", "A", "C"]
    assert rows.loc["B", "/ A"] == "2.00x" and rows.loc["A", "/ A"] == "1.00x"
    assert rows.loc["B", "its fastest setting"].split(", ")[2] == "batch 64"
    assert (rows.loc["A", "a training"], rows.loc["A", "cost of a training"]) == ("0:03:25", "2.05 USD")
    assert rows.loc["C", "images per dollar"] == "—", "no price"


def test_of_many_sides_the_first_and_the_best_are_shown_and_the_rest_apart(many):
    names = [*many]
    shown = tables.shown_sides(names, first=names[-1])
    assert shown == [names[-1], *names[: tables.MOST_SIDES - 1]]
    (_, best), (name, rest) = job_tables(jobs_of(many), shown)
    assert list(read(best)["side"]) == [*names[: tables.MOST_SIDES - 1], names[-1]]
    assert list(read(rest)["side"]) == names[tables.MOST_SIDES - 1 : -1]
    assert name.endswith(": the other 3 sides")


def test_of_many_sides_against_the_first_the_rest_is_a_table_of_its_own(many):
    best, others = tables.against_tables(against_first(common_of(**many)), [*many])
    assert (len(read(best)), len(read(others))) == (tables.MOST_SIDES - 1, MANY - tables.MOST_SIDES)
