"""What one fresh process measured of one trial: raw values; everything else is derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from statistics import median
from typing import Any

from trainspeed.conv2d_trial import STAGES, AnyTrial, trial_from_dict
from trainspeed.trial import CEILINGS, Trial

# Of a convolution's run: its first call, and all that come after.
TIMED_STAGES = (*STAGES, "warm")
CLASSES = 10  # of the data sets that lines without `classes` were trained on
# Of the way from guessing to knowing, from which on a model has learned something: 20 % with ten classes.
LEARNED_SHARE = 1 / 9
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
        classes: Number of classes of the data set; None where nothing was trained, and in older lines.
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
        call_s: Of a convolution instead of epochs: duration of each warm call, from images in the host's
            memory to the result there, in seconds. Its `stages_s` are the first call's: `conv2d.calls`.
        resident_s: The same without transfers, data staying on the device; each a mean over several calls.
        warm_s: Stage -> its seconds in each of other warm calls that wait after every stage.
        import_s: How long the worker took to import the library.
        placement: Devices that the result was computed on, as the library names them.
    """

    session: str
    study: str
    trial: AnyTrial
    block: int
    label: str = ""
    status: Status = Status.OK
    reason: str | None = None
    epoch_s: tuple[float, ...] = ()
    stages_s: Mapping[str, float] = field(default_factory=dict)
    images_per_epoch: int | None = None
    classes: int | None = None
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
    call_s: tuple[float, ...] = ()
    resident_s: tuple[float, ...] = ()
    warm_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    import_s: float | None = None
    placement: str | None = None
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
    def median_call_s(self) -> float | None:
        """Median of a convolution's warm calls."""
        return median(self.call_s) if self.call_s else None

    @property
    def median_resident_s(self) -> float | None:
        """Median of a convolution's calls whose data stay on the device."""
        return median(self.resident_s) if self.resident_s else None

    @property
    def median_s(self) -> float | None:
        """What is compared: a training's later epoch, or a convolution's warm call."""
        return self.median_call_s if self.call_s else self.median_epoch_s

    @property
    def trains(self) -> bool:
        """Whether a model was trained: neither a convolution nor a ceiling."""
        return isinstance(self.trial, Trial) and self.trial.part not in CEILINGS

    @property
    def chance(self) -> float:
        """Test accuracy of guessing, 0 to 1."""
        return 1 / (self.classes or CLASSES)

    @property
    def learned_from(self) -> float:
        """Test accuracy from which on a model is called better than guessing, 0 to 1."""
        return self.chance + LEARNED_SHARE * (1 - self.chance)

    @property
    def timed_s(self) -> float:
        """Seconds within timed epochs, or a convolution's calls from the first one on."""
        cold = [s for stage, s in self.stages_s.items() if stage in TIMED_STAGES] if self.call_s else []
        return sum(self.epoch_s) + sum(cold)

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
    def key(self) -> tuple[str, int, AnyTrial]:
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
        for name in ("epoch_s", "notes", "call_s", "resident_s"):
            values[name] = tuple(values.get(name) or ())
        if values.get("layers") is not None:
            values["layers"] = tuple(values["layers"])
        values["trial"] = trial_from_dict(line["trial"])
        values["status"] = Status(line["status"])
        return cls(**values)
