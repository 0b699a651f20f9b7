"""What each lever does in Keras, on TensorFlow and on JAX alike."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import keras

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.core.trial import Trial
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import host, keras_feeding, keras_host
from trainspeed.worker.levers.hook import Hook, Options
from trainspeed.worker.models import keras_inspect

WHOLE_EPOCH = "epoch"
BF16 = "bfloat16"
NOT_TRAINED = None, "nothing was trained"


def inner(function: Any, name: str) -> Any:
    """Return what a function that Keras made has kept under a name; None where it has no such thing."""
    return inspect.getclosurevars(function).nonlocals.get(name)


def _steps(value: str, trial: Trial) -> int:
    return trial.steps_per_epoch if value == WHOLE_EPOCH else int(value)


def steps_options(value: str, trial: Trial) -> Options:
    """Return how many steps are in a call.

    Keras takes whole calls: where they do not fill an epoch, its endless data sets would train more than that.

    Raises:
        Unsupported: They do not fill an epoch, or it has one step.
    """
    steps = _steps(value, trial)
    if trial.steps_per_epoch % steps:
        raise Unsupported(
            f"{steps} steps per call do not divide an epoch of {trial.steps_per_epoch} steps: with an endless data set "
            f"Keras would train {-(-trial.steps_per_epoch // steps) * steps}; use the value {WHOLE_EPOCH}"
        )
    if steps == 1:
        raise Unsupported("an epoch has one step here: there is nothing to put into one call")
    return {"compile": {"steps_per_execution": steps}}


def steps_seen(value: str, training: Any, loop: str | None, steps: int | None) -> Seen:
    """Return how many steps were in a call, and that no epoch had more of them than it should.

    Args:
        loop: What was found around the step, in words; None where it is not known.
        steps: How often it goes round at most.
    """
    if training.model.steps_per_execution == 1:
        return "1", "Keras calls each step by itself"
    if loop is None or steps is None:
        return None, "no loop that is known around Keras's step"
    trial = training.trial
    counted = int(keras.ops.convert_to_numpy(plain_optimizer(training).iterations))
    told = f"{loop}, {steps} times; the optimizer counted {counted} steps in {len(training.history.epoch)} epochs"
    if counted != trial.steps_per_epoch * len(training.history.epoch) and training.skipped_steps() is None:
        return None, told
    return WHOLE_EPOCH if value == WHOLE_EPOCH and steps == trial.steps_per_epoch else str(steps), told


def plain_optimizer(training: Any) -> keras.Optimizer:
    """Return the optimizer that counts the steps: that within one that scales the loss."""
    return getattr(training.model.optimizer, "inner_optimizer", training.model.optimizer)


def _pure_flags(_value: str, _device: str) -> None:
    keras.config.set_dtype_policy(BF16)


def _pure_seen(_value: str, training: Any) -> Seen:
    """Look at all layers but the last, which returns logits: they are in 32 bits whatever the precision."""
    weighted = [layer for layer in keras_inspect.leaves(training.network) if layer.trainable_weights]
    *others, last = weighted
    dtypes = {
        keras.backend.standardize_dtype(v.value.dtype) for layer in others for v in layer.trainable_weights
    }
    computed = {layer.compute_dtype for layer in others}
    how = (
        f"weights in {_listed(dtypes)}, computed with in {_listed(computed)}; logits in {last.compute_dtype}"
    )
    return ON if dtypes == computed == {BF16} else OFF, how


def _listed(dtypes: Iterable[str]) -> str:
    return " and ".join(sorted(dtypes))


class Terminal:
    """A terminal that nobody looks at, so that its own speed does not count: it counts what is drawn."""

    def __init__(self) -> None:
        self._file: TextIO = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - closed with its callback
        self.encoding, self.drawn = self._file.encoding, 0

    def isatty(self) -> bool:
        """Keras draws over the last line in a terminal only."""
        return True

    def write(self, text: str) -> int:
        """Count a line with a bar in it, and write it."""
        self.drawn += "step" in text
        return self._file.write(text)

    def flush(self) -> None:
        """Write what is kept back, as Keras asks for after each line."""
        self._file.flush()

    def close(self) -> None:
        """Write no more."""
        self._file.close()


class OwnTerminal(keras.callbacks.Callback):
    """Gives Keras's progress bar a terminal of its own, so that it does not fill what a run prints.

    It has no method for batches: with one, Keras would wait for it in every step.
    """

    terminal: Terminal | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Send there what is printed."""
        self.terminal = Terminal()
        self._printed_to, sys.stdout = sys.stdout, self.terminal

    def on_train_end(self, logs: Any = None) -> None:
        """Print as before."""
        sys.stdout = self._printed_to
        self.terminal.close()


def _bar_seen(_value: str, training: Any) -> Seen:
    own = training.callbacks.get("progress_bar")
    drawn = own.terminal.drawn if own and own.terminal else 0
    return ON if drawn else OFF, f"drawn {drawn} times"


class ReadLoss(keras.callbacks.Callback):
    """Reads the loss at the end of each call of the step, as a script does that prints or plots it."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Read it."""
        float(logs["loss"])
        self.read += 1


def _losses_seen(_value: str, training: Any) -> Seen:
    if training.history is None:
        return NOT_TRAINED
    own = training.callbacks.get("sync_every_step")
    calls = training.trial.steps_per_epoch // training.model.steps_per_execution * len(training.history.epoch)
    read = own.read if own else 0
    return ON if read == calls else OFF, f"{read} losses read in {calls} calls of the step"


HOOKS: Mapping[str, Hook] = {
    **host.HOOKS,
    **keras_host.HOOKS,
    **keras_feeding.HOOKS,
    "pure_bf16": Hook(flags=_pure_flags, seen=_pure_seen),
    "progress_bar": Hook(
        options=lambda _: {"fit": {"verbose": 1}, "callbacks": {"progress_bar": OwnTerminal()}},
        seen=_bar_seen,
    ),
    "sync_every_step": Hook(
        options=lambda _: {"callbacks": {"sync_every_step": ReadLoss()}}, seen=_losses_seen
    ),
}


def steps_per_call(seen: Any) -> Hook:
    """Return the hook of several steps per call; how they are seen differs by framework."""
    return Hook(trial_options=steps_options, seen=seen)
