"""Real images for training: CIFAR-10 or MNIST where they were fetched, else scikit-learn's digits.

Knows no framework, no batches and no layouts: images are always (count, height, width, channels).
"""

from __future__ import annotations

import importlib.util
import pickle
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pooch

from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import USER_DATA
from trainspeed.worker.hyperparameters import DATA_SET_CLASSES

DOWNLOADS = ROOT / "data/downloads"
HELD_OUT_DIGITS = 360  # of 1,797: a fifth, and divisible by many batch sizes
RESIZED_AT_ONCE = 64  # images: what is needed besides the result stays small
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # train_x, train_y, test_x, test_y


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file to fetch, and its SHA-256."""

    file: str
    url: str
    sha256: str


# Checksums as in Keras's own loaders (keras/src/datasets/cifar10.py and mnist.py).
DATA_SOURCES: Mapping[str, Source] = {
    "cifar10": Source(
        file="cifar-10-python.tar.gz",
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
    "mnist": Source(
        file="mnist.npz",
        url="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
        sha256="731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Images:
    """A data set, split into training and test images.

    Attributes:
        train_x, test_x: (count, height, width, 3), float32 in [0, 1]; with 1 channel where they are grey and
            were left at their own size.
        train_y, test_y: (count,), int32 class numbers from 0.
        classes: Number of classes.
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int = DATA_SET_CLASSES


def download(
    folder: Path = DOWNLOADS, sources: Mapping[str, Source] = DATA_SOURCES, *, progressbar: bool = True
) -> None:
    """Fetch every data set that is missing, and check it.

    Raises:
        UserError: A file cannot be fetched, or is not the expected one.
    """
    for name, source in sources.items():
        try:
            pooch.retrieve(
                source.url,
                known_hash=f"sha256:{source.sha256}",
                fname=source.file,
                path=folder,
                progressbar=progressbar,
            )
        except ValueError as problem:  # what pooch raises for a wrong checksum
            raise UserError(f"{name}: {source.url} does not have the expected checksum: {problem}") from None
        except OSError as problem:  # requests' exceptions are OSErrors
            raise UserError(
                f"{name}: cannot fetch {source.url} ({type(problem).__name__}). "
                "Without it, the digits are used."
            ) from None


def resolve_data_set(name: str, folder: Path = DOWNLOADS, *, auto: str = "cifar10") -> str:
    """Return the data set that `name` stands for here, after checking its file.

    "own" stays as it is: `folds.data_set_of` finds out whether a model has data of its own.

    Args:
        auto: The data set that "auto" stands for if it has been fetched; otherwise that is the digits.
    Raises:
        UserError: The data set was asked for by name and is not there, or its file is damaged.
    """
    wanted = auto if name == "auto" else name
    if wanted in ("digits", USER_DATA):
        return wanted
    path = folder / DATA_SOURCES[wanted].file
    if not path.exists():
        if name == "auto":
            return "digits"
        raise UserError(
            f"dataset {wanted!r} is not there: fetch it with `make data`, or use dataset 'digits'."
        )
    if _sha256(path, path.stat().st_size, path.stat().st_mtime_ns) != DATA_SOURCES[wanted].sha256:
        raise UserError(
            f"{path.name} in data/downloads is damaged (wrong checksum): delete it and run `make data` again."
        )
    return wanted


@lru_cache(maxsize=8)
def _sha256(path: Path, _size: int, _changed_ns: int) -> str:
    """Hash a file once while it does not change: a study asks for each trial, and hashing takes 2 s."""
    return pooch.file_hash(str(path))


def load_data_set(
    name: str, image_size: int | None, folder: Path = DOWNLOADS, *, first: int | None = None
) -> Images:
    """Return a resolved data set with its images resized to image_size × image_size pixels, in 3 channels.

    Args:
        image_size: None leaves the images as they are: digits (8, 8, 1), mnist (28, 28, 1), cifar10 (32, 32, 3).
        first: Load only this many training images and no test images, and resize no others.
    """
    arrays = {"cifar10": _cifar10, "mnist": _mnist, "digits": _digits}[name](folder)
    return images_from(arrays, image_size, first=first)


