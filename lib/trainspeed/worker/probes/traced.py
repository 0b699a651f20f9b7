"""Epochs by the device's own timer, as its profiler tells afterwards. Knows no framework.

A small kernel marks both ends of each epoch, queued where the instrument waits for the device; the profile says when
the device came to it. A mark at the end that comes after the wall clock was read shows that the device was not done.
The epochs are trained apart: a profiler costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainspeed.core.probe import NOTHING_SEEN
from trainspeed.worker.backends.base import Training
from trainspeed.worker.kernels import Kernel, marked_spans_s
from trainspeed.worker.probes import Values
from trainspeed.worker.timing import in_a_row

EPOCHS = 10  # the first one does not count; nine give an interval that one bad epoch does not decide

# Runs something; returns what the GPUs ran meanwhile.
Trace = Callable[[Callable[[], object]], Sequence[Kernel]]


def traced_epochs(
    training: Training, wait: Callable[[], object], mark: Callable[[], object], trace: Trace
) -> Values:
    """Return the seconds of the same epochs by the device, `device_s`, and by the wall clock, `traced_s`.

    And `timer`, which names the device's. Where the profiler fails or shows no marks, only why: `timer_unknown`.

    Args:
        training: Compiled, with a method `synchronize`, which is replaced.
        wait: Waits for the device, as that method does by itself.
        mark: Queues a kernel that training runs nowhere, and does not wait.
    """
    epoch_s: tuple[float, ...] = ()

    def synchronize() -> None:
        mark()
        wait()

    def train() -> None:
        nonlocal epoch_s
        synchronize()  # the first kernel in the profile: whatever is named so is a mark
        epoch_s = training.train(in_a_row(EPOCHS))

    try:
        training.synchronize = synchronize
        synchronize()  # compiles the mark
        spans_s = marked_spans_s(trace(train), EPOCHS)
    except Exception as problem:  # what it has measured is worth having without
        return {"timer_unknown": type(problem).__name__}
    if spans_s is None:
        return {"timer_unknown": NOTHING_SEEN}
    return {"timer": "profiler", "device_s": spans_s[1:], "traced_s": epoch_s[1:]}
