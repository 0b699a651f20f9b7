"""Ranks of torch.distributed: forked here with torchrun's environment variables, or started by torchrun or srun.

    torchrun --nnodes 2 --nproc-per-node 2 … -m trainspeed.worker.backends.torchrun TRIAL.json

On several nodes each forks its own ranks, and the first rank of each speaks for the others there. Knows neither model
nor loop: a rank is made by a function, and trains.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

import torch
from torch import distributed
from torch.distributed.rendezvous import rendezvous

from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.scrub import scrubber
from trainspeed.sensors.processes import die_with_parent, usable_cores
from trainspeed.worker import torch_cuda
from trainspeed.worker.backends.base import PassedOn, Training
from trainspeed.worker.backends.rank_variables import meeting_point, own_interface
from trainspeed.worker.backends.rank_watch import (
    NCCL_VARIABLES,
    REPORT_BYTES,
    RankWatch,
    answer_limit_s,
    end_process,
    once_compiled,
    threads_of_a_rank,
)
from trainspeed.worker.device_errors import Cause, classify
from trainspeed.worker.failures import Invalid, Unsupported
from trainspeed.worker.gang import Gang
from trainspeed.worker.timing import Another

ERROR_WAIT_S = 5.0  # a rank that failed says why within it; after that, this rank's own error has to do
END_S = 60.0  # until a rank that has trained is gone
# Ranks rest as long as others have their turns, which may take days: who has begun a run ends it. Gloo's own limit is
# 30 minutes.
REST_S = 20 * 86_400.0
ERROR = "trainspeed/error"  # key of the ranks' store: what failed first on another node than rank 0's
LOST = "on another node a rank ended without a word"
CONSEQUENCES = (Cause.RANK_LOST, Cause.RANK_SILENT)  # what a rank says where another one has failed


class RankFailed(Exception):
    """Another rank ended; the message is the error that it reported."""


def start_ranks(
    ranks: int,
    device: torch.device,
    make: Callable[[int, int], Training],
    *,
    compiled: bool = False,
    gang: Gang | None = None,
) -> Training:
    """Fork this node's other ranks, join them, and return its first rank's training; the others train and end.

    Args:
        ranks: Their number, on all nodes together.
        make: Returns the training of a rank, given its number among all and among those on its node, in its own
            process.
        compiled: Whether each rank compiles its model.
        gang: The nodes; None where all ranks are here.
    """
    on_gpu = device.type == "cuda"
    limit_s = answer_limit_s(on_gpu=on_gpu, compiled=compiled)
    if "RANK" in os.environ:  # torchrun or srun has started every rank
        if int(os.environ["WORLD_SIZE"]) != ranks:
            started = f"is not torchrun's WORLD_SIZE (={os.environ['WORLD_SIZE']}): "
            raise UserError("devices", ranks, f"{started}start as many processes, on all nodes together.")
        rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
        _connect(local_rank, device, limit_s)
        return make(rank, local_rank)
    here = ranks // gang.nodes if gang else ranks
    first = here * gang.node if gang else 0
    cores = usable_cores()
    os.environ.update(meeting_point(ranks, gang))

    def join(local_rank: int) -> distributed.Store:
        return _join(first + local_rank, local_rank, here, cores, device, limit_s)

    def made(local_rank: int) -> Training:
        join(local_rank)
        return make(first + local_rank, local_rank)

    others = {}
    for local_rank in range(1, here):
        read, write = os.pipe()
        parent, pid = os.getpid(), os.fork()
        if not pid:
            os.close(read)
            _be_rank(first + local_rank, parent, partial(made, local_rank), write, on_gpu=on_gpu)
        os.close(write)
        others[pid] = read
    first_rank = FirstRank(others, first=first, gang=gang, on_gpu=on_gpu)
    first_rank.join(partial(join, 0), partial(make, first, 0))
    return first_rank


class FirstRank(PassedOn):
    """The training of a node's first rank, which speaks for all there, as their weights are the same.

    A failure of another is its own. Rank 0's decides about turns; those of other nodes follow it.

    Attributes:
        training: Its own share, made in this process.
    """

    def __init__(self, others: dict[int, int], *, first: int, gang: Gang | None, on_gpu: bool) -> None:
        """Watch the others.

        Args:
            others: Process id of each other rank of the node -> pipe from which its error is read.
            first: Number of this rank among all.
        """
        self._first, self._gang, self._on_gpu = first, gang, on_gpu
        self._store: distributed.Store | None = None
        # Over gloo an exchange with a rank that has ended fails by itself.
        hears = self._heard if on_gpu and gang and not gang.follows else None
        self._watch = RankWatch(
            others, grace_s=ERROR_WAIT_S, first=first + 1, elsewhere=hears, give_up=self._give_up
        )

    def join(self, join: Callable[[], distributed.Store], make: Callable[[], Training]) -> None:
        """Join the other ranks.

        Args:
            join: Makes this process a rank, and returns the ranks' store.
        """

        def joined() -> Training:
            self._store = join()
            return make()

        self.training = self._guarded(joined)

    def train(self, another: Another) -> tuple[float, ...]:
        """Train with the other ranks; the time between barriers is that of the slowest.

        Args:
            another: Not asked on a node that follows.
        """
        own = None if self._first else another
        epoch_s = self._guarded(lambda: self.training.train(_decided_by_rank_zero(own, on_gpu=self._on_gpu)))
        if text := self._watch.end(END_S):
            raise RankFailed(text)
        return epoch_s

    def _guarded(self, do: Callable[[], Any]) -> Any:
        """Do something that all ranks do; if it fails, end the others here and raise what failed first."""
        try:
            return do()
        except Exception as problem:
            every_rank = isinstance(problem, Unsupported | Invalid)  # has failed alike
            text = None if every_rank else self._first_error(f"{type(problem).__name__}: {problem}")
            self._watch.kill()
            if text is None:
                raise
            raise RankFailed(text) from problem

    def _first_error(self, own: str) -> str | None:
        """Return what failed first on another rank, on this node or elsewhere; None where it is this one's error.

        Args:
            own: What this rank says.
        """
        text = self._watch.first_error(ERROR_WAIT_S)
        if self._gang and self._first:
            self._tell(text or f"rank {self._first}: {own}")
        elif self._gang and (cause := _consequence(text or own)):
            text = self._heard(ERROR_WAIT_S) or (LOST if cause is Cause.RANK_LOST else text)
        return text

    def _give_up(self, text: str) -> None:
        if self._gang and self._first:
            self._tell(text)
        end_process(text)

    def _tell(self, text: str) -> None:
        """Tell rank 0, on another node, what has failed here; the first that does so is heard.

        Who hears it knows none of this node's names and paths: they are taken out here.
        """
        if self._store is not None and not _consequence(text):
            with contextlib.suppress(RuntimeError):  # its node has gone, too
                scrub = scrubber(root=ROOT, addresses=self._gang.addresses)
                self._store.compare_set(ERROR, "", scrub(text)[:REPORT_BYTES])

    def _heard(self, wait_s: float = 0.0) -> str | None:
        """Return what another node has told; None where none has within so many seconds."""
        if self._store is None:
            return None
        with contextlib.suppress(RuntimeError):
            if wait_s:
                self._store.wait([ERROR], timedelta(seconds=wait_s))
            if self._store.check([ERROR]):
                return self._store.get(ERROR).decode(errors="replace")
        return None


def _consequence(text: str) -> Cause | None:
    """Return the cause of an error that says no more than that another rank has failed; None of all others."""
    fault = classify(text)
    return fault.cause if fault and fault.cause in CONSEQUENCES else None


def _decided_by_rank_zero(another: Another | None = None, *, on_gpu: bool) -> Another:
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

    return once_compiled(answered, _limit_exchanges, on_gpu=on_gpu)


def _limit_exchanges(limit_s: float) -> None:
    """Have exchanges from now on fail after so many seconds; `_connect` has said so until now."""
    distributed.distributed_c10d._set_pg_timeout(
        timedelta(seconds=limit_s)
    )  # `set_timeout` from torch 2.15 on


def _be_rank(rank: int, parent: int, join: Callable[[], Training], errors: int, *, on_gpu: bool) -> NoReturn:
    """Train as this rank, write to the pipe `errors` what fails, and never return."""
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent=parent)
        join().train(_decided_by_rank_zero(on_gpu=on_gpu))
        code = 0
    except BaseException as problem:
        os.write(errors, f"rank {rank}: {type(problem).__name__}: {problem}".encode()[:REPORT_BYTES])
    finally:
        os._exit(code)


def _join(
    rank: int, local_rank: int, here: int, cores: list[int], device: torch.device, limit_s: float
) -> distributed.Store:
    """Make this process a rank, on the CPU on a core of its own, and wait for the other ranks.

    Args:
        here: Number of ranks on this node.
    """
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(local_rank))
    if device.type == "cpu" and cores:
        os.sched_setaffinity(0, {cores[local_rank % len(cores)]})
    if device.type == "cuda":
        torch.set_num_threads(threads_of_a_rank(len(cores), here))
    return _connect(local_rank, device, limit_s)


def _connect(local_rank: int, device: torch.device, limit_s: float) -> distributed.Store:
    """Wait for the other ranks, which are found by the variables that torchrun sets too, and return their store.

    Args:
        limit_s: Seconds after which an exchange that another rank does not join fails; over NCCL, ends the process.
    Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    """
    os.environ.update(own_interface(os.environ))
    if device.type == "cuda":
        torch_cuda.make_current(local_rank)
        for name, value in NCCL_VARIABLES.items():
            os.environ.setdefault(name, value)
    backend, limit = "nccl" if device.type == "cuda" else "gloo", timedelta(seconds=limit_s)
    store, rank, ranks = next(rendezvous("env://", timeout=limit))
    distributed.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=limit)
    return store
