"""Which ledgers are meant, and every way in which one may be none."""

import json
import os

import pytest

from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import SCHEMA
from trainspeed.studies.across.sides import LEDGER_VARIABLES, difference_sentences, read_sides


@pytest.fixture
def folder(tmp_path):
    """Two folders of runs, old and new."""
    for name in ("old", "new"):
        for block in range(2):
            Ledger(tmp_path / name).append(make_run(1.0, block=block))
    return tmp_path


def read(folder, a="old", b="new", environment=None):
    return read_sides(a, b, seen_from=folder, environment=environment or {})


def message(*arguments, **more):
    with pytest.raises(UserError) as problem:
        read(*arguments, **more)
    assert "\n" not in str(problem.value)
    return str(problem.value)


def test_a_side_is_a_folder_or_the_ledger_in_it(folder):
    for a in ("old", "old/", "old/runs.jsonl", str(folder / "old")):
        sides = read(folder, a)
        assert [side.letter for side in sides] == ["A", "B"]
        assert [side.name for side in sides] == ["old", "new"]
        assert [len(side.runs) for side in sides] == [2, 2]


def test_a_ledger_of_another_name_goes_by_that_name(folder):
    (folder / "old/runs.jsonl").rename(folder / "h200.jsonl")
    assert read(folder, "h200.jsonl")[0].name == "h200"


def test_a_folder_is_named_also_where_it_is_said_by_dots(folder):
    assert read(folder / "old", ".", "../new")[0].name == "old"


def test_sides_of_the_same_name_are_told_apart_by_their_letters(folder):
    (folder / "deeper").mkdir()
    (folder / "new").rename(folder / "deeper/old")
    assert [side.name for side in read(folder, "old", "deeper/old")] == ["A", "B"]


def test_the_environment_says_where_ledgers_are_that_have_only_a_name(folder):
    """So that no path of a machine stands in a notebook."""
    environment = {
        LEDGER_VARIABLES["A"]: str(folder / "old"),
        LEDGER_VARIABLES["B"]: str(folder / "new/runs.jsonl"),
    }
    sides = read_sides("shown", "too", environment=environment)
    assert [side.name for side in sides] == ["old", "new"]


def test_a_damaged_line_is_left_out_with_a_doubt(folder):
    with (folder / "old/runs.jsonl").open("a") as file:
        file.write('{"schema": 1, "sess')
    side = read(folder)[0]
    assert len(side.runs) == 2
    assert side.doubts == (
        "Line 3 of A is cut off, damaged or of another version, and was left out (DecodeError).",
    )


# Mistakes: one line each.


@pytest.mark.parametrize(("a", "b", "letter"), [("", "new", "A"), ("old", "  ", "B"), ("", "", "A")])
def test_a_missing_side_is_told_with_an_example(folder, a, b, letter):
    said = message(folder, a, b)
    assert said.startswith(f"{letter} is missing: name a folder with runs, or a ledger: `make compare A=")


def test_what_does_not_exist_is_told_by_its_name(folder):
    assert message(folder, "odl") == "A (=odl) does not exist: name a folder with runs, or a ledger."


def test_a_folder_without_a_ledger_is_told(folder):
    (folder / "empty").mkdir()
    said = message(folder, "old", "empty")
    assert said.startswith("B (=empty) is a folder without a ledger: there is no runs.jsonl in it.")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\x00\x01\n", '{"a": 1}\n', "[1, 2]\n3\n"])
def test_a_file_that_is_no_ledger_is_told(folder, text):
    (folder / "table.csv").write_text(text)
    said = message(folder, "table.csv")
    assert said.startswith("A (=table.csv) is not a ledger: none of its")


def test_an_empty_ledger_is_told(folder):
    (folder / "new/runs.jsonl").write_text("\n")
    assert message(folder) == "B (=new) holds no runs: measure with `make report` first."


def test_a_ledger_of_another_schema_is_told_and_none_of_its_runs_used(folder):
    line = json.loads((folder / "new/runs.jsonl").read_text().splitlines()[0])
    with (folder / "new/runs.jsonl").open("a") as file:
        file.write(json.dumps({**line, "schema": SCHEMA + 1, "trial": "of another kind"}) + "\n")
    said = message(folder)
    newer = (
        f"B (=new) has schema {SCHEMA + 1} in line 3, and this Trainspeed reads schema {SCHEMA} and before:"
    )
    assert said.startswith(newer)


@pytest.mark.parametrize("b", ["old", "./new/../old", "old/runs.jsonl", "link"])
def test_the_same_ledger_twice_is_told(folder, b):
    (folder / "link").symlink_to(folder / "old")
    assert message(folder, "old", b).startswith(f"A (=old) and B (={b}) are the same ledger: name two,")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_ledger_that_may_not_be_read_is_told(folder):
    (folder / "new/runs.jsonl").chmod(0)
    assert message(folder) == "B (=new) cannot be read (Permission denied)."


def test_a_default_precision_that_is_another_on_each_side_is_told():
    """The same trial multiplies in TF32 on one machine and in 32 bits on the other."""
    a, b = make_run(tf32=()), make_run(tf32=("convolutions",), session="20261121T100000Z-abcd")

    assert difference_sentences([a], [b]) == [
        "PyTorch: default precision: 32 bits, no TF32 in A, 32 bits, TF32 allowed in convolutions in B."
    ]
