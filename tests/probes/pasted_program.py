"""Run a program as if its file was started, and keep all that it and its own processes say."""

from __future__ import annotations

import os
import runpy
import sys


def keep_what_is_said(said: str) -> None:
    """Have both streams of this process and of its own written into files of this name."""
    for stream, ending in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{said}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)


def main(program: str, said: str) -> None:
    keep_what_is_said(said)
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")
