"""The images of a trial: a data set with its own split, or with one of its folds held out.

Knows no framework, nor what is done with the images.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trainspeed.core import user_model
from trainspeed.core.errors import UserError, check_whole
from trainspeed.core.trial import FOLDED_IMAGES, USER_DATA, Trial
from trainspeed.worker.data import user
from trainspeed.worker.data.sets import Images, images_from, load_data_set, resolve_data_set


def data_set_of(trial: Trial, *, auto: str = "cifar10") -> str:
    """Return the data set of a trial. "auto" is the model's own if its file has `data`; else see `resolve_data_set`.

    Raises:
        UserError: As for `resolve_data_set`; or the file of the model is not as it should be, or has no `data`.
    """
    name, has_own = trial.dataset, False
    if user_model.is_user_model(trial.model):
        user_model.check_user_model(trial.model)
        has_own = user_model.has_data(trial.model)
    if name in ("auto", USER_DATA) and has_own:
        return USER_DATA
    if name == USER_DATA and not trial.phase.ceiling:
        raise UserError(
            f"dataset 'own' is what the function `data` in a model's file returns, and {trial.model} has none: "
            "use dataset 'auto'."
        )
    return resolve_data_set("auto" if name == USER_DATA else name, auto=auto)


def images_of(trial: Trial) -> Images:
    """Return the images of a trial whose data set is resolved (not `auto`).

    They keep their own size and channels (see `sets.load_data_set`) with the pipeline "resize", and where no
    part of a training step is run: nothing looks at them.

    Raises:
        UserError: As for `fold_of`.
        Unsupported, Invalid: As for `user.load_user_data`.
    """
    resized = trial.pipeline != "resize" and not trial.phase.ceiling
    resized_to = trial.image_size if resized else None
    first = None if trial.folds is None else FOLDED_IMAGES
    if trial.dataset == USER_DATA:
        version = tuple(user_model.version_of(trial.model).values())
        images = _own(trial.model, version, trial.framework, trial.image_size, resized_to, first)
    else:
        images = _loaded(trial.dataset, resized_to, first)
    return images if trial.folds is None else fold_of(images, trial.folds, trial.fold)


@lru_cache(maxsize=4)
def _loaded(dataset: str, image_size: int | None, first: int | None) -> Images:
    """Load images once for all trials that differ in other things, such as their fold."""
    return load_data_set(dataset, image_size, first=first)


@lru_cache(maxsize=4)
def _own(
    model: str,
    _version: tuple[str, ...],
    framework: str,
    image_size: int,
    resized_to: int | None,
    first: int | None,
) -> Images:
    """Load a model's own images, again where its file has changed."""
    arrays, classes = user.load_user_data(model, image_size, framework=framework)
    return images_from(arrays, resized_to, first=first, classes=classes)


def fold_of(images: Images, folds: int, fold: int | None) -> Images:
    """Return the first `FOLDED_IMAGES` training images split into folds, of which one is the test part.

    Each fold is a run of neighbours in the order of the data set, as with scikit-learn's `KFold` without
    shuffling, whose import was seen to take 9 s of CPU time. The data set's own test images are left out.

    Args:
        folds: Number of folds; they differ by one image at most, the larger ones come first.
        fold: Number of the test fold, from 0.
    Raises:
        UserError: There are fewer than 2 folds, more folds than images, or no such fold.
    """
    x, y = images.train_x[:FOLDED_IMAGES], images.train_y[:FOLDED_IMAGES]
    check_whole("folds", folds, 2, "one image or more in each", most=len(y))
    check_whole("fold", fold, 0, f"one of {folds}", most=folds - 1)
    held_out = np.array_split(np.arange(len(y)), folds)[fold]
    start, end = held_out[0], held_out[-1] + 1
    return Images(
        train_x=np.concatenate([x[:start], x[end:]]),
        train_y=np.concatenate([y[:start], y[end:]]),
        test_x=x[start:end],
        test_y=y[start:end],
        classes=images.classes,
    )
