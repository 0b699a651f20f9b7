"""Training with Keras 3's own `fit`, for its TensorFlow and JAX backends.

Does not know which of the two runs: what differs comes from the backend module as a `Device`.
"""

from __future__ import annotations

import collections
import functools
import math
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from trainspeed.core.notes import ConvolutionsNotSeen
from trainspeed.core.phase import COMPUTE, FIT, INPUT
from trainspeed.core.result import Inspection
from trainspeed.core.trial import KERAS_POLICIES, Trial
from trainspeed.worker.backends import keras_inspect
from trainspeed.worker.data.sets import Images, epoch_of
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.hyperparameters import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.worker.models import keras_models
from trainspeed.worker.pipelines import keras_pipelines
from trainspeed.worker.timing import EpochMarks, time_epochs

EVALUATION_BATCH = 128  # images, at most


@dataclass(frozen=True, kw_only=True)
class Device:
    """What the TensorFlow and JAX backends do differently.

    Attributes:
        synchronize: Blocks until the model's queued steps are finished.
        peak_memory_bytes: Allocator peak on the device; None on a CPU.
        predict: Returns the model's logits, (images, classes), of an array of images.
        scope: Context in which the model is made, for strategies that spread it over devices.
        convolutions: Layout and dtype of each convolution that really runs, for one batch; empty where
            they cannot be found out.
    """

    synchronize: Callable[[keras.Model], None]
    peak_memory_bytes: Callable[[], int | None]
    predict: Callable[[keras.Model, np.ndarray], np.ndarray]
    convolutions: Callable[[keras.Model, np.ndarray, np.ndarray], list[tuple[str, str | None]]]
    scope: AbstractContextManager = field(default_factory=nullcontext)


class KerasTraining:
    """A compiled Keras model and one epoch of arrays in the layout of the trial."""

    def __init__(self, trial: Trial, images: Images, device: Device) -> None:
        keras.utils.set_random_seed(trial.seed)
        keras.config.set_dtype_policy(KERAS_POLICIES[trial.precision])
        keras.config.set_image_data_format(trial.layout)
        self.trial, self.images, self.device = trial, images, device
        with device.scope:
            how = {"weights": trial.weights, "classes": images.classes, "seed": trial.seed}
            self.network = keras_models.build(
                trial.model, layout=trial.layout, image_size=trial.image_size, **how
            )
            self.model = _with_input_layers(self.network, trial, images)
            compile_model(self.model, trial.model, jit_compile=trial.compile)
            # Otherwise the first step makes the optimiser's variables, and TensorFlow traces it twice.
            self.model.optimizer.build(self.model.trainable_variables)
        consumed = trial.steps_per_epoch * trial.batch_size
        self.x, self.y = epoch_of(images, consumed, trial.seed)
        self.history: keras.callbacks.History | None = None

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; nan where a weight is not finite; None where nothing was trained.

        XLA was seen to make 0 of a nan in a ReLU that it had fused on a CPU (jaxlib 0.10): with every weight
        nan, the loss stayed at ln(classes).
        """
        if self.history is None:
            return None
        weights = map(keras.ops.convert_to_numpy, self.model.trainable_variables)
        finite = all(np.isfinite(array).all() for array in weights)
        return float(self.history.history["loss"][-1]) if finite else math.nan

    def train(self) -> tuple[float, ...]:
        """Train in one `fit` and return the duration of each epoch, in seconds; or only take the input."""
        if self.trial.phase.torch_only:
            raise Unsupported(f"{self.trial.phase.name} alone is measured with torch only")
        marks = EpochMarks(lambda: self.device.synchronize(self.model))
        feed = keras_pipelines.same_batch if self.trial.phase is COMPUTE else keras_pipelines.feed
        fed = feed(self.trial, self.x, self.y)
        try:
            if self.trial.phase is INPUT:
                with self.device.scope:
                    batches = keras_pipelines.InputOnly(fed)
                if self.trial.pipeline == "resize":
                    enlarge = Enlarge(self.trial.image_size, data_format=self.trial.layout)
                    return time_epochs(
                        lambda: [keras.ops.convert_to_numpy(enlarge(x)[:1]) for x, _ in batches],
                        lambda: None,
                        epochs=self.trial.epochs,
                    )
                epoch = functools.partial(collections.deque, batches, maxlen=0)
                return time_epochs(epoch, lambda: None, epochs=self.trial.epochs)
            with tempfile.TemporaryDirectory() as folder:
                extra, callbacks = self._validation(folder) if self.trial.phase is FIT else ({}, [])
                self.history = self.model.fit(
                    **fed, **extra, epochs=self.trial.epochs, verbose=0, callbacks=[*callbacks, _Marks(marks)]
                )
        finally:
            keras_pipelines.close(fed)
        return marks.epoch_s

    def _validation(self, folder: str) -> tuple[dict[str, Any], list[keras.callbacks.Callback]]:
        """Return what `fit` needs to validate and save the best weights in each epoch, as article 003 did."""
        held_out = self._transposed(self.images.test_x), self.images.test_y
        best = keras.callbacks.ModelCheckpoint(
            f"{folder}/best.weights.h5", monitor="val_loss", save_best_only=True, save_weights_only=True
        )
        return {"validation_data": held_out, "validation_batch_size": 2 * self.trial.batch_size}, [best]

    def test_accuracy(self) -> float:
        """Share of the held-out images classified rightly, 0 to 1."""
        labels = self.images.test_y
        logits = self.device.predict(self.model, self._transposed(self.images.test_x))
        return float((np.asarray(logits, np.float32).argmax(axis=1) == labels).mean())

    def peak_memory_bytes(self) -> int | None:
        """Peak of the framework's allocator on the device; None on a CPU."""
        return self.device.peak_memory_bytes()

    def skipped_steps(self) -> int | None:
        """Steps that the loss scaler left out because a gradient overflowed; None where nothing is scaled."""
        if not isinstance(self.model.optimizer, keras.optimizers.LossScaleOptimizer):
            return None
        tried = self.trial.steps_per_epoch * self.trial.epochs
        # `int` of it fails where it is spread over devices.
        taken = keras.ops.convert_to_numpy(self.model.optimizer.inner_optimizer.iterations)
        return tried - int(taken)

    def inspect(self) -> Inspection:
        """Look up what the model is and what ran: see `base.Training`."""
        flops = keras_inspect.flops_per_image(self.network)
        batch = self._transposed(self.x[: self.trial.batch_size]), self.y[: self.trial.batch_size]
        try:
            seen, notes = self.device.convolutions(self.model, *batch), []
        except Exception as problem:  # not worth the rest
            seen, notes = [], [ConvolutionsNotSeen(error=type(problem).__name__)]
        precision, other_than_asked = keras_inspect.precision(self.network, [dtype for _, dtype in seen])
        return Inspection(
            layers=keras_inspect.layers(self.network, self.trial.layout),
            parameters=keras_inspect.parameters(self.network),
            step_flops=None if flops is None else flops * self.trial.batch_size,
            step_bytes=keras_inspect.bytes_per_step(self.network, self.trial.batch_size),
            effective_layout=collections.Counter(layout for layout, _ in seen) or None,
            effective_precision=precision,
            notes=(*notes, *other_than_asked),
        )

    def _transposed(self, x: np.ndarray) -> np.ndarray:
        if self.trial.layout == "channels_last":
            return x
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def _with_input_layers(network: keras.Model, trial: Trial, images: Images) -> keras.Model:
    """Put before the network what the trial's pipeline does in the model."""
    if trial.pipeline == "resize":
        shape = images.train_x.shape[1:]
        shape = shape if trial.layout == "channels_last" else (shape[2], *shape[:2])
        first = [Enlarge(trial.image_size, data_format=trial.layout)]
    elif trial.augment and trial.pipeline == "in_model":
        shape, first = network.input.shape[1:], keras_pipelines.augmentation_layers(trial)
    else:
        return network
    x = inputs = keras.Input(shape)
    for layer in first:
        x = layer(x)
    return keras.Model(inputs, network(x), name=f"fed_{network.name}")


