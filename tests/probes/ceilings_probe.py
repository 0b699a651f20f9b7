"""In torch's environment: what the ceilings are."""

from __future__ import annotations

import json

import torch
from torch.utils.flop_counter import FlopCounterMode

from trainspeed.core.phase import CEILINGS
from trainspeed.worker.backends.torch_ceilings import ceiling


def ceilings() -> dict[str, dict[str, float | None]]:
    """What each says of a step, and what torch's own counter says of it."""
    facts = {}
    for phase in CEILINGS:
        step, work = ceiling(phase, "fp32", torch.device("cpu"))
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            step()
        facts[phase.name] = {
            "flops": work.step_flops,
            "bytes": work.step_bytes,
            "counted": counter.get_total_flops(),
        }
    return facts


def main(out: str) -> None:
    with open(out, "w") as file:
        json.dump(ceilings(), file)
