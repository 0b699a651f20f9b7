"""The ends of files that a report writes, line by line as they grow. Knows no line's meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PATTERNS = ("sessions.jsonl", "runs.jsonl", "coverage.jsonl", "monitor/*.csv")
MOST_BYTES = 2**20  # of one piece


class FileTails:
    """What has come since the last look into the files of a report's folder.

    Args:
        folder: It may not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def skip(self) -> None:
        """Pass over what is there already."""
        for path in self._paths():
            self._read[path] = path.stat().st_size

    def new(self) -> Iterator[tuple[str, str]]:
        """Yield (name relative to the folder, whole lines) of each file that has grown, in pieces."""
        for path in self._paths():
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                while lines := file.readlines(MOST_BYTES):
                    if not lines[-1].endswith(b"\n"):
                        lines.pop()  # it is being written
                        if not lines:
                            break
                    text = b"".join(lines)
                    self._read[path] = self._read.get(path, 0) + len(text)
                    file.seek(self._read[path])
                    yield path.relative_to(self._folder).as_posix(), text.decode(errors="replace")

    def _paths(self) -> list[Path]:
        return [path for pattern in PATTERNS for path in sorted(self._folder.glob(pattern))]
