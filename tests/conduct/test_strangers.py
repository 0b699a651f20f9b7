"""Others that begin to use a GPU while runs are measured: looked for when these have ended, and noted on them."""

from __future__ import annotations

import pytest

from fake_runs import BeginsRuns
from study_data import make_trial
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet, schedule
from trainspeed.conduct.runner import Runner
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import GpuBusy, GpuMemoryHeld, GpuTakenMeanwhile
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status

BUSY, HELD = GpuBusy(gpu=0, load_percent=40.0), GpuMemoryHeld(gpu=0, held_bytes=2e9)


class Worker(BeginsRuns):
    """Its runs end well, with notes of what was there before them; only one run may be alive when it is asked."""

    alive, import_s, versions = True, 0.0, {"fake": "1"}

    def __init__(self, notes) -> None:
        self.notes = notes

    def wait_until_ready(self) -> None:
        """It always is."""

    def run(self, request, timeout_s):
        notes = self.notes if request.first else ()
        result = RunResult(epoch_s=(1.0, 1.0, 1.0), images_per_epoch=128, notes=notes)
        return RunOutcome(status=Status.OK, result=result)


@pytest.fixture
def notes_of(tmp_path):
    """Measure two arms in turns, or one, and return the notes of each line."""

    def measure(
        after, before=(), *, layouts=("channels_first", "channels_last"), uuids=("GPU-a", "GPU-b"), asked=None
    ):
        def strangers(uuids):
            (asked if asked is not None else []).append(tuple(uuids))
            return after

        runner = Runner(
            ledger=Ledger(tmp_path),
            session="s",
            study="layout",
            device="gpu",
            machine={},
            start=lambda framework: Worker(before),
            timeout_s=9,
            gpu_uuids=uuids,
            strangers=strangers,
        )
        trials = tuple(make_trial(layout=layout, dataset="digits") for layout in layouts)
        runner.measure_group(schedule([TrialSet(trials=trials, blocks=1, factors=("layout",))], seed=0))
        return [run.notes for run in Ledger(tmp_path).read()[0]]

    return measure


@pytest.mark.parametrize("after", [BUSY, HELD])
def test_a_gpu_that_is_in_use_after_a_block_and_was_not_before_is_noted_on_all_its_runs(notes_of, after):
    assert notes_of([after]) == [(GpuTakenMeanwhile(gpu=0),)] * 2


def test_a_run_alone_is_looked_after_too(notes_of):
    assert notes_of([BUSY], layouts=("channels_last",)) == [(GpuTakenMeanwhile(gpu=0),)]


@pytest.mark.parametrize("before", [BUSY, HELD])
def test_who_was_there_before_did_not_come_meanwhile(notes_of, before):
    assert sorted(notes_of([BUSY], (before,)), key=len) == [(), (before,)]


def test_a_quiet_gpu_is_no_note(notes_of):
    assert notes_of([]) == [(), ()]


def test_only_the_gpus_in_use_are_looked_at(notes_of):
    """A trial on one device uses the first; without a GPU there is nobody to look for."""
    asked = []
    notes_of([], asked=asked)
    notes_of([], uuids=(), asked=asked)

    assert asked == [("GPU-a",)]