class Enlarge(keras.layers.Layer):
    """(batch, height, width, 1 or 3) to (batch, size, size, 3), bilinear; or channels first."""

    def __init__(self, size: int, *, data_format: str) -> None:
        super().__init__(dtype="float32", trainable=False)
        self.size, self.data_format = size, data_format

    def call(self, x):
        """Enlarge, then repeat a grey image in all three channels."""
        x = keras.ops.image.resize(x, (self.size, self.size), data_format=self.data_format)
        axis = 3 if self.data_format == "channels_last" else 1
        return x if x.shape[axis] == 3 else keras.ops.repeat(x, 3, axis=axis)


def compile_model(model: keras.Model, name: str, *, jit_compile: bool) -> None:
    """Compile a model by its recipe; XLA is always explicit, since Keras's "auto" differs by device."""
    how = recipe(name)
    if how.optimizer == "adam":
        optimizer = keras.optimizers.Adam(how.learning_rate, epsilon=ADAM_EPSILON)
    elif how.optimizer == "rmsprop":
        optimizer = keras.optimizers.RMSprop(how.learning_rate, rho=RMSPROP_RHO, epsilon=ADAM_EPSILON)
    else:
        optimizer = keras.optimizers.SGD(how.learning_rate, momentum=how.momentum)
    logits = not keras_inspect.ends_in_softmax(model)  # a user's own may
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=logits)
    model.compile(optimizer=optimizer, loss=loss, jit_compile=jit_compile)


class _Marks(keras.callbacks.Callback):
    """Epoch ends only: a callback on each batch would make Keras wait for the device every step."""

    def __init__(self, marks: EpochMarks) -> None:
        super().__init__()
        self._marks = marks

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._marks.begin()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._marks.end()
