"""All of `make check` on a real GPU, once: each of its ten lines finds nothing wrong, and says something."""

from __future__ import annotations

import os

import pytest

from trainspeed.conduct.context import Context
from trainspeed.conduct.study import measure
from trainspeed.core.paths import ROOT
from trainspeed.core.runs import RunSet
from trainspeed.judge import (
    check_arithmetic,
    check_clocks,
    check_energy,
    check_exchange,
    check_formats,
    check_memory,
    check_time,
    check_turns,
    check_work,
)
from trainspeed.judge.checks import CheckOutcome
from trainspeed.report.parameters import read_notebook
from trainspeed.studies.check.plan import plan_check

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
# Line -> its checks.
LINES = {
    1: (check_turns.agrees_with_itself, check_turns.finds_what_was_planted),
    2: (check_time.waits_for_device,),
    3: (check_time.as_fast_as_bare_loop,),
    4: (
        check_arithmetic.strict_is_strict,
        check_arithmetic.tf32_is_tf32,
        check_formats.runs_in_16_bits,
        check_formats.runs_in_layout,
    ),
    5: (check_work.is_counted_right, check_work.is_possible),
    6: (check_memory.is_seen, check_memory.running_out_is_a_row),
    7: (check_energy.counter_agrees, check_energy.is_right_gpu),
    8: (check_clocks.is_steady, check_clocks.monitor_is_cheap),
    9: (check_exchange.is_plausible,),
    10: (check_time.agrees_with_stopwatch,),
}
OF_MEASURE = ("interval_s", "turn_s", "timeout_s")


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> RunSet:
    """Every run of the notebook, as `make check` has it."""
    usual = {name: one.default for name, one in read_notebook(ROOT / "notebooks/check.ipynb").items()}
    timing = {name: usual.pop(name) for name in OF_MEASURE}
    context = Context(id="check", out=tmp_path_factory.mktemp("check"))
    return measure("check", plan_check(**usual), context=context, **timing)


@pytest.mark.parametrize("line", LINES)
def test_the_instrument_is_right_here(checked, line):
    checks = [check for make in LINES[line] for check in make(checked)]
    assert checks
    assert [check for check in checks if check.outcome is CheckOutcome.NOT_OK] == []
