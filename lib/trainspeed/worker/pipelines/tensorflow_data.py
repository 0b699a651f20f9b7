"""Batches as `tf.data` sets, for Keras on TensorFlow: endless, and with static shapes.

Tell `fit` the steps of an epoch. A new iterator in each epoch would cost time that training does not need:
0.03 to 0.7 s on a CPU where autotuning ends, 0.3 to 1.2 s under MirroredStrategy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from trainspeed.core.trial import Trial
from trainspeed.sensors.processes import all_cores
from trainspeed.worker.data.augmentation import FLIP_PROBABILITY, SHIFT_SHARE
from trainspeed.worker.pipelines.batches import Batches, in_layout

AUTOTUNE = tf.data.AUTOTUNE
# Operation of a data set, by its class -> the pipeline that has it: a generator's is mapped into one flat sequence.
KINDS = {"Map": "arrays", "ParallelMap": "tf_data", "FlatMap": "generator"}


def plain_batches(trial: Trial, x: np.ndarray, y: np.ndarray) -> tf.data.Dataset:
    """Return batches of unchanged images, or of their numbers, gathered one step ahead."""
    with tf.device("CPU"):
        images = tf.constant(in_layout(x, trial.layout))
        labels = tf.constant(y)
    batches = _order(trial, len(y)).map(lambda chosen: (tf.gather(images, chosen), tf.gather(labels, chosen)))
    return _without_autotuning(batches.prefetch(1))


def mapped(trial: Trial, x: np.ndarray, y: np.ndarray) -> tf.data.Dataset:
    """Return batches augmented by TensorFlow, in as many threads as it finds best.

    The random numbers come from the number of the batch, so no thread repeats those of another.
    """
    with tf.device("CPU"):
        images, labels = tf.constant(x), tf.constant(y)

    def batch(index: tf.Tensor, chosen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = tf.gather(images, chosen)
        if trial.augment:
            x = _augment(x, tf.stack([tf.constant(trial.seed, tf.int64), index]))
        if trial.layout == "channels_first":
            x = tf.transpose(x, (0, 3, 1, 2))
        return x, tf.gather(labels, chosen)

    order = _order(trial, len(y)).enumerate()
    return order.map(batch, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def generated(batches: Batches) -> tf.data.Dataset:
    """Return batches from a Python generator, each made when the training step asks for it.

    Keras would have one of its threads prefetch what a generator yields; here nothing works ahead, except that
    MirroredStrategy has a small buffer for each device.
    """

    def endless() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for epoch in itertools.count():
            for index in range(batches.steps):
                yield batches(epoch, index)

    return _without_autotuning(tf.data.Dataset.from_generator(endless, output_signature=signature(batches)))


def with_levers(
    data: tf.data.Dataset,
    *,
    deterministic: bool | None = None,
    private_threads: bool = False,
    autotuned: bool = False,
    prefetch_to: str | None = None,
) -> tf.data.Dataset:
    """Return a data set with what levers ask of it.

    Args:
        deterministic: Whether batches come in the same order in every run; None leaves it alone.
        private_threads: Whether it gets threads of its own, one for each core that this process may use.
        autotuned: Whether TensorFlow tunes it, as it does by default, also where that was switched off here.
        prefetch_to: Device that batches are copied to one ahead; None: none.
    Source: https://www.tensorflow.org/api_docs/python/tf/data/Options
    """
    options = tf.data.Options()
    if deterministic is not None:
        options.deterministic = deterministic
    if private_threads:
        options.threading.private_threadpool_size = max(1, len(all_cores()))
    if autotuned:
        options.autotune.enabled = True
    data = data.with_options(options)
    if prefetch_to is None:
        return data
    return data.apply(
        tf.data.experimental.prefetch_to_device(prefetch_to, buffer_size=1)
    )  # which has to be the last


def pipeline_of_dataset(data: tf.data.Dataset) -> tuple[str | None, str]:
    """Return the pipeline that a data set is, by its operations, None where they are of none, and these in words."""
    steps: list[tf.data.Dataset] = [data]
    while inputs := steps[-1]._inputs():
        steps.append(inputs[-1])  # of several, the last one is that of the images' numbers
    named = [(type(step).__name__.strip("_").removesuffix("Dataset"), step) for step in reversed(steps)]
    kinds = {KINDS[name] for name, _ in named if name in KINDS}
    words = ", ".join(_words(name, step) for name, step in named if name != "Options")
    images = data.element_spec[0]
    how = f"its data set: {words}; it yields {images.dtype.name} {tuple(images.shape)}"
    return (kinds.pop() if len(kinds) == 1 else None), how


def _words(name: str, step: tf.data.Dataset) -> str:
    number = getattr(
        step, {"ParallelMap": "_num_parallel_calls", "Prefetch": "_buffer_size"}.get(name, ""), None
    )
    return name if number is None else f"{name}({'AUTOTUNE' if int(number) == AUTOTUNE else int(number)})"


def signature(batches: Batches) -> tuple[tf.TensorSpec, ...]:
    """Return shapes and dtypes of the images and labels of a batch."""
    return tuple(tf.TensorSpec(part.shape, part.dtype) for part in batches(0, 0))


def _augment(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return images shifted and mirrored as in `trainspeed.worker.data.augmentation`, which has the same names.

    Args:
        images: (batch, height, width, 3), float32, or uint8; so is what comes back.
        seed: Two integers, which decide the shifts and flips.
    """
    count, height, width, _ = images.shape
    draws = tf.random.stateless_uniform((3, count), seed)
    down, right = tf.unstack((2 * draws[:2] - 1) * [[SHIFT_SHARE * height], [SHIFT_SHARE * width]])
    mirrored = draws[2] < FLIP_PROBABILITY
    one, zero = tf.ones(count), tf.zeros(count)
    # An output pixel at (column, row) is read at (a0 column + a2, b1 row + b2).
    a0 = tf.where(mirrored, -one, one)
    a2 = tf.where(mirrored, width - 1.0 - right, -right)
    moved = tf.raw_ops.ImageProjectiveTransformV3(
        images=tf.cast(images, tf.float32),  # of bytes it would cut off what it should round
        transforms=tf.stack([a0, zero, a2, zero, one, -down, zero, zero], axis=1),
        output_shape=(height, width),
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="NEAREST",
    )
    moved = moved if images.dtype == tf.float32 else tf.cast(tf.round(moved), images.dtype)
    return tf.ensure_shape(moved, images.shape)


def _order(trial: Trial, count: int) -> tf.data.Dataset:
    """Return batches of image numbers, shuffled again in each epoch."""
    order = tf.data.Dataset.range(count).shuffle(count, seed=trial.seed)
    return order.batch(trial.batch_size, drop_remainder=True).take(trial.steps_per_epoch).repeat()


def _without_autotuning(data: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)
