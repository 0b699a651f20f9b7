"""What each lever does in PyTorch: the table of all, and the optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainspeed.core.result import Seen
from trainspeed.worker.levers import (
    host,
    torch_compile,
    torch_ddp,
    torch_feeding,
    torch_flags,
    torch_host,
    torch_steps,
)
from trainspeed.worker.levers.hook import Hook, Options

OPTIMIZERS = ("fused", "foreach")


def _optimizer_options(value: str) -> Options:
    return {"optimizer": {name: name == value for name in OPTIMIZERS}}


def _optimizer_seen(_value: str, training: Any) -> Seen:
    settings = training.optimizer.defaults
    on = next((name for name in OPTIMIZERS if settings.get(name)), "loop")
    return on, f"optimizer.defaults: {', '.join(f'{n}={settings.get(n)}' for n in OPTIMIZERS)}"


HOOKS: Mapping[str, Hook] = {
    **host.HOOKS,
    **torch_host.HOOKS,
    **torch_feeding.HOOKS,
    **torch_flags.HOOKS,
    **torch_compile.HOOKS,
    **torch_steps.HOOKS,
    **torch_ddp.HOOKS,
    "optimizer": Hook(options=_optimizer_options, seen=_optimizer_seen),
}
