"""Trouble planted in a real backend, as TRAINSPEED_TEST_PLANT says. Imported by a worker's fork.

What no run tells goes along with what was looked up: whether the final loss is `finite`, `weight_dtypes`,
and `moved`: for each step whether it changed the weights.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
from dataclasses import replace

import numpy as np

from trainspeed.worker import backends
from trainspeed.worker.timing import in_a_row

FRAMEWORK = os.environ["TRAINSPEED_TEST_FRAMEWORK"]
PLANT = os.environ["TRAINSPEED_TEST_PLANT"]
OVERFLOWS_IN = 1  # step, from 0
MORE_EPOCHS = 2  # than the trial says, as runs that take turns train
INITIAL_SCALE, TOO_LARGE = 2.0**15, 2.0**60  # of Keras's loss scaling; float16 ends at 2**16

backend = importlib.import_module(backends.MODULES[FRAMEWORK])


def same(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def facts_of(training) -> dict:
    """Return what only these tests ask for; it takes the place of what differs by framework."""
    facts = {"finite": math.isfinite(training.final_loss), "moved": list(training.moved)}
    return facts | {"weight_dtypes": sorted({str(array.dtype) for array in training.weights()})}


def epochs_of(trial, another):
    """Return what lets a training train on: longer where its steps are counted."""
    return in_a_row(trial.epochs + MORE_EPOCHS) if PLANT == "overflow" else another


def plant_in_torch() -> None:
    import torch

    class Planted(backend.TorchTraining):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.moved = []
            weights = next(self.model.parameters())
            if PLANT == "infinite weights":
                torch.nn.init.constant_(weights, math.inf)
            if PLANT == "overflow":
                weights.register_hook(lambda g: g * math.inf if len(self.moved) == OVERFLOWS_IN else g)

        def weights(self) -> list[np.ndarray]:
            return [p.detach().numpy().copy() for p in self.model.parameters()]

        def train(self, another):
            return super().train(epochs_of(self.trial, another))

        def _step(self, x, y):
            before = self.weights()
            super()._step(x, y)
            self.moved.append(not same(before, self.weights()))

        def inspect(self):
            facts = facts_of(self)  # before a profile makes more steps
            return replace(super().inspect(), profile=facts)

    backend.TorchTraining = Planted


def plant_in_keras() -> None:
    from trainspeed.worker.backends import keras_training

    class Marks(keras_training.EpochMarks):
        """Looks at epochs of one step."""

        def __init__(self, training, synchronize):
            super().__init__(synchronize)
            self.training = training

        def begin(self):
            if PLANT == "overflow":
                scale = TOO_LARGE if len(self.epoch_s) == OVERFLOWS_IN else INITIAL_SCALE
                self.training.model.optimizer.dynamic_scale.assign(scale)
            self.before = self.training.weights()
            super().begin()

        def end(self):
            super().end()
            self.training.moved.append(not same(self.before, self.training.weights()))

    name = {"tensorflow": "TensorFlowTraining", "jax": "JaxTraining"}[FRAMEWORK]

    class Planted(getattr(backend, name)):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.moved = []
            if PLANT == "infinite weights":
                first = self.model.trainable_variables[0]
                first.assign(np.full(first.shape, math.inf, np.float32))
            if PLANT == "overflow" or PLANT.endswith("convolutions"):  # the compiler's widening is no matter
                ran = [("channels_last", "float32")] if PLANT == "float32 convolutions" else []
                self.convolutions = lambda *_: ran

        def weights(self) -> list[np.ndarray]:
            return [np.array(variable) for variable in self.model.trainable_variables]

        def train(self, another):
            keras_training.EpochMarks = functools.partial(Marks, self)
            return super().train(epochs_of(self.trial, another))

        def inspect(self):
            facts = facts_of(self)  # before a profile makes more steps
            return replace(super().inspect(), profile=facts)

    setattr(backend, name, Planted)


PLANTERS = {"torch": plant_in_torch, "tensorflow": plant_in_keras, "jax": plant_in_keras}
PLANTERS[FRAMEWORK]()
