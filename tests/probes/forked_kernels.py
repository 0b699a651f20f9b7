"""Run notebooks one after the other in a process of its own, and print what each sees of its kernel's process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import nbformat
import psutil

sys.path.append(str(Path(__file__).parents[1]))
from tiny_notebooks import write
from trainspeed.report.execute import execute
from trainspeed.report.interruption import Interruption

LOOK = """
import atexit, json, os, pathlib, signal, sys
from ipykernel.kernelapp import IPKernelApp
atexit.register(pathlib.Path(os.environ["LEFT"]).write_text, "ended")
closed = pathlib.Path(os.environ["LEFT"] + " and closed")
IPKernelApp.instance().reset_io = closed.touch  # which is the first that it does as it closes its sockets
print(json.dumps({
    "pid": os.getpid(), "parent": os.getppid(), "group": os.getpgid(0), "folder": os.getcwd(),
    "loaded": sorted({"pandas", "matplotlib", "trainspeed.studies.layout.findings"} & {*sys.modules}),
    "frameworks": sorted({"torch", "tensorflow", "jax"} & {*sys.modules}),
    "signals": [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP)],
    "variables": {n: t for n, t in os.environ.items() if n in ("OF_ONE", "OF_OTHER", "MPLBACKEND")},
    "path": sys.path,
}))
"""


def look(folder: Path, name: str, **variables: str) -> dict:
    """Return what a notebook sees, and whether its exit handlers ran and its process is gone."""
    left = folder / f"{name}.left"
    source, environment = write(folder, name, LOOK), {"LEFT": str(left), **variables}
    with Interruption() as interruption:
        result = execute(source, folder / "out", {}, environment=environment, interruption=interruption)
    cells = nbformat.read(result.path, 4).cells
    (text,) = (o.text for cell in cells for o in cell.get("outputs", []) if o.output_type == "stream")
    seen = json.loads(text)
    above = psutil.Process(seen["parent"]).ppid()
    closed = left.with_name(f"{left.name} and closed").exists()
    gone = not psutil.pid_exists(seen["pid"])
    return seen | {"above": above, "ended": left.exists(), "closed": closed, "gone": gone}


def main(folder: Path) -> None:
    """Run three: two alike but for a variable, and one for which an interpreter would start otherwise."""
    (folder / "out").mkdir()
    found = {"one": look(folder, "one", OF_ONE="1"), "other": look(folder, "other", OF_OTHER="1")}
    found["started"] = look(folder, "started", PYTHONPATH=str(folder / "nothing"))
    print(json.dumps(found | {"report": os.getpid()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
