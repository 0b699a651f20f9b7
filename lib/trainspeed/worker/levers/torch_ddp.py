"""Levers of DistributedDataParallel, seen in what it logs of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from trainspeed.core.format import counted
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker.levers.hook import Hook, Options, Step

OPTIONS = {"gradient_as_bucket_view": True, "static_graph": True, "forward_sync_buffers": False}
# As DDP logs them, as numbers.
LOGGED = {"gradient_as_bucket_view": 1, "static_graph": 1, "broadcast_buffers": 0}
MIB = 2**20
COPIES, BATCHED_COPY = "copies into and out of DDP's buckets", "aten::_foreach_copy_"
HOOK = default_hooks.bf16_compress_hook


def _options(_value: str) -> Options:
    return {"ddp": OPTIONS}


def _options_seen(_value: str, training: Any) -> Seen:
    """Look at the gradients, too: what DDP was asked for, it may not be able to keep."""
    logged = _logged(training)
    found = {name: logged.get(name) for name in LOGGED}
    gradients = [each.grad for each in training.model.parameters() if each.grad is not None]
    views = sum(each.untyped_storage().nbytes() > each.nbytes for each in gradients)
    on = found == LOGGED and views
    how = ", ".join(f"{name}={value}" for name, value in found.items())
    return (ON if on else OFF), f"{how}; {views} of {len(gradients)} gradients lie in a bucket"


def _logged(training: Any) -> Mapping[str, Any]:
    return training.forward.model._get_ddp_logging_data()


def _bucket_options(value: str) -> Options:
    return {"ddp": {"bucket_cap_mb": int(value)}}


def _buckets_seen(_value: str, training: Any) -> Seen:
    logged = _logged(training)
    size_bytes, count = logged.get("bucket_cap_bytes"), logged.get("num_buckets_reduced")
    size = None if size_bytes is None else str(round(size_bytes / MIB))
    return size, f"buckets of up to {size_bytes} bytes; {count} of them in a step"


def _copy_options(_value: str) -> Options:
    return {"ddp": {"batched_grad_copy": True}}


def _watch_copies(_value: str, training: Any, step: Step) -> Step:
    """Have the first step counted for what it copies: DDP's own setting tells only what was asked."""

    def watched(*batch: Any) -> Any:
        if COPIES in training.counted:
            return step(*batch)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            loss = step(*batch)
        training.counted[COPIES] = sum(e.count for e in profiler.key_averages() if e.key == BATCHED_COPY)
        return loss

    return watched


def _copies_seen(_value: str, training: Any) -> Seen:
    copies = training.counted[COPIES]
    return (ON if copies else OFF), f"{counted(copies, 'batched copy', 'batched copies')} in the first step"


def _compress(_value: str, model: nn.Module) -> nn.Module:
    model.register_comm_hook(state=None, hook=HOOK)
    return model


def _compression_seen(value: str, training: Any) -> Seen:
    hook = _logged(training).get("comm_hook")
    return (value if hook == HOOK.__name__ else OFF), f"DDP's hook: {hook or 'none'}"


HOOKS: Mapping[str, Hook] = {
    "ddp_options": Hook(options=_options, seen=_options_seen),
    "ddp_buckets": Hook(options=_bucket_options, seen=_buckets_seen),
    "ddp_batched_copy": Hook(options=_copy_options, step=_watch_copies, seen=_copies_seen),
    "ddp_compression": Hook(spread=_compress, seen=_compression_seen),
}
