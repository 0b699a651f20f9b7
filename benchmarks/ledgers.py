"""How long a ledger of many runs takes to read: made up of the recorded one's lines, in a folder of its own.

    python benchmarks/ledgers.py FOLDER PART

measures a part in a fresh process, for its memory, and prints seconds and peak bytes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from trainspeed.core.frame import to_frame, write_csv
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT

RECORDED = ROOT / "data/measured/xeon-amx-2-cores"
RUNS, RUNS_PER_SESSION = 100_000, 2_000
REPEATS = 3
NEWEST_S, ALL_S, ALL_BYTES = 2, 6, 1e9  # wanted


def make(folder: Path, runs: int = RUNS) -> None:
    """Write a ledger of so many runs, in sessions of `RUNS_PER_SESSION`."""
    recorded = [run.as_dict() for run in Ledger(RECORDED).read()[0]]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "runs.jsonl").open("w") as file:
        for number in range(runs):
            line = recorded[number % len(recorded)]
            session = f"20260101T{number // RUNS_PER_SESSION:06d}Z-0000"
            file.write(json.dumps({**line, "session": session}) + "\n")


def newest(ledger: Ledger) -> None:
    """The runs of the newest session."""
    ledger.read(ledger.newest())


def everything(ledger: Ledger) -> None:
    """All runs."""
    ledger.read()


def frame(ledger: Ledger) -> None:
    """All runs as a frame."""
    to_frame(ledger.read()[0])


def table(ledger: Ledger) -> None:
    """All runs as a CSV, which is written so only where there is none."""
    write_csv(ledger.read()[0], ledger.folder / "runs.csv")


PARTS: dict[str, Callable[[Ledger], None]] = {
    part.__name__: part for part in (newest, everything, frame, table)
}


def measured(folder: Path, part: str) -> tuple[float, float]:
    """Return the median seconds and the largest peak of memory in bytes, of some fresh processes."""
    command = [sys.executable, __file__, str(folder), part]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(REPEATS)
    ]
    return median(seconds for seconds, _ in found), max(peak for _, peak in found)


def reading(runs: int = RUNS) -> list[str]:
    """Return the rows of the benchmark."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, half = Path(temporary, "whole"), Path(temporary, "half")
        make(folder, runs)
        make(half, runs // 2)
        size = (folder / "runs.jsonl").stat().st_size
        found = {part: measured(folder, part) for part in PARTS}
        (half_s, _) = measured(half, "everything")
    (newest_s, _), (all_s, all_bytes) = found["newest"], found["everything"]
    ledger = f"ledger of {runs:,} runs ({size / 1e6:.0f} MB)"
    quick, fits = newest_s <= NEWEST_S, all_s <= ALL_S and all_bytes <= ALL_BYTES
    wanted = f"at most {ALL_S} s and {ALL_BYTES / 1e9:.0f} GB"
    more_s = f"{found['frame'][0] - all_s:.1f} s, {found['table'][0] - all_s:.1f} s more"
    return [
        f"| {ledger}: the newest session's runs | {newest_s:.1f} s | at most {NEWEST_S} s | {_met(quick)} |",
        f"| {ledger}: all runs | {all_s:.1f} s, {all_bytes / 1e9:.2f} GB | {wanted} | {_met(fits)} |",
        f"| {ledger}: all runs, against half as many | {all_s / half_s:.2f} times as long | about 2 | |",
        f"| {ledger}: all runs as a frame, and as runs.csv | {more_s} | printed | |",
    ]


def _met(fits: bool) -> str:
    return "yes" if fits else "NO"


if __name__ == "__main__":
    started = time.perf_counter()
    PARTS[sys.argv[2]](Ledger(Path(sys.argv[1])))
    seconds = time.perf_counter() - started
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
