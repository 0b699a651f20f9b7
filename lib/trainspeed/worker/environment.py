"""Environment variables that CUDA and frameworks read once, when a device is first touched. Knows no framework."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"


def show_gpus(uuids: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> None:
    """Let this process see these GPUs only, in this order; none at all on a CPU.

    Without it, TensorFlow and JAX open a context, with some hundred MB, on every GPU of the machine.
    """
    environment[VISIBLE] = ",".join(uuids)


class Preset:
    """A variable that is set unless the user has set it, and that can be left alone again.

    Args:
        name: Of the variable.
        value: What it is set to.
    """

    def __init__(self, name: str, value: str, environment: MutableMapping[str, str] = os.environ) -> None:
        self._name, self._environment = name, environment
        self._of_user = name in environment
        environment.setdefault(name, value)

    def undo(self) -> None:
        """Leave the variable as the user has it: with his own value, or without one."""
        if not self._of_user:
            self._environment.pop(self._name, None)
