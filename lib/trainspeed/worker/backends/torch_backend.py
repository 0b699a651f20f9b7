"""PyTorch: which device trains, in which precision, in one process or in ranks."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable
from importlib import metadata

import torch
import torch._dynamo  # every optimiser imports it, for seconds: once before the forks, not in each run

from trainspeed.core import user_model
from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.levers.host import AS_SET
from trainspeed.core.library_model import is_library_model
from trainspeed.core.result import CONVOLUTIONS, PRODUCTS
from trainspeed.core.trial import ZOO, Trial
from trainspeed.worker import torch_cuda
from trainspeed.worker.backends import torch_ranks
from trainspeed.worker.backends.base import Backend, Training
from trainspeed.worker.backends.torch_ceilings import CeilingRun
from trainspeed.worker.backends.torch_training import TorchTraining
from trainspeed.worker.convolution.torch_convolution import TorchConvolution
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.gang import Gang
from trainspeed.worker.levers import torch_levers
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.precision import arithmetic_of, check_precision, tf32_flag, tf32_work
from trainspeed.worker.reach import Build, reach

SLOW_IMPORTS = {"timm", "torchvision"}  # they take seconds


class TorchBackend(Backend):
    """torch, imported; nothing of CUDA is touched before `start`."""

    def versions(self) -> dict[str, str]:
        versions = {"torch": torch.__version__, "cuda": torch.version.cuda or "none"}
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions["timm"] = metadata.version("timm")  # without its import, which takes seconds
        return versions

    def prepare(self, trial: AnyTrial) -> None:
        if not trial.phase.of_model:
            return
        if trial.model in ZOO or is_library_model(trial.model):
            importlib.import_module("trainspeed.worker.models.torch_zoo")
        if user_model.is_user_model(trial.model):
            for name in user_model.packages_of(trial.model) & SLOW_IMPORTS:
                with contextlib.suppress(ImportError):  # the run itself will say so
                    importlib.import_module(name)

    def start(
        self,
        trial: Trial,
        images: Images,
        *,
        device: str,
        default_allocation: bool,
        gang: Gang | None = None,
    ) -> Training:
        if device == "gpu":
            _reach([])
        main = torch.device("cuda" if device == "gpu" else "cpu")
        if trial.strategy == "data_parallel" and device == "cpu":
            raise Unsupported("torch's DataParallel spreads a batch over GPUs only; on a CPU use ddp")
        if trial.strategy == "data_parallel" and trial.precision == "bf16":
            raise Unsupported(
                "torch's DataParallel runs autocast in fp16 in its threads, whatever is asked; use ddp"
            )
        if trial.strategy != "ddp":
            return _training(trial, images, main)
        # Until the ranks are forked, nothing may touch CUDA but counting: a fork cannot use it again.
        return torch_ranks.start_ranks(
            trial.devices,
            main,
            lambda rank, local_rank: _training(trial, images, main, rank, local_rank),
            compiled=trial.compile,
            gang=gang,
        )

    def convolution(self, trial: Conv2dTrial, *, device: str) -> TorchConvolution:
        if device == "gpu":
            _reach(range(trial.devices))
        return TorchConvolution(trial, device)


def _reach(indices: Iterable[int]) -> None:
    """Compute on each of these GPUs, or raise GpuNotReached; on none of them, CUDA is asked for nothing but a count."""
    indices = tuple(indices)

    def first_step() -> None:
        for index in indices:
            (torch.ones(1, device=torch.device("cuda", index)) + 1).item()

    architectures = torch_cuda.architectures() if indices else ()
    build = Build(framework="PyTorch", cuda=torch.version.cuda, architectures=architectures)
    reach(build, torch_cuda.count, first_step)


def _training(
    trial: Trial, images: Images, device: torch.device, rank: int = 0, local_rank: int = 0
) -> Training:
    """Return the training of one process: on all devices, or as one rank of several.

    Args:
        rank: Among all ranks: it has that share of the images.
        local_rank: Among those on this node: it has that device.
    """
    if device.type == "cuda":
        _reach([local_rank] if trial.strategy == "ddp" else range(trial.devices))
        device = torch.device("cuda", local_rank)
    capability = torch_cuda.capability(device)
    check_precision(arithmetic_of(trial), capability)
    if device.type == "cuda":
        torch_cuda.make_ready(device)
    elif AS_SET not in trial.levers:
        torch.set_num_threads(1)
    set_tf32(tf32_flag(trial.precision))
    Levers(trial, torch_levers.HOOKS).set_flags("gpu" if device.type == "cuda" else "cpu")
    torch.manual_seed(trial.seed)
    made = CeilingRun(trial, device) if trial.phase.ceiling else TorchTraining(trial, images, device, rank)
    made.tf32 = tf32_work(tf32_allowed(), capability)
    return made


def set_tf32(allowed: bool | None) -> None:
    """Set torch's switches for TF32; None leaves them alone.

    By the older ones, which set the newer ones, too: where only those are set, compilers of torch before 2.13 refuse.
    """
    if allowed is not None:
        torch.backends.cudnn.allow_tf32 = allowed
        torch.backends.cuda.matmul.allow_tf32 = allowed


def tf32_allowed() -> tuple[str, ...]:
    """Return the kinds of work in which torch's switches allow TF32: by default in convolutions alone."""
    switches = {CONVOLUTIONS: torch.backends.cudnn.conv, PRODUCTS: torch.backends.cuda.matmul}
    return tuple(kind for kind, switch in switches.items() if switch.fp32_precision == "tf32")


BACKEND = TorchBackend()
