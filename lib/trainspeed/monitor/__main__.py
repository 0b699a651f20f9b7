"""Sample every GPU, the host and single CPU cores into a CSV, as a process of its own, alone or around any command.

    python -m trainspeed.monitor --interval 5 --out gpu.csv [-- command ...]

Does not know what the command is, nor anything about trials and runs.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NoReturn

from trainspeed.core.errors import UserError
from trainspeed.core.monitor_csv import MIN_INTERVAL_S
from trainspeed.monitor.table import SampleTable, open_table
from trainspeed.monitor.watch import Watch
from trainspeed.sensors.host import HostSensors
from trainspeed.sensors.nvml import open_nvml
from trainspeed.sensors.processes import die_with_parent

CANNOT_RUN, NOT_FOUND = 126, 127  # as in shells


def ticks(
    interval_s: float, wait: Callable[[float], bool], *, clock: Callable[[], float] = time.monotonic
) -> Iterator[int]:
    """Yield k at start + k * interval_s, for k = 0, 1 …, until `wait` says to stop.

    The schedule does not drift: how long a sample takes is not added to the interval. A tick that has
    already passed, because a sample took too long, is left out.

    Args:
        wait: Waits for a number of seconds; returns True to stop.
        clock: Seconds since a fixed moment; tests pass a fake.
    """
    start, tick = clock(), 0
    while True:
        yield tick
        tick = max(tick + 1, math.ceil((clock() - start) / interval_s))
        if wait(start + tick * interval_s - clock()):
            return


def record_samples(
    out: Path,
    interval_s: float,
    *,
    command: Sequence[str] = (),
    cores: Sequence[int] = (),
    until_stdin_closes: bool = False,
    parent: int | None = None,
) -> int:
    """Sample until told to stop, or until the command ends; return the exit code.

    The first sample is taken before the command starts, the last one after it has ended. When the file
    can no longer be written, the samples stop, not the command.
    """
    with (
        open_table(out) as file,
        closing(open_nvml()) as nvml,
        Watch(watch_stdin=until_stdin_closes, parent=parent) as watch,
    ):
        table: SampleTable | None = SampleTable(file, nvml, HostSensors(cores), interval_s)
        for _ in ticks(interval_s, watch.wait):
            table = _sample(table, out)
            if command and watch.command is None:
                try:
                    watch.command = subprocess.Popen(command)
                except OSError as problem:
                    _complain(f"cannot run {command[0]}: {problem.strerror}")
                    return CANNOT_RUN
            if table is None and watch.command is None:
                return 1
        table = _sample(table, out)
    if watch.command is None:
        return 0 if table else 1
    code = watch.command.returncode
    return code if code >= 0 else 128 - code  # killed by a signal: as in shells


def _sample(table: SampleTable | None, out: Path) -> SampleTable | None:
    """Write a sample; None once the file cannot be written."""
    try:
        if table is not None:
            table.sample()
    except OSError as problem:
        _complain(f"cannot write {out} any more ({problem.strerror}); sampling stopped.")
        return None
    return table


def _complain(message: str) -> None:
    print(f"monitor: {message}", file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}. Put a command after --, and see --help.")


def _interval(text: str) -> float:
    with suppress(ValueError):
        if MIN_INTERVAL_S <= float(text) < math.inf:
            return float(text)
    raise UserError(f"--interval (={text}) must be a number of seconds, at least {MIN_INTERVAL_S:g}.")


def _cores(text: str) -> list[int]:
    with suppress(ValueError):
        if min(numbers := [int(part) for part in text.split(",")]) >= 0:
            return list(dict.fromkeys(numbers))
    raise UserError(f"--cores (={text}) must be numbers of CPU cores with commas between, such as 2,3.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code of the command, or 2 for wrong input."""
    own = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] | None = None
    if "--" in own:
        own, command = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = _Parser(
        prog="python -m trainspeed.monitor",
        usage="%(prog)s --out FILE [--interval SECONDS] [--cores 2,3] [-- command ...]",
        description="Sample every GPU and the host into a CSV until SIGTERM, Ctrl-C or the command's end.",
    )
    parser.add_argument("--out", type=Path, required=True, help="the CSV; samples are appended")
    parser.add_argument("--interval", default="5", help="seconds from sample to sample (default 5)")
    parser.add_argument("--cores", help="CPU cores to sample one by one, such as 2,3 (default none)")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when stdin ends")
    parser.add_argument("--parent", type=int, metavar="PID", help="die with this process, the direct parent")
    try:
        options = parser.parse_args(own)
        interval_s = _interval(options.interval)
        cores = () if options.cores is None else _cores(options.cores)
        if command is not None and not command:
            raise UserError("nothing follows --: name a command, or leave -- out.")
        if command and options.until_stdin_closes:
            raise UserError("--until-stdin-closes does not go with a command: stdin is the command's.")
        if options.parent is not None:
            die_with_parent(parent=options.parent)
        if command and shutil.which(command[0]) is None:
            _complain(f"command not found: {command[0]}")
            return NOT_FOUND
        return record_samples(
            options.out,
            interval_s,
            command=command or (),
            cores=cores,
            until_stdin_closes=options.until_stdin_closes,
            parent=options.parent,
        )
    except UserError as problem:
        _complain(str(problem))
        return 2


if __name__ == "__main__":
    sys.exit(main())
