"""What only a GPU can prove is collected: a test for each line of `make check`, and each is marked."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from trainspeed.core.paths import ROOT
from trainspeed.judge import check_list

COLLECT = """
import json, pytest

class Told:
    def pytest_collection_finish(self, session):
        marked = {item.nodeid: item.get_closest_marker("gpu") is not None for item in session.items}
        print("COLLECTED", json.dumps(marked))

pytest.main(["--collect-only", "-s", "-p", "no:cacheprovider", "tests/gpu"], plugins=[Told()])
"""
LINES = 10


def collected():
    """Return test of the folder for GPUs, as pytest names it -> whether it has their mark."""
    command = [sys.executable, "-c", COLLECT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(re.search("^COLLECTED (.*)", done.stdout, re.MULTILINE)[1])


def test_each_line_of_the_check_is_collected_and_every_test_is_marked():
    every = collected()
    lines = [f"tests/gpu/test_check.py::test_the_instrument_is_right_here[{n + 1}]" for n in range(LINES)]
    assert [name for name in every if name.startswith("tests/gpu/test_check.py")] == lines
    assert all(every.values())


def test_each_line_has_checks_and_no_check_is_in_two():
    every = [check for checks in check_list.LINES.values() for check in checks]
    assert sorted(check_list.LINES) == list(range(1, LINES + 1)) and all(check_list.LINES.values())
    assert len(set(every)) == len(every)
