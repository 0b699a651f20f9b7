"""The standard streams of a command, which may be closed as it starts, or lost while it runs. Knows no command."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

STANDARD = (0, 1, 2)
LOST = {errno.EIO, errno.EPIPE}  # a terminal that is gone; a pipe that nobody reads any more


class LastingStream:
    """A stream that goes on where nobody reads it any more: a lost terminal does not end a measurement."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, if somebody reads it."""
        with _losses_ignored():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what has been written, if somebody reads it."""
        with _losses_ignored():
            self._stream.flush()


def keep_standard_streams() -> None:
    """Have this process's standard streams last as long as it does, whatever becomes of their other ends.

    One that is closed leads nowhere from now on: what is opened next would get its number, and be taken for it. A
    letter that the terminal's encoding does not have, as of "100×100" or of a name, becomes a question mark.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) in STANDARD:
        os.set_inheritable(number, True)
    os.close(number)
    nowhere = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="replace")  # standard error has a way of its own
    sys.stdout, sys.stderr = (LastingStream(stream or nowhere) for stream in (sys.stdout, sys.stderr))


@contextlib.contextmanager
def _losses_ignored() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno not in LOST:
            raise
