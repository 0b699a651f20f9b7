"""The monitor's CSV: which columns it has, what its comments say, and how a sample becomes rows.

Does not know when to sample (`trainspeed.monitor.__main__`), nor how to read it (`trainspeed.core.monitor_csv`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from trainspeed.core.errors import UserError
from trainspeed.core.monitor_csv import MONITOR_COLUMNS, NOT_THROTTLED, SENSORS
from trainspeed.sensors.cpu import cpu_name
from trainspeed.sensors.gpus import hashed
from trainspeed.sensors.host import HostSensors
from trainspeed.sensors.nvml import Nvml
from trainspeed.sensors.sample import Sample

LEGEND = (
    "load_percent of a GPU: share of the last sample period in which a kernel was running, not how full "
    "the GPU was; of the host: share of all cores that was busy; of a core: share of time it was busy",
    "energy_j: a counter, only differences mean something",
    "throttle_reasons: none means that nothing holds the clocks down; an empty cell is a missing sensor",
    "host: has no sm_clock_mhz, throttle_reasons and PCIe counters of its own",
    "a core: has only load_percent",
)


class SampleTable:
    """The CSV being written: one row per device and sample. A sample is one write, with no buffer between."""

    def __init__(self, file: BinaryIO, nvml: Nvml, host: HostSensors, interval_s: float) -> None:
        self._file = file
        self._nvml = nvml
        self._host = host
        self._interval_s = interval_s
        self._pcie = nvml.reads_pcie(interval_s)
        self._host_name = cpu_name()
        self._is_new_file = not (file.seekable() and file.tell())
        self._started = False
        self._noted: set[str] = set()

    def sample(self) -> None:
        """Ask every device and write its row; a sensor that is missing is noted once, before the row."""
        utc = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        comments: list[str] = []
        rows: list[list[Any]] = []
        for device, name, uuid, sample in self._devices():
            comments += self._new_gaps(device, sample.reasons)
            cells = [_cell(getattr(sample, sensor)) for sensor in SENSORS]
            rows.append([utc, device, (name or "").replace("#", " "), uuid, *cells])
        if not self._started:
            comments = [*self._header(), *comments]
            rows = [list(MONITOR_COLUMNS), *rows] if self._is_new_file else rows
            self._started = True
        text = io.StringIO()
        text.writelines(f"# {comment}\n" for comment in comments)
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())

    def _devices(self) -> Iterator[tuple[str, str | None, str, Sample]]:
        for device, sample in self._host.samples().items():
            yield device, self._host_name if device == "host" else None, "", sample
        for gpu in self._nvml.gpus:
            uuid = "" if gpu.uuid is None else hashed(gpu.uuid)
            yield f"gpu{gpu.index}", gpu.name, uuid, gpu.sample(pcie=self._pcie)

    def _header(self) -> list[str]:
        lines = [f"trainspeed.monitor, a sample every {self._interval_s:g} s", *LEGEND]
        return [*lines, f"gpus: {self._nvml.reason}"] if self._nvml.reason else lines

    def _new_gaps(self, device: str, reasons: dict[str, str]) -> list[str]:
        if len(set(reasons.values())) == 1 and reasons.keys() >= set(SENSORS):
            gaps = {device: next(iter(reasons.values()))}  # the whole device
        else:
            gaps = {f"{device} {sensor}": reason for sensor, reason in reasons.items()}
        new = {gap: reason for gap, reason in gaps.items() if gap not in self._noted}
        self._noted |= set(new)
        return [f"{gap}: {reason}" for gap, reason in new.items()]


def _cell(value: float | str | None) -> float | str | None:
    """Return what is written: None becomes an empty cell, so an empty text must not."""
    if value == "":
        return NOT_THROTTLED
    return round(value, 3) if isinstance(value, float) else value


def open_table(path: Path) -> BinaryIO:
    """Open the CSV for writing. The samples that an earlier monitor wrote there stay: new ones follow them.

    Raises:
        UserError: The file cannot be written, or is not a monitor's.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size:
            _cut_to_whole_lines(path)
        return path.open("ab", buffering=0)
    except OSError as problem:
        raise UserError(f"cannot write --out {path}: {problem.strerror}. Name another file.") from problem


def _cut_to_whole_lines(path: Path) -> None:
    """Drop the half row of a monitor that was killed: the next row would be appended to it."""
    with path.open("rb+") as file:
        text = file.read()
        if f"\n{','.join(MONITOR_COLUMNS)}\n".encode() not in text:
            raise UserError(f"--out {path} exists and is not a monitor's file. Name another file.")
        file.truncate(text.rfind(b"\n") + 1)
