"""The levers of how images come to the device: residence, transfer, loaders, augmentation. Knows no framework."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from trainspeed.core.levers.lever import OFF, ON, Level, Lever, LeverKind, Numbers

LOADERS = ("in_model", "tf_data", "processes", "threads", "generator")  # the most promising first
RESIDENT_PIPELINES = ("arrays", "in_model", "resize")
QUEUE = 10  # batches that workers are ahead, at least
AHEAD, FAR_AHEAD = 2, 4  # batches for each worker that they are ahead: as many as usual, and twice that
IN_MEMORY = "the images are decoded and in memory already: nothing is left that a cache could save"

# Images of an epoch stay on a GPU up to this share of its whole memory, not of what is free: then all arms of a
# comparison, alive together, do the same.
RESIDENT_SHARE = 0.05
UNKNOWN_BYTES = 2**28  # where the GPU's memory is not known
# Of a number of an image in a plain trial. In 8 bits an epoch is smaller, and an arm that kept it where the plain one
# beside it uploads would be measured for that, too.
FLOAT_BYTES = 4
CHANNELS = 3

STEPS_OF_AN_EPOCH = 4  # at least: with fewer, an epoch is mostly its begin and its end


def loader_ladder(framework: str, cores: int, *, augment: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the ways to make batches that are worth a race: fields of a trial each.

    The kinds take turns, the most promising first, so that the first few rungs hold several. Worker processes come
    before threads, which hold each other up in Python; as many as there are cores beside the one that feeds the device
    come before half of the cores, whose workers have a queue of twice the length each.

    Args:
        cores: That this machine has for it, at least 1.
        augment: Whether images are augmented; where they are not, the device has nothing to do for the loader.
    """
    ahead = {max(1, cores - 1): AHEAD}
    for count, batches in ((max(1, cores // 2), FAR_AHEAD), (cores, AHEAD), (1, AHEAD)):
        ahead.setdefault(count, batches)
    alone = {"in_model": augment, "tf_data": framework == "tensorflow", "generator": True}
    kinds: dict[str, list[Mapping[str, Any]]] = {
        kind: [{"pipeline": kind, "workers": 0}] for kind, there in alone.items() if there
    }
    for kind in ("processes", "threads"):
        kinds[kind] = [
            {"pipeline": kind, "workers": count, "queue": max(QUEUE * batches // AHEAD, batches * count)}
            for count, batches in ahead.items()
        ]
    turns = zip_longest(*(kinds[kind] for kind in LOADERS if kind in kinds))
    return tuple(rung for turn in turns for rung in turn if rung is not None)


def resident_limit_bytes(memory_bytes: int | None) -> float:
    """Return how many bytes of images stay on a GPU of so much memory; None where that is not known."""
    return UNKNOWN_BYTES if memory_bytes is None else RESIDENT_SHARE * memory_bytes


def uploads(trial: Any, memory_bytes: int | None) -> bool:
    """Return whether a trial on a GPU uploads images within an epoch.

    Images that a model resizes are smaller than it says, by an unknown amount: they are taken to stay.

    Args:
        memory_bytes: Of the smallest GPU; None where it is not known.
    """
    if trial.pipeline not in RESIDENT_PIPELINES or dict(trial.levers).get("resident") == OFF:
        return True
    images_bytes = trial.images_per_epoch * trial.image_size**2 * CHANNELS * FLOAT_BYTES
    return trial.pipeline != "resize" and images_bytes > resident_limit_bytes(memory_bytes)


def batch_ladder(batch_size: int, images_per_epoch: int) -> tuple[int, ...]:
    """Return the batch sizes of a ladder: the plain one, and twice each as long as an epoch has a few steps."""
    most = max(batch_size, images_per_epoch // STEPS_OF_AN_EPOCH)
    doublings = (most // batch_size).bit_length()
    return tuple(batch_size * 2**n for n in range(doublings))


LEVERS = (
    Lever(
        name="resident",
        words="images resident on the GPU",
        devices=("gpu",),
        values=(OFF,),
        valued={OFF: "images uploaded in each step"},
        default="on for a pipeline that leaves images unchanged, where an epoch takes a twentieth of the GPU's memory",
        level=Level.LOOP,
        kind=LeverKind.ALREADY_ON,
        evidence="where the first batch of an epoch came from",
        source="https://github.com/KellerJordan/cifar10-airbench",
    ),
    Lever(
        name="uint8",
        words="images as uint8",
        numbers=Numbers.ROUNDING,
        default="float32: four times the bytes",
        level=Level.LOOP,
        evidence="dtype of a batch before the device, mean and standard deviation of the model's input there",
        source="https://docs.pytorch.org/vision/stable/transforms.html#supported-input-types-and-conventions",
    ),
    Lever(
        name="transfer",
        words="transfer",
        frameworks=("torch",),
        devices=("gpu",),
        values=("pinned", "side_stream", "pinned_in_loop", "non_blocking", "pageable"),
        valued={
            "pinned": "batches pinned by the loader",
            "side_stream": "batches uploaded on a stream of their own, one ahead",
            "pinned_in_loop": "batches pinned in the training loop",
            "non_blocking": "pageable batches, non_blocking",
            "pageable": "pageable batches",
        },
        default="what workers make is pinned by them, the rest stays pageable; always non_blocking",
        level=Level.LOOP,
        needs={"resident": (OFF,)},
        missing={
            "tensorflow": "TensorFlow stages its uploads itself: see device_prefetch",
            "jax": "JAX stages its uploads itself",
        },
        evidence="whether the first batch was pinned, and which stream brought it",
        source="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    ),
    Lever(
        name="device_prefetch",
        words="batches prefetched to the GPU",
        frameworks=("tensorflow",),
        devices=("gpu",),
        default="a batch is uploaded as its step begins",
        level=Level.LOOP,
        needs={
            "resident": (OFF,),
            "strategy": ("single",),
            "pipeline": (*RESIDENT_PIPELINES, "generator", "tf_data"),
        },
        missing={
            "torch": "PyTorch's counterpart is transfer=side_stream",
            "jax": "Keras on JAX uploads one batch ahead on a GPU by itself",
        },
        evidence="device of a batch as the data set yields it",
        source="https://www.tensorflow.org/api_docs/python/tf/data/experimental/prefetch_to_device",
    ),
    Lever(
        name="loader_persistent",
        words="loader's workers kept",
        frameworks=("torch",),
        values=(OFF,),
        valued={OFF: "loader's workers started again in each epoch, as in a script"},
        default="on in Trainspeed; off in a script, as torch's own default is",
        level=Level.LOOP,
        kind=LeverKind.OWN,
        needs={"pipeline": ("processes",)},
        missing=dict.fromkeys(
            ("tensorflow", "jax"),
            "workers that Keras forks again in each epoch hang with a framework's threads; these stay",
        ),
        evidence="process ids of the workers in each epoch",
        source="https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",
    ),
    Lever(
        name="loader_order",
        words="loader's order",
        frameworks=("tensorflow", "torch"),
        values=("free",),
        valued={"free": "batches in whichever order they are ready"},
        default="the same in every run",
        numbers=Numbers.ROUNDING,
        level=Level.LOOP,
        needs={"pipeline": ("processes", "tf_data")},
        missing={"jax": "its workers hand batches to Keras in order"},
        evidence="the loader's own settings",
        source="https://www.tensorflow.org/api_docs/python/tf/data/Options#deterministic",
    ),
    Lever(
        name="loader_context",
        words="loader's start method",
        frameworks=("torch",),
        values=("spawn",),
        valued={"spawn": "loader's workers spawned"},
        default="fork, on Linux",
        level=Level.LOOP,
        needs={"pipeline": ("processes",)},
        missing=dict.fromkeys(("tensorflow", "jax"), "workers are always spawned: a fork would copy locks"),
        evidence="the workers' command lines",
        source="https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods",
    ),
    Lever(
        name="private_threads",
        words="threads of its own for tf.data",
        frameworks=("tensorflow",),
        default="it shares those of the operations",
        level=Level.LOOP,
        needs={"pipeline": ("tf_data",)},
        missing={"torch": "PyTorch has no tf.data", "jax": "it needs Keras on TensorFlow"},
        evidence="the options of the data set that is fed; its threads have no names",
        source="https://www.tensorflow.org/api_docs/python/tf/data/ThreadingOptions",
    ),
    Lever(
        name="data_autotuning",
        words="tf.data's autotuning",
        frameworks=("tensorflow",),
        values=(ON,),
        valued={ON: "tf.data's autotuning, as in a script"},
        default="off in Trainspeed where a pipeline has nothing to tune; on in a script, where a thread looks at the "
        "buffers again and again",
        level=Level.LOOP,
        kind=LeverKind.OWN,
        needs={"pipeline": (*RESIDENT_PIPELINES, "generator")},
        missing={"torch": "PyTorch has no tf.data", "jax": "it needs Keras on TensorFlow"},
        evidence="the options of the data set that is fed",
        source="https://www.tensorflow.org/api_docs/python/tf/data/experimental/AutotuneOptions",
    ),
    Lever(
        name="data_cache",
        words="decoded images cached",
        frameworks=(),
        missing=dict.fromkeys(("tensorflow", "torch", "jax"), IN_MEMORY),
        source="https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache",
    ),
)
