"""In torch's environment: the ways in which batches come to a GPU, with a device of the kind "meta" in its place.

What is there computes nothing, but is not on the CPU; pinning and streams are told, in order.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from trainspeed.core.phase import WHOLE
from trainspeed.worker.levers import torch_feeding
from trainspeed.worker.pipelines.torch_upload import Upload

WAYS = ("pinned", "side_stream", "pinned_in_loop", "non_blocking", "pageable")
BATCHES = 3


class Told:
    """Streams and pinned memory that tell what is done, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.pinned: list[torch.Tensor] = []
        self._marks = 0

    def uploading(self) -> contextlib.AbstractContextManager:
        self.events.append("upload")
        return contextlib.nullcontext()

    def mark(self) -> int:
        self._marks += 1
        return self._marks

    def take(self, mark: int, _batch: Any) -> None:
        self.events.append(f"wait for {mark}")

    def pin(self, tensor: torch.Tensor) -> torch.Tensor:
        self.pinned.append(tensor)
        self.events.append("pin")
        return tensor

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return any(one is tensor for one in self.pinned)


def way(value: str | None, *, by_workers: bool) -> dict[str, Any]:
    """What happens to batches that come in one way, and what is seen of it.

    Args:
        by_workers: Whether workers pin what they make, where the way leaves that to them.
    """
    told, moved = Told(), []
    device = torch.device("meta")
    to = torch.Tensor.to

    def recorded_to(self: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
        if args and args[0] == device and self.dim() == 4:
            moved.append(more["non_blocking"])
        return to(self, *args, **more)

    patches = (
        mock.patch.object(torch.Tensor, "pin_memory", lambda tensor: told.pin(tensor)),
        mock.patch.object(torch.Tensor, "is_pinned", lambda tensor: told.is_pinned(tensor)),
        mock.patch.object(torch.Tensor, "to", recorded_to),
    )
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        upload = Upload(device, form=lambda x: x, way=value, watched=True, streams=lambda _: told)
        made = [(torch.full((2, 3, 4, 4), float(n)), torch.full((2,), n)) for n in range(BATCHES)]
        if by_workers and upload.takes_pinned:
            told.pinned += [part for batch in made for part in batch]
        came = []
        for x, _ in upload.each(iter(made)):
            told.events.append("train")
            came.append(x.device.type)
    training = SimpleNamespace(upload=upload, device=device, trial=SimpleNamespace(phase=WHOLE))
    seen = torch_feeding.transfer_seen("", training)
    return {"events": told.events, "non_blocking": moved, "came": came, "seen": seen}


def more() -> dict[str, Any]:
    return {
        "ways": {value: way(value, by_workers=True) for value in WAYS},
        "ways without workers": {value: way(value, by_workers=False) for value in WAYS},
        "way of none": [way(None, by_workers=both)["seen"] for both in (True, False)],
    }
