"""Keep a page whole: after measuring, what cannot be computed or drawn costs nothing but its own place.

An IPython extension of a report's kernels (`report/jupyter_kernel.py` loads it): each statement of a notebook runs
in a guard. Until the runs are in the ledger, an exception ends the notebook as usual. From then on its traceback
stands where the statement would have shown something, and the notebook goes on; `report/execute.py` finds those
places. In JupyterLab nothing is guarded: there an exception stops the cell, as a reader expects.

Knows no notebook, no chart and no run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

BLOCKS = (ast.If, ast.For, ast.While)  # whose statements are guarded one by one; `try` catches its own
GUARDED, SHOWN = "__guarded__", "__shown__"  # what the statements call


@dataclass
class _State:
    """What the guard knows about the notebook in this process.

    Attributes:
        shell: IPython's; None outside a report's kernel.
        armed: Whether the runs are in the ledger.
        lost: Name that a failed statement would have set -> what failed, in one line.
        shown: (number of the cell, what failed) of the failures that were shown.
    """

    shell: Any = None
    armed: bool = False
    lost: dict[str, str] = field(default_factory=dict)
    shown: set[tuple[int, str]] = field(default_factory=set)


_state = _State()


def arm() -> None:
    """Note that the runs are in the ledger: from now on an exception costs no more than its own statement."""
    _state.armed = True


def load_ipython_extension(shell: Any) -> None:
    """Guard the statements of every cell that is run from now on."""
    global _state
    _state = _State(shell)
    shell.user_ns |= {GUARDED: guarded, SHOWN: _display}
    shell.user_ns_hidden |= {GUARDED: guarded, SHOWN: _display}
    shell.ast_transformers.append(Statements())


class guarded(AbstractContextManager):
    """A context in which an exception is shown and goes no further, where the guard is armed.

    Args:
        names: What the statements set. These names are deleted on failure, so that no older value is shown in
            place of the new one; a statement that uses one of them is said to lack it, not to fail by itself.
        shows: Whether a reader would see anything of the statements.
    """

    def __init__(self, *names: str, shows: bool = True) -> None:
        self._names, self._shows = names, shows

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        shell = _state.shell
        if shell is None or not _state.armed or not isinstance(problem, Exception):
            return False
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")  # a figure that is half drawn would be shown at the end of the cell
        cell = shell.execution_count
        cause = _state.lost.get(problem.name) if type(problem) is NameError else None
        if cause is None:
            cause = f"{kind.__name__}: {problem}".splitlines()[0]
            shell.showtraceback((kind, problem, trace), tb_offset=0)
            _state.shown.add((cell, cause))
        elif self._shows and (cell, cause) not in _state.shown:
            shell.display_pub.publish({"text/plain": f"Not shown, as this failed above: {cause}"})
            _state.shown.add((cell, cause))
        for name in self._names:
            shell.user_ns.pop(name, None)
            _state.lost[name] = cause
        return True


class Statements(ast.NodeTransformer):
    """Puts each statement of a cell into its own guard, including those within an `if` or a loop."""

    def visit_Module(self, module: ast.Module) -> ast.Module:
        """Return the cell; the value of its last expression is still shown."""
        if module.body and isinstance(last := module.body[-1], ast.Expr):
            call = ast.Call(ast.Name(SHOWN, ast.Load()), [last.value], [])
            module.body[-1] = ast.copy_location(ast.Expr(call), last)
        module.body = [_guard(statement) for statement in module.body]
        return ast.fix_missing_locations(module)


def _guard(statement: ast.stmt) -> ast.stmt:
    names = [ast.Constant(name) for name in sorted(set(_set_by(statement)))]
    shows = ast.Constant(any(isinstance(node, ast.Expr) for node in ast.walk(statement)))
    if isinstance(statement, BLOCKS):
        statement.body = [_guard(inner) for inner in statement.body]
        statement.orelse = [_guard(inner) for inner in statement.orelse]
    call = ast.Call(ast.Name(GUARDED, ast.Load()), names, [ast.keyword("shows", shows)])
    return ast.copy_location(ast.With([ast.withitem(call)], [statement]), statement)


def _set_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement sets in the notebook, but not those within a comprehension."""
    nodes = list(ast.walk(statement))
    inner = {id(n) for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inner:
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _display(value: object) -> None:
    """Show the value of a cell's last expression.

    `sys.displayhook` will not do: ipykernel ends the notebook where that meets a table that cannot be drawn.
    """
    from IPython.display import display

    if value is not None:
        display(value)
