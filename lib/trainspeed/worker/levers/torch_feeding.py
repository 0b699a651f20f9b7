"""What each lever of feeding does in PyTorch: where images are, as what and how they come, who makes their batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.phase import COMPUTE
from trainspeed.core.result import Seen
from trainspeed.core.trial import USER_DATA, Trial
from trainspeed.worker.data.eight_bits import as_bytes, seen_as_bytes
from trainspeed.worker.data.sets import Images
from trainspeed.worker.levers.hook import Hook, Options
from trainspeed.worker.pipelines import torch_upload
from trainspeed.worker.pipelines.resident import NO_ROOM, is_idle

NO_BATCH = "no batch came to the device"
ONE_BATCH = "one batch is computed again and again: nothing crosses"


def images_as_bytes(_value: str, images: Images, trial: Trial) -> Images:
    """Return the data set in 8 bits; the user's own must not lose anything by it."""
    return as_bytes(images, exact=trial.dataset == USER_DATA)


def _watched(_value: str) -> Options:
    return {"feed": {"watched": True}}


def _transfer_options(value: str) -> Options:
    return {"feed": {"watched": True, "way": value}}


def _loader_option(name: str, values: Mapping[str, Any]) -> Any:
    return lambda value: {"loader": {name: values[value]}}


def _bytes_seen(_value: str, training: Any) -> Seen:
    crossed = training.upload.crossed
    if crossed is None:
        return None, NO_BATCH
    return seen_as_bytes(crossed.dtype, *crossed.statistics())


def _resident_seen(_value: str, training: Any) -> Seen:
    crossed = training.upload.crossed
    if training.trial.phase is COMPUTE:
        return ON, ONE_BATCH
    if crossed is None:
        return None, NO_BATCH
    if training.device.type == "cpu":
        return None, "a CPU has no memory of its own that images could come to"
    if is_idle(training.trial, training.notes):
        return None, NO_ROOM
    return (
        ON if crossed.device == training.device.type else OFF
    ), f"the first batch came from {crossed.device}"


def transfer_seen(_value: str, training: Any) -> Seen:
    """Return the way that the first batch came, by what it was before."""
    crossed = training.upload.crossed
    if training.trial.phase is COMPUTE:
        return None, ONE_BATCH
    if crossed is None:
        return None, NO_BATCH
    if crossed.device != "cpu" or training.device.type == "cpu":
        return (
            None,
            f"the first batch came from {crossed.device} to {training.device.type}: nothing was uploaded",
        )
    memory = "pinned" if crossed.pinned else "pageable"
    waiting = "waited for" if crossed.blocking else "not waited for"
    stream = "a stream of its own, one batch ahead" if crossed.own_stream else "the stream that computes"
    return _way_of(crossed, training), f"the first batch was {memory}, its upload {waiting}, on {stream}"


def _way_of(crossed: torch_upload.Crossed, training: Any) -> str | None:
    if crossed.own_stream:
        return (
            torch_upload.SIDE_STREAM if crossed.pinned else None
        )  # pageable memory is not copied beside anything
    if not crossed.pinned:
        return torch_upload.PAGEABLE if crossed.blocking else torch_upload.NON_BLOCKING
    return torch_upload.PINNED if training.upload.takes_pinned else torch_upload.IN_LOOP


def _persistent_seen(_value: str, training: Any) -> Seen:
    epochs = training.loader.workers
    different = len(set(epochs))
    if len(epochs) < 2:
        return None, f"workers of {len(epochs)} epochs were seen"
    return (ON if different == 1 else OFF), f"{different} sets of workers in {len(epochs)} epochs"


def _order_seen(_value: str, training: Any) -> Seen:
    in_order, workers = training.loader.in_order, training.trial.workers
    if not in_order and workers == 1:
        return None, "in_order=False, but one worker has one order only"
    return ("in order" if in_order else "free"), f"DataLoader.in_order={in_order}, {workers} workers"


def _context_seen(_value: str, training: Any) -> Seen:
    spawned = training.loader.spawned
    if not spawned:
        return None, "no worker was seen"
    return (
        "spawn" if all(spawned) else "fork"
    ), f"{sum(spawned)} of {len(spawned)} workers were started afresh"


def pipeline_seen(training: Any) -> Mapping[str, Seen]:
    """Return which pipeline fed the training, and of one that changes images on the device whether it did."""
    crossed = training.upload.crossed
    if training.trial.phase is COMPUTE:
        return {"pipeline": (None, ONE_BATCH)}
    if crossed is None and training.loader is None:
        return {"pipeline": (None, NO_BATCH)}
    if training.loader is None:
        kind = "resize" if crossed.enlarged else "arrays"
        seen = {"pipeline": (kind, f"batches were gathered from arrays, {_came(crossed, training)}")}
        return seen | _augmentation_seen(training)
    seen = training.loader.made_by.seen()
    kind, how = seen["pipeline"]
    return seen | {"pipeline": (kind, how if crossed is None else f"{how}, {_came(crossed, training)}")}


def _came(crossed: torch_upload.Crossed, training: Any) -> str:
    """Return what the first batch was, in words; its memory only where it had to come to another device."""
    if training.device.type == crossed.device:
        return f"the first one {crossed.dtype}, on {crossed.device}"
    memory = "pinned" if crossed.pinned else "pageable"
    return (
        f"the first one {crossed.dtype}, from {memory} memory of {crossed.device} to {training.device.type}"
    )


def _augmentation_seen(training: Any) -> Mapping[str, Seen]:
    """Return whether images were augmented on the device, where that is asked for: whether it drew random numbers."""
    if training.draws is None or not training.trial.phase.compared:
        return {}
    trial, place = training.trial, training.device
    unused = torch.Generator(place).manual_seed(training.draws.initial_seed())
    drew = not torch.equal(unused.get_state(), training.draws.get_state())
    how = f"random numbers {'were' if drew else 'were not'} drawn on {place.type}"
    return {"pipeline": (trial.pipeline if drew else None, how)}


HOOKS: Mapping[str, Hook] = {
    "uint8": Hook(images=images_as_bytes, options=_watched, seen=_bytes_seen),
    "resident": Hook(options=_watched, seen=_resident_seen),
    "transfer": Hook(options=_transfer_options, seen=transfer_seen),
    "loader_persistent": Hook(
        options=_loader_option("persistent_workers", {OFF: False}), seen=_persistent_seen
    ),
    "loader_order": Hook(options=_loader_option("in_order", {"free": False}), seen=_order_seen),
    "loader_context": Hook(
        options=_loader_option("multiprocessing_context", {"spawn": "spawn"}), seen=_context_seen
    ),
}
