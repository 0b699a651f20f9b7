"""A user's model, `file.py:function`: find the file, and read what it says without running it.

A trial holds the path relative to the folder that the user works in, so no ledger holds the folder itself.
Does not know what the function returns: `trainspeed.worker.user_code` calls it, within a worker.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from trainspeed.core.errors import UserError, suggest
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import FRAMEWORKS, USER_MODEL

FOLDER_VARIABLE = "TRAINSPEED_MODEL_FOLDER"  # names the folder to which the paths of models are relative
DATA = "data"  # name of the function that returns the user's images
PARAMETERS = "input_shape, classes, layout"  # of a model's function
DATA_PARAMETERS = "image_size"  # of `data`
TORCH_PACKAGES = {"torch", "torchvision", "timm"}
KERAS_PACKAGES = {"keras", "keras_hub", "keras_cv"}
BLOCKS = (ast.If, ast.Try, ast.ExceptHandler, ast.With)
KINDS = {
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "an `async def`",
    ast.FunctionDef: "a `def` within `if`, `try` or `with`",
}
RETRYABLE = (Status.UNSUPPORTED, Status.INVALID)  # a package may have been installed, the file corrected


def is_user_model(model: str) -> bool:
    """Whether a model is a user's `file.py:function` rather than one of Trainspeed's."""
    return USER_MODEL.fullmatch(model) is not None


def user_models_in(parameters: object) -> set[str]:
    """Return the users' models that parameters name, however deep."""
    if isinstance(parameters, str):
        return {parameters} if is_user_model(parameters) else set()
    if isinstance(parameters, Mapping):
        parameters = [*parameters, *parameters.values()]
    return set().union(*map(user_models_in, parameters)) if isinstance(parameters, list | tuple) else set()


def is_named(trial: object, named: Collection[str]) -> bool:
    """Whether a trial may be measured: a user's model is run only where the user named it, not a folder's files."""
    model = getattr(trial, "model", "")
    return not is_user_model(model) or model in named


def locate_model(text: str, here: Path) -> tuple[str, Path]:
    """Return the name of a model in a trial, and the folder to which its path is relative.

    The folder is `here` where the file lies below it, else the file's own.

    Args:
        text: As on the command line: a path that may be absolute or hold "~" and "..", and a function.
    Raises:
        UserError: The text is not of this form, or there is no such file.
    """
    form = (
        "MODEL is path/file.py:function, seen from where you are, such as examples/small_cnn.py:build_torch"
    )
    if not (own := USER_MODEL.fullmatch(text)):
        library = "; or a library's own, such as timm/resnet18 or keras/ResNet50"
        raise UserError("MODEL", text, f"names no function of a Python file: {form}{library}.")
    path = Path(os.path.abspath(here / Path(own[1]).expanduser()))
    if not path.is_file():
        raise UserError(f"no file {own[1]}: {form}.")
    folder = here if path.is_relative_to(here) else path.parent
    return f"{path.relative_to(folder).as_posix()}:{own[2]}", folder


