"""A report, or its plan, in a process of its own on a node, for the head: what it writes and prints, as it comes.

Everything is written below a temporary folder, which is removed at the end. Knows no engine.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from trainspeed.conduct.cluster.node import NODE_VARIABLE, Refused
from trainspeed.conduct.cluster.orders import Reply, ReportOrder
from trainspeed.conduct.cluster.tails import FileTails
from trainspeed.conduct.context import TWINS_VARIABLE
from trainspeed.conduct.forecast import PlanSums
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.sensors.processes import die_with_parent

LOOK_EVERY_S = 0.5  # for new lines of a report's files
SUMS = "plan.json"


def run_report(asked: ReportOrder, node: str, parent: Path) -> Iterator[Reply]:
    """Yield what a report does until it ends, and its exit code at last.

    Args:
        node: What this node is called: "a10g-2".
        parent: Folder in which the temporary one is.
    Raises:
        Refused: The name of a file leads elsewhere, or there is no framework here.
    """
    if not any(map(find_interpreter, FRAMEWORKS)):
        raise Refused("no framework is installed there: run `make setup`, and look at what it says")
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        out, sources = Path(folder) / "report", Path(folder) / "sources"
        sources.mkdir()
        write_below(out, asked.files)
        write_below(sources, asked.sources)
        tails = FileTails(out)
        tails.skip()
        # -P: a file of the user's may have the name of a module.
        command = [
            sys.executable,
            "-P",
            "-u",
            "-m",
            "trainspeed",
            asked.command,
            "--out",
            str(out),
            *asked.arguments,
        ]
        command += ["--notebooks", " ".join(asked.notebooks)] if asked.notebooks else []
        if asked.command == "plan":
            command += ["--sums", str(Path(folder) / SUMS)]
        environment = {**os.environ, **_import_path(), **asked.variables, NODE_VARIABLE: node}
        environment |= {TWINS_VARIABLE: asked.twins} if asked.twins else {}
        process = subprocess.Popen(
            command,
            cwd=sources,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, signal.SIGKILL, parent=os.getpid()),
        )
        with process, selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            printed, begun = None, b""
            while printed != b"":
                printed = None
                if ready.select(LOOK_EVERY_S):
                    printed = os.read(process.stdout.fileno(), 2**16)
                *lines, begun = (begun + (printed or b"")).split(b"\n")
                lines += [begun] if printed == b"" else []
                if said := _for_the_head(lines, out.name):
                    yield Reply(said=said)
                for name, text in tails.new():
                    yield Reply(file=name, text=text)
        sums = Path(folder) / SUMS
        plan = msgspec.json.decode(sums.read_bytes(), type=PlanSums) if sums.is_file() else None
        yield Reply(code=process.returncode, plan=plan)


def _for_the_head(lines: Sequence[bytes], folder: str) -> str:
    """Return what a report printed, without blank lines and the paths of pages, which the head draws itself."""
    texts = [line.decode(errors="replace").rstrip() for line in lines]
    return "\n".join(text for text in texts if text and not text.startswith(f"../{folder}/"))


def _import_path() -> dict[str, str]:
    """Return the variable by which the report finds this package, wherever it is started."""
    paths = [str(ROOT / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def write_below(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, name -> text, below a folder.

    Raises:
        Refused: A name leads elsewhere.
    """
    for name, text in files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise Refused(f"{name!r} leads out of the folder of a report")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
