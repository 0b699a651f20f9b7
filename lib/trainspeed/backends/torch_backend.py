"""PyTorch: a native training loop. `memory_format` is the layout; a strategy wraps the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch._dynamo  # every optimiser imports it, for seconds: once before the forks, not in each run
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from trainspeed import layers as layer_table
from trainspeed.backends import torch_ranks
from trainspeed.backends.base import OutOfMemory, Unsupported, check_device, says_out_of_memory
from trainspeed.datasets import Images, epoch_of
from trainspeed.models import torch_models
from trainspeed.pipelines import torch_pipelines
from trainspeed.pipelines.batches import PLAIN
from trainspeed.precision import unsupported_reason
from trainspeed.recipes import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.timing import time_epochs
from trainspeed.trial import Trial

MEMORY_FORMATS = {"channels_first": torch.contiguous_format, "channels_last": torch.channels_last}
AUTOCAST_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class TorchBackend:
    """torch, imported; nothing of CUDA is touched before `start`."""

    def versions(self) -> dict[str, str]:
        """Version of torch and of the CUDA and cuDNN that it was built with."""
        return {"torch": torch.__version__, "cuda": torch.version.cuda or "none"}

    def start(self, trial: Trial, images: Images, *, device: str, default_allocation: bool) -> TorchTraining:
        """Build the model on the GPU where there is one, else on one CPU core."""
        check_device("PyTorch", device, torch.cuda.device_count() if device == "gpu" else 0)
        where = torch.device("cuda" if device == "gpu" else "cpu")
        if trial.strategy == "data_parallel" and device == "cpu":
            raise Unsupported("torch's DataParallel spreads a batch over GPUs only; on a CPU use ddp")
        if trial.strategy != "ddp":
            return _training(trial, images, where)
        # Until the ranks are forked, nothing may touch CUDA but counting: a fork cannot use it again.
        return torch_ranks.start(trial.devices, where, lambda rank: _training(trial, images, where, rank))

    def is_out_of_memory(self, problem: BaseException) -> bool:
        """Whether this exception means that memory ran out."""
        return isinstance(problem, torch.OutOfMemoryError | MemoryError | OutOfMemory) or (
            isinstance(problem, RuntimeError) and says_out_of_memory(str(problem))
        )


def _training(trial: Trial, images: Images, device: torch.device, rank: int = 0) -> TorchTraining:
    """Return the training of one process: all devices of it, or one rank of several."""
    capability = torch.cuda.get_device_capability(rank) if device.type == "cuda" else None
    if reason := unsupported_reason(trial.precision, capability):
        raise Unsupported(reason)
    if device.type == "cuda":
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
        torch.cuda.reset_peak_memory_stats(device)
    else:
        torch.set_num_threads(1)
    _set_precision(trial.precision)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(trial.seed)
    return TorchTraining(trial, images, device, rank)


def _set_precision(precision: str) -> None:
    """Strict fp32 unless TF32 was asked for: torch has it on for convolutions by default."""
    kind = "tf32" if precision == "tf32" else "ieee"
    torch.backends.cudnn.conv.fp32_precision = kind
    torch.backends.cuda.matmul.fp32_precision = kind


class TorchTraining:
    """A torch model on its device and one epoch of host arrays, as Keras's `fit` has them too."""

    def __init__(self, trial: Trial, images: Images, device: torch.device, rank: int = 0) -> None:
        self.trial, self.images, self.device, self.rank = trial, images, device, rank
        self.ranks = trial.devices if trial.strategy == "ddp" else 1
        self.format = MEMORY_FORMATS[trial.layout]
        model = torch_models.build(trial.model, image_size=trial.image_size)
        self.model = model.to(device, memory_format=self.format)
        spread = _spread(self.model, trial, device)
        self.step_model: nn.Module = torch.compile(spread) if trial.compile else spread
        self.optimizer = _optimizer(self.model, trial.model)
        self.scaler = torch.amp.GradScaler(device.type, enabled=trial.precision == "fp16")
        self.batches = trial.steps_per_epoch
        x, y = epoch_of(images, self.batches * trial.batch_size, trial.seed)
        self.x, self.y = self._host_images(x), torch.from_numpy(y).long()
        self.loader = None
        if trial.pipeline not in PLAIN:
            self.loader = torch_pipelines.loader(trial, x, y, rank=rank, ranks=self.ranks)
        self.in_model = trial.augment and trial.pipeline == "in_model"
        self.draws = torch.Generator(device).manual_seed(trial.seed + rank) if self.in_model else None
        self.order = torch.Generator().manual_seed(trial.seed)
        self.loss_sum = torch.zeros((), device=device)

    @property
    def final_loss(self) -> float | None:
        """Mean training loss of the last epoch; None where nothing was trained."""
        if self.trial.part in ("input", "exchange"):
            return None
        return self.loss_sum.item() / self.batches

    def train(self) -> tuple[float, ...]:
        """Train, or run the trial's part of it, and return the duration of each epoch, in seconds."""
        self.step_model.train()
        parts = {"input": lambda: self._input, "exchange": self._exchange}
        try:
            epoch = parts.get(self.trial.part, lambda: self._epoch)()
            return time_epochs(epoch, self._synchronize, epochs=self.trial.epochs)
        finally:
            if self.loader:
                self.loader.close()

    def _input(self) -> None:
        for _ in self._batches():
            pass

    def _exchange(self) -> Callable[[], None]:
        """Return an epoch of nothing but what DDP sends: the sum of as many gradients as there are weights."""
        gradients = torch.zeros(sum(p.numel() for p in self.model.parameters()), device=self.device)

        def epoch() -> None:
            if self.ranks == 1:
                raise Unsupported("one process has nobody to exchange gradients with: use ddp on 2 devices")
            for _ in range(self.batches):
                torch.distributed.all_reduce(gradients)

        return epoch

    def _batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield the batches of an epoch on the device, of this rank."""
        if self.trial.part == "compute":
            chosen = torch.arange(self.trial.batch_size).chunk(self.ranks)[self.rank]
            same = self._to_device(self.x[chosen]), self._to_device(self.y[chosen])
            yield from itertools.repeat(same, self.batches)
        elif self.loader:
            for x, y in self.loader:
                yield self._to_device(x), self._to_device(y)
        else:
            order = torch.randperm(len(self.y), generator=self.order)
            for batch in order.split(self.trial.batch_size):
                chosen = batch.chunk(self.ranks)[self.rank]
                yield self._to_device(self.x[chosen]), self._to_device(self.y[chosen])

    def _epoch(self) -> None:
        self.loss_sum = torch.zeros((), device=self.device)
        for x, y in self._batches():
            if self.in_model:
                x = torch_pipelines.augment_on_device(x, self.draws)
            self.optimizer.zero_grad(set_to_none=True)
            with self._autocast():
                loss = functional.cross_entropy(self.step_model(x).float(), y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.loss_sum += loss.detach()

    def _autocast(self) -> torch.autocast:
        dtype = AUTOCAST_DTYPES.get(self.trial.precision)
        return torch.autocast(self.device.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    def _host_images(self, x: np.ndarray) -> torch.Tensor:
        """Images as (count, 3, height, width) in the memory format of the trial."""
        return torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=self.format)

    def _to_device(self, batch: torch.Tensor) -> torch.Tensor:
        if batch.dim() == 4:  # indexing may not keep the memory format
            batch = batch.contiguous(memory_format=self.format)
        if self.device.type == "cpu":
            return batch
        return batch.pin_memory().to(self.device, non_blocking=True)

    def _synchronize(self) -> None:
        """Wait for every device: this process's own, then the other ranks."""
        if self.device.type == "cuda":
            for index in range(self.trial.devices) if self.ranks == 1 else [self.device.index]:
                torch.cuda.synchronize(index)
        if self.ranks > 1:
            torch.distributed.barrier()

    @torch.inference_mode()
    def test_accuracy(self) -> float:
        """Share of the held-out images classified rightly, 0 to 1."""
        self.model.eval()
        right = 0
        labels = torch.from_numpy(self.images.test_y).long()
        for chosen in torch.arange(len(labels)).split(self.trial.batch_size):
            x = self._to_device(self._host_images(self.images.test_x[chosen.numpy()]))
            with self._autocast():
                right += (self.model(x).argmax(1).cpu() == labels[chosen]).sum().item()
        return right / len(labels)

    def peak_memory_bytes(self) -> int | None:
        """Peak of torch's CUDA allocator; None on a CPU, which has none."""
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None

    def effective_layout(self) -> str | None:
        """Layout of what the convolutions put out, by its strides."""
        seen = [_layout_of(output) for module, output in self._outputs() if isinstance(module, nn.Conv2d)]
        return layer_table.summarise_layouts([layout for layout in seen if layout])

    def effective_precision(self) -> str | None:
        """dtype of what the convolutions put out."""
        dtypes = {
            str(output.dtype).removeprefix("torch.")
            for module, output in self._outputs()
            if isinstance(module, nn.Conv2d)
        }
        return " and ".join(sorted(dtypes)) or None

    def layers(self) -> list[Mapping[str, Any]]:
        """Layer table: the format of each layer's output, by its strides."""
        names = {module: name for name, module in self.model.named_modules()}
        return [
            layer_table.row(
                layer=names[module] or self.trial.model,
                type=type(module).__name__,
                output_shape=list(output.shape[1:]),
                data_format=_layout_of(output),
                bn_axis=None,  # torch normalises axis 1 whatever the strides are
                layout=self.trial.layout,
            )
            for module, output in self._outputs()
        ]

    def _outputs(self) -> list[tuple[nn.Module, torch.Tensor]]:
        """Return every leaf module with its output for one batch, in the order they ran."""
        seen: list[tuple[nn.Module, torch.Tensor]] = []
        leaves = [module for module in self.model.modules() if not list(module.children())]
        hooks = [m.register_forward_hook(lambda m, _, out: seen.append((m, out))) for m in leaves]
        self.model.eval()
        with torch.no_grad(), self._autocast():
            self.model(self._to_device(self.x[: self.trial.batch_size]))
        for hook in hooks:
            hook.remove()
        return seen


def _spread(model: nn.Module, trial: Trial, device: torch.device) -> nn.Module:
    """Wrap the model for its strategy."""
    if trial.strategy == "ddp":
        return DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    if trial.strategy == "data_parallel":
        return nn.DataParallel(model, device_ids=list(range(trial.devices)))
    return model


def _optimizer(model: nn.Module, name: str) -> torch.optim.Optimizer:
    how = recipe(name)
    if how.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=how.learning_rate, eps=ADAM_EPSILON)
    if how.optimizer == "rmsprop":
        return torch.optim.RMSprop(
            model.parameters(), lr=how.learning_rate, alpha=RMSPROP_RHO, eps=ADAM_EPSILON
        )
    return torch.optim.SGD(model.parameters(), lr=how.learning_rate, momentum=how.momentum)


def _layout_of(output: torch.Tensor) -> str | None:
    """Layout of an activation by its strides; None where both are the same in memory."""
    if output.dim() != 4 or math.prod(output.shape[2:]) == 1 or output.shape[1] == 1:
        return None
    last = output.is_contiguous(memory_format=torch.channels_last)
    first = output.is_contiguous()
    return "channels_last" if last and not first else "channels_first" if first and not last else None


BACKEND = TorchBackend()
