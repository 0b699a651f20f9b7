"""One module per framework: they, `models`, `pipelines` and `conv2d` alone import it, inside a worker."""

from __future__ import annotations

import importlib

from trainspeed.backends.base import Backend

MODULES = {
    "tensorflow": "trainspeed.backends.tensorflow_backend",
    "torch": "trainspeed.backends.torch_backend",
    "jax": "trainspeed.backends.jax_backend",
    "scipy": "trainspeed.backends.scipy_backend",
}


def load(module: str) -> Backend:
    """Import a backend module, and so its framework, and return its `BACKEND`."""
    return importlib.import_module(module).BACKEND
