"""Why a run has no result: what a backend, a model or a data set raises, and an exception in one line."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from trainspeed.core.scrub import EVERYBODYS
from trainspeed.worker.device_errors import telling_line

OF_GRAPH = "Graph execution error:"
PLACES = ("Detected at node ", 'File "', "<stack traces unavailable>", "Node: ")
MAX_LETTERS = 300  # of an exception's text


class Unsupported(Exception):
    """This framework or device cannot run the trial; the message says why. The run is a row.

    Attributes:
        cause: See `Failure.cause`.
    """

    cause: str | None = None


class NeedsPackage(Unsupported):
    """The user's own file imports a package that this environment lacks."""


class Invalid(Exception):
    """The user's own model or data is not what was asked for; the message says why. The run is a row."""


def first_line(problem: BaseException | str, *folders: Path) -> str:
    """Return the line of an exception, or of its text, that says what happened, without a path of this machine.

    That is the first one with a known error, else the first; where TensorFlow begins with "Graph execution error:", the
    first after it that does not say where the operation was made.

    Args:
        folders: Shown as "."; the home folder is shown as "~", and that of temporary files as "$TMPDIR".
    """
    lines = [stripped for line in str(problem).splitlines() if (stripped := line.strip())]
    text = telling_line(str(problem)) or next(iter(lines), "no message")
    if text == OF_GRAPH:
        text = next((line for line in lines[1:] if not line.startswith(PLACES)), text)
    named = (tempfile.gettempdir(), "$TMPDIR"), (os.path.expanduser("~"), "~")
    for folder, short in (*((str(folder), ".") for folder in folders), *named):
        text = text if folder in ("/", *EVERYBODYS) else text.replace(folder, short)
    return text[:MAX_LETTERS]
