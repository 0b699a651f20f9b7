"""Runs without a result in a line: of those that should have one."""

from study_data import make_run
from trainspeed.core.no_result import failures_in_short
from trainspeed.core.probe import FULL, Probe
from trainspeed.core.run import Run, Status


def probe(name, status):
    trial = Probe(framework="torch", name=name)
    return Run(session="s", study="check", trial=trial, block=0, status=status, reason="no memory")


def test_a_probe_that_runs_out_of_memory_as_it_is_to_is_no_failure():
    assert failures_in_short([make_run(), probe(FULL, Status.OOM)]) is None


def test_another_probe_or_another_end_is_one():
    for failed in (probe("epoch", Status.OOM), probe(FULL, Status.CRASHED)):
        assert failures_in_short([make_run(), failed]).startswith("1 of 2 runs gave no result: ")
