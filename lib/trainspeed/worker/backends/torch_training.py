"""A torch model on its device: the native training loop. A strategy wraps the model."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import distributed
from torch.nn import functional

from trainspeed.core import user_model
from trainspeed.core.phase import COMPUTE, FIT, INPUT
from trainspeed.core.result import Inspection, LinkSum, Seen
from trainspeed.core.trial import Trial
from trainspeed.worker import torch_cuda
from trainspeed.worker.backends import torch_parts
from trainspeed.worker.backends.base import Training, evaluation_batch
from trainspeed.worker.backends.torch_sums import SUM_PHASES, sums_of
from trainspeed.worker.data.sets import Images, epoch_of
from trainspeed.worker.device_errors import fault_of
from trainspeed.worker.failures import Invalid
from trainspeed.worker.levers import torch_compile, torch_feeding, torch_levers
from trainspeed.worker.levers.fields_seen import fields_seen
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.models import torch_inspect, torch_models
from trainspeed.worker.models.file_settings import settings_watched
from trainspeed.worker.pipelines import torch_pipelines, torch_upload
from trainspeed.worker.pipelines.batches import PLAIN
from trainspeed.worker.pipelines.resident import is_resident
from trainspeed.worker.pipelines.torch_pipelines import Batch, ResidentImages
from trainspeed.worker.sums_by_size import SumsBySize
from trainspeed.worker.timing import Another, RepeatedWork, time_epochs

MEMORY_FORMATS = {"channels_first": torch.contiguous_format, "channels_last": torch.channels_last}
AUTOCAST_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class TorchTraining(Training):
    """A torch model and one epoch of images, both on its device, or batches of host arrays, as in Keras's `fit`."""

    def __init__(self, trial: Trial, images: Images, device: torch.device, rank: int = 0) -> None:
        self.trial, self.device, self.rank = trial, device, rank
        self.ranks = trial.devices if trial.strategy == "ddp" else 1
        self.format = MEMORY_FORMATS[trial.layout]
        self.levers = Levers(trial, torch_levers.HOOKS)
        self.images = images = self.levers.images(images)
        self.set_to_none = self.levers.options("zero_grad").get("set_to_none", True)
        with settings_watched(trial.model, torch_parts.process_settings) as set_by_file:
            model = torch_models.build_torch(
                trial.model,
                image_size=trial.image_size,
                weights=trial.weights,
                classes=images.classes,
                layout=trial.layout,
                seed=trial.seed,
            )
        self.model = self.levers.model(model.to(device, memory_format=self.format))
        self.forward = torch_parts.forward(self.model, trial, device, self.levers)
        self.optimizer = torch_parts.optimizer(self.model, trial, self.levers)
        self.scaler = torch.amp.GradScaler(device.type, enabled=trial.precision == "fp16")
        self.steps_asked = self.steps_taken = 0
        self.overflows = torch.zeros((), device=device)  # seen by a fused optimizer, called nevertheless
        if self.scaler.is_enabled():
            self.optimizer.register_step_post_hook(self._count_step)
        self.fed_images: int | None = None  # of this rank, in the last batch
        self.counted: Counter[str] = Counter()  # what levers counted in the steps, by what it is
        self.batches = trial.steps_per_epoch
        x, y = epoch_of(images, self.batches * trial.batch_size, trial.seed)
        self.x, self.y = self._host_images(x), torch.from_numpy(y).long()
        on = "gpu" if device.type == "cuda" else "cpu"
        resident, notes = is_resident(trial, on, x)
        self.notes = (*notes, *set_by_file)
        self.resident: ResidentImages | None = None
        if resident and trial.phase not in (COMPUTE, *SUM_PHASES):  # whose only batch is there, or has none
            self.resident = ResidentImages(self.x, self.y, device)
        self.sums: RepeatedWork | SumsBySize | None = None
        self.upload = torch_upload.Upload(device, self._formed, **self.levers.options("feed"))
        self.upload.check(trial)
        self.loader = None
        if trial.pipeline not in PLAIN:
            pin = device.type == "cuda" and self.upload.takes_pinned
            options = self.levers.options("loader")
            self.loader = torch_pipelines.loader(
                trial, x, y, rank=rank, ranks=self.ranks, pin=pin, options=options
            )
        self.draws = None
        if trial.augment and trial.pipeline == "in_model":
            self.draws = torch.Generator(device).manual_seed(trial.seed + rank)
        self.order = torch.Generator().manual_seed(trial.seed)
        self.loss_sum = torch.zeros((), device=device)
        self.step = self.levers.step(self, self._step)

    @property
    def repeats(self) -> int:
        return self.sums.repeats if isinstance(self.sums, RepeatedWork) else 1

    @property
    def link_sums(self) -> tuple[LinkSum, ...]:
        return self.sums.measured if isinstance(self.sums, SumsBySize) else ()

    @property
    def final_loss(self) -> float | None:
        if self.trial.phase in (INPUT, *SUM_PHASES):
            return None
        return self.loss_sum.item() / self.batches

    def train(self, another: Another) -> tuple[float, ...]:
        self.forward.module.train()
        epoch = {INPUT: self._take_input, FIT: self._fit_epoch}.get(self.trial.phase, self._epoch)
        if self.trial.phase in SUM_PHASES:
            epoch = self.sums = sums_of(self.trial, self.device, self.parameters(), self._synchronize)
        if self.trial.phase is COMPUTE:
            self.same_batch = self._first_batch()  # before the clock: an upload is no part of computing
        try:
            with tempfile.TemporaryFile() as self.checkpoint:
                self.best_accuracy = -math.inf
                return time_epochs(epoch, self._synchronize, another=another)
        except Exception as problem:
            if user_model.is_user_model(self.trial.model) and fault_of(problem) is None:
                self._check_training_mode(problem)
            raise
        finally:
            if self.loader:
                self.loader.close()

    def _check_training_mode(self, problem: Exception) -> None:
        """Raise Invalid where a training failed because a user's model returns no logits in training mode.

        That it returns some in evaluation mode is known. Looked at only now, it costs no step anything.
        """
        try:
            images, _ = self._first_batch()
            self.model.train()
            with torch.no_grad(), self._autocast():
                logits = self.model(images)
        except Exception:  # then what failed first says more
            return
        try:
            torch_models.check_logits(self.trial.model, logits, images, self.images.classes, "training")
        except Invalid as fault:
            raise fault from problem

    def _take_input(self) -> None:
        for _, y in self._batches():
            self.fed_images = len(y)

    def _batches(self) -> Iterator[Batch]:
        """Yield the batches of an epoch on the device, of this rank."""
        if self.trial.phase is COMPUTE:
            return itertools.repeat(self.same_batch, self.batches)
        return self.upload.each(self.loader or self._gathered())

    def _gathered(self) -> Iterator[Batch]:
        """Yield the batches of an epoch from where the images are."""
        order = torch.randperm(len(self.y), generator=self.order)
        return map(self._chosen, self._where_images_are(order).split(self.trial.batch_size))

    def _first_batch(self) -> Batch:
        return self.upload.one(self._chosen(self._where_images_are(torch.arange(self.trial.batch_size))))

    def _where_images_are(self, order: torch.Tensor) -> torch.Tensor:
        return order.to(self.device) if self.resident else order

    def _chosen(self, batch: torch.Tensor) -> Batch:
        """Return this rank's share of the images and labels with these indices, which are where the images are."""
        chosen = batch.chunk(self.ranks)[self.rank]
        return self.resident(chosen) if self.resident else (self.x[chosen], self.y[chosen])

    def _epoch(self) -> None:
        self.loss_sum = torch.zeros((), device=self.device)
        for x, y in self._batches():
            self.step(x, y)
        self.fed_images = len(y)

    def _step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Take a step and return its loss."""
        self.steps_asked += 1
        if self.draws:
            x = torch_pipelines.augment_on_device(x, self.draws)
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        with self._autocast():
            loss = self.forward.loss(x, y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.loss_sum += loss.detach()
        return loss.detach()

    def _count_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self.steps_taken += 1
        if (overflow := getattr(optimizer, "found_inf", None)) is not None:
            self.overflows += overflow  # on the device: reading it would wait for that

    def skipped_steps(self) -> int | None:
        if not self.scaler.is_enabled():
            return None
        return self.steps_asked - self.steps_taken + int(self.overflows.item())

    def _fit_epoch(self) -> None:
        """Train, validate and save the best weights: what article 003 timed."""
        self.forward.module.train()
        self._epoch()
        accuracy, _ = self._held_out(2 * self.trial.batch_size)
        if accuracy > self.best_accuracy:
            self.best_accuracy = accuracy
            self.checkpoint.seek(0)  # over the last one
            torch.save(self.model.state_dict(), self.checkpoint)

    def _autocast(self) -> torch.autocast:
        dtype = AUTOCAST_DTYPES.get(self.trial.precision)
        return torch.autocast(self.device.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    def _host_images(self, x: np.ndarray) -> torch.Tensor:
        """Return images as (count, 1 or 3, height, width) in the memory format of the trial."""
        return torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=self.format)

    def _formed(self, images: torch.Tensor) -> torch.Tensor:
        """Return the model's input, made of images on the device; indexing may not keep their memory format."""
        x = torch_upload.floats(images)
        x = _enlarged(x, self.trial.image_size) if self.trial.pipeline == "resize" else x
        return x.contiguous(memory_format=self.format)

    def _evaluated(self, images: np.ndarray) -> torch.Tensor:
        return self._formed(self._host_images(images).to(self.device, non_blocking=True))

    def _synchronize(self) -> None:
        """Wait for every device: this process's own, then the other ranks."""
        if self.device.type == "cuda":
            own = range(self.trial.devices) if self.ranks == 1 else [self.device.index]
            torch_cuda.synchronize(*(torch.device("cuda", index) for index in own))
        if self.ranks > 1:
            distributed.barrier()

    def test_accuracy(self) -> float:
        return self._held_out(evaluation_batch(self.trial))[0]

    @torch.inference_mode()
    def _held_out(self, batch_size: int) -> tuple[float, float]:
        """Return accuracy and mean loss on the held-out images, so many at once."""
        self.model.eval()
        right, loss = 0, 0.0
        labels = torch.from_numpy(self.images.test_y).long()
        for chosen in torch.arange(len(labels)).split(batch_size):
            x = self._evaluated(self.images.test_x[chosen.numpy()])
            y = labels[chosen].to(self.device)
            with self._autocast():
                logits = self.model(x).float()
            right += (logits.argmax(1) == y).sum()
            loss += functional.cross_entropy(logits, y, reduction="sum")
        return float(right) / len(labels), float(loss) / len(labels)

    def peak_memory_bytes(self) -> int | None:
        return torch_cuda.most_allocated_bytes(self.device)

    def parameters(self) -> int:
        """Return the number of trainable parameters."""
        return sum(p.numel() for p in self.model.parameters() if p.requires_grad)

    def in_effect(self) -> dict[str, Seen]:
        if self.trial.phase.sums:
            return self.levers.seen(self)
        batch = self.fed_images and self.ranks * self.fed_images
        fields = fields_seen(torch_parts.spread_of(self.forward.model), batch)
        fields |= torch_compile.compile_seen(self) | torch_feeding.pipeline_seen(self)
        return fields | self.levers.seen(self)

    def inspect(self) -> Inspection:
        if self.trial.phase.sums:
            return Inspection(parameters=self.parameters())
        batch = self._evaluated(self.images.test_x[: self.trial.batch_size])
        seen = torch_inspect.Seen(self.model, batch, self._autocast())
        flops = seen.flops_per_image()
        lowered = self.forward.lowered
        ran = lowered or seen
        inspection = Inspection(
            effective_precision=ran.precision(),
            effective_layout=ran.layout(),
            notes=tuple(lowered.notes(bool(seen.precision()))) if lowered else (),
            layers=seen.layers(self.trial.model, self.trial.layout),
            parameters=self.parameters(),
            step_flops=None if flops is None else flops * self.trial.batch_size,
            step_bytes=seen.bytes_per_step(self.trial.batch_size),
        )
        if self.ranks > 1 or not self.trial.whole_steps:
            return inspection
        x, y = self._first_batch()
        self.forward.module.train()  # whoever measured the accuracy left it as for that
        profile = torch_inspect.profile_of(lambda: self.step(x, y), self._synchronize)
        return replace(inspection, profile=profile)


def _enlarged(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return (batch, 3, size, size) for (batch, 1 or 3, height, width): bilinear, on the device."""
    return functional.interpolate(x.expand(-1, 3, -1, -1), (size, size), mode="bilinear")
