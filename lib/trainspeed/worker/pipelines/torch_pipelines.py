"""Batches for a torch training loop, by the trial's `pipeline`. Does not know models or timing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import psutil
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from trainspeed.core.trial import Trial
from trainspeed.sensors.processes import die_with_parent, use_all_cores
from trainspeed.worker.data.augmentation import FLIP_PROBABILITY, SHIFT_SHARE
from trainspeed.worker.pipelines.batches import PLAIN, Batches, batches_of
from trainspeed.worker.pipelines.made_by import Here, MadeBy
from trainspeed.worker.pipelines.shared_memory import check_shared_memory

BatchKey = tuple[int, int]  # epoch, index of the batch in it
Batch = tuple[torch.Tensor, torch.Tensor]


def loader(
    trial: Trial,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rank: int = 0,
    ranks: int = 1,
    pin: bool = False,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Loader:
    """Return a loader: each iteration is one shuffled epoch of (images, labels) on the CPU.

    Images are (batch, 3, height, width) in the memory format of the trial's layout, with the dtype of `x`; labels are
    int64.
    Call its `close` in the end.

    Args:
        x: (count, height, width, 3), float32 or uint8.
        y: (count,), int32.
        rank: Number of this rank; all ranks share each batch evenly, and each has workers of its own.
        pin: Whether workers pin the memory of their batches, for a GPU to fetch them while it computes. A batch that
            is made in the training thread stays as it is: pinning it there can take longer than it gains.
            Source: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
        options: Further keyword arguments of the `DataLoader` of worker processes.
    Raises:
        NotImplementedError: The pipeline has a name, and is not written here.
    """
    last = trial.layout == "channels_last"
    batches = batches_of(trial, x, y, rank=rank, ranks=ranks)
    tensors = _Tensors(batches, torch.channels_last if last else torch.contiguous_format)
    if trial.pipeline == "threads":
        return _Threads(tensors, trial.workers, trial.queue, pin=pin)
    if trial.pipeline == "processes":
        ahead = _made_ahead(trial.workers, trial.queue) * trial.workers
        here = min(ranks, trial.devices_per_node)
        check_shared_memory(here * (1 + min(ahead, batches.steps)) * _bytes_of_batch(batches))
        return _Processes(tensors, trial.workers, trial.queue, pin=pin, **options)
    if trial.pipeline in (*PLAIN, "generator"):
        return Loader(tensors)
    raise NotImplementedError(f"no pipeline {trial.pipeline!r} in worker/pipelines/torch_pipelines.py")


def _made_ahead(workers: int, queue: int) -> int:
    """Return how many batches each worker makes ahead, so that there are `queue` or a few more."""
    return -(-queue // workers)


def _bytes_of_batch(batches: Batches) -> int:
    """Return the bytes of a rank's images, of the dtype of all, and of its labels, int64."""
    images = -(-batches.batch_size // batches.ranks)
    return images * (batches.x[0].nbytes + torch.int64.itemsize)


def augment_on_device(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return images shifted and mirrored as in `trainspeed.worker.data.augmentation`, in their memory format.

    Call it outside autocast and outside the compiled model.

    Args:
        x: (batch, 3, height, width), float32.
        generator: A generator on the device of the images.
    """
    count, _, height, width = x.shape
    draws = torch.rand((3, count, 1), generator=generator, device=x.device)
    down, right = (2 * draws[:2] - 1) * SHIFT_SHARE
    mirror = torch.where(draws[2] < FLIP_PROBABILITY, -1.0, 1.0)
    # `affine_grid` would multiply matrices, in TF32 where that is on: a tenth of a pixel off at 224.
    # In its coordinates an image extends from -1 to 1, so a shift by a share of the size counts twice.
    rows = _centres(height, x.device) - 2 * down
    columns = mirror * _centres(width, x.device) - 2 * right
    shape = (count, height, width)
    grid = torch.stack([columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)], dim=-1)
    moved = functional.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)
    last = x.is_contiguous(memory_format=torch.channels_last)
    return moved.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def _centres(size: int, device: torch.device) -> torch.Tensor:
    return (2 * torch.arange(size, device=device) + 1) / size - 1


class ResidentImages:
    """All images and labels of an epoch on a device, from which a batch is gathered there."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, device: torch.device) -> None:
        """Upload them.

        Args:
            x: (count, 1 or 3, height, width), in whichever memory format.
            y: (count,).
        """
        self._last = x.is_contiguous(memory_format=torch.channels_last)
        # Gathered as it lies in memory, a batch has its strides at once: no kernel brings it into its format.
        self._x = (x.permute(0, 2, 3, 1) if self._last else x).to(device)
        self._y = y.to(device)

    def __call__(self, chosen: torch.Tensor) -> Batch:
        """Return the images, in their memory format, and labels with these numbers, which are on the device, too."""
        x = self._x.index_select(0, chosen)
        return x.permute(0, 3, 1, 2) if self._last else x, self._y.index_select(0, chosen)


class _Tensors(Dataset):
    """Batches as tensors, by their key."""

    def __init__(self, batches: Batches, memory_format: torch.memory_format) -> None:
        self.batches, self._format = batches, memory_format
        self.made = Here(batches)  # a worker process has its own: then this one stays empty

    def __getitem__(self, key: BatchKey) -> Batch:
        images, labels = self.made(*key)
        # Images with channels last are not copied: only the strides change.
        x = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(memory_format=self._format)
        return x, torch.from_numpy(labels).long()


class Loader:
    """Batches that are made when they are asked for, in the thread that asks."""

    def __init__(self, tensors: _Tensors) -> None:
        self._tensors = tensors
        self._epochs = 0

    def __len__(self) -> int:
        return self._tensors.batches.steps

    def __iter__(self) -> Iterator[Batch]:
        """Return the batches of the next epoch."""
        epoch, self._epochs = self._epochs, self._epochs + 1
        return self._batches([(epoch, index) for index in range(len(self))])

    def _batches(self, keys: list[BatchKey]) -> Iterator[Batch]:
        return map(self._tensors.__getitem__, keys)

    @property
    def made_by(self) -> MadeBy:
        """Who made the batches so far; ask in the thread that trains."""
        return MadeBy.of(self._tensors.made.threads)

    def close(self) -> None:
        """End the workers, where there are any."""


class _Threads(Loader):
    """Batches made by threads, up to `queue` batches ahead, in order."""

    def __init__(self, tensors: _Tensors, workers: int, queue: int, *, pin: bool = False) -> None:
        super().__init__(tensors)
        self._executor, self._queue = ThreadPoolExecutor(workers, initializer=use_all_cores), queue
        self._pin = pin

    def _made(self, key: BatchKey) -> Batch:
        x, y = self._tensors[key]
        return (x.pin_memory(), y.pin_memory()) if self._pin else (x, y)

    def _batches(self, keys: Iterable[BatchKey]) -> Iterator[Batch]:
        ahead: deque[Future[Batch]] = deque()
        try:
            for key in keys:
                ahead.append(self._executor.submit(self._made, key))
                if len(ahead) > self._queue:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


class _Processes(Loader):
    """Batches made by torch's own worker processes, kept from epoch to epoch, `queue` batches ahead or a few more.

    They are forked, which is torch's default on Linux; each works the same number of batches ahead.

    Attributes:
        loader: Torch's own; None in the end.
        workers: Process ids of the workers in each epoch.
        alive: How many of them were alive as each epoch began, as the system tells.
        spawned: Whether each worker of the first epoch was started afresh, not forked.
        in_order: Whether batches come in the order of their numbers.
    """

    def __init__(
        self, tensors: _Tensors, workers: int, queue: int, *, pin: bool = False, **options: Any
    ) -> None:
        super().__init__(tensors)
        self.workers: list[tuple[int, ...]] = []
        self.alive: list[int] = []
        self.spawned: list[bool] = []
        self._keys: list[BatchKey] = [(0, index) for index in range(len(self))]
        self.loader: DataLoader | None = DataLoader(
            tensors,
            batch_size=None,  # a key is a whole batch
            sampler=self._keys,
            collate_fn=tuple,
            num_workers=workers,
            prefetch_factor=_made_ahead(workers, queue),
            pin_memory=pin,  # in a thread of its own
            worker_init_fn=partial(_end_with_parent, os.getpid()),
            generator=torch.Generator(),  # else new workers draw from the stream that dropout draws from
            **{"persistent_workers": True, **options},
        )
        self.in_order = self.loader.in_order

    def _batches(self, keys: list[BatchKey]) -> Iterator[Batch]:
        self._keys[:] = keys  # the loader goes through this list again in each epoch
        batches = iter(self.loader)
        workers = getattr(batches, "_workers", ())  # none where it makes them itself
        self.workers.append(tuple(worker.pid for worker in workers))
        self.alive.append(sum(worker.is_alive() for worker in workers))
        self.spawned = self.spawned or [_is_spawned(pid) for pid in self.workers[0]]
        return batches

    @property
    def made_by(self) -> MadeBy:
        return MadeBy.of(self._tensors.made.threads, processes=min(self.alive, default=0))

    def close(self) -> None:
        self.loader = None  # torch ends its workers with the last reference


def _is_spawned(pid: int) -> bool:
    return any("multiprocessing" in part for part in psutil.Process(pid).cmdline())


def _end_with_parent(parent: int, worker: int) -> None:
    """End at once with the parent (torch itself checks every five seconds), and leave the core of the training."""
    die_with_parent(parent=parent)
    use_all_cores()
