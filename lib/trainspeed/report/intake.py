"""Take in what a node's report sends: text from outside, checked line by line before it is kept.

Only data is kept: a ledger, what was asked for, how far the time went, what the monitor saw. Pages are drawn here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import msgspec

from trainspeed.core.coverage import COVERAGE_FILE, Coverage
from trainspeed.core.files import append_text
from trainspeed.core.ledger import LINE_HEAD, RUNS_FILE, SESSIONS_FILE, Ledger, as_line, parsed
from trainspeed.core.monitor_csv import MONITOR_FILE, csv_lines
from trainspeed.core.run import Run
from trainspeed.report.request import ReportRequest, read_sessions, session_to_continue

FILES = (SESSIONS_FILE, RUNS_FILE, COVERAGE_FILE)


class Intake:
    """The folder of a machine's report on the head.

    Args:
        resume: Whether a session in the folder goes on.
        notebooks: Those that are asked for by name; none: all.
    Attributes:
        refused: How many lines were no lines of this report.
        taken: How many runs were kept.
    """

    def __init__(self, folder: Path, *, resume: bool = False, notebooks: Sequence[str] = ()) -> None:
        self.folder = folder
        self.refused = self.taken = 0
        earlier = read_sessions(folder) if resume else ()
        self._session = session_to_continue(earlier, notebooks)

    @property
    def begun(self) -> bool:
        """Whether there is a session, so that another node may go on with it."""
        return self._session is not None

    @property
    def has_runs(self) -> bool:
        """Whether there are runs of the session, taken now or before it was resumed."""
        if self._session is None:
            return False
        asked = dict.fromkeys(self._session.notebooks, self._session.session)
        return bool(Ledger(self.folder).read(asked)[0])

    def of_session(self) -> dict[str, str]:
        """Return file -> the text that a node needs to go on: that of its session, and of what tells it the pace."""
        wanted = {*Ledger(self.folder).newest().values()}
        wanted |= {self._session.session} if self._session else set()
        texts = {name: (self.folder / name) for name in FILES if (self.folder / name).is_file()}
        return {name: "".join(_of_sessions(path, wanted)) for name, path in texts.items()}

    def take(self, name: str, text: str, reporter: str, nodes: Collection[str] = ()) -> None:
        """Keep what is in order of some whole lines of a file.

        Args:
            reporter: The node that sends it.
            nodes: Those that may have measured for it; any other claim is overwritten by the reporter's name.
        """
        lines = [line for line in text.split("\n") if line]
        kinds: dict[str, Callable[[list[str]], Iterable[str]]] = {
            RUNS_FILE: lambda lines: self._runs(lines, reporter, {reporter, *nodes}),
            SESSIONS_FILE: self._sessions,
            COVERAGE_FILE: self._coverage,
        }
        kinds |= {name: lambda lines: csv_lines(text)} if MONITOR_FILE.fullmatch(name) else {}
        kept = [*kinds[name](lines)] if name in kinds else []
        self.refused += len(lines) - len(kept)
        self.taken += len(kept) if name == RUNS_FILE else 0
        if kept:
            append_text(self.folder / name, "\n".join(kept))

    def _runs(self, lines: list[str], reporter: str, nodes: Collection[str]) -> Iterator[str]:
        for _, run in parsed((number, line.encode()) for number, line in enumerate(lines, 1)):
            if isinstance(run, Run) and self._is_asked(run.session, run.study):
                yield as_line(replace(run, node=run.node if run.node in nodes else reporter).as_dict())

    def _sessions(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            try:
                session = msgspec.json.decode(line, type=ReportRequest)
            except (ValueError, RecursionError):
                continue
            if self._session is None:  # a report begins one
                self._session = session
                yield as_line(asdict(session))

    def _coverage(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            try:
                coverage = msgspec.json.decode(line, type=Coverage)
            except (ValueError, RecursionError):
                continue
            if self._is_asked(coverage.session, coverage.study):
                yield as_line(msgspec.to_builtins(coverage))

    def _is_asked(self, session: str, study: str) -> bool:
        """Return whether a line is of the session that goes on, and of one of its notebooks."""
        known = self._session
        return known is not None and known.session == session and study in known.notebooks


def _of_sessions(path: Path, wanted: Collection[str]) -> Iterator[str]:
    """Yield the lines of these sessions, as they are; of a line that is cut off, nothing."""
    heads = {f'"session": "{session}"' for session in wanted}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            head = LINE_HEAD.match(line.encode())
            known = (
                head[2].decode(errors="replace") in wanted if head else any(text in line for text in heads)
            )
            if known and line.endswith("\n"):
                yield line
