"""In torch's environment: what the ceilings are, and how made-up profiles are split.

    python ceilings_probe.py PROFILES.json OUT.json

PROFILES.json: a list of {kernel or operator: time}.
"""

from __future__ import annotations

import json
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

from trainspeed.backends.torch_ceilings import ceiling
from trainspeed.backends.torch_inspect import split_of
from trainspeed.trial import CEILINGS


def ceilings() -> dict[str, dict[str, float | None]]:
    """What each says of a step, and what torch's own counter says of it."""
    found = {}
    for part in CEILINGS:
        made = ceiling(part, "fp32", torch.device("cpu"))
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            made.step()
        found[part] = {"flops": made.flops, "bytes": made.bytes, "counted": counter.get_total_flops()}
    return found


def main() -> None:
    profiles, out = sys.argv[1:]
    with open(profiles) as file:
        splits = [split_of(times) for times in json.load(file)]
    with open(out, "w") as file:
        json.dump({"ceilings": ceilings(), "splits": splits}, file)


if __name__ == "__main__":
    main()
