"""The probes of Keras on JAX, by name."""

from __future__ import annotations

import jax

from trainspeed.worker.probes import Measure, Surroundings, Values
from trainspeed.worker.probes.epoch import QUEUED, SIDES, Loops, measure_epochs, started
from trainspeed.worker.probes.keras_loop import bare_fit


def epoch(where: Surroundings) -> Values:
    """Return the times of `epoch.measure_epochs`."""
    training, x, y = started("jax", where)
    data = {"x": x, "y": y, "batch_size": training.trial.batch_size}
    matrix = jax.random.normal(jax.random.key(0), (SIDES[where.device],) * 2)
    product = jax.jit(lambda a: a @ a)
    loops = Loops(
        training=training,
        synchronize="synchronize",
        bare=bare_fit(training.model, lambda: data),
        queue=lambda: [product(matrix) for _ in range(QUEUED)],
    )
    return measure_epochs(loops, where.device)


PROBES: dict[str, Measure] = {"epoch": epoch}
