"""In torch's environment: what the ceilings are, and how made-up profiles are split.

The profiles are a file: a list of {kernel or operator: time}.
"""

from __future__ import annotations

import json

import torch
from torch.utils.flop_counter import FlopCounterMode

from trainspeed.core.phase import CEILINGS
from trainspeed.worker.backends.torch_ceilings import ceiling
from trainspeed.worker.models.torch_inspect import split_of


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


def main(profiles: str, out: str) -> None:
    with open(profiles) as file:
        splits = [split_of(times) for times in json.load(file)]
    with open(out, "w") as file:
        json.dump({"ceilings": ceilings(), "splits": splits}, file)
