"""Which ledgers are meant, and every way in which one may be none."""

import json
import os

import pytest

from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import SCHEMA
from trainspeed.studies.across.sides import PATHS_VARIABLE, check_prices, distinct_names, read_sides


@pytest.fixture
def folder(tmp_path):
    """Two folders of runs, old and new."""
    for name in ("old", "new"):
        for block in range(2):
            Ledger(tmp_path / name).append(make_run(1.0, block=block))
    return tmp_path


def read(folder, *runs, usd=(), environment=None):
    return read_sides(runs or ("old", "new"), usd, seen_from=folder, environment=environment or {})


def message(*arguments, **more):
    with pytest.raises(UserError) as problem:
        read(*arguments, **more)
    assert "\n" not in str(problem.value)
    return str(problem.value)


def test_a_side_is_a_folder_or_the_ledger_in_it(folder):
    for a in ("old", "old/", "old/runs.jsonl", str(folder / "old")):
        sides = read(folder, a, "new")
        assert [side.name for side in sides] == ["old", "new"]
        assert [len(side.runs) for side in sides] == [2, 2]


def test_a_ledger_of_another_name_goes_by_that_name(folder):
    (folder / "old/runs.jsonl").rename(folder / "h200.jsonl")
    assert read(folder, "h200.jsonl", "new")[0].name == "h200"


def test_a_folder_is_named_also_where_it_is_said_by_dots(folder):
    assert read(folder / "old", ".", "../new")[0].name == "old"


def test_sides_of_the_same_name_are_told_apart_in_their_order(folder):
    (folder / "deeper").mkdir()
    (folder / "new").rename(folder / "deeper/old")
    assert [side.name for side in read(folder, "old", "deeper/old")] == ["old (1)", "old (2)"]
    assert distinct_names(["a", "b", "a", "a (1)"]) == ["a (2)", "b", "a (3)", "a (1)"], (
        "no name is given twice"
    )


def test_prices_belong_to_the_sides_in_their_order(folder):
    assert [side.usd_per_hour for side in read(folder, usd=(1.5, None))] == [1.5, None]
    assert [side.usd_per_hour for side in read(folder)] == [None, None]


def test_the_environment_says_where_ledgers_are_that_have_only_a_name(folder):
    """So that no path of a machine stands in a notebook."""
    (folder / "paths.json").write_text(json.dumps([str(folder / "old"), str(folder / "new/runs.jsonl")]))
    sides = read_sides(["shown", "too"], environment={PATHS_VARIABLE: str(folder / "paths.json")})
    assert [side.name for side in sides] == ["old", "new"]


def test_a_damaged_line_is_left_out_with_a_doubt(folder):
    with (folder / "old/runs.jsonl").open("a") as file:
        file.write('{"schema": 1, "sess')
    side = read(folder)[0]
    assert len(side.runs) == 2
    assert side.doubts == (
        "Line 3 of old is cut off, damaged or of another version, and was left out (DecodeError).",
    )


# Mistakes: one line each.


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (["", "new"], "ledger 1 of 2 is missing: name a folder with runs, as in `make compare RUNS="),
        (["old", "  "], "ledger 2 of 2 is missing:"),
        (
            ["old"],
            "RUNS (=old) names one ledger: name two or more folders with runs, as in `make compare RUNS=",
        ),
        ([], "RUNS names no ledger: name two or more"),
    ],
)
def test_fewer_than_two_are_told_with_an_example(folder, runs, said):
    with pytest.raises(UserError) as problem:
        read_sides(runs, seen_from=folder, environment={})
    assert str(problem.value).startswith(said)


def test_in_jupyterlab_the_example_is_a_line_for_the_parameters_cell(folder, monkeypatch):
    monkeypatch.setattr("trainspeed.studies.across.sides.in_notebook", lambda: True)

    with pytest.raises(UserError, match=r"^runs names no ledger: name one folder .*, as in `runs: list = \["):
        read_sides([], fewest=1, seen_from=folder, environment={})


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (
            (1.0,),
            "USD has 1 price for 2 ledgers: give one for each, in their order, and - where it is not known.",
        ),
        ((1.0, 2.0, 3.0), "USD has 3 prices for 2 ledgers:"),
        (
            (None, 0),
            "the price of new (=0) must be a positive number of US dollars, for example 2.5: write - where",
        ),
        ((-1.5, None), "the price of old (=-1.5) must be a positive number"),
        ((None, float("nan")), "the price of new (=nan) must be a positive number"),
        ((float("inf"), None), "the price of old (=inf) must be a positive number"),
        ((None, "cheap"), "the price of new (='cheap') must be a positive number"),
        ((True, None), "the price of old (=True) must be a positive number"),
    ],
)
def test_prices_that_are_none_are_told(usd, said):
    with pytest.raises(UserError) as problem:
        check_prices(["old", "new"], usd)
    assert str(problem.value).startswith(said)


def test_what_does_not_exist_is_told_by_its_name(folder):
    assert message(folder, "odl", "new") == "odl does not exist: name a folder with runs, or a ledger."


def test_a_folder_without_a_ledger_is_told(folder):
    (folder / "empty").mkdir()
    said = message(folder, "old", "empty")
    assert said.startswith("empty is a folder without a ledger: there is no runs.jsonl in it.")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\x00\x01\n", '{"a": 1}\n', "[1, 2]\n3\n"])
def test_a_file_that_is_no_ledger_is_told(folder, text):
    (folder / "table.csv").write_text(text)
    said = message(folder, "table.csv", "new")
    assert said.startswith("table.csv is not a ledger: none of its")


def test_an_empty_ledger_is_told(folder):
    (folder / "new/runs.jsonl").write_text("\n")
    assert message(folder) == "new holds no runs: measure with `make report` first."


def test_a_ledger_of_another_schema_is_told_and_none_of_its_runs_used(folder):
    line = json.loads((folder / "new/runs.jsonl").read_text().splitlines()[0])
    with (folder / "new/runs.jsonl").open("a") as file:
        file.write(json.dumps({**line, "schema": SCHEMA + 1, "trial": "of another kind"}) + "\n")
    said = message(folder)
    assert said.startswith(
        f"new has schema {SCHEMA + 1} in line 3, and this Trainspeed reads schema {SCHEMA} and before:"
    )


@pytest.mark.parametrize("b", ["old", "./new/../old", "old/runs.jsonl", "link"])
def test_the_same_ledger_twice_is_told(folder, b):
    (folder / "link").symlink_to(folder / "old")
    assert message(folder, "old", b).startswith(f"old and {b} are the same ledger: name each once,")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_ledger_that_may_not_be_read_is_told(folder):
    (folder / "new/runs.jsonl").chmod(0)
    assert message(folder) == "new cannot be read (Permission denied)."
