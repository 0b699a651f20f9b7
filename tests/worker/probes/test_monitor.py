"""What the monitor costs: by a made-up clock of CPU time, and where it costs too much."""

from __future__ import annotations

import re

import pytest

from fake_nvml import FakeGpu, FakeNvml, install
from trainspeed.core.paths import ROOT
from trainspeed.core.probe import WITHOUT_FRAMEWORK, Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_clocks import monitor_is_cheap
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.probes import Surroundings, run_probe
from trainspeed.worker.probes.monitor import INTERVAL_S, SAMPLES, measure_monitor


def judged(values):
    trial = Probe(framework="torch", name="monitor")
    (check,) = monitor_is_cheap(
        RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
    )
    assert check.framework is None
    return check.outcome


@pytest.mark.parametrize(
    ("question_s", "outcome"), [(0.001, CheckOutcome.OK), (0.02, CheckOutcome.NOT_OK)], ids=["cheap", "dear"]
)
def test_the_time_that_a_driver_takes_is_counted(monkeypatch, fake_clock, question_s, outcome):
    def answer():
        fake_clock.advance(question_s)
        return 100_000

    install(monkeypatch, FakeNvml(FakeGpu(nvmlDeviceGetPowerUsage=answer)))
    where = Surroundings(backend=None, device="gpu", gpu_uuids=("GPU-aaaa-1",))

    values = measure_monitor(where, fake_clock)

    assert values["sample_cpu_s"] == pytest.approx((question_s,) * SAMPLES)
    assert judged(values) is outcome


def test_it_runs_in_the_worker_of_any_framework():
    probe = Probe(framework="jax", name="monitor")
    assert "monitor" in WITHOUT_FRAMEWORK
    assert len(run_probe(probe, None, "cpu")["sample_cpu_s"]) == SAMPLES


def test_the_interval_is_that_of_the_notebooks():
    told = [
        found
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        for found in re.findall(r"interval_s: float = ([\d.]+)", path.read_text())
    ]
    assert told and {float(seconds) for seconds in told} == {INTERVAL_S}
