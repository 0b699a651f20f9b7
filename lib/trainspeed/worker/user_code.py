"""Run a function of the user's own file in this process, and report in one line what went wrong there.

Knows no framework, and not what the function is for.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trainspeed.core import user_model
from trainspeed.core.paths import ROOT
from trainspeed.worker.failures import Invalid, NeedsPackage, Unsupported, first_line


def call(model: str, *arguments: Any, framework: str, function: str | None = None, seed: int = 0) -> Any:
    """Return what the function of a model returns, with Python's and NumPy's random numbers seeded before.

    The file is imported once in a process. Never import it in a worker itself: it may touch a device, which
    no fork could use afterwards.

    Args:
        framework: The framework whose environment this is.
        function: Another function of the same file to call instead.
    Raises:
        Unsupported: The file imports a package that this environment lacks.
        Invalid: The file or the function raised an exception, which is the cause.
        UserError: There is no such file.
    """
    path = user_model.find_model(model)
    file, _, named = model.rpartition(":")
    function = function or named
    where = f"{file}:{function}"
    try:
        module = _imported(path)
        if not callable(target := getattr(module, function, None)):
            raise Invalid(f"{where} is no function")
        random.seed(seed)
        np.random.seed(seed)
        return target(*arguments)
    except ModuleNotFoundError as problem:
        raise NeedsPackage(
            f"{where}: {problem.msg}: install it into the environment of {framework}, or leave {framework} out "
            "of frameworks"
        ) from problem
    except (Unsupported, Invalid):
        raise
    except (Exception, SystemExit) as problem:
        raise Invalid(f"{where} raised {exception_text(problem, path)}") from problem


def exception_text(problem: BaseException, path: Path) -> str:
    """Return an exception in one line, with the last line of the user's file that it came through.

    Args:
        path: The user's file.
    """
    lines = [
        frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)
    ]
    line = f" in line {lines[-1]}" if lines else ""
    return f"{type(problem).__name__}{line}: {first_line(problem, path.parent, ROOT)}"


def type_name(value: object) -> str:
    """Return the type of a value for a message: "None", "str", "Sequential"."""
    return "None" if value is None else type(value).__name__


def _imported(path: Path) -> ModuleType:
    """Import a file under a name that no package has; it can import other files of its folder."""
    name = f"_own_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: a file there with the name of a package must not replace it
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as `import` does: a dataclass looks for its module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
