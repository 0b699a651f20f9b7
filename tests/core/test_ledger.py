import json
import os
import re

import pytest

from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import OtherNote
from trainspeed.core.run import SCHEMA


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "out")


def test_there_are_no_runs_before_the_first_and_reading_makes_no_folder(ledger):
    assert ledger.read() == ((), ())
    assert not ledger.folder.exists()


def test_runs_come_back_oldest_first(ledger):
    runs = tuple(make_run(block=block) for block in (2, 0, 1))
    for run in runs:
        ledger.append(run)
    assert ledger.read() == (runs, ())


def test_what_a_waiting_arm_used_of_a_gpu_comes_back_and_is_not_known_of_an_older_line(ledger):
    ledger.append(make_run(waiting_gpu=0.004), make_run(block=1, no_waiting_gpu="no permission to read it"))
    first, second = ledger.path.read_text().splitlines()
    older = {name: value for name, value in json.loads(first).items() if "waiting_gpu" not in name}
    ledger.path.write_text("\n".join([json.dumps(older), first, second]) + "\n")

    runs, _ = ledger.read()
    assert [(run.waiting_gpu, run.no_waiting_gpu) for run in runs] == [
        (None, None),
        (0.004, None),
        (None, "no permission to read it"),
    ]


def test_a_line_is_on_disk_when_append_returns(ledger, monkeypatch):
    """It is synced after it has left this process's buffers."""
    at_sync = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: at_sync.append(os.fstat(descriptor).st_size))
    ledger.append(make_run())
    assert at_sync == [ledger.path.stat().st_size]
    assert at_sync[0] > 100


def test_appending_leaves_what_is_there_as_it_is(ledger):
    ledger.append(make_run())
    before = ledger.path.read_bytes()
    ledger.append(make_run(block=1))
    assert ledger.path.read_bytes().startswith(before)


