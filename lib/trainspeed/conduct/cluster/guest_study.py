"""What a node measures for the study of an equal one: whole blocks, with its own workers, monitor and lock.

Knows no engine, and nothing of what the study asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from trainspeed.conduct.alone import measuring_alone
from trainspeed.conduct.cluster.orders import BlockOrder, FollowEnd, FollowOrder, Reply
from trainspeed.conduct.cluster.report_process import write_below
from trainspeed.conduct.cluster.tails import FileTails
from trainspeed.conduct.estimates import shortage
from trainspeed.conduct.machine import devices
from trainspeed.conduct.monitoring import monitoring
from trainspeed.conduct.plan import Planned, most_cores
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.start import start_worker
from trainspeed.core.ledger import RUNS_FILE, as_line
from trainspeed.core.monitor_csv import monitor_file
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run
from trainspeed.core.scrub import scrubber
from trainspeed.core.user_model import FOLDER_VARIABLE
from trainspeed.sensors.memory import allowance_bytes
from trainspeed.sensors.network import interface_of
from trainspeed.sensors.processes import device_cores
from trainspeed.worker.gang import Gang


@dataclass
class KeptLines:
    """Stands for a ledger: keeps the lines that a runner writes, for whoever asked for them."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    def append(self, *runs: Run) -> None:
        """Keep the lines of these runs."""
        self.lines += [as_line(run.as_dict()) for run in runs]

    def taken(self) -> str:
        """Return the lines since the last time."""
        text = "".join(f"{line}\n" for line in self.lines)
        self.lines.clear()
        return text


class GuestStudy:
    """A study of an equal node, while this one measures blocks for it.

    Args:
        asked: The first order; the others differ in their runs alone.
        node: What this node is called.
        folder: Takes the monitor's file.
    Raises:
        UserError: Another report is measuring on this machine.
    """

    def __init__(self, asked: BlockOrder, node: str, folder: Path) -> None:
        self.key = asked.session, asked.study
        self._lines, self._tails, self._open = KeptLines(folder), FileTails(folder), ExitStack()
        device, uuids, machine = devices()
        gpus = machine.get("gpus", ()) if device == "gpu" else ()
        file = monitor_file(asked.session, asked.study, node)
        self._sources = folder / "sources"
        self._sources.mkdir(parents=True)
        try:
            self._open.enter_context(_models_below(self._sources))
            self._open.enter_context(measuring_alone(device, uuids))
            planned = [run.planned() for run in asked.runs]
            cores = device_cores(most_cores(planned)) if device == "cpu" else []
            self._open.enter_context(monitoring(folder / file, asked.interval_s, cores))
            self._runner = Runner(
                ledger=self._lines,
                session=asked.session,
                study=asked.study,
                device=device,
                machine=machine,
                gpu_uuids=uuids,
                monitor=file,
                node=node,
                start=partial(start_worker, uuids),
                timeout_s=asked.timeout_s,
                turn_s=asked.turn_s,
                accuracy_blocks=asked.accuracy_blocks,
                shortage=partial(shortage, allowance_bytes=allowance_bytes(), gpus=gpus),
            )
            self._open.enter_context(closing(self._runner))
        except BaseException:
            self._open.close()
            raise

    def take(self, sources: Mapping[str, str]) -> None:
        """Write down the user's own model files that the next runs name."""
        write_below(self._sources, sources)

    def start(self, planned: list[Planned]) -> None:
        """Import what these runs need."""
        self._runner.start_all([one.trial for one in planned])

    def measure(self, planned: list[Planned], rounds: int) -> Iterator[Reply]:
        """Measure a block, and yield the lines of its runs and what the monitor saw."""
        self._runner.rounds = rounds
        self._runner.measure_group(planned)
        yield Reply(file=RUNS_FILE, text=self._lines.taken())
        yield from self._monitored()

    def follow(self, asked: FollowOrder) -> Reply:
        """Fork this node's ranks of a run, which follow rank 0's; return how that ended, without any address."""
        interface = interface_of(asked.addresses[asked.node])
        gang = Gang(addresses=asked.addresses, port=asked.port, node=asked.node, interface=interface)
        outcome = self._runner.follow(asked.runs[0].planned().trial, gang, asked.limit_s)
        scrub = scrubber(root=ROOT, addresses=asked.addresses)
        reason = outcome.reason and scrub(outcome.reason)
        return Reply(ended=FollowEnd(status=outcome.status, reason=reason))

    def end(self) -> Iterator[Reply]:
        """End the workers and the monitor, and yield what that saw last."""
        self._open.close()
        yield from self._monitored()

    def _monitored(self) -> Iterator[Reply]:
        for name, text in self._tails.new():
            yield Reply(file=name, text=text)


@contextmanager
def _models_below(folder: Path) -> Iterator[None]:
    """Have workers that are started meanwhile find the user's models in a folder."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(folder)
    try:
        yield
    finally:
        del os.environ[FOLDER_VARIABLE]
        if before is not None:
            os.environ[FOLDER_VARIABLE] = before
