"""The arithmetic of a training step, counted in two ways, and how fast it is done beside a matrix product.

Knows no framework.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from trainspeed.worker.backends.base import Training
from trainspeed.worker.probes import Values

EPOCHS = 4  # the first one compiles
PRODUCTS = 5  # the first one compiles


@dataclass(frozen=True, kw_only=True)
class CountedWork:
    """What is counted and timed.

    Attributes:
        training: As the instrument trains; its own count is in what it tells of itself afterwards.
        count: Returns the FLOPs of one step, forward and backward, as the framework counts them; None if it does not.
        multiply: Multiplies two square matrices in the device's fastest precision, and waits.
        side: Of the matrices.
    """

    training: Training
    count: Callable[[], float | None]
    multiply: Callable[[], object]
    side: int


def measure_work(
    of: CountedWork, steps_per_epoch: int, *, clock: Callable[[], float] = time.perf_counter
) -> Values:
    """Return `step_flops` as the instrument counts them and `counted_step_flops` as the framework does, 2 per
    multiply-add, and in FLOP/s `trained_per_s` of the median epoch and `multiplied_per_s` of the fastest product.
    """
    epoch_s = of.training.train(lambda done: len(done) < EPOCHS)[1:]
    products_s = []
    for _ in range(PRODUCTS):
        started_s = clock()
        of.multiply()
        products_s.append(clock() - started_s)
    step_flops = of.training.inspect().step_flops
    return {
        "step_flops": step_flops,
        "counted_step_flops": of.count(),
        "trained_per_s": None if step_flops is None else step_flops * steps_per_epoch / median(epoch_s),
        "multiplied_per_s": 2 * of.side**3 / min(products_s[1:]),
    }
