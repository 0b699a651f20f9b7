"""A real JupyterLab in a real browser: on a free port of this machine, without a user's settings.

Only drives and looks; what should be there is for the tests to say.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN = "of-a-test"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")
START_S = 60.0  # on a busy machine; it takes 2 to 5 s
WAIT_MS = 120_000
SILENT = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}
SIZE_PX = {"width": 1400, "height": 900}
KERNEL = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
MODEL = "window.jupyterapp.shell.currentWidget.content.model"
CONTENT = "window.jupyterapp.shell.currentWidget.content"
# Notes what has stood beside a bar that could be seen, however soon it was gone.
WATCH_BARS = """
window.saidBesideBars = [];
new MutationObserver(() => document.querySelectorAll("progress").forEach((bar) => {
  const said = bar.closest(".jp-OutputArea-output")?.textContent;
  if (bar.checkVisibility() && !window.saidBesideBars.includes(said)) window.saidBesideBars.push(said);
})).observe(document, { subtree: true, childList: true, characterData: true });
"""


@contextmanager
def server(folder: Path, notebooks: Path, environment: Mapping[str, str], *, startup: str) -> Iterator[str]:
    """Start JupyterLab as `make lab` does; yield its address.

    Args:
        folder: For everything that Jupyter writes.
        environment: Variables for the server and its kernels, beside those of this process.
        startup: Python that every kernel runs first.
    """
    settings = folder / "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    first = folder / "ipython/profile_default/startup/first.py"
    for path, text in ((settings, json.dumps(SILENT)), (first, startup)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "IPYTHONDIR": str(folder / "ipython")}
    own |= {"JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--ServerApp.port=0",
        "--expose-app-in-browser",
    ]
    options += [f"--IdentityProvider.token={TOKEN}", f"--notebook-dir={notebooks}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, **own, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log = _Log(process)
    try:
        yield log.address()
    finally:
        process.terminate()  # it ends its kernels
        process.wait()


class _Log:
    """What a server prints, read all the time, so that it never waits for a reader."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._lines = process, []
        self._told = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stderr:
            self._lines.append(line)
            if ADDRESS.search(line):
                self._told.set()
        self._told.set()  # it has ended

    def address(self) -> str:
        """Return where the server listens, as soon as it says so."""
        self._told.wait(START_S)
        found = ADDRESS.search("".join(self._lines))
        assert found, "JupyterLab did not start: " + "".join(self._lines)[-2000:]
        return found[0]


@dataclass
class Lab:
    """A browser's page with JupyterLab, and one notebook in it."""

    page: Any
    address: str

    def watch_bars(self) -> None:
        """Note what stands beside bars, in every notebook that is opened from now on."""
        self.page.add_init_script(WATCH_BARS)

    def beside_bars(self) -> list[str]:
        """Return what has stood beside the notebook's bars, in the order of time."""
        return self.page.evaluate("window.saidBesideBars")

    def open(self, name: str) -> None:
        """Open a notebook, and wait for its kernel."""
        self.page.set_viewport_size(SIZE_PX)
        self.page.goto(f"{self.address}lab/tree/{name}.ipynb?token={TOKEN}&reset")
        self.page.wait_for_function(f"{KERNEL} === 'idle'", timeout=WAIT_MS)

    def command(self, name: str) -> None:
        """Begin a command of JupyterLab by its name, as its menus do."""
        self.page.evaluate("(name) => void window.jupyterapp.commands.execute(name)", name)

    def save(self) -> None:
        """Save the notebook, and wait until it is."""
        self.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")

    def select(self, place: int) -> None:
        """Make a cell the active one, and bring it into view."""
        set_active = f"{CONTENT}.activeCellIndex = place"
        self.page.evaluate(
            f"(place) => {{ {CONTENT}.deselectAll(); {set_active}; {CONTENT}.scrollToItem(place); }}", place
        )

    def run_to(self, place: int) -> None:
        """Run the cells up to this one, and wait until it has been run."""
        self.select(place)
        self.command("notebook:run-all-above")
        self.command("notebook:run-cell")
        self.wait_for_run(place)

    def restart_and_run_all(self) -> None:
        """Click on the button in the notebook's toolbar, and confirm."""
        self.page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:restart-run-all']").first.click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()

    def wait_for_run(self, place: int, *, timeout_ms: float = WAIT_MS) -> None:
        """Wait until the kernel is idle, and a cell has been run since it was started, or one before it has failed."""
        self.page.wait_for_function(
            f"""(place) => {{
              const cells = {MODEL}.cells, numbers = [...Array(place).keys()];
              const failed = (cell) => cell.toJSON().outputs?.some((output) => output.output_type === "error");
              const over = cells.get(place).executionCount !== null || numbers.some((n) => failed(cells.get(n)));
              return {KERNEL} === "idle" && over;
            }}""",
            arg=place,
            timeout=timeout_ms,
        )

    def shown_of(self, place: int) -> str:
        """Return the text of a cell's outputs that can be seen after scrolling there."""
        self.select(place)
        outputs = self.page.locator(
            ".jp-NotebookPanel:visible .jp-Cell.jp-mod-active .jp-OutputArea-output:visible"
        )
        outputs.first.wait_for()
        return "\n".join(outputs.all_inner_texts())

    def cells(self) -> list[dict[str, Any]]:
        """Return the notebook's cells with their outputs, as they would be saved."""
        return self.page.evaluate(f"{MODEL}.toJSON().cells")


def place_of(cells: list[dict[str, Any]], cell_id: str) -> int:
    """Return the number of a cell."""
    return next(place for place, cell in enumerate(cells) if cell["id"] == cell_id)


def errors_in(cells: list[dict[str, Any]]) -> list[str]:
    """Return what ended a cell, each with the cell's id."""
    return [
        f"{cell['id']}: {output['ename']}: {output['evalue']}"
        for cell in cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "error"
    ]


def texts_of(cell: Mapping[str, Any]) -> str:
    """Return all that the outputs of a cell say as text."""
    said = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        said += [data.get(kind, "") for kind in ("text/markdown", "text/html", "text/plain")]
        said += [output.get("text", ""), *output.get("traceback", ())]
    return "\n".join("".join(part) if isinstance(part, list) else str(part) for part in said)
