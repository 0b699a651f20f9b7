"""What Keras's `fit` is fed with, by the trial's `pipeline`, and the same batches without a model.

Import it after the backend module, which decides what Keras runs on. Does not know models or timing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from trainspeed.core.trial import Trial
from trainspeed.sensors.processes import use_all_cores
from trainspeed.worker.data.augmentation import SHIFT_SHARE
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.pipelines.batches import PLAIN, Batches, batches_of, in_layout
from trainspeed.worker.pipelines.made_by import Here, Make
from trainspeed.worker.pipelines.workers import Processes


def feed(trial: Trial, x: np.ndarray, y: np.ndarray, **options: Any) -> dict[str, Any]:
    """Return the arguments for `Model.fit` that give it an epoch of the trial's steps, shuffled in each epoch.

    Pass them to `close` in the end. On JAX, arrays are shuffled by NumPy's own stream, which
    `keras.utils.set_random_seed` seeds; everything else comes from the trial's seed.

    Args:
        x: (count, height, width, 3), float32 or uint8; the batches have the layout of the trial. Or (count,), the
            numbers of images that stay on the device, for a pipeline that leaves images as they are.
        y: (count,), int32.
        options: Of `tensorflow_data.with_levers`.
    Raises:
        Unsupported: The pipeline needs TensorFlow, or has none of tf.data's options.
        NotImplementedError: The pipeline has a name, and is not written here.
    """
    if trial.pipeline == "tf_data" and not _on_tensorflow():
        raise Unsupported("pipeline 'tf_data' needs Keras on TensorFlow")
    batches = batches_of(trial, x, y, channels_first=trial.layout == "channels_first")
    if trial.pipeline in WORKER_FEEDS:
        if options:
            raise Unsupported(
                f"pipeline {trial.pipeline!r} is Keras's own, without tf.data's {', '.join(options)}"
            )
        return {"x": WORKER_FEEDS[trial.pipeline](trial, batches), "shuffle": False}
    if trial.pipeline not in (*PLAIN, "generator", "tf_data"):
        raise NotImplementedError(f"no pipeline {trial.pipeline!r} in worker/pipelines/keras_pipelines.py")
    if _on_tensorflow():
        return {"x": _tf_data(trial, batches, options), "steps_per_epoch": batches.steps, "shuffle": False}
    if trial.pipeline in PLAIN:
        return _jax_arrays(trial, x, y)
    return {"x": _Adapter(batches, Here(batches), workers=0), "shuffle": False}


def same_batch(trial: Trial, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the arguments for a `Model.fit` that gets the first batch again and again: it waits for no input.

    Args:
        x, y: As for `feed`.
    """
    x, y = x[: trial.batch_size], y[: trial.batch_size]
    batch = in_layout(x, trial.layout), y
    if _on_tensorflow():
        import tensorflow as tf

        return {
            "x": tf.data.Dataset.from_tensors(batch).repeat().prefetch(1),
            "steps_per_epoch": trial.steps_per_epoch,
            "shuffle": False,
        }
    return {"x": _PyDataset(trial.steps_per_epoch, lambda epoch, index: batch, workers=0), "shuffle": False}


OPEN: list[Any] = []  # iterators that outlive what they were made for, until this process ends


@contextlib.contextmanager
def left_open() -> Iterator[None]:
    """Have the iterators over a feed that Keras makes meanwhile stay open.

    TensorFlow closes one whose autotuning is on, as of tf.data or under MirroredStrategy, when that next looks: up to
    as many seconds later as it has lived, 36 where a run had waited for its turns for 40. No run needs it closed.
    """
    if not _on_tensorflow():
        yield
        return
    from keras.src.backend.tensorflow import trainer

    class LeftOpen(trainer.TFEpochIterator):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            OPEN.append(self)

    of_keras, trainer.TFEpochIterator = trainer.TFEpochIterator, LeftOpen
    try:
        yield
    finally:
        trainer.TFEpochIterator = of_keras


def close(fed: Mapping[str, Any]) -> None:
    """End the worker processes of a feed, where it has any."""
    if isinstance(fed["x"], _Adapter):
        fed["x"].close()


