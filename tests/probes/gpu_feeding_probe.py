"""On a GPU, in a framework's environment: what trainings learn whose images come to it in different ways.

python -m probes.gpu_feeding_probe torch
"""

from __future__ import annotations

import json
import sys
from typing import Any

from probes.feeding_probe import UINT8, Probe, trial

UPLOADED = ("resident", "off")
TRANSFERS = ("side_stream", "pinned_in_loop", "non_blocking", "pageable")
PREFETCHED = ("device_prefetch", "on")
# Name -> levers and other fields; those of a pipeline learn the same.
ARMS: dict[str, dict[str, tuple[tuple, dict[str, Any]]]] = {
    "torch": {
        "resident": ((), {}),
        "uploaded": ((UPLOADED,), {}),
        "uint8, resident": ((UINT8,), {}),
        "uint8, uploaded": ((UINT8, UPLOADED), {}),
        **{way: ((UPLOADED, ("transfer", way)), {}) for way in TRANSFERS},
        "workers": ((), {"pipeline": "processes"}),
        "workers, pinned": ((UPLOADED, ("transfer", "pinned")), {"pipeline": "processes"}),
        "workers, side stream": ((UPLOADED, ("transfer", "side_stream")), {"pipeline": "processes"}),
        "workers, pageable": ((UPLOADED, ("transfer", "pageable")), {"pipeline": "processes"}),
    },
    "tensorflow": {
        "resident": ((), {}),
        "uploaded": ((UPLOADED,), {}),
        "uint8, uploaded": ((UINT8, UPLOADED), {}),
        "prefetched": ((UPLOADED, PREFETCHED), {}),
    },
    "jax": {
        "resident": ((), {}),
        "uploaded": ((UPLOADED,), {}),
        "uint8, resident": ((UINT8,), {}),
        "uint8, uploaded": ((UINT8, UPLOADED), {}),
    },
}


def main(framework: str) -> None:
    probe = Probe(framework, "gpu")
    learned = {
        name: probe.learned(trial(framework, *of, **more)) for name, (of, more) in ARMS[framework].items()
    }
    print(json.dumps(learned))


if __name__ == "__main__":
    main(sys.argv[1])
