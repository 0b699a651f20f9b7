"""One module per framework: they, `models`, `pipelines` and `conv2d` alone import it, inside a worker."""

from __future__ import annotations

import importlib

from trainspeed.worker.backends.base import Backend

MODULES = {
    "tensorflow": "trainspeed.worker.backends.tensorflow_backend",
    "torch": "trainspeed.worker.backends.torch_backend",
    "jax": "trainspeed.worker.backends.jax_backend",
    "scipy": "trainspeed.worker.backends.scipy_backend",
}


def load_backend(module: str) -> Backend:
    """Import a backend module, and so its framework, and return its `BACKEND`."""
    return importlib.import_module(module).BACKEND
