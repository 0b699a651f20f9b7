"""Ranks of torch.distributed: forked here with torchrun's environment variables, or started by torchrun.

Knows neither model nor loop: a rank is made by a function, and trains.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import distributed

from trainspeed.core.errors import UserError
from trainspeed.sensors.processes import die_with_parent
from trainspeed.worker.backends.base import Training, says_out_of_memory
from trainspeed.worker.failures import Invalid, OutOfMemory, Unsupported

LOCALHOST = "127.0.0.1"
ERROR_WAIT_S = 5.0  # a rank that failed says why within it; else this rank's own error has to do


class RankFailed(Exception):
    """Another rank ended; the message is what it said."""


def start(ranks: int, device: torch.device, make: Callable[[int], Training]) -> Training:
    """Fork the other ranks, join them, and return rank 0's training; the others train and end.

    Args:
        make: Returns the training of a rank, in its own process.
    """
    if "RANK" in os.environ:  # torchrun has started every rank
        if int(os.environ["WORLD_SIZE"]) != ranks:
            raise UserError("devices", ranks, f"is not torchrun's WORLD_SIZE (={os.environ['WORLD_SIZE']}).")
        _join(device)
        return make(int(os.environ["LOCAL_RANK"]))
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    environment = {
        "MASTER_ADDR": LOCALHOST,
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }
    os.environ.update(environment)
    others = {}
    for rank in range(1, ranks):
        read, write = os.pipe()
        parent, pid = os.getpid(), os.fork()
        if not pid:
            os.close(read)
            _be_rank(rank, parent, cores, device, make, write)
        os.close(write)
        others[pid] = read
    _take(0, cores, device)
    return RankZero(make, device, others)


class RankZero:
    """Rank 0's training, which speaks for all: a failure of another rank is its own.

    Attributes:
        training: Rank 0's share, made in this process.
    """

    def __init__(self, make: Callable[[int], Training], device: torch.device, others: dict[int, int]) -> None:
        self._others = others
        self.training = self._guarded(lambda: (_join(device), make(0))[1])

    def train(self) -> tuple[float, ...]:
        """Train with the other ranks; the time between barriers is that of the slowest."""
        epoch_s = self._guarded(self.training.train)
        for pid in self._others:
            _, status = os.waitpid(pid, 0)
            if status:
                raise RankFailed(self._first_error(wait_s=0.0) or f"a rank ended with status {status}")
        return epoch_s

    @property
    def final_loss(self) -> float | None:
        """Rank 0's, like everything below: the weights are the same in all ranks."""
        return self.training.final_loss

    def test_accuracy(self) -> float:
        return self.training.test_accuracy()

    def skipped_steps(self) -> int | None:
        return self.training.skipped_steps()

    def peak_memory_bytes(self) -> int | None:
        return self.training.peak_memory_bytes()

    def inspect(self) -> dict[str, Any]:
        return self.training.inspect()

    def _guarded(self, do: Callable[[], Any]) -> Any:
        try:
            return do()
        except (Unsupported, Invalid):  # by every rank alike
            for pid in self._others:
                os.kill(pid, signal.SIGKILL)
            raise
        except Exception as problem:
            words = self._first_error(wait_s=ERROR_WAIT_S)
            for pid in self._others:
                os.kill(pid, signal.SIGKILL)
            if words is None:
                raise
            error = OutOfMemory if says_out_of_memory(words) else RankFailed
            raise error(words) from problem

    def _first_error(self, wait_s: float) -> str | None:
        """What the first rank to say something said before it ended."""
        pipes = list(self._others.values())
        while pipes:
            ready, _, _ = select.select(pipes, [], [], wait_s)
            if not ready:
                return None
            for pipe in ready:
                if words := os.read(pipe, 4096).decode(errors="replace"):
                    return words
                pipes.remove(pipe)  # ended without a word
        return "a rank ended without a word: it was killed"


def _be_rank(
    rank: int,
    parent: int,
    cores: list[int],
    device: torch.device,
    make: Callable[[int], Training],
    words: int,
) -> None:
    """Never returns."""
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent=parent)
        _take(rank, cores, device)
        _join(device)
        make(rank).train()
        code = 0
    except BaseException as problem:
        os.write(words, f"rank {rank}: {type(problem).__name__}: {problem}".encode()[:4096])
    finally:
        os._exit(code)


def _take(rank: int, cores: list[int], device: torch.device) -> None:
    """Be this rank: on the CPU, on a core of its own."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    if device.type == "cpu" and cores:
        os.sched_setaffinity(0, {cores[rank % len(cores)]})


def _join(device: torch.device) -> None:
    """Wait for the others by the variables that torchrun sets too."""
    if os.environ["MASTER_ADDR"] == LOCALHOST and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name may lead nowhere
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOCALHOST, 0))
        return probe.getsockname()[1]
