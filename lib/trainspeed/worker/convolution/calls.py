"""Time one convolution: stage by stage, cold and warm; as whole calls; and with data that stay on the device.

Knows no library: it is given one. The stages of a first call are announced as they begin, so that a failed
run names the one it was in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, Protocol

import numpy as np

from trainspeed.core.convolution import MAX_CALLS, STAGES
from trainspeed.core.result import CallTimes
from trainspeed.worker.events import TakeTurn

STAGED_S = 0.1  # warm calls that wait after each stage are made for this time, and a few of them however long
FEW_STAGED, FEW_STAGED_S = 3, 1.0  # unless one takes as long as this
WARM_UP_S = 0.02  # and whole ones for this time before the first turn: they tell how long a call takes
MAX_STAGED = MAX_WARM_UP = 10
RESIDENT_S = 0.05  # calls that stay on the device are timed together, for about this time
MAX_TOGETHER = 100
RESIDENT_SHARE = 0.5  # time of these in a turn, over that of its whole calls
KEPT = 20  # values of a turn that are kept, about: a turn may hold thousands of calls
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


class BetweenTurns(Protocol):
    """What comes between turns: see `trainspeed.worker.turns.InTurns.rest`."""

    def __call__(
        self, *, call_s: tuple[float, ...] = (), resident_s: tuple[float, ...] = ()
    ) -> TakeTurn | None:
        """Take what a turn measured, nothing before the first one, and return the next; None after the last."""


def time_calls(
    make: Callable[[], Convolution],
    images: np.ndarray,
    filters: np.ndarray,
    *,
    rest: BetweenTurns,
    begin: Callable[[str], None],
    check: Callable[[np.ndarray], None],
    clock: Callable[[], float] = time.perf_counter,
) -> CallTimes:
    """Return how long the calls took, and where they ran.

    The first call runs stage by stage and its result is checked. Warm calls follow: stage by stage; then, in each
    turn, whole ones and some with data that stay on the device. Only these two let the device work while the next
    thing is queued. Before those that are timed, of a turn too, comes one that is not: while others had their turns, a
    cache was filled anew and memory was given back, which is no part of a warm call.

    Args:
        make: Returns the convolution. It may list and set up devices, which takes seconds on some: that is part of
            the stage "context" in every library.
        rest: Called when the calls before the turns are made, and after each turn.
        begin: Called with the name of each stage of the first call, then with "check" and "warm".
        check: Raises an exception if the result is wrong.
    """
    begin("context")
    convolution = make()
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
    if convolution.transfers:
        round_trip(convolution, images, filters)
        staged = partial(_staged, convolution, images, filters, clock=clock)
        # The first that waits after each stage takes up to twice as long as the next, in Keras while it fetches.
        (first_s,) = repeat(lambda: staged(warm_s={stage: [] for stage in STAGES}), 1, clock)
        least = FEW_STAGED if first_s < FEW_STAGED_S else 1
        repeat(lambda: staged(warm_s=warm_s), MAX_STAGED, clock, STAGED_S, least=least)
    measured = _in_turns(convolution, images, filters, sent, warm_s[KERNEL], rest, clock)
    return CallTimes(**measured, warm_s=warm_s if convolution.transfers else {}, placement=placement)


def _in_turns(
    convolution: Convolution,
    images: np.ndarray,
    filters: np.ndarray,
    sent: Any,
    kernel_s: Sequence[float],
    rest: BetweenTurns,
    clock: Callable[[], float],
) -> dict[str, tuple[float, ...]]:
    """Return `call_s` and `resident_s` of all turns; the latter is empty where nothing is sent."""

    def whole() -> np.ndarray:
        return round_trip(convolution, images, filters)

    def stay() -> None:
        _stay(convolution, sent, together)

    one_kernel_s = min(kernel_s, default=0.0)
    together = max(1, min(MAX_TOGETHER, round(RESIDENT_S / max(one_kernel_s, 1e-9))))
    group_s = together * one_kernel_s
    one_s = median(repeat(whole, MAX_WARM_UP, clock, WARM_UP_S))
    call_s, resident_s = (), ()
    turn = rest()
    while turn is not None:
        whole()
        whole_s = repeat(whole, count_in(turn.seconds, one_s, turn.calls), clock)
        groups_s = []
        if convolution.transfers:
            groups_s = repeat(stay, count_in(RESIDENT_SHARE * turn.seconds, group_s), clock)
            group_s = median(groups_s)
        one_s = median(whole_s)
        latest = kept(whole_s), kept([seconds / together for seconds in groups_s])
        call_s, resident_s = call_s + latest[0], resident_s + latest[1]
        turn = rest(call_s=latest[0], resident_s=latest[1])
    return {"call_s": call_s, "resident_s": resident_s}


def count_in(seconds: float, one_s: float, least: int = 1) -> int:
    """Return how many calls of `one_s` take about so many seconds, `least` or more."""
    return max(least, min(MAX_CALLS, round(seconds / one_s))) if one_s > 0 else least


def kept(seconds: Sequence[float]) -> tuple[float, ...]:
    """Return the seconds of a turn's calls; of many, the medians of as many as give about `KEPT` values."""
    size = max(1, math.ceil(len(seconds) / KEPT))
    return tuple(median(seconds[start : start + size]) for start in range(0, len(seconds), size))


def round_trip(convolution: Convolution, images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the result of one whole call, from the host's memory to the host's memory."""
    return gather(convolution.fetch(convolution.compute(convolution.send(images, filters))))


def repeat(
    call: Callable[[], object],
    calls: int,
    clock: Callable[[], float],
    limit_s: float = math.inf,
    least: int = 1,
) -> list[float]:
    """Return the seconds of each of `calls` calls, or of as many as fit into `limit_s`, and of `least` at least."""
    seconds: list[float] = []
    spent_s = 0.0
    while len(seconds) < least or (len(seconds) < calls and spent_s < limit_s):
        started = clock()
        result = call()
        seconds.append(clock() - started)
        del result  # giving its memory back is not part of the call
        spent_s += seconds[-1]
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
