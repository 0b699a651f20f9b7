"""Training with Keras 3's own `fit`, for its TensorFlow and JAX backends.

Does not know which of the two runs: what differs is in the subclass of its backend module.
"""

from __future__ import annotations

import collections
import math
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import keras
import numpy as np

from trainspeed.core import user_model
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.notes import ConvolutionsNotSeen
from trainspeed.core.optimizers import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.core.phase import COMPUTE, FIT, INPUT
from trainspeed.core.result import Inspection, Seen
from trainspeed.core.trial import KERAS_POLICIES, SINGLE, Trial
from trainspeed.worker.backends.base import Training
from trainspeed.worker.data.sets import Images, epoch_of
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import keras_feeding
from trainspeed.worker.levers.fields_seen import fields_seen
from trainspeed.worker.levers.hook import Hook, Levers
from trainspeed.worker.models import keras_inspect, keras_models
from trainspeed.worker.models.file_settings import settings_watched
from trainspeed.worker.models.keras_input import with_input_layers
from trainspeed.worker.pipelines import keras_pipelines
from trainspeed.worker.pipelines.batches import transposed
from trainspeed.worker.pipelines.fed_batch import FedBatch, look_at
from trainspeed.worker.pipelines.fed_by import fed_by
from trainspeed.worker.pipelines.resident import is_resident
from trainspeed.worker.timing import Another, EpochMarks, time_epochs

MAX_EPOCHS = 10**9  # a callback ends the training