def test_runs_that_are_compared_are_on_disk_together_or_not_at_all(ledger, monkeypatch):
    """What ends the process between two of them would leave half a block."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor))
    runs = (make_run(), make_run(layout="channels_last"))
    ledger.append(*runs)

    assert ledger.read() == (runs, ())
    assert len(synced) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_json_number_is_refused_and_spoils_no_line(ledger, value):
    ledger.append(make_run())
    with pytest.raises(ValueError, match="JSON"):
        ledger.append(make_run(block=1, test_accuracy=value))
    ledger.append(make_run(block=2))
    runs, doubts = ledger.read()
    assert ([run.block for run in runs], doubts) == ([0, 2], ())


def test_a_text_of_several_lines_stays_on_one(ledger):
    odd = make_run(reason="größer als 8 GB\r\nzweite Zeile\u2028dritte", notes=(OtherNote(text="\x85"),))
    ledger.append(odd)
    assert ledger.path.read_bytes().count(b"\n") == 1
    assert ledger.read() == ((odd,), ())


def test_half_a_character_in_an_errors_text_costs_no_run(ledger):
    """A file name that is not UTF-8 arrives as a lone surrogate, which UTF-8 cannot encode."""
    ledger.append(make_run(status="crashed", reason="cannot open caf\udce9.png"))
    (run,), doubts = ledger.read()
    assert (run.reason, doubts) == ("cannot open caf?.png", ())


def test_after_a_cut_off_line_the_next_starts_on_a_fresh_one(ledger):
    ledger.append(make_run(block=0))
    with ledger.path.open("ab") as file:
        file.write(b'{"schema": 2, "session": "2026')
    ledger.append(make_run(block=1))
    ledger.append(make_run(block=2))

    runs, doubts = ledger.read()

    assert [run.block for run in runs] == [0, 1, 2]
    (doubt,) = doubts
    assert doubt.startswith("line 2 of runs.jsonl is cut off or damaged and was left out (DecodeError)")
    assert "RESUME=1" in doubt


def test_a_line_cut_within_a_character_is_one_doubt(ledger):
    ledger.append(make_run())
    with ledger.path.open("ab") as file:
        file.write('{"reason": "grö'.encode()[:-1])
    runs, doubts = ledger.read()
    assert (len(runs), len(doubts)) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[]",
        "7",
        '"text"',
        "{}",
        '{"schema": 2}',
        '{"schema": 2, "trial": null, "status": "ok"}',
        '{"schema": 2, "trial": "torch", "status": "ok"}',
        '{"schema": 2, "trial": {"framework": "torch"}, "status": "ok"}',
        '{"schema": 2, "session": "s", "study": "x", "block": 0, "trial": {"framework": "caffe"}, "status": "ok"}',
    ],
)
def test_a_line_that_is_no_run_is_a_doubt_and_the_others_are_kept(ledger, line):
    ledger.append(make_run())
    with ledger.path.open("a") as file:
        file.write(line + "\n")
    ledger.append(make_run(block=1))
    runs, doubts = ledger.read()
    assert ([run.block for run in runs], len(doubts)) == ([0, 1], 1)


def test_empty_lines_are_nothing(ledger):
    ledger.append(make_run())
    with ledger.path.open("a") as file:
        file.write("\n  \n")
    assert ledger.read() == ((make_run(),), ())


def test_a_line_of_another_schema_stops_the_reading_and_says_what_to_do(ledger):
    """Its fields may mean something else: skipping it would hide data, and reading it would be wrong."""
    ledger.append(make_run())
    with ledger.path.open("a") as file:
        file.write(
            json.dumps({**make_run().as_dict(), "schema": SCHEMA + 1, "trial": "of another kind"}) + "\n"
        )
    expected = (
        f"runs.jsonl line 2 has schema {SCHEMA + 1}, this Trainspeed reads schema {SCHEMA} and before: use another "
        "OUT folder"
    )
    with pytest.raises(UserError, match=re.escape(expected)):
        ledger.read()
    with pytest.raises(UserError, match=re.escape(expected)):
        ledger.read({})


# The newest session.


def sessions(ledger, *measured):
    """Append a run for each (session, study), and return them."""
    runs = [make_run(session=session, study=study, block=n) for n, (session, study) in enumerate(measured)]
    for run in runs:
        ledger.append(run)
    return runs


def test_the_newest_session_of_each_study_is_read_alone(ledger):
    """An older session may be continued after a newer one, so the last line is not always the newest."""
    runs = sessions(
        ledger, ("s1", "amp"), ("s1", "layout"), ("s3", "layout"), ("s2", "layout"), ("s3", "layout")
    )
    assert ledger.newest() == {"amp": "s1", "layout": "s3"}
    assert ledger.read(ledger.newest()) == ((runs[0], runs[2], runs[4]), ())
    assert ledger.read({"layout": "s2"}) == ((runs[3],), ())
    assert ledger.read({}) == ((), ())


def test_damaged_lines_are_told_of_whatever_is_read(ledger):
    sessions(ledger, ("s1", "amp"), ("s2", "amp"))
    whole = ledger.path.read_bytes().splitlines()[0]
    with ledger.path.open("ab") as file:
        file.write(whole[:-40] + b"\n[]\n")
    runs, doubts = ledger.read({"layout": "s2"})
    assert (runs, [doubt.split(" of ")[0] for doubt in doubts]) == ((), ["line 3", "line 4"])


def test_a_line_that_is_spaced_otherwise_counts_too(ledger):
    (run,) = sessions(ledger, ("s1", "amp"))
    line = json.loads(ledger.path.read_text())
    ledger.path.write_text(json.dumps(dict(reversed(line.items())), separators=(",", ":")) + "\n")
    assert ledger.newest() == {"amp": "s1"}
    assert ledger.read(ledger.newest()) == ((run,), ())
    assert ledger.read({"amp": "s2"}) == ((), ())


def test_runs_share_what_their_lines_repeat(ledger):
    """A ledger of 100,000 runs has one machine, and must not hold it 100,000 times."""
    sessions(ledger, ("s1", "amp"), ("s1", "amp"))
    (first, second), _ = ledger.read()
    assert first.machine is second.machine
    assert first.versions is second.versions


@pytest.mark.parametrize(("more", "shared"), [("", True), ("x" * 3000, False)])
def test_reading_again_shares_the_trials_but_keeps_no_long_text(ledger, more, shared):
    ledger.append(make_run())
    line = ledger.path.read_text().replace('"trial": {', f'"trial": {{"later": "{more}", ')
    ledger.path.write_text(line)

    (one,), _ = ledger.read()
    (two,), _ = ledger.read()

    assert one.trial == two.trial
    assert (one.trial is two.trial) == shared
