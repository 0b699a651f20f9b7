"""Ray itself: a head that measures nothing and two nodes on this machine, in one process of their own."""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

from trainspeed.core.paths import ROOT

pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    probe = ROOT / "tests/probes/ray_probe.py"
    own = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="r") as folder:  # its sockets need short paths
        command = [sys.executable, str(probe), folder]
        done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    *before, last = done.stdout.splitlines()
    return {**json.loads(last), "printed": before}


def test_nodes_have_the_machines_name_and_a_number_after_those_that_were_given(found):
    assert found["names"] == found["told"] == ["box-3", "box-4"]
    assert {"machine", "code"} <= set(found["facts"])


def test_a_run_is_handed_down_nothing_of_ray(found):
    """Its priority, the memory killer's mark, signals and variables are those of a report without a fleet."""
    assert found["runs"]
    for run in found["runs"]:
        assert run["nice"] == 0
        assert run["oom_score_adj"] == 0
        assert not run["blocked"] & 1 << 1, "Ctrl-C (signal 2) is blocked"
        assert not [name for name in run["variables"] if name.startswith("RAY_") or name == "OMP_NUM_THREADS"]
        assert "TRAINSPEED_TWINS" not in run["variables"] and not run["token_told"]


def test_what_cannot_be_had_is_told_in_one_line_each(found):
    taken, unknown, too_many = found["refused"]
    assert taken == "2 of 2 nodes of 'box' cannot be had: another fleet measures there, wait for its end."
    assert unknown == "unknown machine in fleet.yaml 'bok': did you mean 'box'? Known: box."
    assert too_many.startswith("fleet.yaml asks for 3 nodes of 'box', and 2 came")


def test_a_node_that_is_gone_as_it_measures_is_lost_and_the_other_one_ends_its_block(found):
    assert found["after"] == [["ok"], "lost"]


def test_a_lost_node_writes_nothing_of_ray_to_the_terminal(found):
    assert found["printed"] == []


def test_nodes_that_are_renewed_have_ended_what_they_did_and_answer(found):
    assert (found["renewed"], found["still_run"], found["answer"]) == ([True], 0, [1])


def test_no_address_is_in_what_a_node_says(found):
    assert not re.search(
        r"\d+\.\d+\.\d+\.\d+", json.dumps([found["lines"], found["refused"], found["facts"]])
    )