def find_model(model: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file of a model: below `FOLDER_VARIABLE` where that is set, else below this folder or the project's.

    Raises:
        UserError: There is no such file.
    """
    file = model.rpartition(":")[0]
    named = environment.get(FOLDER_VARIABLE)
    for folder in [Path(named)] if named else [Path.cwd(), ROOT]:
        if (folder / file).is_file():
            return folder / file
    raise UserError(
        f"no file {file}: a model of your own is path/file.py:function, seen from the folder where `make` is "
        "called. One that lies elsewhere needs MODEL=… again."
    )


def check_user_model(model: str) -> None:
    """Raise a UserError where the file is not there, is not Python, or has no such function at its top."""
    file, _, function = model.rpartition(":")
    functions = _functions(model)
    if function not in functions:
        if kind := _kind_of(_parsed(model).body, function):
            must = f"it must be a plain `def {function}({PARAMETERS}):` at the top level of the file."
            raise UserError(f"{file}: {function!r} is {kind} there: {must}")
        meant = suggest(function, functions) if functions else ": it has none at its top level."
        raise UserError(f"{file} has no function {function!r}{meant}")


def has_data(model: str) -> bool:
    """Whether the file provides images, by a function `data`."""
    return DATA in _functions(model)


def frameworks_of(model: str) -> tuple[str, ...]:
    """Return the frameworks that a model is for, judged by the imports of its file and its function; all without any.

    Keras runs on TensorFlow and on JAX; a file that itself imports one of these needs that one.
    """
    names = packages_of(model)
    needed = names & {"tensorflow", "jax"}
    if names & KERAS_PACKAGES and not needed:
        needed = {"tensorflow", "jax"}
    if names & TORCH_PACKAGES:
        needed.add("torch")
    return tuple(name for name in FRAMEWORKS if name in needed) or FRAMEWORKS


def packages_of(model: str) -> set[str]:
    """Return the names of the packages that the file imports at its top or within the function."""
    function = model.rpartition(":")[2]
    body = _parsed(model).body
    names = set(_imported(body))
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function:
            names |= set(_imported(ast.walk(statement)))
    return names


def version_of(model: str) -> dict[str, str]:
    """Return file name -> first 12 hex digits of its SHA-256, as a version.

    Return nothing for Trainspeed's own models, and where the file is no longer there.
    """
    with contextlib.suppress(UserError, OSError):
        if is_user_model(model):
            path = find_model(model)
            return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12]}
    return {}


def still_holds(run: Run) -> bool:
    """Whether a resumed session may keep a run: not where its file has changed, or a retry may succeed."""
    model = getattr(run.trial, "model", "")
    if not is_user_model(model) or not run.versions:
        return True
    return run.status not in RETRYABLE and version_of(model).items() <= run.versions.items()


def fault_sentences(runs: Sequence[Run]) -> list[str]:
    """Return what was wrong with the user's models and data: each reason once, with the number of runs."""
    faults: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for run in runs:
        model = getattr(run.trial, "model", "")
        if is_user_model(model):
            totals[model] += 1
            if run.failure and run.failure.in_user_file:
                faults[model, run.reason] += 1
    return [
        f"{reason}. This happened in {count} of its {totals[model]} runs."
        for (model, reason), count in faults.items()
    ]


def _functions(model: str) -> list[str]:
    return [statement.name for statement in _parsed(model).body if isinstance(statement, ast.FunctionDef)]


def _kind_of(statements: Iterable[ast.AST], name: str) -> str | None:
    """Return what statements make of a name, in words, also within `if` and `try`; None where they do not name it."""
    for statement in statements:
        kind = None
        if isinstance(statement, ast.ClassDef | ast.AsyncFunctionDef | ast.FunctionDef):
            names, kind = [statement.name], KINDS[type(statement)]
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names, kind = [alias.asname or alias.name for alias in statement.names], "imported"
        elif isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            kind = "a lambda" if isinstance(statement.value, ast.Lambda) else "a variable"
        elif isinstance(statement, BLOCKS):
            names, kind = [name], _kind_of(ast.iter_child_nodes(statement), name)
        if kind and name in names:
            return kind
    return None


def _parsed(model: str) -> ast.Module:
    file = model.rpartition(":")[0]
    path = find_model(model)
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError as problem:
        where = f" line {problem.lineno}" if problem.lineno else ""
        raise UserError(f"{file}{where} is not Python: {problem.msg}.") from None
    except (OSError, ValueError) as problem:  # no right to read it; a null byte
        raise UserError(f"cannot read {file}: {getattr(problem, 'strerror', None) or problem}.") from None


def _imported(statements: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the packages that statements import, also within `if` and `try`, but not within functions."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module.partition(".")[0]
        elif isinstance(statement, BLOCKS):
            yield from _imported(ast.iter_child_nodes(statement))
