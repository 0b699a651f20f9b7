"""A notebook in this process, its statements in the guard that a report's kernels load: what it shows, cell by cell.

IPython runs the cells, as in a kernel. Charts are not drawn to the end: a chart is the text that describes it.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
import nbformat
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_output
from traitlets.config import Config

from planted import Function
from trainspeed.core import guard
from trainspeed.report.parameters import TAG
from trainspeed.report.run import NOTEBOOKS

SVG = "<svg></svg>"


class GuardedNotebook:
    """A notebook that runs here.

    Attributes:
        notebook: With the outputs of the cells that ran.
    """

    def __init__(self, name: str, folder: str, values: Mapping[str, Any]) -> None:
        InteractiveShell.clear_instance()
        settings = Config({"HistoryManager": {"enabled": False}})
        module = types.ModuleType("guarded_notebook_cells")
        self._shell = InteractiveShell.instance(config=settings, ipython_dir=folder, user_module=module)
        self._shell._showtraceback = self._error
        self._publisher: CapturingDisplayPublisher | None = None
        self.notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
        self._values = values
        guard.load_ipython_extension(self._shell)

    def close(self) -> None:
        """Forget IPython's shell, and that it was guarded."""
        InteractiveShell.clear_instance()
        guard._state = guard._State()
        plt.close("all")

    def run(self, *cells: int) -> None:
        """Run these cells, by default all that a report's reader sees; an exception that is not guarded is raised."""
        for index in cells or range(len(self.notebook.cells)):
            cell = self.notebook.cells[index]
            if cell.cell_type == "code" and "remove_cell" not in cell.metadata.get("tags", []):
                cell.outputs = self._run(cell.source)
                cell.execution_count = self._shell.execution_count
                if TAG in cell.metadata.get("tags", []):
                    self._shell.user_ns.update(self._values)

    def _run(self, source: str) -> list[nbformat.NotebookNode]:
        with capture_output(), _not_drawn():
            self._publisher = self._shell.display_pub
            done = self._shell.run_cell(source)
            shown = list(self._publisher.outputs)
        done.raise_error()
        return [_output(one) for one in shown]

    def _error(self, kind: type[BaseException], problem: BaseException, trace: list[str]) -> None:
        self._publisher.outputs.append({"error": (kind.__name__, str(problem), trace)})

    @property
    def shown(self) -> dict[int, list[str]]:
        """What each cell shows, by its number: a text for each output."""
        return {
            index: [_text(one) for one in cell.get("outputs", ())]
            for index, cell in enumerate(self.notebook.cells)
        }


@contextmanager
def _not_drawn():
    drawing = types.SimpleNamespace(
        mime="image/svg+xml", data=SVG.encode(), source="", width_px=10, height_px=10
    )
    with (
        mock.patch("trainspeed.show.theme.fit_figure"),
        mock.patch("trainspeed.show.theme.render_figure", lambda figure: drawing),
    ):
        yield


def _output(shown: Mapping[str, Any]) -> nbformat.NotebookNode:
    if "error" in shown:
        name, text, trace = shown["error"]
        return new_output("error", ename=name, evalue=text, traceback=trace)
    return new_output("display_data", data=shown["data"], metadata=shown["metadata"] or {})


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    alt = next((about["alt"] for about in output.metadata.values() if "alt" in about), "")
    return (
        alt or output.data.get("text/markdown") or output.data.get("text/html") or output.data["text/plain"]
    )


class Calls:
    """Counts the calls of functions, and raises at one of them, or at all."""

    def __init__(self, functions: Iterable[Function]) -> None:
        self.functions = frozenset(functions)
        self.count: dict[Function, int] = {}
        self.raises: Callable[[Function, int], bool] = lambda function, number: False
        self._patches = [patch for function in sorted(self.functions) for patch in self._patched(function)]

    def __enter__(self) -> Calls:
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *error: object) -> None:
        for patch in self._patches:
            patch.stop()

    def _patched(self, function: Function) -> list[Any]:
        """Return the patches of a function wherever it is known by its name."""
        module, name = importlib.import_module(function[0]), function[1]
        whole = getattr(module, name)

        def call(*arguments: Any, **options: Any) -> Any:
            number = self.count[function] = self.count.get(function, 0) + 1
            if self.raises(function, number):
                raise RuntimeError(f"planted in {name}")
            return whole(*arguments, **options)

        ours = [each for own, each in sys.modules.items() if own.startswith("trainspeed.")]
        return [mock.patch.object(each, name, call) for each in ours if getattr(each, name, None) is whole]
