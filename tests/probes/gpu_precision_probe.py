"""On a GPU, in a framework's environment: the errors of a product and of a convolution in a trial's precision.

python -m probes.gpu_precision_probe torch default
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from trainspeed.core.result import CONVOLUTIONS, PRODUCTS
from trainspeed.worker import backends
from trainspeed.worker.convolution.reference import convolve
from trainspeed.worker.precision import tf32_flag

SIDE, SHAPE, KERNEL = 512, (4, 32, 32, 64), (3, 3, 64, 64)


def work_of(framework: str) -> dict[str, Callable[..., Any]]:
    """Return a matrix product and a convolution of NumPy arrays on the GPU: channels last, and padded."""
    if framework == "torch":
        import torch
        from torch.nn.functional import conv2d

        def on_gpu(array: np.ndarray, *order: int) -> torch.Tensor:
            return torch.from_numpy(array).permute(*order or range(array.ndim)).cuda()

        def convolution(x: np.ndarray, w: np.ndarray) -> torch.Tensor:
            return conv2d(on_gpu(x, 0, 3, 1, 2), on_gpu(w, 3, 2, 0, 1), padding=1).permute(0, 2, 3, 1).cpu()

        return {PRODUCTS: lambda a, b: (on_gpu(a) @ on_gpu(b)).cpu(), CONVOLUTIONS: convolution}
    if framework == "tensorflow":
        import tensorflow as tf

        return {PRODUCTS: tf.matmul, CONVOLUTIONS: lambda x, w: tf.nn.conv2d(x, w, 1, "SAME")}
    import jax

    numbers = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    return {
        PRODUCTS: jax.jit(lambda a, b: a @ b),
        CONVOLUTIONS: jax.jit(lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", **numbers)),
    }


def main(framework: str, precision: str) -> None:
    backend = importlib.import_module(backends.MODULES[framework])
    backend.set_tf32(tf32_flag(precision))
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, SIDE, SIDE), dtype=np.float32)
    x, w = (random.standard_normal(shape, dtype=np.float32) for shape in (SHAPE, KERNEL))
    true = {PRODUCTS: a.astype(float) @ b.astype(float), CONVOLUTIONS: convolve(x, w)}
    inputs = {PRODUCTS: (a, b), CONVOLUTIONS: (x, w)}
    errors = {}
    for work, function in work_of(framework).items():
        error = np.asarray(function(*inputs[work]), dtype=float) - true[work]
        errors[work] = float(np.sqrt(np.mean(error**2) / np.mean(true[work] ** 2)))
    print(json.dumps({"allowed": backend.tf32_allowed(), "errors": errors}))


if __name__ == "__main__":
    main(*sys.argv[1:])
