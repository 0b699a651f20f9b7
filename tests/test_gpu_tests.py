"""What only a GPU can prove is collected: a test for each line of `make check`, and each is marked."""

from __future__ import annotations

import subprocess
import sys

from trainspeed.core.paths import ROOT
from trainspeed.judge import check_list

ADDOPTS = "addopts=-q --strict-markers --import-mode=importlib"  # one -q: names, no counts
COLLECT = ("-m", "pytest", "--collect-only", "-o", ADDOPTS, "-p", "no:cacheprovider", "tests/gpu")
LINES = 10


def collected(*more):
    """Return the tests of the folder for GPUs, as pytest names them."""
    done = subprocess.run(
        [sys.executable, *COLLECT, *more], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_each_line_of_the_check_is_collected_and_every_test_is_marked():
    every = collected()
    lines = [f"tests/gpu/test_check.py::test_the_instrument_is_right_here[{n + 1}]" for n in range(LINES)]
    assert [name for name in every if name.startswith("tests/gpu/test_check.py")] == lines
    assert collected("-m", "gpu") == every


def test_each_line_has_checks_and_no_check_is_in_two():
    every = [check for checks in check_list.LINES.values() for check in checks]
    assert sorted(check_list.LINES) == list(range(1, LINES + 1)) and all(check_list.LINES.values())
    assert len(set(every)) == len(every)
