"""Python imports this first, in all processes of a smoke report: what takes seconds by design is short there.

`tests/smoke_report.py` puts its folder on the import path. How long these take else, their own tests know.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Module -> its constants that are others here.
SHORT = {
    # TURN_S is that of the study that CONTRIBUTING adds.
    "trainspeed.conduct.turns": {"TURN_S": 0.05, "MOST_ROUNDS": 4, "MORE_ROUNDS": 0},
    "trainspeed.worker.backends.torch_ceilings": {
        "EPOCH_S": 0.05,
        "MATMUL_SIZES": {"cpu": 512},
        "CONV_SHAPES": {"cpu": (8, 32, 14)},
        "COPY_NUMBERS": {"cpu": 2**22},
    },
    "trainspeed.worker.probes.epoch": {"ROUNDS": 2},
}


class Shortened(MetaPathFinder):
    """Finds these modules as Python does, and changes their constants when they have run."""

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is; None for all others, which Python finds by itself."""
        if name not in SHORT or (spec := PathFinder.find_spec(name, path)) is None:
            return None
        run = spec.loader.exec_module

        def run_and_shorten(module: ModuleType) -> None:
            run(module)
            vars(module).update(SHORT[name])

        spec.loader.exec_module = run_and_shorten
        return spec


sys.meta_path.insert(0, Shortened())
