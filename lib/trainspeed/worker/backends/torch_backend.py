"""PyTorch: which device trains, in which precision, in one process or in ranks."""

from __future__ import annotations

import contextlib
import importlib

import torch
import torch._dynamo  # every optimiser imports it, for seconds: once before the forks, not in each run

from trainspeed.core import user_model
from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.trial import ZOO, Trial
from trainspeed.worker.backends import torch_ranks
from trainspeed.worker.backends.base import Training, check_device, says_out_of_memory
from trainspeed.worker.backends.torch_ceilings import CeilingRun
from trainspeed.worker.backends.torch_training import TorchTraining
from trainspeed.worker.convolution.torch_convolution import TorchConvolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import OutOfMemory, Unsupported
from trainspeed.worker.precision import check_precision

SLOW_IMPORTS = {"timm", "torchvision"}


class TorchBackend:
    """torch, imported; nothing of CUDA is touched before `start`."""

    def versions(self) -> dict[str, str]:
        """Version of torch and of the CUDA and cuDNN that it was built with."""
        return {"torch": torch.__version__, "cuda": torch.version.cuda or "none"}

    def prepare(self, trial: AnyTrial) -> None:
        """Import what only this trial needs; of what a user's own file imports, what takes seconds."""
        if trial.phase.calls:
            return
        if trial.model in ZOO:
            importlib.import_module("trainspeed.worker.models.torch_zoo")
        if user_model.is_user_model(trial.model):
            for name in user_model.packages_of(trial.model) & SLOW_IMPORTS:
                with contextlib.suppress(ImportError):  # the run itself will say so
                    importlib.import_module(name)

    def start(self, trial: Trial, images: Images, *, device: str, default_allocation: bool) -> Training:
        """Build the model on the GPU where there is one, else on one CPU core."""
        check_device("PyTorch", device, torch.cuda.device_count() if device == "gpu" else 0)
        where = torch.device("cuda" if device == "gpu" else "cpu")
        if trial.strategy == "data_parallel" and device == "cpu":
            raise Unsupported("torch's DataParallel spreads a batch over GPUs only; on a CPU use ddp")
        if trial.strategy == "data_parallel" and trial.precision == "bf16":
            raise Unsupported(
                "torch's DataParallel runs autocast in fp16 in its threads, whatever is asked; use ddp"
            )
        if trial.strategy != "ddp":
            return _training(trial, images, where)
        # Until the ranks are forked, nothing may touch CUDA but counting: a fork cannot use it again.
        return torch_ranks.start(trial.devices, where, lambda rank: _training(trial, images, where, rank))

    def convolution(self, trial: Conv2dTrial, *, device: str) -> TorchConvolution:
        """Return the convolution of a trial."""
        check_device("PyTorch", device, torch.cuda.device_count() if device == "gpu" else 0)
        return TorchConvolution(trial, device)

    def is_out_of_memory(self, problem: BaseException) -> bool:
        """Whether this exception means that memory ran out."""
        return isinstance(problem, torch.OutOfMemoryError | MemoryError | OutOfMemory) or (
            isinstance(problem, RuntimeError) and says_out_of_memory(str(problem))
        )


def _training(trial: Trial, images: Images, device: torch.device, rank: int = 0) -> Training:
    """Return the training of one process: all devices of it, or one rank of several."""
    capability = torch.cuda.get_device_capability(rank) if device.type == "cuda" else None
    check_precision(trial.precision, capability)
    if device.type == "cuda":
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
        torch.cuda.reset_peak_memory_stats(device)
    else:
        torch.set_num_threads(1)
    _set_precision(trial.precision)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(trial.seed)
    if trial.phase.ceiling:
        return CeilingRun(trial, device)
    return TorchTraining(trial, images, device, rank)


def _set_precision(precision: str) -> None:
    """Strict fp32 unless TF32 was asked for: torch has it on for convolutions by default."""
    kind = "tf32" if precision == "tf32" else "ieee"
    torch.backends.cudnn.conv.fp32_precision = kind
    torch.backends.cuda.matmul.fp32_precision = kind


BACKEND = TorchBackend()
