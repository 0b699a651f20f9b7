import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from trainspeed.conduct import worker_process
from trainspeed.conduct.cluster import clean, ray_node
from trainspeed.conduct.cluster.clean import clean_process
from trainspeed.conduct.cluster.node import Refused
from trainspeed.conduct.context import TWINS_VARIABLE

BEGUN_BY_AN_ENGINE = """
import os, signal
os.nice = lambda step: 0  # the priority of these tests is the business of who runs them
from pathlib import Path
from trainspeed.conduct.cluster.clean import clean_process
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
Path("/proc/self/oom_score_adj").write_text("1000")
clean_process()
print(sorted(name for name in os.environ if name.startswith(("RAY_", "OMP_"))))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), Path("/proc/self/oom_score_adj").read_text().strip())
"""


def test_what_an_engine_hands_down_is_taken_away():
    """In a process of its own: variables, the blocked Ctrl-C, the mark for the memory killer."""
    handed = {"RAY_JOB_ID": "1", "RAY_AUTH_TOKEN_PATH": "/t", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", BEGUN_BY_AN_ENGINE],
        env={**os.environ, **handed},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["['RAY_AUTH_TOKEN_PATH']", "set() 0"], done.stderr


def test_a_users_own_number_of_threads_is_that_of_the_runs(monkeypatch):
    """The engine sets one core's; what was set for `make node` comes back, and its keeper is gone."""
    monkeypatch.setattr(clean.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(clean.os, "nice", lambda step: 0)
    monkeypatch.setattr(clean, "_check_gpus_visible", lambda: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    begun = ray_node._environment({})
    for name, text in {**begun, "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, text)
    clean_process()
    assert {name: text for name, text in os.environ.items() if "OMP_NUM_THREADS" in name} == {
        "OMP_NUM_THREADS": "4"
    }


def test_a_low_priority_is_refused(monkeypatch):
    monkeypatch.setattr(clean.os, "nice", lambda step: 15)
    monkeypatch.setattr(clean.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with pytest.raises(Refused, match=r"nice 15.*make node"):
        clean_process()


@pytest.mark.parametrize(
    ("visible", "device", "gpus", "refused"),
    [
        ("", None, ["GPU-1"], True),
        ("", "cpu", ["GPU-1"], False),
        ("0", None, ["GPU-1"], False),
        ("", None, [], False),
    ],
)
def test_gpus_that_are_there_and_hidden_are_refused(monkeypatch, visible, device, gpus, refused):
    monkeypatch.setattr(clean, "open_nvml", lambda: SimpleNamespace(gpus=gpus, close=lambda: None))
    monkeypatch.setattr(clean.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(clean.os, "nice", lambda step: 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # taken away, and put back afterwards
    monkeypatch.setenv(clean.DEVICE_VARIABLE, device or "")
    if refused:
        with pytest.raises(Refused, match=r"has GPUs, and CUDA_VISIBLE_DEVICES is empty"):
            clean_process()
    else:
        clean_process()
        assert "OMP_NUM_THREADS" not in os.environ


def test_a_run_learns_nothing_of_other_machines(monkeypatch):
    """Neither a token nor an address: a user's own model runs there."""
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/t")
    monkeypatch.setenv(TWINS_VARIABLE, '{"address": "10.0.0.5:6379"}')
    monkeypatch.setenv("TRAINSPEED_DEVICE", "cpu")
    environment = worker_process._environment({})
    assert not [name for name in environment if name.startswith("RAY_")]
    assert "10.0.0.5" not in str(environment)
    assert environment["TRAINSPEED_DEVICE"] == "cpu"
