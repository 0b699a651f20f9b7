"""What a line of the ledger may hold: nothing private, and nothing that could not be read again."""

from __future__ import annotations

import re

import pytest

from fake_runner import TRIALS, FakeWorker, measure_all, runner
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import NotInspected
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status


@pytest.fixture
def log():
    return []


def test_a_reason_in_the_ledger_names_no_user_no_machine_and_no_folder(tmp_path, log, monkeypatch):
    """A ledger is shared, and libraries put paths into what they say."""
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-17")
    monkeypatch.setenv("HOME", "/home/adalovelace")
    monkeypatch.setenv("LOGNAME", "adalovelace")
    message = f"no /home/adalovelace/weights.h5 on gpu-17, see {tmp_path}/monitor"
    note = NotInspected(error="OSError", message=f"adalovelace: {message}")
    crash = RunOutcome(status=Status.CRASHED, reason=message, result=RunResult(notes=(note,)))

    (run,) = measure_all(
        runner(tmp_path, log, lambda name: FakeWorker(log, name, [crash])),
        TrialSet(trials=TRIALS[:1], blocks=1),
    )

    cleaned = f"no ~/weights.h5 on host, see {tmp_path.name}/monitor"
    assert (run.reason, run.notes) == (cleaned, (NotInspected(error="OSError", message=f"user: {cleaned}"),))
    assert "adalovelace" not in (tmp_path / "runs.jsonl").read_text()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"skipped_steps": -4}, r"Expected `int` >= 0 - at `\$.skipped_steps`"),
        ({"energy_j": float("nan")}, "not JSON compliant"),
    ],
)
def test_what_cannot_be_kept_is_a_row_that_says_so_and_no_end(tmp_path, log, wrong, why):
    """Such a line would be left out by whoever reads the ledger, without a word on its page."""
    odd = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(1.0, 1.0, 1.0), **wrong))
    start = lambda name: FakeWorker(log, name, [odd])  # noqa: E731
    runs = measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS[:1], blocks=2))

    assert Ledger(tmp_path).read() == (tuple(runs), ())
    assert [run.status for run in runs] == [Status.CRASHED, Status.OK]
    assert re.search(f"^what it measured cannot be kept: .*{why}", runs[0].reason)


def test_how_a_lever_was_seen_names_no_folder_of_the_user(tmp_path, log, monkeypatch):
    monkeypatch.setenv("HOME", "/home/adalovelace")
    seen = {"allocator": ("glibc", "OSError: /home/adalovelace/libjemalloc.so.2")}
    kept = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(1.0, 1.0, 1.0), in_effect=seen))
    start = lambda name: FakeWorker(log, name, [kept])  # noqa: E731
    (run,) = measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS[:1], blocks=1))

    assert run.in_effect == {"allocator": ("glibc", "OSError: ~/libjemalloc.so.2")}
