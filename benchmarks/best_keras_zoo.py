"""keras.applications' MobileNetV2 as fast as it can be trained by hand on a CPU. Prints the seconds of each epoch.

Not with Keras's `fit`: an epoch is one call, and its images are gathered within it. Further arguments: bf16 has it
computed in bfloat16 by Keras's policy, math has oneDNN round float32 to it in convolutions and products.
"""

import os
import sys
import time

os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}
os.environ |= {"TF_SET_ONEDNN_FPMATH_MODE": "BF16"} if "math" in sys.argv[5:] else {}

import keras
import tensorflow as tf

from trainspeed.worker.data.sets import epoch_of, load_data_set

batch, count, epochs, size = map(int, sys.argv[1:5])
switched_on = sys.argv[5:]
keras.utils.set_random_seed(0)
if "bf16" in switched_on:
    keras.config.set_dtype_policy("mixed_bfloat16")
x, y = map(tf.constant, epoch_of(load_data_set("digits", size), count, 0))
model = keras.applications.MobileNetV2(
    weights=None, classes=10, classifier_activation=None, input_shape=(size, size, 3)
)
optimizer = keras.optimizers.Adam(1e-4, epsilon=1e-7)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=False)
def step(images: tf.Tensor, labels: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        logits = tf.cast(model(images, training=True), tf.float32)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
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
