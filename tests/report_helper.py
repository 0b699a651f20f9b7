"""A stand-in for the kernels of a report, and small folders for it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import nbformat

from tiny_notebooks import write
from trainspeed.report.execute import NotebookResult, NotebookStatus

TRIAL = {
    "framework": "torch",
    "model": "cnn10",
    "layout": "channels_last",
    "batch_size": 8,
    "images_per_epoch": 64,
    "epochs": 3,
    "dataset": "digits",
}
FAILED = (NotebookStatus.FAILED, "ValueError: x", False)
INCOMPLETE = (NotebookStatus.INCOMPLETE, "1 part could not be shown: Layers: ValueError: x", False)
MISTAKEN = (NotebookStatus.FAILED, "blocks (=0) is too few", True)
INTERRUPTED = (NotebookStatus.INTERRUPTED, "interrupted", False)


class Kernels:
    """Stands in for `execute`: notes what it was given and ends as it was told to.

    Attributes:
        ends: Notebook -> status, error, whether it is the user's mistake; what is not named ends well. A
            list has one for each time.
        runs: Notebook -> how its runs ended, as values of a ledger's line each.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.ends: dict[str, Any] = {}
        self.runs: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, source, out, parameters, *, environment, interruption, metadata, **_):
        name = source.stem
        self.calls.append((name, dict(parameters), dict(environment)))
        end = self.ends.get(name, (NotebookStatus.OK, None, False))
        status, error, mistake = end.pop(0) if isinstance(end, list) else end
        if status is NotebookStatus.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
            assert interruption.asked
        for block, values in enumerate(self.runs.get(name, ())):
            measured(out, name, environment["TRAINSPEED_SESSION"], block=block, **values)
        good = status is NotebookStatus.OK
        path, stale = (
            out / f"{name}{suffix}.ipynb" for suffix in (("", ".failed") if good else (".failed", ""))
        )
        notebook = nbformat.read(source, 4)
        ending = {"title": f"The question of {name}", "status": str(status), "error": error, "cell": None}
        notebook.metadata["trainspeed"] = {**metadata, **ending, "seconds": 1.0}
        nbformat.write(notebook, path)
        stale.unlink(missing_ok=True)
        about = {"name": name, "title": ending["title"], "status": status, "error": error}
        return NotebookResult(**about, mistake=mistake, path=path)

    @property
    def names(self) -> list[str]:
        """The notebooks that ran, in order."""
        return [name for name, _, _ in self.calls]

    def of(self, name: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the parameters and the environment with which a notebook ran last."""
        return next((given, env) for called, given, env in reversed(self.calls) if called == name)


def tiny_folder(made: Path, *names: str) -> Path:
    """Write notebooks of a few cells, and presets: quick changes one parameter of layout."""
    for name in names or ("amp", "layout", "summary"):
        write(made, name)
    (made / "presets").mkdir()
    (made / "presets/quick.yaml").write_text("amp: {}\nlayout: {blocks: 8}\n")
    (made / "presets/standard.yaml").write_text("")
    return made


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def measured(out: Path, study: str, session: str, **values: Any) -> None:
    """Append a line to the ledger."""
    run = {
        "schema": 1,
        "session": session,
        "study": study,
        "trial": TRIAL,
        "block": 0,
        "status": "ok",
        **values,
    }
    out.mkdir(parents=True, exist_ok=True)
    with (out / "runs.jsonl").open("a") as file:
        file.write(json.dumps(run) + "\n")


def told(environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return what a front page was told of the notebooks, by name."""
    return {row["name"]: row for row in json.loads(environment["TRAINSPEED_NOTEBOOKS"])}
