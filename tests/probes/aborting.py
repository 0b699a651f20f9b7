"""Planted in a fork of a worker: what looks at the model after the epochs aborts, as a library in C++ does."""

from __future__ import annotations

import importlib
import os

from trainspeed.worker import backends

TRAININGS = {"tensorflow": "TensorFlowTraining", "torch": "TorchTraining", "jax": "JaxTraining"}
FRAMEWORK = os.environ["TRAINSPEED_TEST_FRAMEWORK"]

training = getattr(importlib.import_module(backends.MODULES[FRAMEWORK]), TRAININGS[FRAMEWORK])
training.inspect = lambda self: os.abort()
