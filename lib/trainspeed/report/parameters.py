"""A notebook's parameters: read them, merge presets and files into them, check names and types.

Does not know what a parameter means, and runs nothing.
"""

from __future__ import annotations

import ast
import io
import math
import os
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
import yaml

from trainspeed.core.errors import UserError, check_name, suggest
from trainspeed.core.files import notebook_names
from trainspeed.report.plain_yaml import PlainLoader
from trainspeed.report.yaml_error import yaml_error

TAG = "parameters"
BUDGET = "budget"  # of a whole report: a preset or file may have it beside the notebooks
TYPES = {"int": int, "float": (int, float), "str": str, "bool": bool, "list": list}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One line of a parameters cell: `name: type = default  # help`.

    Attributes:
        kind: int, float, str, bool or list.
        items: Kind of a list's items; None where they may be of any kind.
        optional: Whether None is allowed: the default is None or holds a None, or the annotation names it.
        group: The comment line above it and its neighbours.
    """

    name: str
    kind: str
    default: Any
    help: str = ""
    items: str | None = None
    optional: bool = False
    group: str = ""


def check_notebooks(names: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return the names without repeats and without ".ipynb".

    Raises:
        UserError: A name is not that of a notebook in the folder.
    """
    known = notebook_names(folder)
    wanted = tuple(dict.fromkeys(Path(name).name.removesuffix(".ipynb") for name in names))
    for name in wanted:
        check_name("notebook", name, known)
    return wanted


def in_preset_order(preset: str, folder: Path) -> tuple[str, ...]:
    """Return the folder's notebooks in the order in which a preset names them, in which they run; the others last."""
    places = {name: place for place, name in enumerate(_read_yaml(_preset_file(preset, folder)))}
    return tuple(sorted(notebook_names(folder), key=lambda name: places.get(name, len(places))))


def _preset_file(preset: str, folder: Path) -> Path:
    known = sorted(path.stem for path in (folder / "presets").glob("*.yaml"))
    check_name("preset", preset, ["auto", *known])
    return folder / "presets" / f"{preset}.yaml"


def resolve_parameters(
    names: Sequence[str], folder: Path, *, preset: str | None = None, params: Path | str | None = None
) -> dict[str, dict[str, Any]]:
    """Return every parameter of each notebook: defaults, then the preset, then the user's own on top.

    Both are checked as a whole, including the parts on notebooks that are not asked for.

    Args:
        params: A YAML file, or its text: see `file_or_text`.
    """
    layers = [read_parameters(_preset_file(preset, folder), folder)] if preset else []
    if params is not None:
        layers.append(read_parameters(params, folder))
    merged = {}
    for name in check_notebooks(names, folder):
        merged[name] = {p.name: p.default for p in read_notebook(folder / f"{name}.ipynb").values()}
        for layer in layers:
            merged[name] |= layer.get(name, {})
    return merged


def read_notebook(path: Path) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, in its order; none where no cell has the tag.

    The cell is parsed as Python: papermill's own reader drops a line that holds a second "=", even in its
    comment, and then takes the parameter for unknown.
    """
    try:
        notebook = nbformat.read(path, 4)
    except FileNotFoundError:
        raise UserError(f"no notebook {path}") from None
    except (ValueError, AttributeError, nbformat.ValidationError):
        raise UserError(f"{path} is not a notebook: its JSON is damaged") from None
    return parameters_of(notebook, path.stem)


def parameters_of(notebook: nbformat.NotebookNode, name: str) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, in its order."""
    for cell in notebook.cells:
        if TAG in cell.metadata.get("tags", []):
            return parse(cell.source, name)
    return {}


def file_or_text(given: str) -> Path | str:
    """Return the YAML file that a user named, or else the YAML itself: "layout: {blocks: 10}"."""
    return given if ": " in given and not os.path.isfile(given) else Path(given)


def yaml_text(given: Path | str) -> str:
    """Return the YAML of a file, or that which was given itself."""
    return given.read_text(encoding="utf-8") if isinstance(given, Path) else given


def read_budget(given: Path | str, otherwise: Any = None) -> Any:
    """Return the time that some YAML gives the whole report, as it is written: None where that is no limit.

    Args:
        otherwise: What it is where the YAML says nothing of it.
    """
    return _read_yaml(given).get(BUDGET, otherwise)


def preset_budget(preset: str, folder: Path) -> Any:
    """Return the time that a preset gives the whole report, as it is written; None where it sets no limit."""
    return read_budget(_preset_file(preset, folder))


