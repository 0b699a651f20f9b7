"""How torch's batches cross from the host to their device, and what the first one of a training was when it did.

Does not know models or timing, nor who makes the batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from trainspeed.core.trial import WITH_WORKERS, Trial
from trainspeed.worker import torch_cuda
from trainspeed.worker.data.eight_bits import BRIGHTEST, Statistics
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.pipelines.torch_pipelines import Batch

# Ways of the lever `transfer`; none: non_blocking, and pinned where a loader's workers have pinned it.
PINNED, SIDE_STREAM, IN_LOOP = "pinned", "side_stream", "pinned_in_loop"
NON_BLOCKING, PAGEABLE = "non_blocking", "pageable"
UNPINNED_BY_WORKERS = (IN_LOOP, NON_BLOCKING, PAGEABLE)  # ways in which a loader's workers pin nothing


class Streams(Protocol):
    """What an upload beside the computing needs of a device: see `torch_cuda.SideStream`."""

    def uploading(self) -> AbstractContextManager:
        """Return a context in which copies are queued beside what computes."""

    def mark(self) -> Any:
        """Return a mark behind all copies that were queued so far."""

    def take(self, mark: Any, batch: Batch) -> None:
        """Let what computes from here on wait for the copies before a mark, and keep their memory until then."""


@dataclass(frozen=True, kw_only=True)
class Crossed:
    """What the first batch of a training was before it came to the device, and the model's input made of it.

    Looking at it reads what is known of the tensors; only their statistics cost a pass over them.

    Attributes:
        device: Where it was before: "cpu", or where the images stay.
        dtype: Such as "uint8".
        pinned: Whether its memory was pinned.
        blocking: Whether the upload was waited for.
        own_stream: Whether it was uploaded on a stream of its own, ahead of its step.
        enlarged: Whether the model's input has another height and width.
        images: Statistics of its images; input: of the model's input made of them. Tensors: nobody waits for them;
            empty where nobody asked.
    """

    device: str
    dtype: str
    pinned: bool
    blocking: bool
    own_stream: bool
    enlarged: bool
    images: tuple[torch.Tensor, ...] = ()
    input: tuple[torch.Tensor, ...] = ()

    def statistics(self) -> tuple[Statistics, Statistics]:
        """Return those of the model's input, and of the images."""
        made, images = (Statistics(mean=mean.item(), sd=sd.item()) for mean, sd in (self.input, self.images))
        return made, images


class Upload:
    """Brings batches to a device in one way.

    Attributes:
        takes_pinned: Whether a loader's workers are to pin what they make.
        crossed: What the first batch was; None before it.
    """

    def __init__(
        self,
        device: torch.device,
        form: Callable[[torch.Tensor], torch.Tensor],
        *,
        way: str | None = None,
        watched: bool = False,
        streams: Callable[[torch.device], Streams] = torch_cuda.SideStream,
    ) -> None:
        """
        Args:
            form: Makes the model's input of images on the device.
            way: A value of the lever `transfer`.
            watched: Whether to look at the numbers of the first batch, too.
        """
        self._device, self._form, self._way = device, form, way
        self._streams = streams(device) if way == SIDE_STREAM else None
        self._watched = watched
        self.takes_pinned = way not in UNPINNED_BY_WORKERS
        self.crossed: Crossed | None = None

    def check(self, trial: Trial) -> None:
        """Raise Unsupported where nobody can pin a trial's batches before the training loop gets them."""
        if self._way == PINNED and trial.pipeline not in WITH_WORKERS:
            raise Unsupported(
                "this pipeline's batches are made in the training loop, so nobody pins them before: use the pipeline "
                "'threads' or 'processes', or transfer=pinned_in_loop"
            )

    def one(self, batch: Batch) -> Batch:
        """Return a batch as the model gets it."""
        return next(self.each([batch]))

    def each(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches as the model gets them."""
        ahead = self._ahead(self._streams, batches) if self._streams else self._moved(batches)
        for came, (x, y) in ahead:
            formed = self._form(x)
            if self.crossed is None:
                self.crossed = self._looked_at(came, formed)
            yield formed, y

    def _moved(self, batches: Iterable[Batch]) -> Iterator[tuple[torch.Tensor, Batch]]:
        for batch in batches:
            pinned = self._pinned(batch)
            yield pinned[0], self._put(pinned)

    def _ahead(self, streams: Streams, batches: Iterable[Batch]) -> Iterator[tuple[torch.Tensor, Batch]]:
        """Queue the upload of each batch before the one before it is trained on."""
        waiting: tuple[torch.Tensor, Batch, Any] | None = None
        for batch in itertools.chain(batches, [None]):
            coming = None
            if batch is not None:
                pinned = self._pinned(batch)
                with streams.uploading():
                    coming = pinned[0], self._put(pinned), streams.mark()
            if waiting:
                came, there, mark = waiting
                streams.take(mark, there)
                yield came, there
            waiting = coming

    def _pinned(self, batch: Batch) -> Batch:
        x, y = batch
        if self._way in (IN_LOOP, SIDE_STREAM) and x.device.type == "cpu" and not x.is_pinned():
            return x.pin_memory(), y.pin_memory()
        return batch

    def _put(self, batch: Batch) -> Batch:
        without_waiting = self._way != PAGEABLE
        x, y = (part.to(self._device, non_blocking=without_waiting) for part in batch)
        return x, y

    def _looked_at(self, came: torch.Tensor, formed: torch.Tensor) -> Crossed:
        crossed = Crossed(
            device=came.device.type,
            dtype=str(came.dtype).removeprefix("torch."),
            pinned=self._device.type != "cpu" and came.is_pinned(),
            blocking=self._way == PAGEABLE,
            own_stream=self._streams is not None,
            enlarged=came.shape[-2:] != formed.shape[-2:],
        )
        if not self._watched:
            return crossed
        images = came.float() / (BRIGHTEST if came.dtype == torch.uint8 else 1)
        return replace(
            crossed,
            images=(images.mean(), images.std(correction=0)),
            input=(formed.float().mean(), formed.float().std(correction=0)),
        )


def floats(x: torch.Tensor) -> torch.Tensor:
    """Return images from 0 to 1 of bytes, in their memory format; floats as they are."""
    return x.float().div_(BRIGHTEST) if x.dtype == torch.uint8 else x
