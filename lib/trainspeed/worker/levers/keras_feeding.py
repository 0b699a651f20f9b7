"""What each lever of feeding does in Keras, on TensorFlow and on JAX: where images are, as what and how they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.phase import COMPUTE
from trainspeed.core.result import Seen
from trainspeed.core.trial import USER_DATA, Trial
from trainspeed.worker.data.eight_bits import Statistics, as_bytes, seen_as_bytes
from trainspeed.worker.data.sets import Images
from trainspeed.worker.levers.hook import Hook, Options
from trainspeed.worker.pipelines.resident import NO_ROOM, is_idle

NO_BATCH = "no batch was fed"
NO_DATASET = "no data set of TensorFlow's was fed"
ONE_BATCH = "one batch is computed again and again"


def _images_as_bytes(_value: str, images: Images, trial: Trial) -> Images:
    return as_bytes(images, exact=trial.dataset == USER_DATA)


def _feeding(**options: Any) -> Any:
    def of(_value: str) -> Options:
        return {"feed": {"watched": True, **options}}

    return of


def _bytes_seen(_value: str, training: Any) -> Seen:
    """By the batch that `fit` takes, put through what stands before the network: that is what the model gets."""
    if training.fed_batch is None:
        return None, NO_BATCH
    batch = training.fed_batch.x
    images = np.asarray(training.resident(batch)) if training.resident else batch
    made = Statistics.of(np.asarray(training.network_input(images), np.float32))
    return seen_as_bytes(str(images.dtype), made, Statistics.of(images))


def _resident_seen(_value: str, training: Any) -> Seen:
    if training.trial.phase is COMPUTE:
        return ON, ONE_BATCH
    if training.fed_batch is None:
        return None, NO_BATCH
    if is_idle(training.trial, training.notes):
        return None, NO_ROOM
    batch = training.fed_batch.x
    numbers = batch.ndim == 1
    what = "numbers of images" if numbers else f"images, {batch.dtype}"
    return (ON if numbers else OFF), f"the model is fed with {what}"


def _prefetch_seen(_value: str, training: Any) -> Seen:
    if training.fed_batch is None:
        return None, NO_BATCH
    place = training.fed_batch.place or "the host"
    return (ON if "GPU" in place else OFF), f"the data set yields batches on {place}"


def _order_seen(_value: str, training: Any) -> Seen:
    if training.fed_batch is None or training.fed_batch.options is None:
        return None, NO_DATASET
    told = training.fed_batch.options
    return (
        "free" if told.deterministic is False else "in order"
    ), f"Options.deterministic={told.deterministic}"


def _threads_seen(_value: str, training: Any) -> Seen:
    if training.fed_batch is None or training.fed_batch.options is None:
        return None, NO_DATASET
    size = training.fed_batch.options.threading.private_threadpool_size
    return (ON if size else OFF), f"Options.threading.private_threadpool_size={size}"


def _autotuning_seen(_value: str, training: Any) -> Seen:
    if training.fed_batch is None or training.fed_batch.options is None:
        return None, NO_DATASET
    enabled = training.fed_batch.options.autotune.enabled
    return (OFF if enabled is False else ON), f"Options.autotune.enabled={enabled}"


def pipeline_seen(training: Any) -> Mapping[str, Seen]:
    """Return which pipeline fed the training, and of one that changes images on the device whether it did."""
    seen = dict(training.fed_by)
    value, how = seen["pipeline"]
    if (batch := training.fed_batch) is not None:
        place = (batch.place or "memory of the host").rpartition("device:")[2]
        how += f"; a batch: {batch.x.dtype} {batch.x.shape}, {place}"
    if value == "arrays" and training.of_images.input.shape[1:] != training.network.input.shape[1:]:
        value = "resize"
    return seen | {"pipeline": (value, how)} | _augmentation_seen(training)


def _augmentation_seen(training: Any) -> Mapping[str, Seen]:
    """Return whether images were augmented on the device, where that is asked for: whether it drew random numbers."""
    trial = training.trial
    if not (trial.augment and trial.pipeline == "in_model" and trial.phase.compared):
        return {}
    generators = [layer.generator for layer in training.of_images.layers if hasattr(layer, "generator")]
    drawn = [int(np.asarray(generator.state.value)[1]) for generator in generators]
    how = f"counters of the layers' random numbers: {', '.join(map(str, drawn)) or 'none'}"
    return {"pipeline": (trial.pipeline if drawn and all(drawn) else None, how)}


HOOKS: Mapping[str, Hook] = {
    "uint8": Hook(images=_images_as_bytes, options=_feeding(), seen=_bytes_seen),
    "resident": Hook(options=_feeding(), seen=_resident_seen),
    "device_prefetch": Hook(options=_feeding(prefetch_to="/GPU:0"), seen=_prefetch_seen),
    "loader_order": Hook(options=_feeding(deterministic=False), seen=_order_seen),
    "private_threads": Hook(options=_feeding(private_threads=True), seen=_threads_seen),
    "data_autotuning": Hook(options=_feeding(autotuned=True), seen=_autotuning_seen),
}
