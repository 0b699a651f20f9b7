"""A plain script with keras.applications: what a user would write. Prints the seconds of each epoch."""

import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}

import keras
import tensorflow as tf

from trainspeed.worker.data.folds import fold_of
from trainspeed.worker.data.sets import epoch_of, load_data_set

batch, count, epochs, size = map(int, sys.argv[1:])
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
x, y = epoch_of(fold_of(load_data_set("digits", None), 5, 0), count, 0)
backbone = keras.applications.MobileNet(
    include_top=False, weights=None, input_shape=(size, size, 3), pooling="avg"
)
inputs = keras.Input(x.shape[1:])
images = keras.ops.repeat(keras.ops.image.resize(inputs, (size, size)), 3, axis=3)
features = keras.layers.Dropout(0.15)(backbone(images))
model = keras.Model(inputs, keras.layers.Dense(10)(features))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-4, epsilon=1e-7), loss, jit_compile=False)


class Timer(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        print(time.perf_counter() - self.started, flush=True)


steps = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(count).batch(batch).repeat().prefetch(1)
model.fit(steps, steps_per_epoch=count // batch, epochs=epochs, verbose=0, callbacks=[Timer()])
