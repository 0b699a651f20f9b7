"""What one fresh process measured of one trial: raw values; everything else is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from statistics import median
from typing import Any

from trainspeed.trial import Trial

SCHEMA = 1  # raise when a field changes meaning


class Status(StrEnum):
    """How a run ended. Everything but OK is a row with a reason, never a gap."""

    OK = "ok"
    OOM = "oom"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    INVALID = "invalid"


# A trial that ended so is not tried again in later blocks, nor when a report is resumed.
FINAL = (Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED, Status.INVALID)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one fresh process measured of one trial: one line of the ledger.

    Attributes:
        label: Empty, or what the run is for beside its trial: "A" and "A again" for the control,
            "default allocation" for the run that shows how much memory a framework seizes.
        block: Which repeat of the whole grid, from 0.
        epoch_s: Duration of each epoch, in seconds, in the order measured; the first is epoch_s[0].
        stages_s: Seconds of "start" (request to ready child), "build" (model on device), "train"
            (all epochs), "evaluate" (test images) and "inspect" (layout and layers), in this order.
        images_per_epoch: Images consumed by one epoch, summed over all devices.
        test_accuracy: Share of held-out images classified rightly, 0 to 1; None where not asked for.
        peak_memory_bytes: Peak on the fullest device by the framework's allocator; on a CPU what the
            process added to its resident memory. None where it cannot be read.
        effective_layout: Layout that the convolutions really ran in; None where not looked at.
        effective_precision: dtype in which the convolutions really ran.
        energy_j: Joules of the devices in use over all epochs, by a counter.
        notes: What makes the run doubtful, one sentence each; empty when clean.
        started_at: UTC, ISO 8601.
        monitor: The monitor's CSV, relative to the ledger.
        layers: Layer table of the model (see `trainspeed.layers`), in the first block only.
        parameters: Trainable parameters of the model, where it was looked at; so are the next two.
        step_flops: Floating-point operations of a step, 2 per multiply-add.
        step_bytes: Least memory traffic of a step in fp32, in bytes; an estimate.
        skipped_steps: Steps left out because a scaled gradient overflowed; None where nothing is scaled.
        profile: How a step's time splits (`matrix_share`, 0 to 1) and the kernels that took most.
    """

    session: str
    study: str
    trial: Trial
    block: int
    label: str = ""
    status: Status = Status.OK
    reason: str | None = None
    epoch_s: tuple[float, ...] = ()
    stages_s: Mapping[str, float] = field(default_factory=dict)
    images_per_epoch: int | None = None
    test_accuracy: float | None = None
    peak_memory_bytes: int | None = None
    effective_layout: str | None = None
    effective_precision: str | None = None
    energy_j: float | None = None
    notes: tuple[str, ...] = ()
    started_at: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    monitor: str | None = None
    layers: tuple[Mapping[str, Any], ...] | None = None
    parameters: int | None = None
    step_flops: float | None = None
    step_bytes: float | None = None
    skipped_steps: int | None = None
    profile: Mapping[str, Any] | None = None
    schema: int = SCHEMA

    @property
    def first_epoch_s(self) -> float | None:
        """The first epoch: it holds tracing, compiling and autotuning, which do not grow with the images.

        Where a last partial batch was dropped, its share of a later epoch is added.
        """
        if not self.epoch_s:
            return None
        return self.epoch_s[0] + (self.median_epoch_s or 0.0) * (1 - self._consumed)

    @property
    def median_epoch_s(self) -> float | None:
        """Median of the epochs after the first, scaled to the images asked for."""
        if len(self.epoch_s) < 2 or not self.images_per_epoch:
            return None
        return median(self.epoch_s[1:]) / self._consumed

    @property
    def step_s(self) -> float | None:
        """Median duration of a training step after the first epoch, in seconds."""
        return median(self.epoch_s[1:]) / self.trial.steps_per_epoch if len(self.epoch_s) > 1 else None

    @property
    def _consumed(self) -> float:
        """Share of the images asked for that an epoch used."""
        return (self.images_per_epoch or self.trial.images_per_epoch) / self.trial.images_per_epoch

    @property
    def images_per_s(self) -> float | None:
        """Training throughput after the first epoch."""
        seconds = self.median_epoch_s
        return self.trial.images_per_epoch / seconds if seconds else None

    @property
    def key(self) -> tuple[str, int, Trial]:
        """What makes two lines of one study the same measurement: label, block and trial."""
        return self.label, self.block, self.trial

    def as_dict(self) -> dict[str, Any]:
        """Return the ledger line as a JSON object."""
        line = {f.name: getattr(self, f.name) for f in fields(self)}
        line["trial"] = self.trial.as_dict()
        return {"schema": line.pop("schema"), **line}

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Run:
        """Return the run of a ledger line; unknown fields are ignored."""
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in line.items() if name in known}
        for name in ("epoch_s", "notes"):
            values[name] = tuple(values.get(name) or ())
        if values.get("layers") is not None:
            values["layers"] = tuple(values["layers"])
        values["trial"] = Trial.from_dict(line["trial"])
        values["status"] = Status(line["status"])
        return cls(**values)
