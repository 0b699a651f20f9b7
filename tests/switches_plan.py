"""A plan of the notebook on switches, on a machine of one core and no variable that sets threads."""

from __future__ import annotations

import pytest

from trainspeed.core.levers.host import THREAD_VARIABLES
from trainspeed.studies.switches import plan as plan_module
from trainspeed.studies.switches.plan import SwitchesPlan, plan_switches

PARAMETERS = {
    "frameworks": ["torch", "tensorflow"],
    "models": ["cnn10"],
    "levers": ["layout", "optimizer"],
    "already_on": 1,
    "blocks": 1,
    "batch_blocks": 0,
    "confirm_blocks": 9,
    "pipeline": "arrays",
    "batch_size": 8,
    "image_size": 8,
    "images_per_epoch": 16,
    "epochs": 3,
    "accuracy_margin": 0.5,
    "dataset": "digits",
    "seed": 0,
    "budget_s": 100.0,
}


def on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plan find one core and no GPU."""
    monkeypatch.setattr(plan_module, "devices_here", lambda study: (1, "CPU core"))
    for name in {name for names in THREAD_VARIABLES.values() for name in names}:
        monkeypatch.delenv(name, raising=False)


def planned(**changed: object) -> SwitchesPlan:
    """Return the plan of these parameters with some of them changed."""
    return plan_switches(**{**PARAMETERS, **changed})
