"""Sums over the ranks of torch.distributed and nothing else: of a model's gradients, or of several sizes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import distributed

from trainspeed.core.phase import EXCHANGE, LATENCY, LINK
from trainspeed.core.trial import LATENCY_BYTES, Trial
from trainspeed.worker import torch_cuda
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.sums_by_size import SumsBySize
from trainspeed.worker.timing import RepeatedWork

SUM_PHASES = (EXCHANGE, LINK, LATENCY)
SUMS_EPOCH_S = 0.25  # of sums: waiting for all ranks at an epoch's end, 0.1 to 1 ms, does not count beside it
NUMBER_BYTES = 4  # gradients are summed in fp32


def sums_of(
    trial: Trial, device: torch.device, parameters: int, synchronize: Callable[[], None]
) -> RepeatedWork | SumsBySize:
    """Return epochs of nothing but what DDP sends.

    Args:
        parameters: Number of weights: as many gradients are summed.
        synchronize: Waits for every device of every rank.
    Raises:
        Unsupported: There is one rank.
    """
    if trial.strategy != "ddp" or trial.devices == 1:
        raise Unsupported("one process has nobody to exchange gradients with: use ddp on 2 devices")

    def of_rank_zero(seconds: float) -> float:
        told = torch.tensor([seconds], device=device)
        distributed.broadcast(told, src=0)
        return told.item()

    def sum_of(size_bytes: int) -> Callable[[], object]:
        message = torch.zeros(size_bytes // NUMBER_BYTES, device=device)
        return lambda: distributed.all_reduce(message)

    def finish() -> None:
        torch_cuda.synchronize(device)

    if trial.phase is LINK:
        return SumsBySize(sum_of, synchronize, finish=finish, agree=of_rank_zero)
    size_bytes = LATENCY_BYTES if trial.phase is LATENCY else NUMBER_BYTES * parameters
    return RepeatedWork(
        sum_of(size_bytes), trial.steps_per_epoch, synchronize, epoch_s=SUMS_EPOCH_S, agree=of_rank_zero
    )
