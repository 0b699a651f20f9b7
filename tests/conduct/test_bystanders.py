"""Others on the GPUs of a block: looked for before its runs and when these have ended, and noted on them."""

from __future__ import annotations

import pytest

from fake_runs import BeginsRuns
from study_data import make_trial
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.schedule import schedule
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import GpuBusy, GpuMemoryHeld, GpuTakenMeanwhile
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status

UNSUPPORTED = "channels_first"
ONE_GPU = [{"layout": "channels_last"}, {"layout": "channels_last", "compile": True}]
BUSY, HELD = GpuBusy(gpu=0, load_percent=40.0), GpuMemoryHeld(gpu=0, held_bytes=2e9)


class Worker(BeginsRuns):
    """Its runs end well, or as unsupported in one layout."""

    alive, import_s, versions = True, 0.0, {"fake": "1"}

    def __init__(self, log) -> None:
        self.log = log

    def wait_until_ready(self) -> None:
        """It always is."""

    def run(self, request, timeout_s):
        self.log.append("run")
        if request.trial.layout == UNSUPPORTED:
            return RunOutcome(status=Status.UNSUPPORTED, reason="for a test")
        result = RunResult(epoch_s=(1.0, 1.0, 1.0), images_per_epoch=128)
        return RunOutcome(status=Status.OK, result=result)


@pytest.fixture
def log():
    return []


@pytest.fixture
def notes_of(tmp_path, log):
    """Measure arms in turns, or one alone, and return the notes of each line.

    Args:
        before, after: What is found on the GPUs that are looked at, before the runs and after them.
    """

    def measure(before, after, *arms, uuids=("GPU-a", "GPU-b")):
        found = iter([before, after])

        def gpus_in_use(uuids):
            log.append(tuple(uuids))
            return next(found)

        runner = Runner(
            ledger=Ledger(tmp_path),
            session="s",
            study="layout",
            device="gpu",
            machine={},
            start=lambda *_: Worker(log),
            timeout_s=9,
            gpu_uuids=uuids,
            gpus_in_use=gpus_in_use,
        )
        trials = tuple(
            make_trial(**{"dataset": "digits", "layout": "channels_last", **arm}) for arm in arms or ONE_GPU
        )
        factors = ("layout", "compile", "devices", "strategy")
        runner.measure_group(schedule([TrialSet(trials=trials, blocks=1, factors=factors)], seed=0))
        return [run.notes for run in Ledger(tmp_path).read()[0]]

    return measure


@pytest.mark.parametrize("found", [BUSY, HELD])
def test_a_gpu_that_is_in_use_after_a_block_and_was_not_before_is_noted_on_all_its_runs(notes_of, found):
    assert notes_of([], [found]) == [(GpuTakenMeanwhile(gpu=0),)] * 2


def test_a_run_alone_is_looked_after_too(notes_of, log):
    assert notes_of([], [BUSY], {}) == [(GpuTakenMeanwhile(gpu=0),)]
    assert log == [("GPU-a",), "run", ("GPU-a",)]


@pytest.mark.parametrize("found", [BUSY, HELD])
def test_who_was_there_before_is_told_as_that_and_did_not_come_meanwhile(notes_of, log, found):
    assert notes_of([found], [BUSY]) == [(found,)] * 2
    assert log == [("GPU-a",), "run", "run"], "where every GPU is in use, nobody can be new"


def test_who_is_on_the_second_gpu_of_a_later_arm_did_not_come_meanwhile(notes_of, log):
    """The first arm uses the first GPU alone."""
    stranger = GpuBusy(gpu=1, load_percent=40.0)
    both = {"devices": 2, "strategy": "ddp"}

    assert notes_of([stranger], [stranger], {}, both) == [(stranger,)] * 2
    assert log[0] == log[-1] == ("GPU-a", "GPU-b")


def test_an_arm_that_ends_at_once_does_not_make_a_stranger_a_newcomer(notes_of):
    stranger = GpuMemoryHeld(gpu=1, held_bytes=2e9)
    both = {"devices": 2, "strategy": "ddp"}

    assert notes_of([stranger], [stranger], {**both, "layout": UNSUPPORTED}, both) == [(stranger,)] * 2


def test_a_quiet_gpu_is_no_note(notes_of):
    assert notes_of([], []) == [(), ()]


def test_without_a_gpu_there_is_nobody_to_look_for(notes_of, log):
    notes_of([], [], uuids=())

    assert log == ["run", "run"]
