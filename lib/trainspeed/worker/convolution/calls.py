"""Time one convolution: stage by stage, cold and warm; as whole calls; and with data that stay on the device.

Knows no library: it is given one. The stages of a first call are announced as they begin, so that a failed
run names the one it was in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from trainspeed.core.convolution import STAGES
from trainspeed.core.result import CallTimes

LOOP_S = 0.2  # a loop of warm calls ends after this time; blocks are the repeats that count
RESIDENT_S = 0.05  # calls that stay on the device are timed together, for about this time
MAX_TOGETHER = 100
TO_DEVICE, KERNEL, FROM_DEVICE, GATHER = STAGES


class Convolution(Protocol):
    """One library's convolution on its devices."""

    transfers: bool  # False: it works in the host's memory, so there is nothing to send or to fetch

    def open(self) -> None:
        """Touch the devices for the first time and wait until they can work."""

    def send(self, images: np.ndarray, filters: np.ndarray) -> Any:
        """Return each device's share of the images, with the filters. May return when it is only queued."""

    def compute(self, sent: Any) -> Any:
        """Return each device's result. May return when it is only queued."""

    def wait(self, value: Any) -> None:
        """Wait until what `send` or `compute` returned is done."""

    def fetch(self, computed: Any) -> list[np.ndarray]:
        """Return each device's result in the host's memory, (images, height, width, filters)."""

    def placement(self, sent: Any, computed: Any) -> str:
        """Return the devices that it was computed on, by the library's names. May compute once more."""


def gather(shares: list[np.ndarray]) -> np.ndarray:
    """Return the devices' results as one array; a single one as it is."""
    return shares[0] if len(shares) == 1 else np.concatenate(shares)


def time_calls(
    convolution: Convolution,
    images: np.ndarray,
    filters: np.ndarray,
    *,
    calls: int,
    begin: Callable[[str], None],
    check: Callable[[np.ndarray], None],
    clock: Callable[[], float] = time.perf_counter,
) -> CallTimes:
    """Return how long the calls took, and where they ran.

    The first call runs stage by stage and its result is checked. Warm calls follow: stage by stage, with data
    that stay on the device, and whole. Only the last two let the device work while the next thing is queued.

    Args:
        calls: Number of warm calls of each kind, at most.
        begin: Called with the name of each stage of the first call, then with "check" and "warm".
        check: Raises an exception if the result is wrong.
    """
    begin("context")
    convolution.open()
    begin(TO_DEVICE)
    sent = convolution.send(images, filters)
    convolution.wait(sent)
    begin(KERNEL)
    computed = convolution.compute(sent)
    convolution.wait(computed)
    begin(FROM_DEVICE)
    shares = convolution.fetch(computed)
    begin(GATHER)
    result = gather(shares)
    begin("check")
    check(result)
    placement = convolution.placement(sent, computed)
    del computed, shares, result
    begin("warm")
    warm_s: dict[str, list[float]] = {stage: [] for stage in STAGES}
    resident_s: list[float] = []

    if convolution.transfers:
        repeat(lambda: _staged(convolution, images, filters, warm_s, clock), calls, clock)
        together = max(1, min(MAX_TOGETHER, round(RESIDENT_S / max(min(warm_s[KERNEL]), 1e-9))))
        groups = repeat(lambda: _stay(convolution, sent, together), calls, clock)
        resident_s = [seconds / together for seconds in groups]
    call_s = repeat(lambda: round_trip(convolution, images, filters), calls, clock)
    return CallTimes(
        call_s=tuple(call_s),
        resident_s=tuple(resident_s),
        warm_s=warm_s if convolution.transfers else {},
        placement=placement,
    )


def round_trip(convolution: Convolution, images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the result of one whole call, from the host's memory to the host's memory."""
    return gather(convolution.fetch(convolution.compute(convolution.send(images, filters))))


def repeat(call: Callable[[], object], calls: int, clock: Callable[[], float]) -> list[float]:
    """Return the duration of each of `calls` calls, in seconds, or of as many as fit into `LOOP_S`."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < calls and sum(seconds) < LOOP_S):
        started = clock()
        result = call()
        seconds.append(clock() - started)
        del result  # giving its memory back is not part of the call
    return seconds


def _staged(
    convolution: Convolution,
    images: np.ndarray,
    filters: np.ndarray,
    warm_s: dict[str, list[float]],
    clock: Callable[[], float],
) -> None:
    """Make one call that waits after each stage, and append how long each took: they add up to the call."""
    ticks = [clock()]
    sent = convolution.send(images, filters)
    convolution.wait(sent)
    ticks.append(clock())
    computed = convolution.compute(sent)
    convolution.wait(computed)
    ticks.append(clock())
    shares = convolution.fetch(computed)
    ticks.append(clock())
    gather(shares)
    ticks.append(clock())
    for stage, begun, ended in zip(STAGES, ticks, ticks[1:], strict=False):
        warm_s[stage].append(ended - begun)


def _stay(convolution: Convolution, sent: Any, calls: int) -> None:
    """Compute `calls` times on data that are already on the device, and wait once."""
    for _ in range(calls):
        computed = convolution.compute(sent)
    convolution.wait(computed)
