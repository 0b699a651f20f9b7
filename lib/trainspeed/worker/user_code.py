"""Run a function of the user's own file in this process, and report in one line what went wrong there.

Knows no framework, and not what the function is for.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trainspeed.core import user_model
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.worker.failures import Invalid, NeedsPackage, Unsupported, first_line

OTHER_SIZES = "other sizes: PARAMS='layout: {image_size: 64}'"  # where a model takes no images of this one
TOP_LEVEL = "<module>"  # name of a frame


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
        with _as_a_program(path):
            module = _imported(path, path.parents[len(Path(file).parts) - 1])
            if not callable(target := getattr(module, function, None)):
                raise Invalid(f"{where} is no function")
            _check_parameters(target, where, arguments)
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
    except SystemExit as problem:
        raise Invalid(f"{where} {_end_of_python(problem, path)}") from problem
    except Exception as problem:
        raise Invalid(f"{where} raised {exception_text(problem, path)}") from problem


def exception_text(problem: BaseException, path: Path) -> str:
    """Return an exception in one line, with the last line of the user's file that it came through.

    Args:
        path: The user's file.
    """
    frames = _frames_in(path, problem)
    line = f" in line {frames[-1].lineno}" if frames else ""
    return f"{type(problem).__name__}{line}: {first_line(problem, path.parent, ROOT)}"


def _check_parameters(target: Callable[..., Any], where: str, arguments: tuple[Any, ...]) -> None:
    """Raise Invalid where a function has other parameters than it is given arguments."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # of some that are written in C
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        name = where.rpartition(":")[2]
        given = user_model.DATA_PARAMETERS if name == user_model.DATA else user_model.PARAMETERS
        plain = {"annotation": inspect.Parameter.empty, "default": inspect.Parameter.empty}
        own = inspect.Signature([each.replace(**plain) for each in signature.parameters.values()])
        raise Invalid(f"{where} is called as {name}({given}), and is {name}{own}") from None


def _frames_in(path: Path, problem: BaseException) -> list[traceback.FrameSummary]:
    """Return where an exception came through the user's file, from the outermost call on."""
    return [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)]


def _end_of_python(problem: SystemExit, path: Path) -> str:
    """Return in one line that, and where, the user's file ended Python, and what to do where that was its import."""
    if isinstance(problem.code, str):
        return f"raised {exception_text(problem, path)}"
    frames = _frames_in(path, problem)
    line = f" in line {frames[-1].lineno}" if frames else ""
    ended = f"ended Python{line} with code {problem.code or 0}"
    if not frames or frames[0].name != TOP_LEVEL:
        return ended
    return f'{ended} as the file was imported: put that below `if __name__ == "__main__":`'


@contextlib.contextmanager
def _as_a_program(path: Path) -> Iterator[None]:
    """Show the user's code the command line of a program without arguments: a file may read its own on import."""
    ours, sys.argv = sys.argv, [str(path)]
    try:
        yield
    finally:
        sys.argv = ours


def raised_in(model: str, problem: BaseException) -> str | None:
    """Return in one line what was raised in which function and line of a model's file; None where it was elsewhere."""
    with contextlib.suppress(UserError):  # no user's model, or its file has gone
        path = user_model.find_model(model)
        if frames := _frames_in(path, problem):
            ends = isinstance(problem, SystemExit)
            what = _end_of_python(problem, path) if ends else f"raised {exception_text(problem, path)}"
            return f"{model.rpartition(':')[0]}:{frames[-1].name} {what}"
    return None


def class_rule(classes: int) -> str:
    """Return what a model's output must be, and what to do where it has another number of classes."""
    return f"a logit for each class; {classes} is the argument `classes`, that of the data set: use it, or give `data`"


def type_name(value: object) -> str:
    """Return the type of a value for a message: "None", "str", "Sequential"."""
    return "None" if value is None else type(value).__name__


def _imported(path: Path, folder: Path) -> ModuleType:
    """Import a file under a name that no package has; it can import what lies beside it, or in the user's folder."""
    name = f"_own_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    for place in (str(path.parent), str(folder)):
        if place not in sys.path:
            sys.path.append(place)  # last: a file there with the name of a package must not replace it
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as `import` does: a dataclass looks for its module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
