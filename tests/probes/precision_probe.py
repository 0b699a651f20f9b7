"""A real backend as a worker imports it, told that this CPU has 16-bit arithmetic, with trouble planted.

TRAINSPEED_TEST_FRAMEWORK says which one. TRAINSPEED_TEST_PLANTS lists what can be planted, with commas
between; a trial's seed is its place in the list. What no run tells goes along with what was looked up:
`final_loss`, `weight_dtypes`, and `moved`: for each step whether it changed the weights.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
from dataclasses import replace

import numpy as np

from trainspeed import backends, precision

FRAMEWORK = os.environ["TRAINSPEED_TEST_FRAMEWORK"]
PLANTS = os.environ["TRAINSPEED_TEST_PLANTS"].split(",")
FLAGS = frozenset({"avx512_bf16", "avx512_fp16"})
OVERFLOWS_IN = 1  # step, from 0
INITIAL_SCALE, TOO_LARGE = 2.0**15, 2.0**60  # of Keras's loss scaling; float16 ends at 2**16

backend = importlib.import_module(backends.MODULES[FRAMEWORK])
BACKEND = backend.BACKEND


def with_flags(start):
    @functools.wraps(start)
    def wrapped(trial, images, **how):
        flags = frozenset() if PLANTS[trial.seed] == "no flags" else FLAGS
        precision.cpu_flags = lambda: flags
        return start(trial, images, **how)

    return wrapped


def same(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def plant_in_torch() -> None:
    import torch

    class Planted(backend.TorchTraining):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.moved = []
            weights = next(self.model.parameters())
            if PLANTS[self.trial.seed] == "infinite weights":
                torch.nn.init.constant_(weights, math.inf)
            if PLANTS[self.trial.seed] == "overflow":
                weights.register_hook(lambda g: g * math.inf if len(self.moved) == OVERFLOWS_IN else g)

        def weights(self) -> list[np.ndarray]:
            return [p.detach().numpy().copy() for p in self.model.parameters()]

        def _step(self, x, y):
            before = self.weights()
            super()._step(x, y)
            self.moved.append(not same(before, self.weights()))

        def inspect(self):
            told = {"final_loss": self.final_loss, "moved": list(self.moved)}
            told["weight_dtypes"] = sorted({str(array.dtype) for array in self.weights()})
            return super().inspect() | told

    backend.TorchTraining = Planted


def plant_in_keras() -> None:
    from trainspeed.backends import keras_training

    class Marks(keras_training._Marks):
        """Looks at epochs of one step."""

        def __init__(self, training, marks):
            super().__init__(marks)
            self.training = training

        def on_epoch_begin(self, epoch, logs=None):
            if PLANTS[self.training.trial.seed] == "overflow":
                scale = TOO_LARGE if epoch == OVERFLOWS_IN else INITIAL_SCALE
                self.model.optimizer.dynamic_scale.assign(scale)
            self.before = self.training.weights()
            super().on_epoch_begin(epoch, logs)

        def on_epoch_end(self, epoch, logs=None):
            super().on_epoch_end(epoch, logs)
            self.training.moved.append(not same(self.before, self.training.weights()))

    class Planted(backend.KerasTraining):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.moved = []
            plant = PLANTS[self.trial.seed]
            if plant == "infinite weights":
                first = self.model.trainable_variables[0]
                first.assign(np.full(first.shape, math.inf, np.float32))
            if plant == "overflow" or plant.endswith("convolutions"):  # the compiler's widening is no matter
                ran = [("channels_last", "float32")] if plant == "float32 convolutions" else []
                self.device = replace(self.device, convolutions=lambda *_: ran)

        def weights(self) -> list[np.ndarray]:
            return [np.array(variable) for variable in self.model.trainable_variables]

        def train(self):
            keras_training._Marks = functools.partial(Marks, self)
            return super().train()

        def inspect(self):
            told = {"final_loss": self.final_loss, "moved": self.moved}
            told["weight_dtypes"] = sorted({str(array.dtype) for array in self.weights()})
            return super().inspect() | told

    backend.KerasTraining = Planted


PLANTERS = {"torch": plant_in_torch, "tensorflow": plant_in_keras, "jax": plant_in_keras}
PLANTERS[FRAMEWORK]()
BACKEND.start = with_flags(BACKEND.start)
