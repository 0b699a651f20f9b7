"""A model of the user's own, `file.py:function`: find the file, and read what it says without running it.

A trial holds the path as seen from the folder that the user works in, so no ledger holds the folder itself.
Does not know what the function returns: `own_code` calls it, within a worker.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import FRAMEWORKS, USER_MODEL

FOLDER = "TRAINSPEED_MODEL_FOLDER"  # variable: what the paths of models are relative to
DATA = "data"  # name of the function that returns the user's own images
TORCH_PACKAGES = {"torch", "torchvision", "timm"}
KERAS_PACKAGES = {"keras", "keras_hub", "keras_cv"}
RETRYABLE = (Status.UNSUPPORTED, Status.INVALID)  # a package may have been installed, the file corrected


def is_user_model(model: str) -> bool:
    """Whether a model is `file.py:function` rather than one of Trainspeed's."""
    return USER_MODEL.fullmatch(model) is not None


def placed(words: str, here: Path) -> tuple[str, Path]:
    """Return the name of a model in a trial, and the folder that its path is relative to.

    That is where the user is, where the file lies below it; else its own folder.

    Args:
        words: As on the command line: a path that may be absolute or hold "~" and "..", and a function.
    Raises:
        UserError: No such form, no such file.
    """
    form = (
        "MODEL is path/file.py:function, seen from where you are, such as examples/small_cnn.py:build_torch"
    )
    if not (own := USER_MODEL.fullmatch(words)):
        raise UserError("MODEL", words, f"names no function of a Python file: {form}.")
    path = Path(os.path.abspath(here / Path(own[1]).expanduser()))
    if not path.is_file():
        raise UserError(f"no file {own[1]}: {form}.")
    folder = here if path.is_relative_to(here) else path.parent
    return f"{path.relative_to(folder).as_posix()}:{own[2]}", folder


def find_model(model: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file of a model: below `FOLDER` where that is set, else below this folder or the project's.

    Raises:
        UserError: It is not there.
    """
    file, _ = _split(model)
    named = environment.get(FOLDER)
    for folder in [Path(named)] if named else [Path.cwd(), ROOT]:
        if (folder / file).is_file():
            return folder / file
    raise UserError(
        f"no file {file}: a model of your own is path/file.py:function, seen from the folder where `make` is "
        "called. One that lies elsewhere needs MODEL=… again."
    )


def check_model(model: str) -> None:
    """Raise a UserError where the file is not there, is not Python, or has no such function at its top."""
    file, function = _split(model)
    functions = _functions(model)
    if function not in functions:
        there = f"it has {', '.join(functions)}" if functions else "it has none at its top level"
        raise UserError(f"{file} has no function {function!r}: {there}.")


def has_data(model: str) -> bool:
    """Whether the file brings images of its own, by a function `data`."""
    return DATA in _functions(model)


def frameworks_of(model: str) -> tuple[str, ...]:
    """Return the frameworks that a model is for, by what its file and its function import; all if that is none.

    Keras runs on TensorFlow and on JAX; a file that imports one of these itself needs that one.
    """
    names = packages_of(model)
    found = {"torch"} if names & TORCH_PACKAGES else set()
    native = names & {"tensorflow", "jax"}
    found |= native or ({"tensorflow", "jax"} if names & KERAS_PACKAGES else set())
    return tuple(name for name in FRAMEWORKS if name in found) or FRAMEWORKS


def packages_of(model: str) -> set[str]:
    """Return the names of the packages that the file imports at its top, or the function within."""
    _, function = _split(model)
    body = _parsed(model).body
    names = set(_imported(body))
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function:
            names |= set(_imported(ast.walk(statement)))
    return names


def version_of(model: str) -> dict[str, str]:
    """Return file name -> first 12 hex digits of its SHA-256, as a version.

    Nothing for Trainspeed's own models, and where the file has gone meanwhile.
    """
    try:
        path = find_model(model) if is_user_model(model) else None
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12]} if path else {}
    except (UserError, OSError):
        return {}


def still_holds(run: Run) -> bool:
    """Whether a session that is resumed may keep a run: not where the file has changed, or may be mended."""
    model = getattr(run.trial, "model", "")
    if not is_user_model(model) or not run.versions:
        return True
    return run.status not in RETRYABLE and version_of(model).items() <= run.versions.items()


def fault_sentences(runs: Sequence[Run]) -> list[str]:
    """Return what was wrong with models and data of the user's own: each reason once, with how often."""
    faults: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for run in runs:
        model = getattr(run.trial, "model", "")
        if is_user_model(model):
            totals[model] += 1
            if run.failure and run.failure.in_user_file:
                faults[model, run.reason] += 1
    return [
        f"{reason}. So ended {count} of {totals[model]} runs of it."
        for (model, reason), count in faults.items()
    ]


def _split(model: str) -> tuple[str, str]:
    file, _, function = model.rpartition(":")
    return file, function


def _functions(model: str) -> list[str]:
    return [statement.name for statement in _parsed(model).body if isinstance(statement, ast.FunctionDef)]


def _parsed(model: str) -> ast.Module:
    file, _ = _split(model)
    path = find_model(model)
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError as problem:
        where = f" line {problem.lineno}" if problem.lineno else ""
        raise UserError(f"{file}{where} is not Python: {problem.msg}.") from None
    except (OSError, ValueError) as problem:  # no right to read it; a null byte
        raise UserError(f"cannot read {file}: {getattr(problem, 'strerror', None) or problem}.") from None


def _imported(statements: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[str]:
    """Yield the packages that statements import, also within `if` and `try`, but not within functions."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module.partition(".")[0]
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
            handlers = getattr(statement, "handlers", [])
            yield from _imported([*inner, *(s for handler in handlers for s in handler.body)])
