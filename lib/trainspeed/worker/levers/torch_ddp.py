"""Levers of DistributedDataParallel, seen in what it logs of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker.levers.hook import Hook, Options

OPTIONS = {"gradient_as_bucket_view": True, "static_graph": True, "forward_sync_buffers": False}
# As DDP logs them, as numbers.
LOGGED = {"gradient_as_bucket_view": 1, "static_graph": 1, "broadcast_buffers": 0}
HOOK = default_hooks.bf16_compress_hook


def _options(_value: str) -> Options:
    return {"ddp": OPTIONS}


def _options_seen(_value: str, training: Any) -> Seen:
    """Look at the gradients, too: what DDP was asked for, it may not be able to keep."""
    logged = training.forward.model._get_ddp_logging_data()
    found = {name: logged.get(name) for name in LOGGED}
    gradients = [each.grad for each in training.model.parameters() if each.grad is not None]
    views = sum(each.untyped_storage().nbytes() > each.nbytes for each in gradients)
    on = found == LOGGED and views
    how = ", ".join(f"{name}={value}" for name, value in found.items())
    return (ON if on else OFF), f"{how}; {views} of {len(gradients)} gradients lie in a bucket"


def _compress(_value: str, model: nn.Module) -> nn.Module:
    model.register_comm_hook(state=None, hook=HOOK)
    return model


def _compression_seen(value: str, training: Any) -> Seen:
    hook = training.forward.model._get_ddp_logging_data().get("comm_hook")
    return (value if hook == HOOK.__name__ else OFF), f"DDP's hook: {hook or 'none'}"


HOOKS: Mapping[str, Hook] = {
    "ddp_options": Hook(options=_options, seen=_options_seen),
    "ddp_compression": Hook(spread=_compress, seen=_compression_seen),
}
