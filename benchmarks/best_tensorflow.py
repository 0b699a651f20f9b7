"""A TensorFlow training script as fast as it can be written by hand for a CPU. Prints the seconds of each epoch.

Not with Keras's `fit`: an epoch is one call, and its images are gathered within it. Further arguments: compiled
has the step compiled by XLA, bf16 has it computed in bfloat16 by Keras's policy.
"""

import os
import sys
import time

os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}

import keras
import tensorflow as tf

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.keras_models import build_keras

batch, count, epochs, size = map(int, sys.argv[1:5])
keras.utils.set_random_seed(0)
if "bf16" in sys.argv[5:]:
    keras.config.set_dtype_policy("mixed_bfloat16")
x, y = map(tf.constant, epoch_of(load_data_set("digits", size), count, 0))
model = build_keras("cnn10", layout="channels_last", image_size=size)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-7)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile="compiled" in sys.argv[5:])
def step(images: tf.Tensor, labels: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)


@tf.function
def train_epoch() -> None:
    order = tf.random.shuffle(tf.range(count))
    for first in tf.range(0, count, batch):
        chosen = order[first : first + batch]
        step(tf.gather(x, chosen), tf.gather(y, chosen))


for _ in range(epochs):
    started = time.perf_counter()
    train_epoch()
    print(time.perf_counter() - started, flush=True)
