"""The probes of PyTorch, by name."""

from __future__ import annotations

from trainspeed.worker.probes import Measure

PROBES: dict[str, Measure] = {}
