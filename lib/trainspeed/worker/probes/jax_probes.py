"""The probes of Keras on JAX, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np

from trainspeed.core.result import TF32_WORK
from trainspeed.worker.backends.jax_backend import peak_memory_bytes, set_tf32, set_up
from trainspeed.worker.kernels import Kernel, kernels_of_data, matrix_kernels
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
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = options.python_tracer_level = 0  # each call of Python would cost time
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            work()
        (file,) = Path(folder).rglob("*.xplane.pb")
        return kernels_of_data(jax.profiler.ProfileData.from_file(str(file)))


def kernels(compute: Callable[[], object]) -> Sequence[str]:
    """Compute once, and once more in the profiler; return the names of what multiplied, most time first."""
    compute()
    return matrix_kernels(trace(compute))


def epoch(where: Surroundings) -> Values:
    """Return the times of `epoch.measure_epochs`; on a GPU the device's timer is that of XLA's profiler."""
    training, _, y = started("jax", where)
    data = {"x": training.fed, "y": y, "batch_size": training.trial.batch_size}
    matrix = jax.random.normal(jax.random.key(0), (SIDES[where.device],) * 2)
    product = jax.jit(lambda a: a @ a)
    loops = Loops(
        training=training,
        synchronize="synchronize",
        bare=bare_fit(training.model, lambda: data),
        queue=lambda: [product(matrix) for _ in range(QUEUED)],
    )
    wait = training.synchronize  # before it is watched
    values = measure_epochs(loops, where.device, rounds=where.rounds)
    if where.device == "cpu":
        return values
    one, sine = jax.numpy.ones(256), jax.jit(jax.numpy.sin)
    return values | traced_epochs(training, wait, lambda: sine(one), trace)


def arithmetic(where: Surroundings) -> Values:
    """Return the bits of `arithmetic.measure_arithmetic`."""
    device = set_up(where.device, where.devices)
    on_gpu = device.platform == "gpu"
    capability = tuple(int(part) for part in device.compute_capability.split(".")) if on_gpu else None

    def convolution(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
        dimensions = ("NHWC", "HWIO", "NHWC")
        return np.asarray(
            jax.lax.conv_general_dilated(images, filters, (1, 1), "SAME", dimension_numbers=dimensions)
        )

    return measure_arithmetic(
        Arithmetic(
            switch=set_tf32,
            product=lambda a, b: np.asarray(jax.numpy.matmul(a, b)),
            convolution=convolution,
            tf32_possible=bool(tf32_work(TF32_WORK, capability)),
            kernels=kernels if on_gpu else None,
        )
    )


def work(where: Surroundings) -> Values:
    """Return the values of `work.measure_work`.

    The FLOPs are not counted: XLA leaves out what is multiplied by padding. Keras counts as on TensorFlow.
    """
    training, *_ = started("jax", where)
    side = SIDES[where.device]
    dtype = jax.numpy.bfloat16 if where.device == "gpu" else jax.numpy.float32
    matrix = jax.random.normal(jax.random.key(0), (side, side), dtype)
    product = jax.jit(lambda a: a @ a)

    return measure_work(
        CountedWork(
            training=training,
            count=lambda: None,
            multiply=lambda: product(matrix).block_until_ready(),
            side=side,
        ),
        training.trial.steps_per_epoch,
    )


def memory(where: Surroundings) -> Values:
    """Return the values of `memory.measure_memory`."""
    set_up(where.device, where.devices)

    def allocate(size_bytes: int) -> jax.Array:
        return jax.numpy.ones(size_bytes, jax.numpy.uint8).block_until_ready()

    return measure_memory(where, allocate, peak_memory_bytes)


def oom(where: Surroundings) -> Values:
    """Ask for more memory than there is, which raises what the run becomes a row by."""
    set_up(where.device, where.devices)
    return {"bytes": jax.numpy.ones((TOO_MANY_NUMBERS // 2**20, 2**20)).block_until_ready().nbytes}


def energy(where: Surroundings) -> Values:
    """Return the values of `energy.measure_energy`; JAX tells no UUID."""
    check_gpu(where)
    set_up(where.device, where.devices)
    matrix = jax.random.normal(jax.random.key(0), (SIDE, SIDE))
    product = jax.jit(lambda a: a @ a)
    return measure_energy(
        where, lambda products: jax.block_until_ready([product(matrix) for _ in range(products)])
    )


PROBES: dict[str, Measure] = {
    "epoch": epoch,
    "arithmetic": arithmetic,
    "work": work,
    "oom": oom,
    "memory": memory,
    "energy": energy,
}
