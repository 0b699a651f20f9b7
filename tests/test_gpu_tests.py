"""What only a GPU can prove is collected: a test for each line of `make check` and each finding, all marked."""

from __future__ import annotations

import functools
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
# What a close reading found wrong on GPUs -> the test on a GPU that would find it again; or why there is none.
NO_GPU = "no matter of a GPU"
FINDINGS = {
    "strict fp32 was taken for what a plain script has": "test_precision.py::test_the_error_of_products",
    "standard took ten hours": NO_GPU,  # it is planned: tests/report/test_plan_of_gpus.py
    "the layout of the module was told for that of the compiled one": "test_what_ran.py::test_inductor_says",
    "a cache of compiled programs went from run to run": "test_runs.py::test_the_first_epoch_of_a_second_run",
    "the devices were named in another order than used": "test_devices.py::test_the_uuid_that_a_run_is_given",
    "on the CPU of a machine with a GPU runs crashed": "test_devices.py::test_a_framework_trains_on_the_device",
    "what failed after the epochs took them with it": "test_runs.py::test_a_look_that_aborts",
    "a rank that failed alone hung until the timeout": "test_ranks.py::test_a_rank_that_fails_ends_the_run",
    "energy was that of the first epoch, too": "test_meter.py::test_the_energy_of_a_busy_span",
    "memory that was taken was less that of the run before": "test_meter.py::test_memory_that_is_taken",
    "a late end gave results to other trials": NO_GPU,  # of processes: tests/conduct
    "a GPU that is held down was not doubted": "test_meter.py::test_the_clock_of_a_busy_gpu",
    "nobody asked whether arms that wait leave the GPU alone": "test_waiting.py::test_an_arm_that_waits",
    "a resumed block was of two machines": NO_GPU,  # of the ledger: tests/conduct
    "a compiler refused switches for TF32": "test_runs.py::test_a_compiler_takes_the_switches",
    "a library's kernels were known in PyTorch alone": "test_precision.py::test_the_kernels_that_multiply",
}


@functools.cache
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


def test_each_finding_has_a_test_that_is_collected_or_is_no_matter_of_a_gpu():
    names = [name.removeprefix("tests/gpu/") for name in collected()]
    wanted = [test for test in FINDINGS.values() if test != NO_GPU]
    assert [test for test in wanted if not any(name.startswith(test) for name in names)] == []
    assert list(FINDINGS.values()).count(NO_GPU) == 3


def test_each_line_has_checks_and_no_check_is_in_two():
    every = [check for checks in check_list.LINES.values() for check in checks]
    assert sorted(check_list.LINES) == list(range(1, LINES + 1)) and all(check_list.LINES.values())
    assert len(set(every)) == len(every)
