"""What a worker is asked to measure, and its form as JSON."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from trainspeed.core.convolution import AnyTrial, trial_from_dict
from trainspeed.core.programs import builds_with_programs, makes_programs
from trainspeed.worker.gang import Gang


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a worker is asked to measure.

    Attributes:
        trial: The trial to measure, its data set resolved (not `auto`).
        device: "gpu" where this machine has one to train on, else "cpu".
        requested_at: `time.monotonic()` of the runner, which shares this machine's clock.
        evaluate: Whether to measure the test accuracy.
        inspect: Whether to look up the layer table and the effective layout.
        compile_anew: Whether to take no program that an earlier run of the same worker has compiled: see
            `reuses_programs`.
        turns: Whether to train or call a turn at a time, as the runner says, instead of all in a row.
        others_built: How many other arms build and train their first epoch at the same time, each on a core of its own
            or all on all cores; 0 where it does so alone.
        core_offset: How many cores before its own it does that on where others do so at the same time, before it moves
            to its own and rests, and what comes after its turns; None where it stays on its own and trains two epochs
            before it rests.
        paced: Whether it trains one epoch before it rests, and no second one before its turns: how long they take is
            known from earlier blocks.
        block_cores: On how many CPU cores, the last ones, the arms that it takes turns with run, and it: others count
            on these; None where one of them may run on all.
        calls_s: How long the whole calls of a convolution that takes no turns last together, about; `trial.calls` of
            them are made in any case.
        default_allocation: Whether to leave the framework's memory allocation at its default.
        gpu_uuids: GPUs in use, to read their energy counters and to see whether another process uses them.
        runner_pid: Process that all runs of the report descend from, to tell others from them.
        gang: The nodes that a trial on several is trained by; None for all others. A run that follows trains for as
            long as that on node 0 does, whatever `turns` says.
    """

    trial: AnyTrial
    device: str
    requested_at: float
    evaluate: bool = False
    inspect: bool = False
    compile_anew: bool = True
    turns: bool = False
    others_built: int = 0
    core_offset: int | None = None
    paced: bool = False
    block_cores: int | None = None
    calls_s: float = 0.0
    default_allocation: bool = False
    gpu_uuids: tuple[str, ...] = ()
    runner_pid: int | None = None
    gang: Gang | None = None

    @property
    def reuses_programs(self) -> bool:
        """Whether its compiler may take programs of earlier runs, and its first epoch tells nothing of compiling."""
        return not self.compile_anew and makes_programs(self.trial, self.device)

    @property
    def takes_programs(self) -> bool:
        """Whether it finds programs of earlier runs in its folder, if only to build its model with."""
        return self.reuses_programs or builds_with_programs(self.trial, self.device)

    def as_json(self) -> bytes:
        """Return the JSON form, on one line."""
        return msgspec.json.encode({**vars(self), "trial": self.trial.as_dict()})

    @classmethod
    def from_json(cls, line: str | bytes) -> Request:
        """Return the request that `as_json` was called on."""
        data = msgspec.json.decode(line)
        values = {**data, "trial": trial_from_dict(data["trial"]), "gpu_uuids": tuple(data["gpu_uuids"])}
        return cls(**{**values, "gang": msgspec.convert(data["gang"], Gang | None)})
