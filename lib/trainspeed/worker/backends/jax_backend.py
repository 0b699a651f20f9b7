"""Keras 3 on JAX. Always compiled by XLA; its steps, on a GPU and in a first block, anew."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.programs import builds_with_programs, makes_programs
from trainspeed.core.result import CONVOLUTIONS, TF32_WORK
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.sensors.processes import usable_cores
from trainspeed.worker import hlo, run_folder
from trainspeed.worker.backends.base import Backend, evaluation_batch
from trainspeed.worker.backends.jax_nodes import JaxNodes
from trainspeed.worker.backends.keras_training import KerasTraining
from trainspeed.worker.convolution.jax_convolution import JaxConvolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.environment import Preset
from trainspeed.worker.gang import Gang
from trainspeed.worker.levers import jax_levers
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.pipelines.keras_shares import node_share
from trainspeed.worker.precision import arithmetic_of, check_precision, tf32_flag, tf32_work
from trainspeed.worker.reach import Build, reach
from trainspeed.worker.timing import Another

# XLA reads this once, when the device is first touched.
PREALLOCATE = Preset("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
CUDA_PLUGINS = ("13", "12")  # versions of CUDA with a package of their own
# Names of `jax_default_matmul_precision`: see `set_tf32`.
FULL, WITH_TF32 = "highest", "default"
ALWAYS_FULL = (FULL, "float32")
ALGORITHM = re.compile(r"[A-Z0-9]+(_[A-Z0-9]+)+")  # of products alone: "F32_F32_F32"


def compile_anew() -> None:
    """Neither read nor write compiled programs on disk, even where the user has named a folder for them.

    A cached program would bring along what XLA's autotuner chose in the process that compiled it.
    Source: jax/_src/compilation_cache.py, which asks once whether to keep programs, unless it is reset
    """
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()


def keep_programs() -> None:
    """Keep every compiled program in the run's folder, and take those that are there: see `run_folder`.

    Whatever the user has set. XLA cuts a program into as many parts as there are cores that it may run on, and a
    program's key does not hold their number: for each number there is a folder.
    Source: https://docs.jax.dev/en/latest/persistent_compilation_cache.html; jax/_src/cache_key.py
    """
    folder = os.path.join(os.environ[run_folder.OF_JAX], f"{len(usable_cores())}_cores")
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_compilation_cache_max_size", -1)
    jax.config.update("jax_compilation_cache_check_contents", False)
    jax.config.update("jax_raise_persistent_cache_errors", False)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # A GPU's, whose folders lie in this one: with them, a program's key would be another one in each run's folder.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


class JaxTraining(KerasTraining):
    """Keras's training, compiled by JAX."""

    hooks = jax_levers.HOOKS
    nodes: JaxNodes | None = None
    node = 0

    def share_of(self, data: dict[str, Any]) -> dict[str, Any]:
        return node_share(self.trial, data, self.node) if self.nodes else data

    def train(self, another: Another) -> tuple[float, ...]:
        if self.nodes is None:
            return super().train(another)
        epoch_s = super().train(self.nodes.decided(another))
        self.nodes.part(self.of_images, self.model)
        return epoch_s

    def synchronize(self) -> None:
        # JAX has no device-wide wait: the weights are ready when the last step is.
        jax.block_until_ready([variable.value for variable in self.model.variables])

    @staticmethod
    def process_settings() -> dict[str, object]:
        names = ("jax_disable_jit", "jax_debug_nans", "jax_default_matmul_precision", "jax_enable_x64")
        return {f"jax.config.{name}": getattr(jax.config, name) for name in names}

    def peak_memory_bytes(self) -> int | None:
        return peak_memory_bytes()

    def logits(self, x: np.ndarray) -> np.ndarray:
        # In batches of one size that the devices can share, so that one program is compiled.
        batch = max(evaluation_batch(self.trial) // self.trial.devices, 1) * self.trial.devices
        filled = np.concatenate([x, np.repeat(x[:1], -len(x) % batch, axis=0)])
        return self.of_images.predict(filled, batch_size=batch, verbose=0)[: len(x)]

    def spread(self) -> tuple[int, str, str]:
        count = len(self.model.trainable_variables[0].value.sharding.device_set)
        by = keras.distribution.distribution()
        return count, SINGLE if by is None else "data_parallel", f"{count} of the devices have a first weight"

    def on_device(self, x: np.ndarray | jax.Array) -> jax.Array:
        return jax.device_put(x)

    def convolutions(self, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str | None]]:
        """Return layout and dtype of the convolutions in the compiled forward pass of one batch."""

        def forward(trainable, non_trainable, images):
            return self.of_images.stateless_call(trainable, non_trainable, images, training=True)

        trainable = [variable.value for variable in self.of_images.trainable_variables]
        non_trainable = [variable.value for variable in self.of_images.non_trainable_variables]
        compiled = jax.jit(forward).lower(trainable, non_trainable, x).compile()
        return hlo.convolutions(compiled.as_text())


