"""Stands in for a machine with a GPU that no framework can compute on: they count one, and fail at the first use.

What fails is real: on a machine without a driver, as in a test, that is the driver.
"""

from __future__ import annotations

import os


def _jax() -> None:
    from jax._src import hardware_utils, xla_bridge

    def start() -> None:
        raise RuntimeError("INTERNAL: no supported devices found for platform CUDA")

    hardware_utils.has_visible_nvidia_gpu = lambda: True
    xla_bridge.register_backend_factory("cuda", start, priority=400, fail_quietly=False)  # as its plugin does


def _torch() -> None:
    import torch

    torch.cuda.device_count = lambda: 1


def _tensorflow() -> None:
    import tensorflow as tf

    listed = tf.config.list_physical_devices
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    tf.config.list_physical_devices = lambda kind=None: [gpu] if kind == "GPU" else listed(kind)


{"jax": _jax, "torch": _torch, "tensorflow": _tensorflow}[os.environ["TRAINSPEED_TEST_FRAMEWORK"]]()