class KerasTraining(Training):
    """A compiled Keras model and one epoch of arrays in the layout of the trial.

    Where the images stay on the device, the model is fed with their numbers; else with the images.

    Args:
        device: "gpu" or "cpu".
        scope: Context in which the model is made, for strategies that spread it over devices.

    Attributes:
        hooks: Of the levers, by name.
        process_settings: See `settings_watched`.
        callbacks: Of the levers, by name; those of `fit` itself are not among them.
        network: The layers of the trial's model, and nothing before them.
        of_images: Takes images, as evaluation does: the network, with what the pipeline does on the device.
        model: What is trained: `of_images`, or that behind the images that stay on the device.
        fed, y: What it is trained on, an epoch of it.
        fed_batch: A batch as `fit` took it; None where it was not looked at.
        fed_by: What was seen of what made the batches.
    """

    hooks: Mapping[str, Hook]
    process_settings: Callable[[], Mapping[str, object]]

    def __init__(
        self, trial: Trial, images: Images, device: str, scope: AbstractContextManager | None = None
    ) -> None:
        keras.utils.set_random_seed(trial.seed)
        if policy := KERAS_POLICIES.get(trial.precision):
            keras.config.set_dtype_policy(policy)
        keras.config.set_image_data_format(trial.layout)
        self.trial, self.scope = trial, scope or nullcontext()
        self.levers = Levers(trial, self.hooks)
        self.images = images = self.levers.images(images)
        self.x, self.y = epoch_of(images, trial.steps_per_epoch * trial.batch_size, trial.seed)
        self.fed, self.on_gpu = self.x, device == "gpu"
        self.callbacks: dict[str, keras.callbacks.Callback] = self.levers.options("callbacks")
        resident, self.notes = is_resident(trial, device, self.x)
        self.resident: keras_pipelines.ResidentImages | None = None
        with self.scope:
            with settings_watched(trial.model, self.process_settings) as set_by_file:
                self.network = keras_models.build_keras(
                    trial.model,
                    layout=trial.layout,
                    image_size=trial.image_size,
                    weights=trial.weights,
                    classes=images.classes,
                    seed=trial.seed,
                )
            self.notes += tuple(set_by_file)
            self.of_images = self.model = with_input_layers(self.network, trial, images)
            if resident:
                if self.on_gpu and self.x.dtype == np.uint8 and keras.backend.backend() == "tensorflow":
                    raise Unsupported("TensorFlow gathers no uint8 on a GPU: use resident=off with it")
                self.fed = np.arange(len(self.x), dtype=np.int32)
                self.resident = keras_pipelines.ResidentImages(self._kept())
                self.model = self.resident.before(self.of_images)
            self.model = self.levers.model(self.model)
            # A model of the user's own may end in a softmax.
            of_users = user_model.is_user_model(trial.model)
            logits = not (of_users and keras_inspect.returns_probabilities(self.network))
            _compile(self.model, trial, self.levers.options("compile"), from_logits=logits)
            # Otherwise the first step makes the optimiser's variables, and TensorFlow traces it twice.
            self.model.optimizer.build(self.model.trainable_variables)
        self.history: keras.callbacks.History | None = None
        self.fed_batch: FedBatch | None = None
        self._not_looked_at: dict[str, Any] | None = None
        self.fed_by: dict[str, Seen] = {"pipeline": (None, "nothing was fed")}

    def synchronize(self) -> None:
        """Block until the model's queued steps are finished."""
        raise NotImplementedError

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return the model's logits, (images, classes), for images in the layout of the trial."""
        raise NotImplementedError

    def convolutions(self, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str | None]]:
        """Return layout and dtype of each convolution that really runs for a batch; empty if they are not known."""
        raise NotImplementedError

    def spread(self) -> tuple[int, str, str]:
        """Return over how many devices the model is spread, the strategy that does it, and how that is told."""
        raise NotImplementedError

    def on_device(self, x: Any) -> Any:
        """Return a batch of images where the model computes; it may still be on its way."""
        raise NotImplementedError

    def share_of(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what this process feeds of the data: all of it, where no other node feeds the rest."""
        return data

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; nan where a weight is not finite; None where nothing was trained.

        XLA was seen to turn a nan into 0 in a ReLU that it had fused on a CPU (jaxlib 0.10): with every weight
        nan, the loss stayed at ln(classes).
        """
        if self.history is None:
            return None
        weights = map(keras.ops.convert_to_numpy, self.model.trainable_variables)
        finite = all(np.isfinite(array).all() for array in weights)
        return float(self.history.history["loss"][-1]) if finite else math.nan

    def train(self, another: Another) -> tuple[float, ...]:
        if self.trial.phase.torch_only:
            raise Unsupported(f"{self.trial.phase.name} alone is measured with torch only")
        feeding = self.levers.options("feed")
        watched = feeding.pop("watched", False)
        if self.trial.phase is COMPUTE:
            data = keras_pipelines.same_batch(self.trial, self.fed, self.y)
        else:
            data = keras_pipelines.feed(self.trial, self.fed, self.y, **feeding)
        data = self.share_of(data)
        try:
            train = self._take_input if self.trial.phase is INPUT else self._fit
            epoch_s = train(data, another)
            self.fed_by = fed_by(data)
            if watched:
                self.fed_batch = look_at(data)
            elif self.trial.strategy == SINGLE and not self.trial.workers:  # else it costs more than it tells
                self._not_looked_at = data  # until the memory of the training is known
            return epoch_s
        finally:
            keras_pipelines.close(data)

    def _take_input(self, data: dict[str, Any], another: Another) -> tuple[float, ...]:
        """Take the batches of each epoch to the device, without training or what the model itself does to images."""
        with self.scope, keras_pipelines.left_open():
            batches = keras_pipelines.InputOnly(data)
        to_device = self.resident or self.on_device

        def epoch() -> None:
            for x, _ in batches:
                if self.on_gpu:
                    x = to_device(x)
            if self.on_gpu:  # which does one thing after the other: with the last one, all are there
                keras.ops.convert_to_numpy(x[:1])

        return time_epochs(epoch, lambda: None, another=another)

    def _fit(self, data: dict[str, Any], another: Another) -> tuple[float, ...]:
        """Train in one `fit`; in the phase FIT, validate and save the best weights too, as article 003 did."""
        marks, callbacks = EpochMarks(self.synchronize), [*self.callbacks.values()]

        def end_epoch(*_: Any) -> None:
            marks.end()
            self.model.stop_training = not another(marks.epoch_s)

        with tempfile.TemporaryDirectory() as folder:
            if self.trial.phase is FIT:
                held_out = self._held_out(), self.images.test_y
                validation = {"validation_data": held_out, "validation_batch_size": 2 * self.trial.batch_size}
                data = data | validation
                path, best = f"{folder}/best.weights.h5", {"monitor": "val_accuracy", "mode": "max"}
                checkpoint = keras.callbacks.ModelCheckpoint(
                    path, save_best_only=True, save_weights_only=True, **best
                )
                callbacks.append(checkpoint)
            # Last, so that an epoch includes its checkpoint. Epoch ends only: a callback on each batch would
            # make Keras wait for the device in every step, as the lever does that reads the loss.
            timed = {"on_epoch_begin": lambda *_: marks.begin(), "on_epoch_end": end_epoch}
            callbacks.append(keras.callbacks.LambdaCallback(**timed))
            fit = {"verbose": 0} | self.levers.options("fit")
            with keras_pipelines.left_open():
                self.history = self.model.fit(**data, epochs=MAX_EPOCHS, callbacks=callbacks, **fit)
        return marks.epoch_s

    def network_input(self, images: np.ndarray) -> Any:
        """Return what the network gets of a batch of images in training."""
        x = keras.ops.convert_to_tensor(images, dtype=self.of_images.input.dtype)
        for layer in [] if self.of_images is self.network else self.of_images.layers[1:-1]:
            x = layer(x)
        return x

    def test_accuracy(self) -> float:
        logits = np.asarray(self.logits(self._in_layout(self.images.test_x)), np.float32)
        return float((logits.argmax(axis=1) == self.images.test_y).mean())

    def skipped_steps(self) -> int | None:
        if not isinstance(self.model.optimizer, keras.optimizers.LossScaleOptimizer):
            return None
        # `int` of it fails where it is spread over devices.
        taken = keras.ops.convert_to_numpy(self.model.optimizer.inner_optimizer.iterations)
        return self.trial.steps_per_epoch * len(self.history.epoch) - int(taken)

    def in_effect(self) -> dict[str, Seen]:
        if self._not_looked_at is not None:
            self.fed_batch = look_at(self._not_looked_at)
        batch = None if self.fed_batch is None else len(self.fed_batch.x)
        fields = fields_seen(self.spread(), batch) | keras_feeding.pipeline_seen(self)
        compiled = bool(self.model.jit_compile)
        fields["compile"] = (ON if compiled else OFF), f"model.jit_compile is {compiled} after training"
        return fields | self.levers.seen(self)

    def inspect(self) -> Inspection:
        batch_size = self.trial.batch_size
        notes = []
        try:
            convolutions = self.convolutions(self._in_layout(self.x[:batch_size]), self.y[:batch_size])
        except Exception as problem:  # the rest is worth having without them
            convolutions, notes = [], [ConvolutionsNotSeen(error=type(problem).__name__)]
        precision, precision_notes = keras_inspect.effective_precision(
            self.network, [dtype for _, dtype in convolutions]
        )
        flops = keras_inspect.flops_per_image(self.network)
        return Inspection(
            layers=keras_inspect.layer_rows(self.network, self.trial.layout),
            parameters=keras_inspect.parameters(self.network),
            step_flops=None if flops is None else flops * batch_size,
            step_bytes=keras_inspect.bytes_per_step(self.network, batch_size),
            effective_layout=collections.Counter(layout for layout, _ in convolutions) or None,
            effective_precision=precision,
            notes=(*notes, *precision_notes),
        )

    def _kept(self) -> np.ndarray:
        """Return the images that stay on the device: all that a `fit` takes."""
        x = self.x[: self.trial.batch_size] if self.trial.phase is COMPUTE else self.x
        if self.trial.phase is FIT:
            x = np.concatenate([x, self.images.test_x])
        return self._in_layout(x)

    def _held_out(self) -> np.ndarray:
        """Return what the model is validated on: images, or their numbers."""
        if self.resident is None:
            return self._in_layout(self.images.test_x)
        return len(self.x) + np.arange(len(self.images.test_x), dtype=np.int32)

    def _in_layout(self, x: np.ndarray) -> np.ndarray:
        return x if self.trial.layout == "channels_last" else transposed(x)


def _compile(model: keras.Model, trial: Trial, options: Mapping[str, Any], *, from_logits: bool) -> None:
    """Compile a model by its recipe; XLA is always explicit: Keras's "auto" is off on a CPU, and on on a single GPU.

    Raises:
        Unsupported: A layer cannot be compiled: Keras would only warn and run the whole model uncompiled.
    """
    settings = recipe(trial.model)
    if settings.optimizer == "adam":
        optimizer = keras.optimizers.Adam(settings.learning_rate, epsilon=ADAM_EPSILON)
    elif settings.optimizer == "rmsprop":
        optimizer = keras.optimizers.RMSprop(settings.learning_rate, rho=RMSPROP_RHO, epsilon=ADAM_EPSILON)
    else:
        optimizer = keras.optimizers.SGD(settings.learning_rate, momentum=settings.momentum)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)
    metrics = ["accuracy"] if trial.phase is FIT else None  # which tells its best weights
    model.compile(optimizer=optimizer, loss=loss, metrics=metrics, jit_compile=trial.compile, **options)
    if trial.compile and not model.jit_compile:
        layers = ", ".join(keras_inspect.uncompilable(model)) or "none that says so"
        raise Unsupported(
            f"XLA cannot compile {trial.model}, and Keras would train it uncompiled: layers that do not support "
            f"it: {layers}"
        )
