"""In TensorFlow's environment: what levers do to a data set, by its threads and the device of its batches."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import psutil
import tensorflow as tf

from probes.feeding_probe import CORES
from trainspeed.sensors.processes import CORES as CORES_VARIABLE
from trainspeed.worker.backends import tensorflow_backend
from trainspeed.worker.pipelines import tensorflow_data


def started(**levers: Any) -> int:
    """Return how many threads the iterator of a data set starts."""
    data = tf.data.Dataset.range(9).map(lambda x: x + 1, num_parallel_calls=2).prefetch(1)
    before = psutil.Process().num_threads()
    batches = iter(tensorflow_data.with_levers(data, **levers))
    next(batches)
    return psutil.Process().num_threads() - before


def more() -> dict[str, Any]:
    tensorflow_backend._set_up("cpu", 1)
    tensorflow_backend._split_cpu(2)  # the second one stands for a GPU
    with mock.patch.dict(os.environ, {CORES_VARIABLE: ",".join(map(str, range(CORES)))}):
        threads = [started(), started(private_threads=True)]
    data = tensorflow_data.with_levers(tf.data.Dataset.range(9), prefetch_to="/CPU:1")
    return {
        "threads": threads,
        "prefetched": next(iter(data)).device,
        "not prefetched": next(iter(tf.data.Dataset.range(9))).device,
    }