def images_from(
    arrays: Arrays, image_size: int | None, *, first: int | None = None, classes: int = DATA_SET_CLASSES
) -> Images:
    """Return a data set as `load_data_set` does.

    Args:
        arrays: train_x, train_y, test_x, test_y, the images (count, height, width, 1 or 3) in [0, 1].
    """
    train_x, train_y, test_x, test_y = arrays
    if first is not None:  # copied, so that the rest of the data set is freed
        train_x, train_y = train_x[:first].copy(), train_y[:first].copy()
        test_x, test_y = test_x[:0].copy(), test_y[:0].copy()
    return Images(
        train_x=resize(train_x, image_size),
        train_y=train_y.astype(np.int32),
        test_x=resize(test_x, image_size),
        test_y=test_y.astype(np.int32),
        classes=classes,
    )


def epoch_of(images: Images, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` training images and labels: a random choice, repeated where there are fewer.

    Every image is used before any is used again. Shapes (count, height, width, channels) and (count,).
    """
    available = len(images.train_y)
    random = np.random.default_rng(seed)
    rounds = [random.permutation(available) for _ in range(-(-count // available))]
    chosen = np.concatenate(rounds)[:count]
    return images.train_x[chosen], images.train_y[chosen]


def resize(x: np.ndarray, size: int | None) -> np.ndarray:
    """Return (count, size, size, 3) float32, linearly interpolated, from (count, side, side, 1 or 3).

    A grey image is repeated in all three channels. The centres of pixels are half a pixel from the edge,
    beyond which the edge goes on, as in tf.image.resize and in torch's `interpolate` (align_corners=False).
    scipy.ndimage.zoom gives the same, but takes 14 s instead of 1.5 for 1,000 grey images of 224 pixels.

    Args:
        size: None leaves size and channels as they are.
    """
    x = x.astype(np.float32, copy=False)
    if size is None or x.shape[1:] == (size, size, 3):
        return np.ascontiguousarray(x)
    out = np.empty((len(x), size, size, 3), np.float32)
    for start in range(0, len(x), RESIZED_AT_ONCE):
        some = slice(start, start + RESIZED_AT_ONCE)
        out[some] = _interpolated(_interpolated(x[some], size, axis=1), size, axis=2)
    return np.clip(out, 0, 1, out=out)


def _interpolated(x: np.ndarray, size: int, axis: int) -> np.ndarray:
    side = x.shape[axis]
    if side == size:
        return x
    positions = np.clip((np.arange(size) + 0.5) * side / size - 0.5, 0, side - 1)
    low = positions.astype(int)
    share = (positions - low).astype(np.float32).reshape([-1 if n == axis else 1 for n in range(x.ndim)])
    return x.take(low, axis) * (1 - share) + x.take(np.minimum(low + 1, side - 1), axis) * share


def _digits(_folder: Path) -> Arrays:
    """Read the digits; the last fifth is held out, which other people wrote: the file is ordered by writer.

    The file is read without importing scikit-learn, whose import was seen to take 9 s of CPU time in
    every worker, more than some reports' epochs.
    Source: https://scikit-learn.org/stable/datasets/toy_dataset.html#digits-dataset
    """
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    table = np.loadtxt(Path(package, "datasets/data/digits.csv.gz"), delimiter=",", dtype=np.float32)
    x, y = table[:, :-1].reshape(-1, 8, 8, 1) / 16, table[:, -1]
    train = len(y) - HELD_OUT_DIGITS
    return x[:train], y[:train], x[train:], y[train:]


def _mnist(folder: Path) -> Arrays:
    with np.load(folder / DATA_SOURCES["mnist"].file, allow_pickle=False) as file:
        train_x, test_x = (file[name][..., None] / np.float32(255) for name in ("x_train", "x_test"))
        return train_x, file["y_train"], test_x, file["y_test"]


def _cifar10(folder: Path) -> Arrays:
    """Read CIFAR-10, whose file `resolve_data_set` has checked by its SHA-256: it is unpickled."""
    parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    with tarfile.open(folder / DATA_SOURCES["cifar10"].file) as archive:
        for member in archive:
            name = Path(member.name).name
            if name.startswith(("data_batch_", "test_batch")):
                batch = pickle.load(archive.extractfile(member), encoding="bytes")
                x = batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1) / np.float32(255)
                parts[name] = x, np.asarray(batch[b"labels"])
    train = [parts[name] for name in sorted(parts) if name.startswith("data_batch_")]
    test_x, test_y = parts["test_batch"]
    return np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]), test_x, test_y
