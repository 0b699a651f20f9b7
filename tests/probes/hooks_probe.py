"""In a framework's own environment: write down the levers that it has a hook for."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path


def main(framework: str, out: str) -> None:
    levers = import_module(f"trainspeed.worker.levers.{framework}_levers")
    Path(out).write_text(json.dumps(sorted(levers.HOOKS)))
