"""One module per framework. They, `convolution`, `levers`, `models`, `pipelines` alone import it, in a worker."""

from __future__ import annotations

import importlib

from trainspeed.worker.backends.base import Backend

# Name of a framework or library -> the module whose `BACKEND` runs it.
MODULES = {name: f"{__name__}.{name}_backend" for name in ("tensorflow", "torch", "jax", "scipy")}


def load_backend(module: str) -> Backend:
    """Import a backend module, and so its framework, and return its `BACKEND`."""
    return importlib.import_module(module).BACKEND
