"""All of `make check` on a real GPU, once: each of its ten lines finds nothing wrong, and says something."""

from __future__ import annotations

import os

import pytest

from trainspeed.conduct.context import Context
from trainspeed.conduct.study import measure
from trainspeed.core.paths import ROOT
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_list import LINES
from trainspeed.judge.checks import CheckOutcome
from trainspeed.report.parameters import read_notebook
from trainspeed.studies.check.plan import plan_check

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
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
