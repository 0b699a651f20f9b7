"""The probes of PyTorch, by name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from trainspeed.core.result import TF32_WORK
from trainspeed.worker import torch_cuda
from trainspeed.worker.backends.torch_backend import set_tf32
from trainspeed.worker.models.torch_inspect import profile_of
from trainspeed.worker.precision import tf32_work
from trainspeed.worker.probes import Measure, Surroundings, Values
from trainspeed.worker.probes.arithmetic import Arithmetic, measure_arithmetic
from trainspeed.worker.probes.energy import SIDE, check_gpu, measure_energy
from trainspeed.worker.probes.epoch import QUEUED, SIDES, Loops, measure_epochs, started
from trainspeed.worker.probes.memory import TOO_MANY_NUMBERS, measure_memory
from trainspeed.worker.probes.work import CountedWork, measure_work

FORMAT = torch.channels_last


def epoch(where: Surroundings) -> Values:
    """Return the times of `epoch.measure_epochs`; on a GPU the device's timer is that of CUDA events."""
    training, x, y = started("torch", where)
    device, batch_size = training.device, training.trial.batch_size
    model, optimizer = training.model, training.optimizer
    x = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=FORMAT).to(device)
    y = torch.from_numpy(y).long().to(device)
    on_gpu = device.type == "cuda"

    def bare(epochs: int) -> Sequence[float]:
        seconds = []
        for _ in range(epochs):
            started_s = time.perf_counter()
            for chosen in torch.randperm(len(y)).to(device).split(batch_size):
                optimizer.zero_grad()
                images = x[chosen].contiguous(memory_format=FORMAT)
                functional.cross_entropy(model(images), y[chosen]).backward()
                optimizer.step()
            torch_cuda.synchronize(device)
            seconds.append(time.perf_counter() - started_s)
        return seconds

    matrix = torch.randn(SIDES[where.device], SIDES[where.device], device=device)
    marks: list[Any] = []

    def before() -> None:
        if on_gpu:
            marks.append(torch_cuda.time_mark())

    def device_s() -> Sequence[float]:
        return [torch_cuda.seconds_between(*pair) for pair in zip(marks[::2], marks[1::2], strict=True)]

    loops = Loops(
        training=training,
        synchronize="_synchronize",
        bare=bare,
        queue=lambda: [matrix @ matrix for _ in range(QUEUED)],
        device_s=device_s if on_gpu else None,
        before=before,
    )
    return measure_epochs(loops, where.device, rounds=where.rounds) | (
        {"timer": "cuda_events"} if on_gpu else {}
    )


def arithmetic(where: Surroundings) -> Values:
    """Return the bits of `arithmetic.measure_arithmetic`."""
    training, *_ = started("torch", where)
    device = training.device
    capability = torch_cuda.capability(device)

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (torch.from_numpy(a).to(device) @ torch.from_numpy(b).to(device)).cpu().numpy()

    def convolution(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
        x = torch.from_numpy(images).to(device).permute(0, 3, 1, 2)
        w = torch.from_numpy(filters).to(device).permute(3, 2, 0, 1)
        return functional.conv2d(x, w, padding="same").permute(0, 2, 3, 1).cpu().numpy()

    return measure_arithmetic(
        Arithmetic(
            switch=set_tf32,
            product=product,
            convolution=convolution,
            tf32_possible=bool(tf32_work(TF32_WORK, capability)),
            kernels=lambda compute: profile_of(compute, lambda: None)["kernels"],  # both end on the host
        )
    )


def work(where: Surroundings) -> Values:
    """Return the values of `work.measure_work`; torch counts the FLOPs of every call of a step."""
    training, *_ = started("torch", where)
    model, device, trial = training.model, training.device, training.trial
    side = SIDES[where.device]
    matrix = torch.randn(side, side, device=device).to(
        torch.bfloat16 if where.device == "gpu" else torch.float32
    )

    def count() -> float:
        x = torch.randn(trial.batch_size, 3, trial.image_size, trial.image_size, device=device)
        with FlopCounterMode(display=False) as counter:
            model(x).sum().backward()
        return counter.get_total_flops()

    def multiply() -> None:
        torch.mm(matrix, matrix)
        torch_cuda.synchronize(device)

    return measure_work(
        CountedWork(training=training, count=count, multiply=multiply, side=side), trial.steps_per_epoch
    )


def memory(where: Surroundings) -> Values:
    """Return the values of `memory.measure_memory`."""
    training, *_ = started("torch", where)

    def allocate(size_bytes: int) -> torch.Tensor:
        held = torch.ones(size_bytes, dtype=torch.uint8, device=training.device)
        torch_cuda.synchronize(training.device)
        return held

    return measure_memory(where, allocate, training.peak_memory_bytes)


def oom(where: Surroundings) -> Values:
    """Ask for more memory than there is, which raises what the run becomes a row by."""
    training, *_ = started("torch", where)
    return {"bytes": torch.ones(TOO_MANY_NUMBERS, device=training.device).nbytes}


def energy(where: Surroundings) -> Values:
    """Return the values of `energy.measure_energy`."""
    check_gpu(where)
    training, *_ = started("torch", where)
    matrix = torch.randn(SIDE, SIDE, device=training.device)

    def multiply(products: int) -> None:
        for _ in range(products):
            torch.mm(matrix, matrix)
        torch_cuda.synchronize(training.device)

    return measure_energy(where, multiply, torch_cuda.uuid(training.device))


PROBES: dict[str, Measure] = {
    "epoch": epoch,
    "arithmetic": arithmetic,
    "work": work,
    "oom": oom,
    "memory": memory,
    "energy": energy,
}
