"""Real images for training: CIFAR-10 where it was fetched, else scikit-learn's digits. No framework.

Does not know batches or layouts: images are always (count, height, width, 3).
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

from trainspeed.environments import ROOT
from trainspeed.errors import UserError

DOWNLOADS = ROOT / "data/downloads"
HELD_OUT_DIGITS = 360  # of 1,797: a fifth, and divisible by many batch sizes


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file to fetch, and its SHA-256."""

    file: str
    url: str
    sha256: str


# Checksums as in Keras's own loaders (keras/src/datasets/cifar10.py and mnist.py).
SOURCES: Mapping[str, Source] = {
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
    """A data set, split.

    Attributes:
        train_x, test_x: (count, height, width, 3), float32 in [0, 1].
        train_y, test_y: (count,), int32 class numbers from 0 to 9.
    """

    name: str
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def download(
    folder: Path = DOWNLOADS, sources: Mapping[str, Source] = SOURCES, *, progressbar: bool = True
) -> list[Path]:
    """Fetch every data set that is not there yet, and check it.

    Raises:
        UserError: A file cannot be fetched, or is not the one expected.
    """
    paths = []
    for name, source in sources.items():
        try:
            path = pooch.retrieve(
                source.url,
                known_hash=f"sha256:{source.sha256}",
                fname=source.file,
                path=folder,
                progressbar=progressbar,
            )
        except ValueError as problem:  # pooch's word for a wrong checksum
            raise UserError(f"{name}: {source.url} does not have the expected checksum: {problem}") from None
        except OSError as problem:  # requests' exceptions are OSErrors
            raise UserError(
                f"{name}: cannot fetch {source.url} ({type(problem).__name__}). "
                "Without it, the digits are used."
            ) from None
        paths.append(Path(path))
    return paths


def resolve(name: str, folder: Path = DOWNLOADS) -> str:
    """Return the data set that `name` stands for here, after checking its file.

    `auto` is CIFAR-10 where it was fetched, else the digits.

    Raises:
        UserError: The data set was asked for and is not there, or its file is damaged.
    """
    if name == "digits":
        return name
    path = folder / SOURCES["cifar10"].file
    if not path.exists():
        if name == "auto":
            return "digits"
        raise UserError("dataset 'cifar10' is not there: fetch it with `make data`, or use dataset 'digits'.")
    if _sha256(path, path.stat().st_size, path.stat().st_mtime_ns) != SOURCES["cifar10"].sha256:
        raise UserError(
            f"{path.name} in data/downloads is damaged (wrong checksum): delete it and run `make data` again."
        )
    return "cifar10"


@lru_cache(maxsize=8)
def _sha256(path: Path, _size: int, _changed_ns: int) -> str:
    """Hash a file once, as long as it does not change: a study asks for every trial, and it takes 2 s."""
    return pooch.file_hash(str(path))


def load(name: str, image_size: int, folder: Path = DOWNLOADS) -> Images:
    """Return a resolved data set with its images resized to image_size × image_size pixels."""
    train_x, train_y, test_x, test_y = _cifar10(folder) if name == "cifar10" else _digits()
    return Images(
        name=name,
        train_x=resize(train_x, image_size),
        train_y=train_y.astype(np.int32),
        test_x=resize(test_x, image_size),
        test_y=test_y.astype(np.int32),
    )


def epoch_of(images: Images, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` training images and labels: a random choice, repeated where there are fewer.

    Every image is used before any is used again. Shapes (count, height, width, 3) and (count,).
    """
    there = len(images.train_y)
    random = np.random.default_rng(seed)
    rounds = [random.permutation(there) for _ in range(-(-count // there))]
    chosen = np.concatenate(rounds)[:count]
    return images.train_x[chosen], images.train_y[chosen]


def resize(x: np.ndarray, size: int) -> np.ndarray:
    """Return (count, size, size, 3) float32, linearly interpolated, from (count, side, side, 1 or 3).

    A grey image is repeated in all three channels.
    """
    from scipy.ndimage import zoom

    x = x.astype(np.float32, copy=False)
    if x.shape[1] != size:
        scale = size / x.shape[1]
        x = np.clip(zoom(x, (1, scale, scale, 1), order=1, grid_mode=True, mode="nearest"), 0, 1)
    return np.repeat(x, 3, axis=3) if x.shape[3] == 1 else np.ascontiguousarray(x)


def _digits() -> tuple[np.ndarray, ...]:
    """The last fifth is held out: the file is in the order of its writers, so they are other people's.

    The file is read without importing scikit-learn, whose import was seen to take 9 s of CPU time in
    every worker, more than some reports' epochs.
    Source: https://scikit-learn.org/stable/datasets/toy_dataset.html#digits-dataset
    """
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    table = np.loadtxt(Path(package, "datasets/data/digits.csv.gz"), delimiter=",", dtype=np.float32)
    x, y = table[:, :-1].reshape(-1, 8, 8, 1) / 16, table[:, -1]
    train = len(y) - HELD_OUT_DIGITS
    return x[:train], y[:train], x[train:], y[train:]


def _cifar10(folder: Path) -> tuple[np.ndarray, ...]:
    """The file is checked against its SHA-256 (`resolve`) before it is unpickled."""
    parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    with tarfile.open(folder / SOURCES["cifar10"].file) as archive:
        for member in archive:
            name = Path(member.name).name
            if name.startswith(("data_batch_", "test_batch")):
                batch = pickle.load(archive.extractfile(member), encoding="bytes")
                x = batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1) / np.float32(255)
                parts[name] = x, np.asarray(batch[b"labels"])
    train = [parts[name] for name in sorted(parts) if name.startswith("data_batch_")]
    test_x, test_y = parts["test_batch"]
    return np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]), test_x, test_y
