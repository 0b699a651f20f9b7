"""Shuffled, augmented batches as NumPy arrays, the same whoever makes them. Knows no framework."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from trainspeed.core.trial import Trial
from trainspeed.worker.data.augmentation import draw_augmentation, moved

PLAIN = ("arrays", "in_model", "resize")  # batches of unchanged images: the model or the device changes them


@dataclass(frozen=True, kw_only=True, eq=False)
class Batches:
    """Every batch of every epoch, each made from nothing but (seed, epoch, index).

    So it does not matter how many workers there are, nor which of them makes a batch, and no two batches share
    a random stream. Ranks take the images of a batch in turn, so that together they have what one device has.

    Attributes:
        x: (count, height, width, 3), float32, or uint8; so are the batches.
        y: (count,), class numbers.
        steps: Batches in an epoch. Images beyond steps × batch_size are left out: other ones in each epoch.
        batch_size: Images of a batch, summed over all ranks.
        channels_first: Whether the images of a batch are (batch_size, 3, height, width).
    """

    x: np.ndarray
    y: np.ndarray
    batch_size: int
    steps: int
    seed: int
    augment: bool
    channels_first: bool = False
    rank: int = 0
    ranks: int = 1

    def __call__(self, epoch: int, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's images and labels of one batch, counted from 0."""
        order = _order(len(self.y), self.seed, epoch)
        mine = slice(self.rank, None, self.ranks)
        chosen = order[index * self.batch_size : (index + 1) * self.batch_size][mine]
        images = self.x[chosen]
        if self.augment:
            draws = draw_augmentation(self.batch_size, *self.x.shape[1:3], _random(self.seed, epoch, index))
            moving = images.astype(np.float32, copy=False), *(values[mine] for values in draws)
            images = (
                moved(*moving) if images.dtype == np.float32 else np.rint(moved(*moving)).astype(np.uint8)
            )
        return transposed(images) if self.channels_first else images, self.y[chosen]


def batches_of(trial: Trial, x: np.ndarray, y: np.ndarray, **fields: Any) -> Batches:
    """Return the batches of a trial from images (count, height, width, 3) and labels (count,).

    Args:
        fields: More fields of the batches.
    """
    return Batches(
        x=x,
        y=y,
        batch_size=trial.batch_size,
        steps=trial.steps_per_epoch,
        seed=trial.seed,
        augment=trial.augment and trial.pipeline not in PLAIN,
        **fields,
    )


def transposed(x: np.ndarray) -> np.ndarray:
    """Return (count, 3, height, width), contiguous, from (count, height, width, 3)."""
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def in_layout(x: np.ndarray, layout: str) -> np.ndarray:
    """Return images (count, height, width, 3) in a layout; numbers of images, (count,), have none."""
    return transposed(x) if layout == "channels_first" and x.ndim > 1 else x


def _random(seed: int, *key: int) -> np.random.Generator:
    """Return a separate stream for each key, which a list as seed would not: [1, 2] and [1, 2, 0] are equal.

    Source: https://numpy.org/doc/stable/reference/random/parallel.html
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@lru_cache(maxsize=2)
def _order(count: int, seed: int, epoch: int) -> np.ndarray:
    return _random(seed, epoch).permutation(count)
