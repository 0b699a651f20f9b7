"""A convolution without a framework, for the tests of what times, checks and records one.

`BACKEND` makes this a worker's backend too: `Conv2dTrial.seed` says how it behaves, see `behaving`.
"""

from __future__ import annotations

import os

import numpy as np

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.calls import FROM_DEVICE, KERNEL, TO_DEVICE, time_calls
from trainspeed.worker.convolution.reference import convolve, random_data
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.failures import Unsupported

SECONDS = {TO_DEVICE: 1 / 16, KERNEL: 1 / 64, FROM_DEVICE: 1 / 32}  # exact in binary, and so are their sums

TRIAL = Conv2dTrial(library="torch", mode="eager", images=4, height=3, width=2)
IMAGES, FILTERS = random_data(TRIAL)


def seconds(to_device=0.0, kernel=0.0, from_device=0.0):
    """Return stage -> what it takes."""
    return {TO_DEVICE: to_device, KERNEL: kernel, FROM_DEVICE: from_device}


class FakeConvolution:
    """Computes correctly on pretended devices, takes made-up times and logs what it is called for.

    Args:
        queues: `send` and `compute` return at once, and `wait` and `fetch` take as long as they should have.
    """

    def __init__(self, clock, *, seconds=SECONDS, queues=False, transfers=True, devices=1) -> None:
        self.transfers, self.log = transfers, []
        self._clock, self._seconds, self._queues, self._devices = clock, seconds, queues, devices
        self._queued_s = 0.0

    def _work(self, stage: str, *, queued: bool) -> None:
        if queued:
            self._queued_s += self._seconds[stage]
        else:
            self._clock.advance(self._seconds[stage])

    def _finish(self) -> None:
        self._clock.advance(self._queued_s)
        self._queued_s = 0.0

    def open(self) -> None:
        self.log.append("open")

    def send(self, images, filters):
        self.log.append("send")
        self._work(TO_DEVICE, queued=self._queues)
        return [(share, filters) for share in np.split(images, self._devices)]

    def compute(self, sent):
        self.log.append("compute")
        self._work(KERNEL, queued=self._queues)
        return [convolve(*share).astype(np.float32) for share in sent]

    def wait(self, value) -> None:
        self.log.append("wait")
        self._finish()

    def fetch(self, computed):
        self.log.append("fetch")
        self._finish()
        self._work(FROM_DEVICE, queued=False)
        return computed

    def placement(self, sent, computed) -> str:
        self.log.append("placement")
        return ", ".join(f"CPU:{n}" for n in range(self._devices))


class Turns:
    """Gives turns, and keeps what each measured and what the convolution had been called for by then."""

    def __init__(self, turns, log) -> None:
        self.left, self.measured, self._log, self.logs = list(turns), [], log, []

    def __call__(self, **measured):
        self.measured.append(measured)
        self.logs.append(self._log[sum(map(len, self.logs)) :])
        return self.left.pop(0) if self.left else None


def timed(clock, convolution, *, turns=None, begin=lambda stage: None, check=lambda result: None):
    """Return the times of a convolution, by default of a turn of ten calls."""
    rest = turns or Turns([TakeTurn(calls=10)], convolution.log)
    return time_calls(lambda: convolution, IMAGES, FILTERS, rest=rest, begin=begin, check=check, clock=clock)


class _NoClock:
    def advance(self, seconds: float) -> None:
        """Takes no time."""


class Right(FakeConvolution):
    """As a worker's backend gives it: it takes no made-up time."""

    def __init__(self, devices: int) -> None:
        super().__init__(_NoClock(), devices=devices)


class Flipped(Right):
    def send(self, images, filters):
        return super().send(images, filters[::-1, ::-1])


class Elsewhere(Right):
    def placement(self, sent, computed) -> str:
        return "CPU:0, GPU:0"


class WithoutMemory(Right):
    def compute(self, sent):
        raise MemoryError("Unable to allocate 9.00 GiB for an array")


class Buggy(Right):
    def fetch(self, computed):
        raise KeyError("a bug in a library")


class NotHere(Right):
    def open(self) -> None:
        raise Unsupported("this device has no such arithmetic")


class Dying(Right):
    def compute(self, sent):
        os.abort()


BEHAVIOURS = (Right, Flipped, Elsewhere, WithoutMemory, Buggy, NotHere, Dying)
SIZES = {"images": 4, "height": 6, "width": 5, "channels": 2, "filters": 3, "calls": 3}


def behaving(behaviour: type[Right] = Right, **changed) -> Conv2dTrial:
    """Return a trial that this backend runs so."""
    fields = {"library": "torch", "mode": "eager", "seed": BEHAVIOURS.index(behaviour), **SIZES, **changed}
    return Conv2dTrial(**fields)


class FakeConv2dBackend:
    def versions(self) -> dict[str, str]:
        return {"fake": "1.0"}

    def prepare(self, trial) -> None:
        pass

    def convolution(self, trial, *, device: str) -> Right:
        return BEHAVIOURS[trial.seed](trial.devices)


BACKEND = FakeConv2dBackend()
