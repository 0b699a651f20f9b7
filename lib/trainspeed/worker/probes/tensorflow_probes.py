"""The probes of Keras on TensorFlow, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from trainspeed.core.result import TF32_WORK
from trainspeed.worker.backends.tensorflow_backend import set_tf32
from trainspeed.worker.kernels import Kernel, kernels_of_space, matrix_kernels
from trainspeed.worker.precision import tf32_work
from trainspeed.worker.probes import Measure, Surroundings, Values
from trainspeed.worker.probes.arithmetic import Arithmetic, measure_arithmetic
from trainspeed.worker.probes.energy import SIDE, check_gpu, measure_energy
from trainspeed.worker.probes.epoch import QUEUED, SIDES, Loops, measure_epochs, started
from trainspeed.worker.probes.keras_loop import bare_fit
from trainspeed.worker.probes.memory import TOO_MANY_NUMBERS, measure_memory
from trainspeed.worker.probes.traced import traced_epochs
from trainspeed.worker.probes.work import CountedWork, measure_work


def trace(work: Callable[[], object]) -> Sequence[Kernel]:
    """Run something, and return what the GPUs ran meanwhile, in the order of time."""
    # Of no public name: where another version has it elsewhere, only what is traced is not known.
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            work()
        (file,) = Path(folder).rglob("*.xplane.pb")
        return kernels_of_space(XSpace.FromString(file.read_bytes()))


def kernels(compute: Callable[[], object]) -> Sequence[str]:
    """Compute once, and once more in the profiler; return the names of what multiplied, most time first."""
    compute()
    return matrix_kernels(trace(compute))


def epoch(where: Surroundings) -> Values:
    """Return the times of `epoch.measure_epochs`; on a GPU the device's timer is that of TensorFlow's profiler."""
    training, _, y = started("tensorflow", where)
    trial = training.trial
    batches = tf.data.Dataset.from_tensor_slices((training.fed, y)).shuffle(len(y)).batch(trial.batch_size)
    data = {"x": batches.repeat().prefetch(1), "steps_per_epoch": trial.steps_per_epoch}
    matrix = tf.random.normal((SIDES[where.device],) * 2)
    loops = Loops(
        training=training,
        synchronize="synchronize",
        bare=bare_fit(training.model, lambda: data),
        queue=lambda: [tf.linalg.matmul(matrix, matrix) for _ in range(QUEUED)],
    )
    wait = training.synchronize  # before it is watched
    values = measure_epochs(loops, where.device, rounds=where.rounds)
    if where.device == "cpu":
        return values
    ones = tf.ones(256)
    return values | traced_epochs(training, wait, lambda: tf.sin(ones), trace)


def arithmetic(where: Surroundings) -> Values:
    """Return the bits of `arithmetic.measure_arithmetic`."""
    started("tensorflow", where)
    gpus = tf.config.get_visible_devices("GPU")
    capability = (
        tf.config.experimental.get_device_details(gpus[0]).get("compute_capability") if gpus else None
    )
    return measure_arithmetic(
        Arithmetic(
            switch=set_tf32,
            product=lambda a, b: tf.linalg.matmul(a, b).numpy(),
            convolution=lambda images, filters: tf.nn.conv2d(images, filters, 1, "SAME").numpy(),
            tf32_possible=bool(tf32_work(TF32_WORK, capability)),
            kernels=kernels if gpus else None,
        )
    )


def work(where: Surroundings) -> Values:
    """Return the values of `work.measure_work`; TensorFlow's profiler counts the FLOPs of a step's graph."""
    training, images, labels = started("tensorflow", where)
    trial = training.trial
    side = SIDES[where.device]
    matrix = tf.cast(tf.random.normal((side, side)), tf.bfloat16 if where.device == "gpu" else tf.float32)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = training.model.compute_loss(y=y, y_pred=training.of_images(x, training=True))
        return tape.gradient(loss, training.model.trainable_variables)

    def multiply() -> None:
        held = tf.linalg.matmul(matrix, matrix)
        tf.test.experimental.sync_devices()
        del held

    def count() -> float:
        x, y = (tf.constant(part[: trial.batch_size]) for part in (images, labels))
        options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        options["output"] = "none"
        graph = step.get_concrete_function(x, y).graph
        return tf.compat.v1.profiler.profile(graph, options=options).total_float_ops

    return measure_work(
        CountedWork(
            training=training,
            count=count,
            multiply=multiply,
            side=side,
        ),
        trial.steps_per_epoch,
    )


def memory(where: Surroundings) -> Values:
    """Return the values of `memory.measure_memory`."""
    training, *_ = started("tensorflow", where)

    def allocate(size_bytes: int) -> tf.Tensor:
        held = tf.ones(size_bytes, tf.uint8)
        tf.test.experimental.sync_devices()
        return held

    return measure_memory(where, allocate, training.peak_memory_bytes)


def oom(where: Surroundings) -> Values:
    """Ask for more memory than there is, which raises what the run becomes a row by."""
    started("tensorflow", where)
    return {"bytes": tf.ones((TOO_MANY_NUMBERS,)).numpy().nbytes}


def energy(where: Surroundings) -> Values:
    """Return the values of `energy.measure_energy`; TensorFlow tells no UUID."""
    check_gpu(where)
    started("tensorflow", where)
    matrix = tf.random.normal((SIDE, SIDE))

    def multiply(products: int) -> None:
        held = [tf.linalg.matmul(matrix, matrix) for _ in range(products)]
        tf.test.experimental.sync_devices()
        del held

    return measure_energy(where, multiply)


PROBES: dict[str, Measure] = {
    "epoch": epoch,
    "arithmetic": arithmetic,
    "work": work,
    "oom": oom,
    "memory": memory,
    "energy": energy,
}
