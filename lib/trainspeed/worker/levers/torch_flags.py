"""Levers that are flags of a torch process: arithmetic on a CPU, cuDNN's choices, and modes that brake."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules.conv import _ConvNd

from trainspeed.core.format import counted
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.core.user_model import is_user_model
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers.hook import Hook, Step
from trainspeed.worker.rounding import mode_seen

SMALLEST_NORMAL = torch.finfo(torch.float32).tiny
ALL = "all"  # of cuDNN's algorithms
CUBLAS_WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it, deterministic mode refuses cuBLAS
NO_DETERMINISTIC = "does not have a deterministic implementation"


def _set_math_mode(value: str, _device: str) -> None:
    for work in (torch.backends.mkldnn.conv, torch.backends.mkldnn.matmul):
        work.fp32_precision = value


@torch.no_grad()
def _math_mode_seen(value: str, _training: Any) -> Seen:
    return mode_seen(value, _convolution, _product)


def _product(a: Any, b: Any) -> Any:
    return (torch.from_numpy(a) @ torch.from_numpy(b)).numpy()


def _convolution(images: Any, filters: Any) -> Any:
    x = torch.from_numpy(images).permute(0, 3, 1, 2)
    weights = torch.from_numpy(filters).permute(3, 2, 0, 1).contiguous()
    return functional.conv2d(x, weights, padding="same").permute(0, 2, 3, 1).numpy()


def _flush(_value: str, _device: str) -> None:
    if not torch.set_flush_denormal(True):
        raise Unsupported("this processor cannot flush such numbers")


def _flush_seen(_value: str, _training: Any) -> Seen:
    tiny = (torch.full((), SMALLEST_NORMAL) * 0.5).item()
    return (OFF if tiny else ON), f"half of the smallest normal number is {tiny:g}"


def _benchmark(_value: str, _device: str) -> None:
    torch.backends.cudnn.benchmark = True


def _benchmark_seen(_value: str, training: Any) -> Seen:
    on = torch.backends.cudnn.benchmark
    return _of_convolutions(ON if on else OFF, f"torch.backends.cudnn.benchmark={on}", training)


def _of_convolutions(value: str, flag: str, training: Any) -> Seen:
    """Return what is seen of a choice among cuDNN's algorithms: the flag says no more than what was asked for."""
    count = sum(isinstance(module, _ConvNd) for module in training.model.modules())
    how = f"{flag}, {counted(count, 'convolution')} among its layers"
    if not count and is_user_model(training.trial.model):
        return None, f"{how}: what a function of your own calls is not seen"
    return (value if count else OFF), how


def _benchmark_limit(_value: str, _device: str) -> None:
    torch.backends.cudnn.benchmark_limit = 0  # no limit


def _benchmark_limit_seen(_value: str, training: Any) -> Seen:
    limit = torch.backends.cudnn.benchmark_limit
    flag = f"torch.backends.cudnn.benchmark_limit={limit}"
    return _of_convolutions(ALL if limit == 0 else str(limit), flag, training)


def _depthwise(value: str, _device: str) -> None:
    if not hasattr(torch.backends.cudnn, "depthwise_kernel"):
        raise Unsupported(f"PyTorch {torch.__version__} does not let cuDNN's depthwise kernel be chosen")
    torch.backends.cudnn.depthwise_kernel = value


def _depthwise_seen(_value: str, training: Any) -> Seen:
    convolutions = [m for m in training.model.modules() if isinstance(m, nn.Conv2d)]
    depthwise = sum(1 < m.groups == m.in_channels for m in convolutions)
    kernel = torch.backends.cudnn.depthwise_kernel
    how = f"torch.backends.cudnn.depthwise_kernel={kernel!r}, {depthwise} depthwise convolutions"
    return (kernel if depthwise else OFF), how


def _anomaly(_value: str, _device: str) -> None:
    torch.autograd.set_detect_anomaly(True)


def _anomaly_seen(_value: str, _training: Any) -> Seen:
    on = torch.is_anomaly_enabled()
    return (ON if on else OFF), f"torch.is_anomaly_enabled() is {on}"


def _deterministic(_value: str, _device: str) -> None:
    os.environ.setdefault(*CUBLAS_WORKSPACE)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


def _named_if_lacking(_value: str, _training: Any, step: Step) -> Step:
    def deterministic(*batch: Any) -> Any:
        try:
            return step(*batch)
        except RuntimeError as problem:
            if NO_DETERMINISTIC in str(problem):
                raise Unsupported(str(problem).split(NO_DETERMINISTIC)[0] + NO_DETERMINISTIC) from problem
            raise

    return deterministic


def _deterministic_seen(_value: str, _training: Any) -> Seen:
    on = torch.are_deterministic_algorithms_enabled()
    return (ON if on else OFF), f"torch.are_deterministic_algorithms_enabled() is {on}"


HOOKS: Mapping[str, Hook] = {
    "math_mode": Hook(flags=_set_math_mode, seen=_math_mode_seen),
    "flush_denormal": Hook(flags=_flush, seen=_flush_seen),
    "cudnn_benchmark": Hook(flags=_benchmark, seen=_benchmark_seen),
    "cudnn_benchmark_limit": Hook(flags=_benchmark_limit, seen=_benchmark_limit_seen),
    "depthwise_kernel": Hook(flags=_depthwise, seen=_depthwise_seen),
    "anomaly_mode": Hook(flags=_anomaly, seen=_anomaly_seen),
    "deterministic": Hook(flags=_deterministic, step=_named_if_lacking, seen=_deterministic_seen),
}
