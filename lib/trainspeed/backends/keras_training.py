"""Training with Keras 3's own `fit`, for its TensorFlow and JAX backends.

Does not know which of the two runs: what differs comes from the backend module as a `Device`.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from trainspeed import layers as layer_table
from trainspeed.backends.base import Unsupported
from trainspeed.datasets import Images, epoch_of
from trainspeed.models import keras_models
from trainspeed.pipelines import keras_pipelines
from trainspeed.recipes import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.timing import EpochMarks, time_epochs
from trainspeed.trial import Trial

POLICIES = {"fp32": "float32", "tf32": "float32", "fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
EVALUATION_BATCH = 128  # images, at most


@dataclass(frozen=True, kw_only=True)
class Device:
    """What the TensorFlow and JAX backends do differently.

    Attributes:
        synchronize: Blocks until the model's queued steps are finished.
        peak_memory_bytes: Allocator peak on the device; None on a CPU.
        predict: Returns the model's logits, (images, classes), of an array of images.
        scope: Context in which the model is made, for strategies that spread it over devices.
        convolution_layouts: Layout of each convolution that really runs, for one batch; empty where
            it cannot be found out.
    """

    synchronize: Callable[[keras.Model], None]
    peak_memory_bytes: Callable[[], int | None]
    predict: Callable[[keras.Model, np.ndarray], np.ndarray]
    convolution_layouts: Callable[[keras.Model, np.ndarray, np.ndarray], list[str]]
    scope: AbstractContextManager = field(default_factory=nullcontext)


class KerasTraining:
    """A compiled Keras model and one epoch of arrays in the layout of the trial."""

    def __init__(self, trial: Trial, images: Images, device: Device) -> None:
        keras.utils.set_random_seed(trial.seed)
        keras.config.set_dtype_policy(POLICIES[trial.precision])
        keras.config.set_image_data_format(trial.layout)
        self.trial, self.images, self.device = trial, images, device
        with device.scope:
            self.network = keras_models.build(trial.model, layout=trial.layout, image_size=trial.image_size)
            self.model = _with_augmentation(self.network, trial)
            compile_model(self.model, trial.model, jit_compile=trial.compile)
            # Otherwise the first step makes the optimiser's variables, and TensorFlow traces it twice.
            self.model.optimizer.build(self.model.trainable_variables)
        consumed = trial.steps_per_epoch * trial.batch_size
        self.x, self.y = epoch_of(images, consumed, trial.seed)
        self.history: keras.callbacks.History | None = None

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; None where nothing was trained."""
        if self.history is None:
            return None
        return float(self.history.history["loss"][-1])

    def train(self) -> tuple[float, ...]:
        """Train in one `fit` and return the duration of each epoch, in seconds; or only take the input."""
        if self.trial.part == "exchange":
            raise Unsupported("the gradient exchange is measured with torch's ddp only")
        marks = EpochMarks(lambda: self.device.synchronize(self.model))
        feed = keras_pipelines.same_batch if self.trial.part == "compute" else keras_pipelines.feed
        fed = feed(self.trial, self.x, self.y)
        try:
            if self.trial.part == "input":
                with self.device.scope:
                    batches = keras_pipelines.InputOnly(fed)
                epoch = functools.partial(collections.deque, batches, maxlen=0)
                return time_epochs(epoch, lambda: None, epochs=self.trial.epochs)
            self.history = self.model.fit(
                **fed, epochs=self.trial.epochs, verbose=0, callbacks=[_Marks(marks)]
            )
        finally:
            keras_pipelines.close(fed)
        return marks.epoch_s

    def test_accuracy(self) -> float:
        """Share of the held-out images classified rightly, 0 to 1."""
        labels = self.images.test_y
        logits = self.device.predict(self.model, self._transposed(self.images.test_x))
        return float((logits.argmax(axis=1) == labels).mean())

    def peak_memory_bytes(self) -> int | None:
        """Peak of the framework's allocator on the device; None on a CPU."""
        return self.device.peak_memory_bytes()

    def effective_layout(self) -> str | None:
        """Layout the convolutions ran in, from the optimised graph or the compiled program."""
        batch = slice(0, self.trial.batch_size)
        seen = self.device.convolution_layouts(self.model, self._transposed(self.x[batch]), self.y[batch])
        return layer_table.summarise_layouts(seen)

    def effective_precision(self) -> str | None:
        """dtype in which the convolutions compute."""
        dtypes = {
            layer.compute_dtype for layer in self.network.layers if isinstance(layer, keras.layers.Conv2D)
        }
        return " and ".join(sorted(dtypes)) or None

    def layers(self) -> list[Mapping[str, Any]]:
        """Layer table: what each layer was told."""
        return [
            layer_table.row(
                layer=layer.name,
                type=type(layer).__name__,
                output_shape=list(layer.output.shape[1:]),
                data_format=getattr(layer, "data_format", None),
                bn_axis=_bn_axis(layer),
                layout=self.trial.layout,
            )
            for layer in self.network.layers
        ]

    def _transposed(self, x: np.ndarray) -> np.ndarray:
        if self.trial.layout == "channels_last":
            return x
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def _with_augmentation(network: keras.Model, trial: Trial) -> keras.Model:
    if not (trial.augment and trial.pipeline == "in_model"):
        return network
    x = inputs = keras.Input(network.input.shape[1:])
    for layer in keras_pipelines.augmentation_layers(trial):
        x = layer(x)
    return keras.Model(inputs, network(x), name=f"augmented_{network.name}")


def compile_model(model: keras.Model, name: str, *, jit_compile: bool) -> None:
    """Compile a model by its recipe; XLA is always explicit, since Keras's "auto" differs by device."""
    how = recipe(name)
    if how.optimizer == "adam":
        optimizer = keras.optimizers.Adam(how.learning_rate, epsilon=ADAM_EPSILON)
    elif how.optimizer == "rmsprop":
        optimizer = keras.optimizers.RMSprop(how.learning_rate, rho=RMSPROP_RHO, epsilon=ADAM_EPSILON)
    else:
        optimizer = keras.optimizers.SGD(how.learning_rate, momentum=how.momentum)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
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


def _bn_axis(layer: keras.layers.Layer) -> int | None:
    if not isinstance(layer, keras.layers.BatchNormalization):
        return None
    return layer.axis % len(layer.output.shape)
