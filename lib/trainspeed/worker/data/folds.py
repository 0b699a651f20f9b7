"""The images of a trial: a data set with its own split, or all folds but one. No framework.

Does not know what is done with them, nor when a cross-validation is over.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trainspeed.core import user_model
from trainspeed.core.check import check_whole
from trainspeed.core.errors import UserError
from trainspeed.core.trial import FOLDED_IMAGES, USER_DATA, Trial
from trainspeed.worker.data import user
from trainspeed.worker.data.sets import Images, images_from, load_data_set, resolve_data_set


def data_set_of(trial: Trial, *, auto: str = "cifar10") -> str:
    """Return the data set of a trial: of "auto" the model's own where its file has `data`, else as `resolve_data_set`.

    Raises:
        UserError: As `resolve_data_set`; the file of the model is not what it should be; it has no `data`.
    """
    name, own = trial.dataset, False
    if user_model.is_user_model(trial.model):
        user_model.check_user_model(trial.model)
        own = user_model.has_data(trial.model)
    if name in ("auto", USER_DATA) and own:
        return USER_DATA
    if name == USER_DATA and not trial.phase.ceiling:
        raise UserError(
            f"dataset 'own' is what the function `data` in a model's file returns, and {trial.model} has none: "
            "use dataset 'auto'."
        )
    return resolve_data_set("auto" if name == USER_DATA else name, auto=auto)


def images_of(trial: Trial) -> Images:
    """Return the images of a trial whose data set is resolved (not `auto`).

    With the pipeline "resize" they are left at their own size and with their own channels (see
    `datasets.load`), and so they are where no part of a training step is run: nothing looks at them.

    Raises:
        UserError: As `fold_of`.
        Unsupported, Invalid: As `user.load_user_data`.
    """
    resized = trial.pipeline != "resize" and not trial.phase.ceiling
    first = None if trial.folds is None else FOLDED_IMAGES
    if trial.dataset == USER_DATA:
        version = tuple(user_model.version_of(trial.model).values())
        images = _own(trial.model, version, trial.framework, trial.image_size, resized, first)
    else:
        images = _loaded(trial.dataset, trial.image_size if resized else None, first)
    return images if trial.folds is None else fold_of(images, trial.folds, trial.fold)


@lru_cache(maxsize=4)
def _loaded(dataset: str, image_size: int | None, first: int | None) -> Images:
    """Load images once for all trials that differ in other things, as in their fold."""
    return load_data_set(dataset, image_size or 0, resized=image_size is not None, first=first)


@lru_cache(maxsize=4)
def _own(
    model: str, _version: tuple[str, ...], framework: str, image_size: int, resized: bool, first: int | None
) -> Images:
    """Load a model's own images, anew where its file has changed."""
    parts, classes = user.load_user_data(model, image_size, framework=framework)
    return images_from(USER_DATA, parts, image_size, resized=resized, first=first, classes=classes)


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
    check_whole("folds", folds, 2, "one image or more in each", most=len(y))
    check_whole("fold", fold, 0, f"one of {folds}", most=folds - 1)
    held_out = np.array_split(np.arange(len(y)), folds)[fold]
    start, end = held_out[0], held_out[-1] + 1
    return Images(
        name=images.name,
        train_x=np.concatenate([x[:start], x[end:]]),
        train_y=np.concatenate([y[:start], y[end:]]),
        test_x=x[start:end],
        test_y=y[start:end],
        classes=images.classes,
    )