class JaxBackend(Backend):
    """JAX and Keras, imported; no device is touched before `start`."""

    def versions(self) -> dict[str, str]:
        return {"jax": jax.__version__, "keras": keras.__version__}

    def start(
        self,
        trial: Trial,
        images: Images,
        *,
        device: str,
        default_allocation: bool,
        gang: Gang | None = None,
    ) -> JaxTraining:
        if default_allocation:
            PREALLOCATE.undo()
        set_tf32(tf32_flag(trial.precision))
        Levers(trial, jax_levers.HOOKS).set_flags(device)
        if makes_programs(trial, device) or builds_with_programs(trial, device):
            keep_programs()
        else:
            compile_anew()
        nodes = JaxNodes(gang) if gang else None
        first = set_up(device, trial.devices_per_node)
        capability = None
        if first.platform == "gpu":
            capability = tuple(int(part) for part in first.compute_capability.split("."))
        check_precision(arithmetic_of(trial), capability)
        if trial.strategy != SINGLE:
            devices = keras.distribution.list_devices()[: trial.devices]
            # Several nodes feed their own shares.
            spread = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
            keras.distribution.set_distribution(spread)
        training = JaxTraining(trial, images, device)
        if builds_with_programs(trial, device):
            compile_anew()
            run_folder.leave_programs()
        if gang:
            training.nodes, training.node = nodes, gang.node
        training.tf32 = tf32_work(tf32_allowed(), capability)
        return training

    def convolution(self, trial: Conv2dTrial, *, device: str) -> JaxConvolution:
        compile_anew()
        set_up(device, trial.devices)
        return JaxConvolution(trial, device)


def set_tf32(allowed: bool | None) -> None:
    """Set JAX's precision of products and convolutions; None leaves it alone.

    JAX writes one of three precisions into the program: DEFAULT for "default" and "bfloat16", HIGH for "high" and
    "tensorfloat32", HIGHEST for "highest" and "float32". On a GPU, XLA's cuDNN convolutions and cuBLAS products take
    TF32 for DEFAULT and HIGH, its Triton products for DEFAULT alone: "tensorfloat32" allows less of it than JAX left
    alone, and would make TF32 look slower than no switch at all. HIGHEST is full 32 bits in all three. On a CPU all
    of them are full 32 bits.
    Source: jax/_src/lax/lax.py (`_precision_strings`, 0.10.2); https://github.com/openxla/xla, `IsTf32Allowed` in
        xla/service/gpu/matmul_utils.cc and in the Triton emitter, `allow_tf32` in the convolutions' autotuner
    """
    if allowed is not None:
        jax.config.update("jax_default_matmul_precision", WITH_TF32 if allowed else FULL)


def tf32_allowed() -> tuple[str, ...]:
    """Return the kinds of work in which JAX lets XLA use TF32: in all, but where full 32 bits were asked for.

    An algorithm of products, which a user may have named in the environment, leaves convolutions at DEFAULT.
    """
    name = jax.config.jax_default_matmul_precision
    if name in ALWAYS_FULL:
        return ()
    of_products = ALGORITHM.fullmatch(name or "") is not None
    return (CONVOLUTIONS,) if of_products and not name.startswith("TF32") else TF32_WORK


def peak_memory_bytes() -> int | None:
    """Return the peak of XLA's allocator on the first device; None on a CPU."""
    device = jax.local_devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    return stats.get("peak_bytes_in_use") if stats else None


def set_up(device: str, devices: int) -> jax.Device:
    """Return this node's first device; on a CPU, make so many of it. A plugin for GPUs that cannot start raises."""
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", devices)
        return jax.local_devices()[0]

    def first_step() -> None:
        for one in jax.local_devices(backend="gpu")[:devices]:
            (jax.device_put(np.zeros(1, np.float32), one) + 1).block_until_ready()

    plugins = {name: f"jax_cuda{name}_plugin" for name in CUDA_PLUGINS}
    found = [name for name, module in plugins.items() if importlib.util.find_spec(module)]
    build = Build(framework="JAX", cuda=next(iter(found), None))
    reach(build, lambda: sum(one.platform == "gpu" for one in jax.local_devices()), first_step)
    return jax.local_devices()[0]


BACKEND = JaxBackend()
