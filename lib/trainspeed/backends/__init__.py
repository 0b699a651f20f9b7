"""One module per framework: the only ones that import it. They run inside a worker's child."""

from __future__ import annotations

import importlib

from trainspeed.backends.base import Backend

MODULES = {
    "tensorflow": "trainspeed.backends.tensorflow_backend",
    "torch": "trainspeed.backends.torch_backend",
    "jax": "trainspeed.backends.jax_backend",
}


def load(module: str) -> Backend:
    """Import a backend module, and so its framework, and return its `BACKEND`."""
    return importlib.import_module(module).BACKEND
