"""What levers of the host do in Keras: threads, on TensorFlow and on JAX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import keras

from trainspeed.core.format import counted
from trainspeed.core.levers.host import HALF_THREADS, ONE_THREAD, THREAD_VARIABLES, half_of
from trainspeed.core.result import Seen
from trainspeed.sensors.processes import all_cores, move_to_own_cores
from trainspeed.worker.levers import process
from trainspeed.worker.levers.hook import Hook
from trainspeed.worker.levers.host import check_threads, threads_seen

XLA_POOL = "tf_XLAEigen"  # name of the threads with which XLA computes on a CPU


def _set_threads(value: str, _device: str) -> None:
    """Leave the number of threads to the framework, or halve it.

    XLA's, in JAX, follows the cores that a process may run on: half as many are on half of the cores.
    """
    framework = keras.backend.backend()
    check_threads(value, THREAD_VARIABLES[framework])
    half = half_of(len(all_cores())) if value == HALF_THREADS[1] else 0
    if framework == "tensorflow" and value != ONE_THREAD[1]:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(half)
        tf.config.threading.set_inter_op_parallelism_threads(half)
    elif framework == "jax" and half:
        move_to_own_cores(half)


def _threads_seen(value: str, _training: Any) -> Seen:
    plain, framework = len(all_cores()), keras.backend.backend()
    seen = partial(threads_seen, value, THREAD_VARIABLES[framework])
    if framework == "tensorflow":
        import tensorflow as tf

        number = tf.config.threading.get_intra_op_parallelism_threads()
        said = f"intra_op_parallelism_threads is {number}{'' if number else ', its own choice'}"
        return seen(number or None, plain, said)
    number = sum(thread.name == XLA_POOL for thread in process.threads())
    return seen(number, plain, f"{counted(number, 'thread')} of {XLA_POOL}")


HOOKS: Mapping[str, Hook] = {"threads": Hook(flags=_set_threads, seen=_threads_seen)}
