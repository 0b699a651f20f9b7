"""Several steps of Keras on JAX in one program: `lax.scan` over the batches of a call.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html; keras/src/backend/jax/trainer.py (3.15)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import keras
import numpy as np

from trainspeed.core.result import Seen
from trainspeed.worker.levers.hook import Hook
from trainspeed.worker.levers.keras_levers import NOT_TRAINED, steps_options, steps_seen

Step = Callable[[Any, Any], tuple[Any, Any]]  # (state, batch) -> (logs, state)


class ScannedSteps:
    """Keras's function of a call: it takes the batches of so many steps, and one program trains on one after another.

    Attributes:
        steps: Steps in a call.
        calls: How often it was called.
    """

    def __init__(self, step: Step, steps: int) -> None:
        def program(state: Any, batches: Any) -> tuple[Any, Any]:
            state, logs = jax.lax.scan(lambda state, batch: step(state, batch)[::-1], state, batches)
            return jax.tree.map(lambda each: each[-1], logs), state

        self.steps, self.calls = steps, 0
        self._program = jax.jit(program, donate_argnums=0)

    def __call__(self, state: Any, iterator: Iterator[Any]) -> tuple[Any, Any]:
        """Return the last step's logs and the state after it, as Keras's own function does."""
        batches = [next(iterator) for _ in range(self.steps)]
        self.calls += 1
        return self._program(state, jax.tree.map(_stacked, *batches))


def _stacked(*arrays: Any) -> Any:
    """Return arrays as one: on the host where they are there, so that one is uploaded and not several."""
    return (np if isinstance(arrays[0], np.ndarray) else jax.numpy).stack(arrays)


def _scanned(_value: str, model: keras.Model) -> keras.Model:
    """Have Keras make another function of its step."""

    def make_train_function(force: bool = False) -> None:
        if model.train_function is None or force:
            model.train_function = ScannedSteps(model.train_step, model.steps_per_execution)

    model.make_train_function = make_train_function
    return model


def _seen(value: str, training: Any) -> Seen:
    if training.history is None:
        return NOT_TRAINED
    called = training.model.train_function
    is_scan = isinstance(called, ScannedSteps) and called.calls
    loop = "a loop of lax.scan in one program" if is_scan else None
    return steps_seen(value, training, loop, called.steps if is_scan else None)


SCAN_STEPS = Hook(trial_options=steps_options, model=_scanned, seen=_seen)
