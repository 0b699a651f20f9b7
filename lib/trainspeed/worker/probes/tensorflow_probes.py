"""The probes of Keras on TensorFlow, by name."""

from __future__ import annotations

import tensorflow as tf

from trainspeed.worker.probes import Measure, Surroundings, Values
from trainspeed.worker.probes.epoch import QUEUED, SIDES, Loops, measure_epochs, started
from trainspeed.worker.probes.keras_loop import bare_fit


def epoch(where: Surroundings) -> Values:
    """Return the times of `epoch.measure_epochs`."""
    training, x, y = started("tensorflow", where)
    trial = training.trial
    batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(y)).batch(trial.batch_size)
    data = {"x": batches.repeat().prefetch(1), "steps_per_epoch": trial.steps_per_epoch}
    matrix = tf.random.normal((SIDES[where.device],) * 2)
    loops = Loops(
        training=training,
        synchronize="synchronize",
        bare=bare_fit(training.model, lambda: data),
        queue=lambda: [tf.linalg.matmul(matrix, matrix) for _ in range(QUEUED)],
    )
    return measure_epochs(loops, where.device)


PROBES: dict[str, Measure] = {"epoch": epoch}
