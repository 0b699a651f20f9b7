"""Ranks of torch.distributed: forked here with torchrun's environment variables, or started by torchrun.

    torchrun --nproc-per-node 2 -m trainspeed.worker.backends.torchrun TRIAL.json

Knows neither model nor loop: a rank is made by a function, and trains.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn

import torch
from torch import distributed

from trainspeed.core.errors import UserError
from trainspeed.core.notes import AnyNote
from trainspeed.core.result import Inspection, LinkSum, Seen
from trainspeed.sensors.processes import die_with_parent
from trainspeed.worker.backends.base import Training
from trainspeed.worker.backends.rank_watch import (
    NCCL_VARIABLES,
    REPORT_BYTES,
    RankWatch,
    answer_limit_s,
    threads_of_a_rank,
)
from trainspeed.worker.failures import Invalid, Unsupported
from trainspeed.worker.timing import Another

LOCALHOST = "127.0.0.1"
ERROR_WAIT_S = 5.0  # a rank that failed says why within it; after that, this rank's own error has to do
END_S = 60.0  # until a rank that has trained is gone
REST_S = 7 * 24 * 3600.0  # ranks may rest as long as others have their turns; gloo's own limit is 30 minutes


class RankFailed(Exception):
    """Another rank ended; the message is the error that it reported."""


def start(
    ranks: int, device: torch.device, make: Callable[[int], Training], *, compiled: bool = False
) -> Training:
    """Fork the other ranks, join them, and return rank 0's training; the others train and end.

    Args:
        make: Returns the training of a rank, in its own process.
        compiled: Whether each rank compiles its model.
    """
    limit_s = answer_limit_s(on_gpu=device.type == "cuda", compiled=compiled)

    def join(rank: int) -> Training:
        _join(rank, ranks, cores, device, limit_s)
        return make(rank)

    if "RANK" in os.environ:  # torchrun has started every rank
        if int(os.environ["WORLD_SIZE"]) != ranks:
            raise UserError("devices", ranks, f"is not torchrun's WORLD_SIZE (={os.environ['WORLD_SIZE']}).")
        rank = int(os.environ["LOCAL_RANK"])
        _connect(rank, device, limit_s)
        return make(rank)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with socket.socket() as probe:
        probe.bind((LOCALHOST, 0))
        port = probe.getsockname()[1]
    os.environ.update(MASTER_ADDR=LOCALHOST, MASTER_PORT=str(port))
    os.environ.update(WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks))
    others = {}
    for rank in range(1, ranks):
        read, write = os.pipe()
        parent, pid = os.getpid(), os.fork()
        if not pid:
            os.close(read)
            _be_rank(rank, parent, join, write)
        os.close(write)
        others[pid] = read
    return RankZero(join, others)


class RankZero(Training):
    """Rank 0's training, which speaks for all, as their weights are the same: a failure of another is its own.

    Attributes:
        training: Rank 0's share, made in this process.
    """

    def __init__(self, join: Callable[[int], Training], others: dict[int, int]) -> None:
        """Join the other ranks.

        Args:
            others: Process id -> pipe from which its error is read.
        """
        self._watch = RankWatch(others, grace_s=ERROR_WAIT_S)
        self.training = self._guarded(lambda: join(0))

    def train(self, another: Another) -> tuple[float, ...]:
        """Train with the other ranks; the time between barriers is that of the slowest."""
        epoch_s = self._guarded(lambda: self.training.train(_decided_by_rank_zero(another)))
        if text := self._watch.end(END_S):
            raise RankFailed(text)
        return epoch_s

    @property
    def repeats(self) -> int:
        return self.training.repeats

    @property
    def link_sums(self) -> tuple[LinkSum, ...]:
        return self.training.link_sums

    @property
    def tf32(self) -> tuple[str, ...] | None:
        return self.training.tf32

    @property
    def notes(self) -> tuple[AnyNote, ...]:
        return self.training.notes

    @property
    def final_loss(self) -> float | None:
        return self.training.final_loss

    def test_accuracy(self) -> float:
        return self.training.test_accuracy()

    def skipped_steps(self) -> int | None:
        return self.training.skipped_steps()

    def peak_memory_bytes(self) -> int | None:
        return self.training.peak_memory_bytes()

    def inspect(self) -> Inspection:
        return self.training.inspect()

    def in_effect(self) -> dict[str, Seen]:
        return self.training.in_effect()

    def _guarded(self, do: Callable[[], Any]) -> Any:
        """Do something that all ranks do; if it fails, end the others and raise what failed first."""
        try:
            return do()
        except Exception as problem:
            every_rank = isinstance(problem, Unsupported | Invalid)  # has failed alike
            text = None if every_rank else self._watch.first_error(ERROR_WAIT_S)
            self._watch.kill()
            if text is None:
                raise
            raise RankFailed(text) from problem


def _decided_by_rank_zero(another: Another | None = None) -> Another:
    """Return what rank 0 answers, on every rank; the others rest until it does.

    Args:
        another: Rank 0's.
    """
    # Not over NCCL, whose waiting keeps the GPU busy.
    group = distributed.new_group(backend="gloo", timeout=timedelta(seconds=REST_S))

    def answered(epoch_s: Sequence[float]) -> bool:
        answer = torch.tensor([another(epoch_s) if another else False])
        distributed.broadcast(answer, src=0, group=group)
        return bool(answer)

    return answered


def _be_rank(rank: int, parent: int, join: Callable[[int], Training], errors: int) -> NoReturn:
    """Train as this rank, write to the pipe `errors` what fails, and never return."""
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent=parent)
        join(rank).train(_decided_by_rank_zero())
        code = 0
    except BaseException as problem:
        os.write(errors, f"rank {rank}: {type(problem).__name__}: {problem}".encode()[:REPORT_BYTES])
    finally:
        os._exit(code)


def _join(rank: int, ranks: int, cores: list[int], device: torch.device, limit_s: float) -> None:
    """Make this process a rank, on the CPU on a core of its own, and wait for the other ranks."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    if device.type == "cpu" and cores:
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    if device.type == "cuda":
        torch.set_num_threads(threads_of_a_rank(len(cores), ranks))
    _connect(rank, device, limit_s)


def _connect(rank: int, device: torch.device, limit_s: float) -> None:
    """Wait for the other ranks, which are found by the variables that torchrun sets too.

    Args:
        limit_s: Seconds after which an exchange that another rank does not join fails; over NCCL, ends the process.
    Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    """
    if os.environ["MASTER_ADDR"] == LOCALHOST and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name may lead nowhere
    if device.type == "cuda":
        torch.cuda.set_device(rank)
        for name, value in NCCL_VARIABLES.items():
            os.environ.setdefault(name, value)
    backend = "nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=timedelta(seconds=limit_s))