def read_parameters(given: Path | str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return notebook -> parameters of some YAML, all names and types checked."""
    checked: dict[str, dict[str, Any]] = {}
    path = _place(given)
    for name, values in _read_yaml(given).items():
        if name == BUDGET:
            continue
        if name not in notebook_names(folder):
            raise UserError(f"{path}: unknown notebook {name!r}{suggest(str(name), notebook_names(folder))}")
        values = {} if values is None else values
        if not isinstance(values, dict):
            raise UserError(f"{path}: {name} must map parameters to values, got {values!r}")
        try:
            check_parameters(name, read_notebook(folder / f"{name}.ipynb"), values)
        except UserError as problem:
            raise UserError(f"{path}: {problem}") from None
        checked[name] = values
    return checked


def _place(given: Path | str) -> str:
    """Return where a mistake is."""
    return str(given) if isinstance(given, Path) else "PARAMS"


def _read_yaml(given: Path | str) -> dict[str, Any]:
    path = _place(given)
    try:
        data = yaml.load(yaml_text(given), PlainLoader)
    except FileNotFoundError:
        raise UserError(
            f"no file {path}: PARAMS names a YAML file, seen from where you are, or is YAML itself, such as "
            "'layout: {blocks: 10}'"
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"cannot read {path}: {getattr(problem, 'strerror', None) or 'not text'}") from None
    except yaml.YAMLError as problem:
        raise yaml_error(path, problem) from None
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise UserError(f"{path} must map notebook names to parameters, such as 'layout: {{blocks: 10}}'")
    return data


def check_parameters(notebook: str, known: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise a UserError unless every value names a parameter and has its type."""
    for name, value in values.items():
        if not known:
            raise UserError(
                f"{notebook}: unknown parameter {name!r}: it has none, as no cell with the tag {TAG!r} sets any"
            )
        if name not in known:
            raise UserError(f"{notebook}: unknown parameter {name!r}{suggest(str(name), known)}")
        if problem := _problem(known[name], value):
            raise UserError(f"{notebook}: {problem}")


def parse(source: str, notebook: str) -> dict[str, Parameter]:
    """Return the parameters of the text of a cell by name, in its order."""
    try:
        lines = ast.parse(source).body
    except SyntaxError as problem:
        raise UserError(f"{notebook}: its parameters cell is not Python: {problem.msg}") from None
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    last_lines = {line.end_lineno for line in lines}  # whose comments explain a parameter, and are no heading
    headings = {number: text for number, text in comments.items() if number not in last_lines}
    parameters = {}
    for line in lines:
        annotation = ""
        if isinstance(line, ast.AnnAssign) and line.value is not None:
            target, annotation = line.target, ast.unparse(line.annotation)
        elif isinstance(line, ast.Assign) and len(line.targets) == 1:
            target = line.targets[0]
        else:
            continue
        if not isinstance(target, ast.Name):
            continue
        try:
            default = ast.literal_eval(line.value)
        except ValueError:
            raise UserError(f"{notebook}: parameter {target.id} must be a plain literal") from None
        above = [text for number, text in headings.items() if number < line.lineno]
        parameters[target.id] = replace(
            _parameter(target.id, annotation, default, notebook),
            help=comments.get(line.end_lineno, ""),
            group=above[-1] if above else "",
        )
    return parameters


def _parameter(name: str, annotation: str, default: Any, notebook: str) -> Parameter:
    """Understand `list[int]` and `float | None`; without an item type, a list holds what its default holds."""
    kinds = [kind.strip() for kind in annotation.split("|")] if annotation else [type(default).__name__]
    kind, _, items = next((k for k in kinds if k != "None"), "NoneType").partition("[")
    items = items.rstrip("]") or None
    if kind not in TYPES or (items and items not in TYPES):
        raise UserError(
            f"{notebook}: parameter {name} has type {annotation or kind!r}: use one of {', '.join(TYPES)}"
        )
    if kind == "list" and items is None and default:
        held = {type(item).__name__ for item in default if item is not None}
        items = "float" if held == {"int", "float"} else held.pop() if len(held) == 1 else None
        items = items if items in TYPES else None
    optional = default is None or "None" in kinds or (isinstance(default, list) and None in default)
    return Parameter(name=name, kind=kind, default=default, items=items, optional=optional)


def _problem(parameter: Parameter, value: Any) -> str | None:
    """Return why a value does not fit a parameter; None where it does."""
    checks = [(parameter.name, parameter.kind, value)]
    if parameter.items and isinstance(value, list):
        checks += [(f"{parameter.name}[{index}]", parameter.items, item) for index, item in enumerate(value)]
    for name, kind, held in checks:
        if not _is(held, kind) and not (held is None and parameter.optional):
            return f"{name} must be {kind}, got {held!r} ({type(held).__name__}){_hint(held, kind)}"
        if isinstance(held, float) and not math.isfinite(held):
            return f"{name} must be a finite number, got {held!r}"
    return None


def _is(value: Any, kind: str) -> bool:
    """Whether the value is of the kind; a bool is no number here, as YAML reads `on` and `yes` as one."""
    return isinstance(value, TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))


def _hint(value: Any, kind: str) -> str:
    """Return how to write the value in YAML, as the end of a sentence; "" where there is nothing to suggest."""
    if kind == "list":
        return "" if isinstance(value, dict) else ": write []" if value is None else f": write [{value}]"
    if kind == "str" and isinstance(value, bool):
        return ": YAML reads on, off, yes and no as true and false; put the word in quotes"
    if kind not in ("int", "float") or not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ": write a finite number"
    if kind == "int" and not number.is_integer():
        return ""
    if yaml.safe_load(value.strip()) == number:
        return f": write {value.strip()} without quotes"
    written = str(int(number)) if kind == "int" else yaml.safe_dump(number).split()[0]
    return f": YAML reads {value} as text; write {written}"
