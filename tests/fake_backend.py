"""A backend without a framework. `Trial.weights` says how it behaves: see BEHAVIOURS and AFTERWARDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from trainspeed.core.result import EffectivePrecision, Inspection, Seen
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.timing import Another


def _hang() -> None:
    while True:
        time.sleep(60)


def _hang_with_grandchild() -> None:
    """A process that the run starts itself, as a data loader's workers are; its pid goes to a file."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["FAKE_PID_FILE"]).write_text(f"{os.getpid()} {child.pid}")
    _hang()


def _hang_with_daemons() -> None:
    """Two processes in sessions of their own, deaf to SIGTERM; one of them has lost its parent."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    start = [sys.executable, "-c", deaf]
    subprocess.Popen(start, start_new_session=True)
    daemon = f"import subprocess; subprocess.Popen({start!r}, start_new_session=True)"
    subprocess.run([sys.executable, "-c", daemon], check=True)
    Path(os.environ["FAKE_PID_FILE"]).write_text(str(os.getpid()))
    _hang()


def _out_of_memory() -> None:
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def _abort() -> None:
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def _unsupported() -> None:
    raise Unsupported("this device has no such arithmetic")


def _bug() -> None:
    raise KeyError("a bug in a framework")


def _busy_device() -> None:
    raise RuntimeError("CUDA error: CUDA-capable device(s) is/are busy or unavailable")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _memory() -> None:
    hold = bytearray(3 * 10**9)
    hold[::4096] = b"x" * len(hold[::4096])


def _compile() -> None:
    """As Inductor does: into the folder that the variable names; what was there before is written down behind it."""
    folder = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    found = sorted(path.name for path in folder.rglob("*.*"))
    for name in ("ab/kernel.so", "ab/kernel.best_config"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(b"\0")
    with open(os.environ["FAKE_COMPILED_FILE"], "a") as file:
        print(folder, *found, sep="\t", file=file)


def _compile_and_hang() -> None:
    _compile()
    _hang()


def _compile_and_die() -> None:
    _compile()
    _die()


def _compile_and_fail() -> None:
    _compile()
    _out_of_memory()


BEHAVIOURS = {
    "compile": _compile,
    "compile and hang": _compile_and_hang,
    "compile and die": _compile_and_die,
    "compile and fail": _compile_and_fail,
    "hang": _hang,
    "hang with grandchild": _hang_with_grandchild,
    "hang with daemons": _hang_with_daemons,
    "out of memory": _out_of_memory,
    "abort": _abort,
    "unsupported": _unsupported,
    "bug": _bug,
    "busy device": _busy_device,
    "die": _die,
    "3 GB": _memory,
}


def _exit_late() -> None:
    """As where a driver takes long to let go of a device's memory: the process sends its result, and stays."""
    os._exit = lambda code: _hang()


# What a run does when it is asked for its test accuracy, or inspected: "bug inspecting", and so on.
AFTERWARDS = {
    "bug": _bug,
    "die": _die,
    "hang": _hang,
    "out of memory": _out_of_memory,
    "exit late": _exit_late,
}


class FakeTraining:
    """Epochs that take a made-up time: 1 s the first, then 0.1 s; channels_last takes half."""

    repeats = 1
    link_sums = ()
    tf32 = ()
    notes = ()

    def __init__(self, trial) -> None:
        self.trial = trial

    @property
    def final_loss(self) -> float:
        return float("nan") if self.trial.weights == "nan" else 0.5

    def train(self, another: Another) -> tuple[float, ...]:
        factor = 0.5 if self.trial.layout == "channels_last" else 1.0
        epoch_s = [1.0]
        while another(epoch_s):
            epoch_s.append(0.1 * factor)
        return tuple(epoch_s)

    def _afterwards(self, stage: str) -> None:
        behaviour, _, when = (self.trial.weights or "").rpartition(" ")
        if when == stage:
            AFTERWARDS[behaviour]()

    def test_accuracy(self) -> float:
        self._afterwards("evaluating")
        return 0.9

    def peak_memory_bytes(self) -> int | None:
        return 123

    def skipped_steps(self) -> int | None:
        return None

    def in_effect(self) -> dict[str, Seen]:
        return {name: (value, "made up") for name, value in self.trial.levers}

    def inspect(self) -> Inspection:
        self._afterwards("inspecting")
        return Inspection(
            effective_layout={self.trial.layout: 2},
            effective_precision=EffectivePrecision(dtypes={"float32": 2}),
            layers=(),
            parameters=1000,
        )


class FakeBackend:
    def versions(self) -> dict[str, str]:
        return {"fake": "1.0"}

    def prepare(self, trial) -> None:
        behaviour, _, when = (trial.weights or "").rpartition(" ")
        if when == "preparing":
            BEHAVIOURS[behaviour]()

    def start(self, trial, images, *, device: str, default_allocation: bool, gang=None) -> FakeTraining:
        if trial.weights in BEHAVIOURS:
            BEHAVIOURS[trial.weights]()
        return FakeTraining(trial)


BACKEND = FakeBackend()
