"""The images of a trial: a data set with its own split, or all folds but one. No framework.

Does not know what is done with them, nor when a cross-validation is over.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trainspeed.datasets import Images, load
from trainspeed.errors import UserError
from trainspeed.schedule import FOLDED_IMAGES
from trainspeed.trial import CEILINGS, Trial


def images_of(trial: Trial) -> Images:
    """Return the images of a trial whose data set is resolved (not `auto`).

    With the pipeline "resize" they are left at their own size and with their own channels (see
    `datasets.load`), and so they are where no part of a training step is run: nothing looks at them.

    Raises:
        UserError: As `fold_of`.
    """
    size = None if trial.pipeline == "resize" or trial.part in CEILINGS else trial.image_size
    if trial.folds is None:
        return _loaded(trial.dataset, size, None)
    return fold_of(_loaded(trial.dataset, size, FOLDED_IMAGES), trial.folds, trial.fold)


@lru_cache(maxsize=4)
def _loaded(dataset: str, image_size: int | None, first: int | None) -> Images:
    """Load images once for all trials that differ in other things, as in their fold."""
    return load(dataset, image_size or 0, resized=image_size is not None, first=first)


def fold_of(images: Images, folds: int, fold: int | None, *, first: int = FOLDED_IMAGES) -> Images:
    """Return the first training images split anew: fold number `fold` is the test part, the others train.

    The folds are neighbours in the order of the data set, as of scikit-learn's `KFold` without shuffling,
    whose import was seen to take 9 s of CPU time. The data set's own test images are left out.

    Args:
        folds: How many; they differ by one image at most, the larger ones come first.
        fold: From 0.
        first: So many images, all where there are fewer.
    Raises:
        UserError: Fewer than 2 folds or more than images, or no such fold.
    """
    x, y = images.train_x[:first], images.train_y[:first]
    _check_whole("folds", folds, 2, len(y), "one image or more in each")
    _check_whole("fold", fold, 0, folds - 1, f"one of {folds}")
    held_out = np.array_split(np.arange(len(y)), folds)[fold]
    start, end = held_out[0], held_out[-1] + 1
    return Images(
        name=images.name,
        train_x=np.concatenate([x[:start], x[end:]]),
        train_y=np.concatenate([y[:start], y[end:]]),
        test_x=x[start:end],
        test_y=y[start:end],
    )


def _check_whole(name: str, value: object, least: int, most: int, why: str) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise UserError(f"{name} (={value!r}) must be a whole number from {least} to {most}: {why}.")
