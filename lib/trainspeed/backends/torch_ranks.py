"""Ranks of torch.distributed: forked here with torchrun's environment variables, or started by torchrun.

    torchrun --nproc-per-node 2 -m trainspeed.backends.torch_ranks TRIAL.json

Knows neither model nor loop: a rank is made by a function, and trains.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from trainspeed.backends.base import Invalid, OutOfMemory, Unsupported, says_out_of_memory
from trainspeed.errors import UserError
from trainspeed.processes import die_with_parent

LOCALHOST = "127.0.0.1"
LAST_WORDS_S = 5.0  # a rank that failed says why within it; then the others' error has to do


class RankFailed(Exception):
    """Another rank ended; the message is what it said."""


def start(ranks: int, device: torch.device, make: Callable[[int], Any]) -> Any:
    """Fork the other ranks, join them, and return rank 0's training; the others train and end.

    Args:
        make: Returns the training of a rank, in its own process.
    """
    if "RANK" in os.environ:  # torchrun has started every rank
        if int(os.environ["WORLD_SIZE"]) != ranks:
            raise UserError(f"devices (={ranks}) is not torchrun's WORLD_SIZE (={os.environ['WORLD_SIZE']}).")
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
    return _RankZero(make, device, others)


class _RankZero:
    """Rank 0's training, which speaks for all: a failure of another rank is its own."""

    def __init__(self, make: Callable[[int], Any], device: torch.device, others: dict[int, int]) -> None:
        self._others = others
        self._training = self._guarded(lambda: (_join(device), make(0))[1])

    def train(self) -> tuple[float, ...]:
        """Train with the other ranks; the time between barriers is that of the slowest."""
        epoch_s = self._guarded(self._training.train)
        for pid in self._others:
            _, status = os.waitpid(pid, 0)
            if status:
                raise RankFailed(self._last_words(wait_s=0.0) or f"a rank ended with status {status}")
        return epoch_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._training, name)

    def _guarded(self, do: Callable[[], Any]) -> Any:
        try:
            return do()
        except (Unsupported, Invalid):  # by every rank alike
            for pid in self._others:
                os.kill(pid, signal.SIGKILL)
            raise
        except Exception as problem:
            words = self._last_words(wait_s=LAST_WORDS_S)
            for pid in self._others:
                os.kill(pid, signal.SIGKILL)
            if words is None:
                raise
            error = OutOfMemory if says_out_of_memory(words) else RankFailed
            raise error(words) from problem

    def _last_words(self, wait_s: float) -> str | None:
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
    rank: int, parent: int, cores: list[int], device: torch.device, make: Callable[[int], Any], words: int
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


def main() -> None:
    """Be one rank of torchrun: train the trial in a JSON file, and print the epochs' seconds on rank 0."""
    from trainspeed.backends.torch_backend import BACKEND
    from trainspeed.folds import data_set_of, images_of
    from trainspeed.trial import Trial

    trial = Trial.from_dict(json.loads(Path(sys.argv[1]).read_text()))
    images = images_of(replace(trial, dataset=data_set_of(trial)))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training = BACKEND.start(
        trial, images, device="gpu" if device == "cuda" else "cpu", default_allocation=False
    )
    epoch_s = training.train()
    if os.environ["RANK"] == "0":
        print(json.dumps({"epoch_s": epoch_s, "final_loss": training.final_loss}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
