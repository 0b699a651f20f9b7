"""What readers call frameworks, models, data sets, devices and input pipelines. Knows no type of trial."""

from __future__ import annotations

from typing import Any

from trainspeed.core.format import counted

NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX", "scipy": "SciPy and OpenCV"}
DATA_SET_NAMES = {"own": "your own data"}


def model_of(model: str) -> str:
    """Return a model's name in a sentence or a chart: a user's model goes without its folder."""
    return model.rpartition("/")[2]


def pipeline_of(trial: Any) -> str:
    """Return an input pipeline and its workers in words."""
    return f"{trial.pipeline} ({counted(trial.workers, 'worker')})" if trial.workers else trial.pipeline


def devices_of(trial: Any) -> str:
    """Return the number of devices, and what spreads the batch over them, in words."""
    return "1 device" if trial.devices == 1 else f"{trial.devices} devices ({trial.strategy})"
