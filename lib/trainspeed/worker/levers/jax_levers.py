"""What each lever does in Keras on JAX, where it is not what it does on TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import keras

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.sensors.cpu import cpu_flags
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import keras_levers, xla_options
from trainspeed.worker.levers.hook import Hook, Options
from trainspeed.worker.levers.jax_scan import SCAN_STEPS
from trainspeed.worker.levers.keras_levers import NOT_TRAINED, inner, steps_per_call, steps_seen

SIDE = 1024  # of the square matrices whose product takes long enough, 10 ms and more, to see whether it is waited for
OTHER = {ON: OFF, OFF: ON}
PREALLOCATED = 0.95  # share of the limit that the pool has where all of it was taken at once


def _steps_seen(value: str, training: Any) -> Seen:
    """Look for the jitted step that Keras's function calls again and again."""
    if training.history is None:
        return NOT_TRAINED
    called = training.model.train_function
    step, steps = inner(called, "step_function"), training.model.steps_per_execution
    loops = hasattr(step, "lower") and not hasattr(called, "lower")
    return steps_seen(value, training, "a loop in Python over a jitted step" if loops else None, steps)


class _Flag:
    """How a flag of XLA is seen: the number of its field, and what that has where the lever is at its value."""

    def __init__(self, number: int, values: list[int | bytes] | None, *, needs: str | None = None) -> None:
        self._number, self._values, self._needs = number, values, needs

    def check(self, _value: str, _device: str) -> None:
        """Raise Unsupported where XLA or the processor has no such thing."""
        xla_options.check_flags()
        if self._needs and self._needs not in cpu_flags():
            raise Unsupported(f"this processor has no {self._needs}")

    def seen(self, value: str, _training: Any) -> Seen:
        """Return the lever's value where XLA's options have it, and what they have."""
        has = xla_options.debug_options().get(self._number)
        told = f"field {self._number} of XLA's DebugOptions is {has}"
        return value if has == self._values else OTHER.get(value), told


XLA_FLAGS = {
    "xla_fast_math": _Flag(99, [1]),
    "xla_vector_width": _Flag(308, [512], needs="avx512f"),
    "xla_latency_hiding": _Flag(186, [1]),
    "xla_command_buffers": _Flag(258, None),
    "xla_triton_gemm": _Flag(188, [0]),
    "xla_autotuning": _Flag(123, [0]),
    "xla_deterministic": _Flag(297, [1]),
}


def _dispatch_flags(_value: str, _device: str) -> None:
    jax.config.update("jax_cpu_enable_async_dispatch", False)


def _dispatch_seen(_value: str, _training: Any) -> Seen:
    """Multiply once: where a call waits for what it computes, its result is there as it returns."""
    product = jax.jit(lambda matrix: matrix @ matrix)
    matrix = jax.numpy.ones((SIDE, SIDE))
    product(matrix).block_until_ready()
    there = product(matrix).is_ready()
    return OFF if there else ON, f"a product was {'ready' if there else 'not ready'} as its call returned"


def _undonated(_value: str, model: keras.Model) -> keras.Model:
    """Have Keras make the same function, of a step that leaves the old weights alone."""

    def make_train_function(force: bool = False) -> None:
        if model.train_function is None or force:
            model.train_function = model._make_function(jax.jit(model.train_step))

    model.make_train_function = make_train_function
    return model


class KeptWeights(keras.callbacks.Callback):
    """Keeps the smallest weights from before the first step, to see afterwards whether a step wrote over them."""

    kept: jax.Array | None = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Keep them."""
        if epoch == 0:
            self.kept = min((v.value for v in self.model.trainable_variables), key=lambda array: array.size)


def _donation_options(_value: str) -> Options:
    return {"callbacks": {"donation": KeptWeights()}}


def _donation_seen(_value: str, training: Any) -> Seen:
    own = training.callbacks.get("donation")
    if own is None or own.kept is None:
        return NOT_TRAINED
    gone = own.kept.is_deleted()
    return ON if gone else OFF, f"weights from before the first step were {'gone' if gone else 'still there'}"


def _preallocation_seen(_value: str, _training: Any) -> Seen:
    stats = jax.devices()[0].memory_stats() or {}
    pool, limit = stats.get("pool_bytes"), stats.get("bytes_limit")
    if not pool or not limit:
        return None, "XLA's allocator does not tell the size of its pool"
    return ON if pool > PREALLOCATED * limit else OFF, f"a pool of {pool} bytes, limited to {limit}"


HOOKS: Mapping[str, Hook] = {
    **keras_levers.HOOKS,
    **{name: Hook(flags=flag.check, seen=flag.seen) for name, flag in XLA_FLAGS.items()},
    "steps_per_call": steps_per_call(_steps_seen),
    "scan_steps": SCAN_STEPS,
    "async_dispatch": Hook(flags=_dispatch_flags, seen=_dispatch_seen),
    "donation": Hook(options=_donation_options, model=_undonated, seen=_donation_seen),
    "preallocation": Hook(seen=_preallocation_seen),
}
