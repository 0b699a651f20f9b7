"""A plain Keras training script: what a user would write. Prints the seconds of each epoch.

A further argument is the number of steps in a call.
"""

import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}

import keras
import tensorflow as tf

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.keras_models import build_keras

batch, count, epochs, size = map(int, sys.argv[1:5])
steps = int(sys.argv[5]) if sys.argv[5:] else 1
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
x, y = epoch_of(load_data_set("digits", size), count, 0)
model = build_keras("cnn10", layout="channels_last", image_size=size)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-3, epsilon=1e-7), loss, jit_compile=False, steps_per_execution=steps)


class Timer(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        print(time.perf_counter() - self.started, flush=True)


steps = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(count).batch(batch).repeat().prefetch(1)
model.fit(steps, steps_per_epoch=count // batch, epochs=epochs, verbose=0, callbacks=[Timer()])
