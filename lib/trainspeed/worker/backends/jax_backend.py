"""Keras 3 on JAX. Always compiled by XLA, with a compilation cache that outlives the process."""

from __future__ import annotations

import functools
import os

os.environ["KERAS_BACKEND"] = "jax"
# XLA reads this once, when the device is first touched.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import keras
import numpy as np

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.worker import hlo
from trainspeed.worker.backends.base import Backend, check_device
from trainspeed.worker.backends.keras_training import EVALUATION_BATCH, Device, KerasTraining
from trainspeed.worker.convolution.jax_convolution import JaxConvolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.precision import check_precision

CACHE = ROOT / ".cache/jax"


class JaxBackend(Backend):
    """JAX and Keras, imported; no device is touched before `start`."""

    def versions(self) -> dict[str, str]:
        return {"jax": jax.__version__, "keras": keras.__version__}

    def start(self, trial: Trial, images: Images, *, device: str, default_allocation: bool) -> KerasTraining:
        if default_allocation:
            del os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"]
        # Compiled programs stay on disk: with a process per run, each run would compile them again.
        jax.config.update("jax_compilation_cache_dir", str(CACHE))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        # "highest" is strict fp32; anything else may use TF32 on a GPU.
        jax.config.update(
            "jax_default_matmul_precision", "tensorfloat32" if trial.precision == "tf32" else "highest"
        )
        if device == "cpu":
            jax.config.update("jax_num_cpu_devices", trial.devices)
        first = jax.devices()[0]
        check_device("JAX", device, first.platform == "gpu")
        capability = None
        if first.platform == "gpu":
            capability = tuple(int(part) for part in first.compute_capability.split("."))
        check_precision(trial.precision, capability)
        if trial.strategy != SINGLE:
            devices = keras.distribution.list_devices()[: trial.devices]
            keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
        return KerasTraining(
            trial,
            images,
            Device(
                synchronize=_synchronize,
                peak_memory_bytes=functools.partial(_peak_memory_bytes, first),
                predict=functools.partial(_predict, devices=trial.devices),
                convolutions=_convolutions,
            ),
        )

    def convolution(self, trial: Conv2dTrial, *, device: str) -> JaxConvolution:
        # Programs are compiled anew: no cache hides how long a first call takes.
        return JaxConvolution(trial, device)


def _predict(model: keras.Model, x: np.ndarray, devices: int) -> np.ndarray:
    """Predict in batches of one size that the devices can share, so that one program is compiled."""
    batch = max(EVALUATION_BATCH // devices, 1) * devices
    filled = np.concatenate([x, np.repeat(x[:1], -len(x) % batch, axis=0)])
    return model.predict(filled, batch_size=batch, verbose=0)[: len(x)]


def _synchronize(model: keras.Model) -> None:
    """JAX has no device-wide wait: the weights are ready when the last step is."""
    jax.block_until_ready([variable.value for variable in model.variables])


def _peak_memory_bytes(device: jax.Device) -> int | None:
    stats = device.memory_stats() if device.platform != "cpu" else None
    return stats.get("peak_bytes_in_use") if stats else None


def _convolutions(model: keras.Model, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str | None]]:
    """Return layout and dtype of the convolutions in the compiled forward pass of one batch."""

    def forward(trainable, non_trainable, images):
        return model.stateless_call(trainable, non_trainable, images, training=True)

    trainable = [variable.value for variable in model.trainable_variables]
    non_trainable = [variable.value for variable in model.non_trainable_variables]
    compiled = jax.jit(forward).lower(trainable, non_trainable, x).compile()
    return hlo.convolutions(compiled.as_text())


BACKEND = JaxBackend()
