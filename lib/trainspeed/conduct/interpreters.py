"""Which Python runs which framework on this machine. Imports no framework."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT


def find_interpreter(framework: str) -> str | None:
    """Return the interpreter that has a framework, or None where none is known.

    It looks at `TRAINSPEED_PYTHON_<FRAMEWORK>`, then at the environment that `make setup` built, then at the
    current interpreter.

    Raises:
        UserError: The variable does not name a program.
    """
    variable = f"TRAINSPEED_PYTHON_{framework.upper()}"
    if named := os.environ.get(variable):
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise UserError(variable, named, "is not a program: give the path of a Python interpreter.")
        return named
    built = ROOT / ".venvs" / framework / "bin/python"
    if built.exists():
        return str(built)
    return sys.executable if importlib.util.find_spec(framework) else None
