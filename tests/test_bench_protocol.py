"""The benchmark of the protocol of turns runs through, on a backend without a framework: its times are made up."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from trainspeed.core.ledger import Ledger

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"


@pytest.fixture
def protocol(monkeypatch):
    """protocol.py, whose workers are those of the made-up backend."""
    known = {*sys.modules}
    monkeypatch.syspath_prepend(BENCHMARKS)
    import protocol

    there = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    monkeypatch.setattr(protocol, "NO_GPU", {"PYTHONPATH": there})
    monkeypatch.setattr(protocol, "find_interpreter", lambda framework: sys.executable)
    monkeypatch.setitem(protocol.backends.MODULES, "torch", "fake_backend")
    yield protocol
    for name in {*sys.modules} - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


def test_effects_are_planted_block_by_block_and_gone_on_with(protocol, tmp_path):
    asked = {"repeats": 1, "planted_blocks": 2, "where": "none", "folder": tmp_path}
    told = [protocol.planted(protocol.Settings(**asked, resume=resume)) for resume in (False, True)]

    runs = Ledger(tmp_path).read()[0]
    assert Counter(run.label for run in runs) == {"plain": 2, "plain again": 2, "planted": 2}
    assert all(len(run.turns) > 1 for run in runs)
    assert told[0] == told[1]


def test_an_arm_is_measured_alone_before_and_after_it_takes_turns(protocol, tmp_path):
    protocol.alone("torch", protocol.Settings(blocks=2, where="none", folder=tmp_path))

    labels = Counter(run.label for run in Ledger(tmp_path).read()[0])
    assert labels == {"A in turns": 3, "B in turns": 3, "alone before": 2, "alone after": 2}


def test_nothing_is_written_over_a_row_on_waiting_arms_where_none_has_waited(protocol, tmp_path):
    with pytest.raises(SystemExit, match="no run of the protocol has waited yet"):
        protocol.waiting(protocol.Settings(folder=tmp_path))
