"""In a framework's environment: in which work it allows TF32 by itself, and after its switch was set.

Touches no device: the switches are those of a process, with or without a GPU.
"""

from __future__ import annotations

import importlib
import json

from trainspeed.worker import backends

SETTINGS = {"left alone": None, "strict": False, "allowed": True}


def main(framework: str, out: str) -> None:
    backend = importlib.import_module(backends.MODULES[framework])
    allowed = {}
    for name, flag in SETTINGS.items():
        backend.set_tf32(flag)
        allowed[name] = backend.tf32_allowed()
    with open(out, "w") as file:
        json.dump(allowed, file)
