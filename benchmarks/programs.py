"""Programs that train side by side, of which only one runs at any time: the others are stopped.

A machine's speed drifts by 10 to 20 % within minutes. Turns of some seconds see the same drift, whole
processes one after another do not. Knows how to start, stop and resume; what is compared is `cases`'.
"""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from statistics import median
from types import MappingProxyType

import psutil

import turns
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.paths import ROOT

START_EPOCHS = 6  # of a bare script before its first pause
MAX_EPOCHS = 10_000  # of a bare script, which is ended when it is not needed any more
START_TIMEOUT_S = 600.0
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}  # one core against one core, wherever it runs


class Program:
    """Processes that are stopped and resumed together.

    Attributes:
        tree: All of them, once it trains.
        on_s: How long each turn was; the first one is the start, from its first epoch on.
        began: When its first epoch began, by `time.monotonic`.
    """

    def __init__(self) -> None:
        self.tree: list[psutil.Process] = []
        self.on_s: list[float] = []
        self.began = 0.0

    def start(self, pace: turns.Pace | None) -> turns.Pace:
        """Start it, wait until it trains, and stop it."""
        raise NotImplementedError

    def turn(self, seconds: float) -> bool:
        """Let it run for so long; return whether it is still training."""
        self.began = time.monotonic()
        for process in self.tree:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        going = self.wait(seconds)
        self.pause()
        return going

    def pause(self) -> None:
        """Stop every process; what `turn` began ends here."""
        for process in self.tree:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        self.on_s.append(time.monotonic() - self.began)

    def wait(self, seconds: float) -> bool:
        """Wait while it trains; return False as soon as it has ended."""
        raise NotImplementedError

    def finish(self) -> Sequence[float]:
        """End it and return the seconds of every epoch."""
        raise NotImplementedError

    def close(self) -> None:
        """Kill what is left of it."""
        for process in self.tree:
            with suppress(psutil.NoSuchProcess):
                process.kill()


class Bare(Program):
    """A script that prints the seconds of each epoch, a line each.

    Args:
        work: Images of a batch, images of an epoch, height and width of an image.
        launcher: Arguments of the interpreter before the script.
        extras: Further arguments of the script.
        environment: Further variables.
    """

    def __init__(
        self,
        framework: str,
        script: str,
        work: Sequence[int],
        launcher: Sequence[str] = (),
        extras: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        batch, images, size = work
        numbers = [str(n) for n in (batch, images, MAX_EPOCHS, size)]
        self._command = [find_interpreter(framework), *launcher, script, *numbers, *extras]
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def like(self) -> Bare:
        """Return the same program, not started."""
        other = copy.copy(self)
        other.tree, other.on_s = [], []
        return other

    def start(self, pace: turns.Pace | None) -> turns.Pace:
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        environment = {**os.environ, **NO_GPU, "PYTHONPATH": str(ROOT / "lib"), **self._environment}
        self._process = subprocess.Popen(
            self._command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            start_new_session=True,  # as the worker: Linux shares a busy core out by session
        )
        self._wait_for(1)
        self.began = time.monotonic() - self.epoch_s()[0]
        self._wait_for(1 + START_EPOCHS)
        process = psutil.Process(self._process.pid)
        self.tree = [process, *process.children(recursive=True)]
        self.pause()
        return pace or turns.Pace(epoch_s=median(self.epoch_s()[1:]))

    def _wait_for(self, epochs: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while len(self.epoch_s()) < epochs:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._errors.seek(0)
                words = self._errors.read().decode(errors="replace").strip().splitlines()
                raise SystemExit(f"bench: {self._command} did not train: {words[-1] if words else '?'}")
            time.sleep(0.02)

    def epoch_s(self) -> list[float]:
        """Return the epochs printed so far."""
        text = os.pread(self._output.fileno(), 1 << 20, 0).decode()
        return [float(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._process.poll() is None

    def finish(self) -> Sequence[float]:
        found = self.epoch_s()
        self.close()
        return found

    def close(self) -> None:
        super().close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Monitored(Bare):
    """A bare script with the monitor beside it, which runs and is stopped together with it.

    Attributes:
        cpu_s: CPU seconds of the monitor in all turns but the start, once it is finished.
    """

    def start(self, pace: turns.Pace | None) -> turns.Pace:
        pace = super().start(pace)
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "trainspeed.monitor", "--interval", "1"]
        monitor = subprocess.Popen([*command, "--out", f"{self._folder.name}/monitor.csv"])
        self._monitor = psutil.Process(monitor.pid)
        time.sleep(3)  # past its imports
        self._monitor.suspend()
        self._before_s = sum(self._monitor.cpu_times()[:2])
        self.tree.append(self._monitor)
        return pace

    def finish(self) -> Sequence[float]:
        self.cpu_s = sum(self._monitor.cpu_times()[:2]) - self._before_s
        return super().finish()

    def close(self) -> None:
        super().close()
        if self._process is not None and self.tree:
            self._folder.cleanup()


def take_turns(
    programs: Mapping[str, Program],
    *,
    rounds: int,
    seed: int,
    turn_s: float = turns.TURN_S,
    turn_epochs: int = turns.TURN_EPOCHS,
) -> dict[str, list]:
    """Return each program's epoch in each round, in seconds; None in a turn with too few.

    They start one after another, each alone until it trains, in an order that is drawn, and none is the first: that one
    was 0.6 to 2.4 % slower than the same script started second, in each of five comparisons of levers. It ends after so
    many rounds, or when one of them has trained all its epochs.

    Args:
        programs: The first one is a `Bare`: one like it starts before all and has no turns; the turns' length and the
            programs' epochs are chosen by its pace.
        turn_s, turn_epochs: Of a turn, at least.
    """
    with ExitStack() as stack:
        pacer = next(iter(programs.values())).like()
        stack.callback(pacer.close)
        pace = replace(pacer.start(None), least_s=turn_s, least_epochs=turn_epochs)
        started = random.Random(seed).sample(list(programs), len(programs))
        for name in started:
            stack.callback(programs[name].close)
            programs[name].start(pace)
        done = 0
        for order in turns.orders(started, rounds, seed):
            if not all(programs[name].turn(pace.turn_s) for name in order):
                break
            done += 1
        time.sleep(pace.turn_s)  # a pause before ours train on to their end, for whoever ran last, too
        found = {}
        for name, program in programs.items():
            epochs = turns.split(program.finish(), program.on_s, pace.turn_s)
            found[name] = [turns.turn_epoch_s(turn) for turn in epochs[1 : done + 1]]
    return found
