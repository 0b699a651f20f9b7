"""A ledger that somebody made up: a wrong line is named and left out, and costs no other."""

import os

import pytest

import hostile_ledger
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.frame import to_frame
from trainspeed.core.ledger import MOST_DOUBTS, Ledger, parsed, read_lines
from trainspeed.core.ledger_line import what_is_wrong
from trainspeed.core.machine_text import device_name, machine_name, machine_parts
from trainspeed.core.quantities import LINE_TYPES, PARTS
from trainspeed.core.run import LINE, SCHEMA, Run
from trainspeed.core.spans import active_spans_s
from trainspeed.judge.doubts import note_sentence
from trainspeed.judge.run_notes import run_notes
from trainspeed.show.layer_tables import layer_table
from trainspeed.show.notebook import _span
from trainspeed.show.tables import machine_table


def shown(run: Run) -> None:
    """Do with a run what reports do with each."""
    to_frame([run])
    run.round_s, run.step_s, active_spans_s(run), run.images_per_s, run.metered_s, run.waited_s
    run.trial.describe()
    machine_name(run.machine), machine_parts(run.machine), device_name(run.machine, run.trial)
    machine_table(run.machine, {"torch": run.versions}).to_html()
    list(map(note_sentence, run_notes(run)))
    if run.started_at and run.stages_s:
        _span(run)
    if run.layers:
        layer_table("model", {"channels_last": run.layers}).to_html()


def test_every_field_has_its_limits():
    """A new field of a run needs a line in `core/quantities.py`, or a type that cannot hold anything."""
    typed = {"schema", "trial", "status", "failure", "notes", "turns", "effective_precision", "gpu_memory"}
    typed |= {"compiled_anew", "tf32", "link_sums"}
    assert set(LINE) == typed | set(LINE_TYPES) | set(PARTS)


def test_a_wrong_value_in_any_field_names_the_field_or_does_no_harm(tmp_path):
    fields, lines = zip(*hostile_ledger.wrong_lines(), strict=True)
    hostile_ledger.write(tmp_path, lines)

    found = [line for _, line in parsed(read_lines(tmp_path / "runs.jsonl"))]

    assert len(found) == len(lines)
    named = {}
    for field, line in zip(fields, found, strict=True):
        if isinstance(line, Run):
            shown(line)
        else:
            named.setdefault(field, []).append(what_is_wrong(line))
    assert set(named) == set(hostile_ledger.whole_line()), "each field refuses something"
    for field, reasons in named.items():
        told = [reason for reason in reasons if field in reason or "Error" in reason]
        assert told == reasons, field


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("epoch_s", ["1.0"], "got `str` - at `$.epoch_s[0]`"),
        ("epoch_s", [-1.0], "`float` > 0.0 - at `$.epoch_s[0]`"),
        ("stages_s", {"train": -1}, "at `$.stages_s[...]`"),
        (
            "machine",
            {"gpus": [{"name": 7}]},
            "machine: Expected `str | null`, got `int` - at `$.gpus[0].name`",
        ),
        ("trial", {**make_run().trial.as_dict(), "batch_size": "8"}, "trial: Expected `int`, got `str`"),
        ("started_at", "yesterday", "started_at is no time"),
        ("monitor", ["m.csv"], "at `$.monitor`"),
    ],
)
def test_a_doubt_names_file_line_and_field(tmp_path, field, value, told):
    hostile_ledger.write(tmp_path, [hostile_ledger.whole_line(), hostile_ledger.whole_line(**{field: value})])

    runs, (doubt,) = Ledger(tmp_path).read()

    assert len(runs) == 1
    assert doubt.startswith("line 2 of runs.jsonl ") and told in doubt


def test_what_is_no_run_costs_no_other_and_hides_no_session(tmp_path):
    """A line of a newer session that cannot be read would else make the newest one empty."""
    good = hostile_ledger.whole_line()
    hostile_ledger.write(tmp_path, [good, *hostile_ledger.NO_RUNS, {**good, "block": 1}])
    ledger = Ledger(tmp_path)

    assert ledger.newest() == {"layout": good["session"]}
    runs, doubts = ledger.read()
    assert [run.block for run in runs] == [0, 1]
    assert len(doubts) == len(hostile_ledger.NO_RUNS)
    assert ledger.read(ledger.newest())[0] == runs


def test_of_many_wrong_lines_the_first_ones_are_named(tmp_path):
    hostile_ledger.write(tmp_path, [b"{"] * 1000)

    _, doubts = Ledger(tmp_path).read()

    assert len(doubts) == MOST_DOUBTS + 1 and doubts[-1] == f"{1000 - MOST_DOUBTS} more lines like these."


def test_what_a_doubt_says_of_a_line_is_short_and_cannot_steer_a_terminal(tmp_path):
    hostile_ledger.write(tmp_path, [hostile_ledger.whole_line(status="\x1b[2J\u202e" + "x" * 5000)])

    _, (doubt,) = Ledger(tmp_path).read()

    assert doubt.isprintable() and len(doubt) < 400


def test_a_schema_of_a_later_version_still_stops_the_reading(tmp_path):
    hostile_ledger.write(tmp_path, [hostile_ledger.whole_line(schema=SCHEMA + 1)])

    with pytest.raises(UserError, match=f"schema {SCHEMA + 1}"):
        Ledger(tmp_path).read()


def test_a_pipe_or_a_device_in_place_of_a_ledger_is_none(tmp_path):
    os.mkfifo(tmp_path / "runs.jsonl")
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero/runs.jsonl").symlink_to("/dev/zero")

    assert Ledger(tmp_path).read() == Ledger(tmp_path / "zero").read() == ((), ())


def test_text_of_any_kind_comes_back_as_it_is(tmp_path):
    lines = [hostile_ledger.full_of(text) for text in hostile_ledger.MARKUP]
    hostile_ledger.write(tmp_path, lines)

    runs, doubts = Ledger(tmp_path).read()

    assert [run.reason for run in runs] == list(hostile_ledger.MARKUP) and doubts == ()
    for run in runs:
        shown(run)