class InputOnly:
    """The batches that `fit` takes from a feed, without a model: each iteration is one epoch.

    It goes through the iterator that `fit` uses, so that Keras's threads, its queue and what it does between
    epochs count. There is no public access to it. Make it within the strategy's scope, if there is one.
    """

    def __init__(self, fed: Mapping[str, Any]) -> None:
        if _on_tensorflow():
            import tensorflow as tf
            from keras.src.backend.tensorflow.trainer import TFEpochIterator

            self._epoch = TFEpochIterator(distribute_strategy=tf.distribute.get_strategy(), **fed)
        else:
            from keras.src.backend.jax.trainer import JAXEpochIterator

            self._epoch = JAXEpochIterator(**fed)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield images and labels as the backend gets them."""
        with self._epoch.catch_stop_iteration():
            for _, _, batches in self._epoch:
                yield next(batches)


def augmentation_layers(trial: Trial) -> list[keras.layers.Layer]:
    """Return layers to put before a model's first: in training they shift and flip, else they do nothing.

    Raises:
        Unsupported: On TensorFlow with XLA: Keras would turn XLA off for the whole model, and only warn.
    """
    if _on_tensorflow() and trial.compile:
        raise Unsupported("augmentation in the model needs an operation that XLA lacks: use compile = false")
    options: dict[str, Any] = {"data_format": trial.layout, "dtype": "float32"}
    seed = 2 * trial.seed  # two streams: with one, flips would depend on shifts
    layers = [
        keras.layers.RandomTranslation(
            SHIFT_SHARE, SHIFT_SHARE, fill_mode="nearest", interpolation="bilinear", seed=seed, **options
        ),
        keras.layers.RandomFlip("horizontal", seed=seed + 1, **options),
    ]
    if not _on_tensorflow():
        for layer in layers:  # the default is for TensorFlow only; Keras would run all of JAX uncompiled
            layer.supports_jit = True
    return layers


class ResidentImages(keras.layers.Layer):
    """(batch,) numbers of images to these images, which stay on the device: each of several has them all.

    They are neither trained nor saved.
    """

    def __init__(self, images: np.ndarray) -> None:
        """Upload them, (count, …), float32 or uint8."""
        super().__init__(dtype="float32", trainable=False)
        self._images = self.add_weight(
            shape=images.shape,
            dtype=str(images.dtype),
            initializer=lambda shape, dtype: keras.ops.convert_to_tensor(images),
            trainable=False,
            name="images",
        )

    def call(self, numbers):
        """Gather a batch."""
        return keras.ops.take(self._images, numbers, axis=0)

    def save_own_variables(self, store) -> None:
        """Save nothing: a checkpoint is of the model."""

    def before(self, model: keras.Model) -> keras.Model:
        """Return a model that is fed with numbers instead of images."""
        numbers = keras.Input((), dtype="int32")
        return keras.Model(numbers, model(self(numbers)), name=f"resident_{model.name}")


class _PyDataset(keras.utils.PyDataset):
    """One epoch of batches at a time, which Keras takes one by one or hands to its worker threads."""

    def __init__(self, steps: int, make: Make, **options: Any) -> None:
        super().__init__(**options)
        self._steps, self.make, self._epoch = steps, make, 0

    def __len__(self) -> int:
        return self._steps

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.make(self._epoch, index)

    def on_epoch_end(self) -> None:
        """Count epochs here, where the threads rest: in `on_epoch_begin` they have already begun."""
        self._epoch += 1


class _Adapter(PyDatasetAdapter):
    """What Keras itself would make of a PyDataset, except that an epoch is really one epoch.

    On JAX, and under a strategy of TensorFlow, `fit` takes a first batch to see its shape and then starts
    again; Keras keeps what its threads had made by then, which shifts all epochs by that much.
    """

    def __init__(
        self, batches: Batches, make: Make, *, close: Callable[[], None] = lambda: None, **options: Any
    ) -> None:
        super().__init__(_PyDataset(batches.steps, make, **options))
        self.close = close
        if _on_tensorflow():
            from trainspeed.worker.pipelines import tensorflow_data

            self._output_signature = tensorflow_data.signature(batches)  # else the batch size is unknown

    def on_epoch_end(self) -> None:
        super().on_epoch_end()
        while self.enqueuer and not self.enqueuer.ready_queue.empty():
            self.enqueuer.ready_queue.get()


def _on_tensorflow() -> bool:
    return keras.backend.backend() == "tensorflow"


def _tf_data(trial: Trial, batches: Batches, options: Mapping[str, Any]) -> Any:
    from trainspeed.worker.pipelines import tensorflow_data

    if trial.pipeline == "generator":
        made = tensorflow_data.generated(batches)
    else:
        make = tensorflow_data.mapped if trial.pipeline == "tf_data" else tensorflow_data.plain_batches
        made = make(trial, batches.x, batches.y)
    return tensorflow_data.with_levers(made, **options)


def _jax_arrays(trial: Trial, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    count = trial.steps_per_epoch * trial.batch_size
    return {
        "x": in_layout(x[:count], trial.layout),
        "y": y[:count],
        "batch_size": trial.batch_size,
        "shuffle": True,
    }


def _threads(trial: Trial, batches: Batches) -> _Adapter:
    """Keras starts no thread for one worker: it gets two instead, of which one works at a time."""
    at_work = threading.Semaphore(trial.workers)

    def make(epoch: int, index: int) -> tuple[np.ndarray, np.ndarray]:
        use_all_cores()  # Keras made this thread, pinned to the core of the device
        with at_work:
            return batches(epoch, index)

    return _Adapter(batches, Here(make), workers=max(2, trial.workers), max_queue_size=trial.queue)


def _processes(trial: Trial, batches: Batches) -> _Adapter:
    """Keras's threads only wait here: two for each process, so that its next batch is already requested.

    Keras's own processes are forked again in each epoch, with all of the framework's threads and locks.
    """
    processes = Processes(batches, trial.workers)
    waiting = max(2, min(trial.queue, 2 * trial.workers))
    close = processes.close
    return _Adapter(batches, processes, close=close, workers=waiting, max_queue_size=trial.queue)


WORKER_FEEDS: Mapping[str, Callable[[Trial, Batches], _Adapter]] = {
    "threads": _threads,
    "processes": _processes,
}
