"""Read a monitor's CSV as a table. Needs no GPU and no framework; `trainspeed.monitor.table` writes it."""

from __future__ import annotations

import csv
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
NOT_THROTTLED = "none"  # an empty cell is a missing sensor


def read_monitor(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return (one row per device and sample, oldest first; the comments, in order, without their #).

    `utc` is a datetime in UTC. A missing sensor is NaN, and None in a text column; the comments say why.
    `throttle_reasons` is empty where nothing held the clocks down. A last line that was cut off, because
    the monitor was killed, is left out.

    Raises:
        UserError: The file is not a monitor's.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")[:-1]  # a whole line ends with a newline
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    header, *rows = list(csv.reader(line for line in lines if not line.startswith("#"))) or [
        list(MONITOR_COLUMNS)
    ]
    if missing := [column for column in MONITOR_COLUMNS if column not in header]:
        raise UserError(f"{path.name} is not a monitor's file: it has no column {missing[0]!r}.")
    return _table(
        header, ([cell or None for cell in row] for row in rows if len(row) == len(header))
    ), comments


def no_samples() -> pd.DataFrame:
    """Return the table of a file without samples: a ledger may have been copied without its monitor's files."""
    return _table(MONITOR_COLUMNS, [])


def _table(header: Iterable[str], rows: Iterable[list[str | None]]) -> pd.DataFrame:
    import pandas as pd  # only here: the monitor needs the names above, and runs without pandas

    frame = pd.DataFrame(list(rows), columns=list(header), dtype=object)
    frame["utc"] = pd.to_datetime(frame["utc"], utc=True, format="ISO8601")
    for sensor in set(SENSORS) - {"throttle_reasons"}:
        frame[sensor] = pd.to_numeric(frame[sensor])
    frame["throttle_reasons"] = frame["throttle_reasons"].replace(NOT_THROTTLED, "")
    return frame
