"""Batches as `tf.data` sets, for Keras on TensorFlow: of static shapes, and endless.

Give `fit` the steps of an epoch. A new iterator in each epoch costs time that training does not need:
0.03 to 0.7 s on a CPU where autotuning ends, 0.3 to 1.2 s under MirroredStrategy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from trainspeed.core.trial import Trial
from trainspeed.worker.data.augmentation import FLIP, SHIFT
from trainspeed.worker.pipelines.batches import Batches, transposed

AUTOTUNE = tf.data.AUTOTUNE


def plain(trial: Trial, x: np.ndarray, y: np.ndarray) -> tf.data.Dataset:
    """Return batches of the images as they are, gathered one step ahead."""
    with tf.device("CPU"):
        images = tf.constant(transposed(x) if trial.layout == "channels_first" else x)
        labels = tf.constant(y)
    batches = _order(trial, len(y)).map(lambda chosen: (tf.gather(images, chosen), tf.gather(labels, chosen)))
    return _without_autotuning(batches.prefetch(1))


def mapped(trial: Trial, x: np.ndarray, y: np.ndarray) -> tf.data.Dataset:
    """Return batches augmented by TensorFlow, in as many threads as it finds best.

    The random numbers come from the number of the batch, so no thread repeats another's.
    """
    with tf.device("CPU"):
        images, labels = tf.constant(x), tf.constant(y)

    def batch(index: tf.Tensor, chosen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        made = tf.gather(images, chosen)
        if trial.augment:
            made = augment(made, tf.stack([tf.constant(trial.seed, tf.int64), index]))
        if trial.layout == "channels_first":
            made = tf.transpose(made, (0, 3, 1, 2))
        return made, tf.gather(labels, chosen)

    order = _order(trial, len(y)).enumerate()
    return order.map(batch, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def generated(batches: Batches) -> tf.data.Dataset:
    """Return batches from a Python generator, each made when the training step asks for it.

    Keras would let a thread of its own prefetch what a generator yields; here nothing works ahead,
    except that MirroredStrategy has a small buffer for each device.
    """

    def endless() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for epoch in itertools.count():
            for index in range(batches.steps):
                yield batches(epoch, index)

    return _without_autotuning(tf.data.Dataset.from_generator(endless, output_signature=signature(batches)))


def signature(batches: Batches) -> tuple[tf.TensorSpec, ...]:
    """Return shapes and dtypes of the images and labels of a batch."""
    return tuple(tf.TensorSpec(part.shape, part.dtype) for part in batches(0, 0))


def augment(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return images augmented as by `trainspeed.worker.data.augmentation`, whose words are used here.

    Args:
        images: (batch, height, width, 3), float32; so is what comes back.
        seed: Two integers: the same ones give the same shifts and flips.
    """
    count, height, width, _ = images.shape
    draws = tf.random.stateless_uniform((3, count), seed)
    down, right = tf.unstack((2 * draws[:2] - 1) * [[SHIFT * height], [SHIFT * width]])
    mirrored = draws[2] < FLIP
    one, zero = tf.ones(count), tf.zeros(count)
    # Where (column, row) is read for an output pixel: (a0 column + a2, b1 row + b2).
    a0 = tf.where(mirrored, -one, one)
    a2 = tf.where(mirrored, width - 1.0 - right, -right)
    moved = tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.stack([a0, zero, a2, zero, one, -down, zero, zero], axis=1),
        output_shape=(height, width),
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="NEAREST",
    )
    return tf.ensure_shape(moved, images.shape)


def _order(trial: Trial, count: int) -> tf.data.Dataset:
    """Return batches of image numbers, shuffled anew in each epoch."""
    order = tf.data.Dataset.range(count).shuffle(count, seed=trial.seed)
    return order.batch(trial.batch_size, drop_remainder=True).take(trial.steps_per_epoch).repeat()


def _without_autotuning(data: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)
