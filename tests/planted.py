"""Exceptions planted into everything that notebooks draw: which functions those are, and how kernels get them.

The notebooks' own imports say where a function is, so none is forgotten and none is named here.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import nbformat

from trainspeed.report.run import NOTEBOOKS

DRAWS = re.compile(r"^plot_|(?<!show)_table$")  # charts and tables, by the names that they have here
SHARED = ("trainspeed.show.sections", "trainspeed.articles.page")  # what several notebooks show
STARTUP = """
import importlib

def planted(name):
    def raises(*arguments, **options):
        raise RuntimeError(f"planted in {name}")
    return raises

for module, name in %s:
    setattr(importlib.import_module(module), name, planted(name))
"""
Function = tuple[str, str]  # its module and its name


def drawing(notebook: str) -> set[Function]:
    """Return the functions that draw a chart or a table for a notebook, also in the sections that all share."""
    cells = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", 4).cells
    code = ast.parse("\n".join(cell.source for cell in cells if cell.cell_type == "code"))
    called = _called(code, _modules(code))
    for module, name in list(called):
        if module in SHARED:
            sections = ast.parse(Path(importlib.import_module(module).__file__).read_text())
            bodies = {node.name: node for node in sections.body if isinstance(node, ast.FunctionDef)}
            called |= _called_by_section(name, bodies, _modules(sections))
    return {(module, name) for module, name in called if DRAWS.search(name)}


def _called_by_section(
    name: str, bodies: Mapping[str, ast.FunctionDef], modules: dict[str, str]
) -> set[Function]:
    """Return what a section calls, also by way of other sections."""
    names = {node.id for node in ast.walk(bodies[name]) if isinstance(node, ast.Name)} & (
        bodies.keys() - {name}
    )
    inner = [_called_by_section(other, bodies, modules) for other in names]
    return _called(bodies[name], modules).union(*inner)


def plant(folder: Path, functions: Iterable[Function]) -> dict[str, str]:
    """Return variables of the environment with which every kernel has these functions raise."""
    functions = sorted(functions)
    for module, name in functions:
        assert callable(getattr(importlib.import_module(module), name)), (module, name)
    startup = folder / "profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "plant.py").write_text(STARTUP % json.dumps(functions))
    return {"IPYTHONDIR": str(folder)}


def _modules(tree: ast.AST) -> dict[str, str]:
    """Return name -> what it was imported from."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {a.asname or a.name: f"{node.module}.{a.name}" for node in imports for a in node.names}


def _called(tree: ast.AST, modules: dict[str, str]) -> set[Function]:
    """Return what is called, or given to what is, as `module.name`, and as `name` where the name was imported."""
    calls = [f for node in ast.walk(tree) if isinstance(node, ast.Call) for f in (node.func, *node.args)]
    alone = [modules[f.id].rpartition(".") for f in calls if isinstance(f, ast.Name) and f.id in modules]
    named = [f for f in calls if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name)]
    of_modules = {(modules[f.value.id], f.attr) for f in named if f.value.id in modules}
    return of_modules | {(module, name) for module, _, name in alone}
