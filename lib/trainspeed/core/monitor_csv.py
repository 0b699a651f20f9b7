"""Read a monitor's CSV as a table. Needs no GPU and no framework; `trainspeed.monitor.table` writes it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trainspeed.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

SENSORS = (
    "load_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "power_w",
    "energy_j",
    "temperature_c",
    "sm_clock_mhz",
    "throttle_reasons",
    "pcie_rx_bytes_per_s",
    "pcie_tx_bytes_per_s",
)
MONITOR_COLUMNS = ("utc", "device", "name", "uuid", *SENSORS)
MIN_INTERVAL_S = 0.01  # between two samples
MOST_BYTES = 256 * 2**20  # some days of eight GPUs, or a month of one
MOST_DEVICES = 2048  # cores and GPUs of one machine
MOST = 1e18  # of any sensor
SHOWN_LETTERS = 100  # of a name
NOT_THROTTLED = "none"  # an empty cell is a missing sensor
MONITOR_FILE = re.compile(r"monitor/[\w.+-][\w. +:-]{0,200}\.csv")  # as in the ledger
CSV_LINE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]{0,20000}")


def monitor_file(session: str, study: str, node: str | None = None) -> str:
    """Return the name of a study's file, relative to the ledger."""
    return f"monitor/{session}-{study}{f'-{node}' if node else ''}.csv"


def csv_lines(text: str) -> list[str]:
    """Return the lines of a text from elsewhere that may be some of a monitor's file."""
    return [line for line in text.split("\n") if line and CSV_LINE.fullmatch(line)]


def read_monitors(folder: Path, names: Iterable[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the samples of a ledger's monitor files, and a doubt for each that was not read.

    A file that is not there is passed over: a ledger may have been copied without it. Anything else than a file below
    the ledger's folder is none of a monitor's, wherever the ledger points.

    Args:
        names: Paths as in the ledger.
    """
    import pandas as pd

    frames, doubts, left_bytes = [], [], MOST_BYTES
    for name in names:
        try:
            if (path := _below(folder, name)) is None:
                continue
            size_bytes = path.stat().st_size
            if size_bytes > left_bytes:
                limit = f"{MOST_BYTES / 2**20:.0f} MiB"
                raise UserError(f"the monitor's files are larger than {limit} together")
            frames.append(read_monitor(path)[0])
            left_bytes -= size_bytes
        except (UserError, OSError, ValueError) as problem:  # a name may be too long, or hold a null byte
            why = problem if isinstance(problem, UserError) else "it cannot be read"
            doubts.append(f"The monitor's file {name[:SHOWN_LETTERS]!r} was left out: {why}.")
    return pd.concat(frames, ignore_index=True) if frames else no_samples(), doubts


def _below(folder: Path, name: str) -> Path | None:
    """Return a file of a folder; None where it is not there.

    Raises:
        UserError: It lies elsewhere, or is no file.
    """
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise UserError("it lies outside of the ledger's folder")
    if not path.exists():
        return None
    if not path.is_file():
        raise UserError("it is no file")
    return path


def read_monitor(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return (one row per device and sample, oldest first; the comments, in order, without their #).

    `utc` is a datetime in UTC. A missing sensor is NaN, and None in a text column; the comments say why.
    `throttle_reasons` is empty where nothing held the clocks down. A last line that was cut off, because
    the monitor was killed, is left out, and so is a line without a time; what is no number is a missing sensor.

    Raises:
        UserError: The file is not a monitor's.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")[:-1]  # a whole line ends with a newline
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    try:
        table = list(csv.reader(line for line in lines if not line.startswith("#")))
    except csv.Error as problem:
        raise UserError(f"{path.name} is not a monitor's file: {problem}.") from None
    header, *rows = table or [list(MONITOR_COLUMNS)]
    if missing := [column for column in MONITOR_COLUMNS if column not in header]:
        raise UserError(f"{path.name} is not a monitor's file: it has no column {missing[0]!r}.")
    whole = ([cell or None for cell in row] for row in rows if len(row) == len(header))
    frame = _table(header, whole)
    if (devices := frame["device"].nunique()) > MOST_DEVICES:
        raise UserError(f"{path.name} is not a monitor's file: it names {devices:,} devices.")
    return frame, comments


def no_samples() -> pd.DataFrame:
    """Return the table of a file without samples: a ledger may have been copied without its monitor's files."""
    return _table(MONITOR_COLUMNS, [])


def _table(header: Iterable[str], rows: Iterable[list[str | None]]) -> pd.DataFrame:
    import pandas as pd  # only here: the monitor needs the names above, and runs without pandas

    frame = pd.DataFrame(list(rows), columns=list(header), dtype=object)
    frame["utc"] = pd.to_datetime(frame["utc"], utc=True, format="ISO8601", errors="coerce")
    frame = frame.dropna(subset=["utc", "device"]).reset_index(drop=True)
    for sensor in set(SENSORS) - {"throttle_reasons"}:
        numbers = pd.to_numeric(frame[sensor], errors="coerce")
        frame[sensor] = numbers.where(numbers.between(0, MOST))
    for column in ("device", "name", "throttle_reasons"):
        frame[column] = frame[column].map(lambda text: text and text[:SHOWN_LETTERS])
    frame["throttle_reasons"] = frame["throttle_reasons"].replace(NOT_THROTTLED, "")
    return frame
