"""A plain Keras script with MirroredStrategy: what a user would write. Prints the seconds of each epoch."""

import os
import sys
import time

DEVICES = 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-DEVICES:])
os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}

import keras
import tensorflow as tf

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.keras_models import build_keras

batch, count, epochs, size = map(int, sys.argv[1:])
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(DEVICES)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * DEVICES)
keras.utils.set_random_seed(0)
x, y = epoch_of(load_data_set("digits", size), count, 0)
with tf.distribute.MirroredStrategy([f"CPU:{n}" for n in range(DEVICES)]).scope():
    model = build_keras("cnn10", layout="channels_last", image_size=size)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3, epsilon=1e-7), loss, jit_compile=False)


class Timer(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        print(time.perf_counter() - self.started, flush=True)


steps = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(count).batch(batch).repeat().prefetch(1)
model.fit(steps, steps_per_epoch=count // batch, epochs=epochs, verbose=0, callbacks=[Timer()])
