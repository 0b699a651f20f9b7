"""The benchmark of the protocol of turns runs through, on a backend without a framework: its times are made up."""

import os
import sys
from pathlib import Path

import pytest

from trainspeed.core.ledger import Ledger

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"


@pytest.fixture
def protocol(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import protocol

    there = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    monkeypatch.setattr(protocol, "NO_GPU", {"PYTHONPATH": there})
    monkeypatch.setattr(protocol, "find_interpreter", lambda framework: sys.executable)
    monkeypatch.setitem(protocol.backends.MODULES, "torch", "fake_backend")
    return protocol


def test_it_measures_what_it_is_asked_for_and_goes_on_with_it(protocol, tmp_path):
    asked = {"blocks": 2, "repeats": 1, "planted_blocks": 2, "where": "none", "folder": tmp_path}
    parts = protocol.parts(protocol.Settings(**asked))

    parts["protocol planted"]()
    measured = len(Ledger(tmp_path).read()[0])
    protocol.parts(protocol.Settings(**asked, resume=True))["protocol planted"]()

    assert measured == len(Ledger(tmp_path).read()[0]) == 6
    for name in ("scatter", "alone"):
        parts[f"protocol {name} torch"]()
    told = {run.study: (run.label, len(run.turns) > 1) for run in Ledger(tmp_path).read()[0]}
    print(told)
