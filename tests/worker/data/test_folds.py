"""What a trial takes of a data set: an epoch's images, and all folds but one."""

import os
import re
import sys
from contextlib import closing

import numpy as np
import pytest
from sklearn.model_selection import KFold

from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker.data import folds
from trainspeed.worker.data.folds import fold_of, images_of
from trainspeed.worker.data.sets import Images, epoch_of, load_data_set
from trainspeed.worker.request import Request

SIZES = [(2, 2), (5, 5), (7, 5), (10, 3), (11, 2), (100, 7), (999, 5), (1000, 5), (100, 100)]


def numbered(count):
    """Return images whose every pixel, and label, is their number."""
    y = np.arange(count, dtype=np.int32)
    x = np.broadcast_to(y[:, None, None, None], (count, 2, 2, 3)).astype(np.float32)
    return Images(train_x=x, train_y=y, test_x=x[:0], test_y=y[:0])


# An epoch.


@pytest.mark.parametrize(("count", "most"), [(3, 1), (10, 1), (25, 3), (30, 3)])
def test_an_epoch_uses_every_image_before_any_is_used_again(count, most):
    x, y = epoch_of(numbered(10), count, seed=0)
    assert x.shape == (count, 2, 2, 3)
    uses = np.bincount(y, minlength=10)
    assert uses.max() == most
    assert uses.max() - uses.min() <= 1


def test_an_epochs_images_keep_their_labels():
    x, y = epoch_of(numbered(10), 25, seed=3)
    assert (x[:, 0, 0, 0] == y).all()


def test_the_seed_alone_decides_which_images_and_in_which_order():
    first, again, other = (epoch_of(numbered(100), 50, seed)[1].tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert first != sorted(first)


def test_training_does_not_change_the_data_set():
    images = numbered(4)
    x, _ = epoch_of(images, 4, seed=0)
    x[:] = -1
    assert images.train_x.min() == 0


# Folds.


@pytest.mark.parametrize(("count", "k"), SIZES)
def test_folds_are_those_of_scikit_learn_without_shuffling(count, k):
    images = numbered(count)
    for fold, (train, held_out) in enumerate(KFold(n_splits=k).split(images.train_x)):
        found = fold_of(images, k, fold)
        assert np.array_equal(found.train_y, train)
        assert np.array_equal(found.test_y, held_out)


@pytest.mark.parametrize(("count", "k"), SIZES)
def test_every_image_is_held_out_once_and_never_trained_on_meanwhile(count, k):
    whole = numbered(count)
    found = [fold_of(whole, k, fold) for fold in range(k)]
    assert np.concatenate([images.test_y for images in found]).tolist() == list(range(count))
    for images in found:
        assert not set(images.train_y.tolist()) & set(images.test_y.tolist())
        assert len(images.train_y) + len(images.test_y) == count


def test_images_of_a_fold_keep_their_labels_and_their_type():
    images = fold_of(numbered(10), 3, 1)
    for x, y in ((images.train_x, images.train_y), (images.test_x, images.test_y)):
        assert (x[:, 0, 0, 0] == y).all()
        assert (x.dtype, y.dtype, x.shape[1:]) == (np.float32, np.int32, (2, 2, 3))


def test_only_the_first_training_images_are_split():
    """As in the article; the data set's own test images are in no fold."""
    images = Images(**{**vars(numbered(1300)), "test_y": np.arange(5000, 5100, dtype=np.int32)})
    assert sorted([*fold_of(images, 5, 4).train_y, *fold_of(images, 5, 4).test_y]) == list(range(1000))
    assert fold_of(images, 5, 4).test_y.tolist() == list(range(800, 1000))


@pytest.mark.parametrize(
    ("k", "fold", "message"),
    [
        (1, 0, "folds (=1) must be a whole number from 2 to 10: one image or more in each."),
        (11, 0, "folds (=11) must be a whole number from 2 to 10: one image or more in each."),
        (2.0, 0, "folds (=2.0) must be a whole number from 2 to 10: one image or more in each."),
        (5, 5, "fold (=5) must be a whole number from 0 to 4: one of 5."),
        (5, -1, "fold (=-1) must be a whole number from 0 to 4: one of 5."),
        (5, None, "fold (=None) must be a whole number from 0 to 4: one of 5."),
    ],
)
def test_a_fold_that_cannot_be_is_told_in_one_line(k, fold, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        fold_of(numbered(10), k, fold)


# A trial's images.


def trial(**changes):
    fields = {"layout": "channels_first", "batch_size": 8, "images_per_epoch": 16, "epochs": 3}
    fields |= {"framework": "torch", "model": "cnn10", "dataset": "digits", "image_size": 16}
    return Trial(**fields | changes)


@pytest.fixture
def loads(monkeypatch):
    """What is loaded, once more in each test."""
    seen = []
    folds._loaded.cache_clear()
    monkeypatch.setattr(
        folds, "load_data_set", lambda *what, **how: seen.append((what, how)) or load_data_set(*what, **how)
    )
    yield seen
    folds._loaded.cache_clear()


def test_a_trial_without_folds_has_the_data_sets_own_split_at_its_size(loads):
    images = images_of(trial())
    assert images.train_x.shape == (1437, 16, 16, 3)
    assert images.test_x.shape == (360, 16, 16, 3)
    assert images_of(trial(batch_size=16)) is images


def test_images_that_the_device_resizes_are_left_as_they_are_and_loaded_once_for_all_sizes(loads):
    images = images_of(trial(pipeline="resize"))
    assert images.train_x.shape == (1437, 8, 8, 1)
    assert images_of(trial(pipeline="resize", image_size=224)) is images
    assert images_of(trial()).train_x.shape[1:] == (16, 16, 3)


def test_images_that_nothing_looks_at_are_not_resized(loads):
    assert images_of(trial(part="matmul", image_size=224)).train_x.shape == (1437, 8, 8, 1)


@pytest.mark.parametrize(("pipeline", "shape"), [("resize", (8, 8, 1)), ("arrays", (16, 16, 3))])
def test_all_folds_of_a_trial_are_cut_from_images_loaded_once_and_no_more_than_needed(loads, pipeline, shape):
    found = [images_of(trial(pipeline=pipeline, folds=5, fold=fold)) for fold in range(5)]
    assert [images.train_x.shape for images in found] == [(800, *shape)] * 5
    assert [images.test_x.shape for images in found] == [(200, *shape)] * 5
    assert len(loads) == 1
    assert loads[0][1]["first"] == 1000
    whole = load_data_set("digits", 16 if pipeline == "arrays" else None)
    assert (np.concatenate([images.test_x for images in found]) == whole.train_x[:1000]).all()


@pytest.mark.parametrize("plain", [True, False])
def test_a_worker_tells_of_folds_that_cannot_be_and_goes_on(plain):
    """A plain worker ends: it has had its one request."""
    asked = Request(trial=trial(folds=1001, fold=0), device="cpu", requested_at=0.0)
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "lib")])
    worker = WorkerProcess(sys.executable, "fake_backend", environment={"PYTHONPATH": path}, plain=plain)
    with closing(worker):
        outcomes = [worker.run(asked, 60) for _ in range(1 if plain else 2)]

    for outcome in outcomes:
        assert outcome.status == Status.UNSUPPORTED
        assert outcome.reason.startswith("folds (=1001) must be a whole number from 2 to 1000")
