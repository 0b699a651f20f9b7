"""What makes a run doubtful, as values: a kind and its numbers. `trainspeed.judge.doubts` puts them into words."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from trainspeed.core.quantities import Amount, Share


class Note(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """Base of all notes; in JSON, an object with the `kind` and the fields."""

    @property
    def kind(self) -> str:
        """Name of this kind of note in JSON."""
        return self.__struct_config__.tag

    @property
    def subject(self) -> tuple[Any, ...]:
        """What two notes of one kind share when only their amounts differ: GPU, dtypes, texts."""
        return tuple(v for name, v in msgspec.structs.asdict(self).items() if not _is_amount(name, v))

    @property
    def amounts(self) -> tuple[float, ...]:
        """The numbers in which two notes with the same subject may differ."""
        return tuple(v for name, v in msgspec.structs.asdict(self).items() if _is_amount(name, v))


def _is_amount(name: str, value: object) -> bool:
    return isinstance(value, int | float) and name != "gpu"  # which GPU it was is no amount


class GpuBusy(Note, tag="gpu_busy"):
    """Another process used this GPU before the run began."""

    gpu: int
    load_percent: float


class GpuMemoryHeld(Note, tag="gpu_memory_held"):
    """Another process held memory of this GPU before the run began."""

    gpu: int
    held_bytes: float


class GpuShared(Note, tag="gpu_shared"):
    """Another process used this GPU while the run was being timed: its load, 0 to 100."""

    gpu: int
    load_percent: float


class GpuTakenMeanwhile(Note, tag="gpu_taken_meanwhile"):
    """This GPU was free before the run, and in use by another process when the run had ended."""

    gpu: int


class GpuSlowedDown(Note, tag="gpu_slowed_down"):
    """The cooling or the supply of this GPU held its clocks down while the run was being timed.

    Attributes:
        reason: As NVML names it: "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown" or
            "hw_slowdown".
        share: Of the looks at it, 0 to 1.
    """

    gpu: int
    reason: str
    share: float


class CoresBusy(Note, tag="cores_busy"):
    """Other processes kept this many CPU cores busy during the epochs."""

    cores: float


class CpuTimeStolen(Note, tag="cpu_time_stolen"):
    """The hypervisor took this share of the CPU time, 0 to 1."""

    share: float


class CpuThrottled(Note, tag="cpu_throttled"):
    """The limit of CPU time of the container or job stopped it while the run was being timed.

    Attributes:
        share: Of the limit's periods, 0 to 1, those in which it did.
        cores: The limit, in cores' worth of time.
    """

    share: Share
    cores: Amount


class BusyWhileWaiting(Note, tag="busy_while_waiting"):
    """The run kept this many CPU cores busy while it waited and others had their turns."""

    cores: float


class GpuBusyWhileWaiting(Note, tag="gpu_busy_while_waiting"):
    """The run kept a GPU busy for this share of the time, 0 to 1, in which it waited and others had their turns."""

    share: float


class OnHeadNode(Note, tag="beside_head"):
    """The services of a fleet's head ran on the machine meanwhile."""


class NotAllTogether(Note, tag="not_all_together"):
    """Of so many arms that are compared, only these took turns with one another: memory was not enough for all.

    Attributes:
        arms: All that are compared.
        together: Those that were alive with this run, itself among them; 1 where it was alone.
    """

    arms: int
    together: int

    @property
    def subject(self) -> tuple[Any, ...]:
        """Whether it was alone: that is another doubt than smaller groups."""
        return (self.together == 1,)


class EpochNotResident(Note, tag="epoch_not_resident"):
    """The images of an epoch did not stay on the GPU: every step uploaded its own.

    Attributes:
        images_bytes: Of an epoch's images as the floats of a plain trial; in 8 bits they take a quarter.
        limit_bytes: As many would have stayed there.
    """

    images_bytes: float
    limit_bytes: float


class LossNotFinite(Note, tag="loss_not_finite"):
    """The training loss ended as "nan", "inf" or "-inf", for which JSON has no numbers."""

    loss: str


class NotInspected(Note, tag="not_inspected"):
    """The framework could not say what ran; `error` is the exception's class."""

    error: str
    message: str


class NotEvaluated(Note, tag="not_evaluated"):
    """The test accuracy could not be measured; `error` is the exception's class."""

    error: str
    message: str

    @property
    def subject(self) -> tuple[Any, ...]:
        """Without the message, which may tell of sizes and addresses of this very run."""
        return (self.error,)


class NotReadAfterwards(Note, tag="not_read_afterwards"):
    """A number could not be read after the training; `error` is the exception's class.

    Attributes:
        what: Name of the number: "training loss", "peak memory", "memory that was taken" or "number of skipped steps".
    """

    what: str
    error: str
    message: str

    @property
    def subject(self) -> tuple[Any, ...]:
        """Without the message, as above."""
        return self.what, self.error


class EndedAfterMeasuring(Note, tag="ended_after_measuring"):
    """The run was measured, but ended before all was looked up that was asked for.

    Attributes:
        stage: In which it ended: "evaluate", "inspect" or "end".
        status: What the run's status would be, had it not been measured: "crashed", "oom", "timeout" or "unsupported".
        message: Why it ended.
    """

    stage: str
    status: str
    message: str

    @property
    def subject(self) -> tuple[Any, ...]:
        """Without the message, as above."""
        return self.stage, self.status


class ConvolutionsNotSeen(Note, tag="convolutions_not_seen"):
    """The layout and the dtype of the convolutions could not be looked up; `error` is the exception's class."""

    error: str


class PrecisionNotAsked(Note, tag="precision_not_asked"):
    """The convolutions ran in other dtypes than the layers were set to."""

    asked: tuple[str, ...]
    ran: tuple[str, ...]


class SetByFile(Note, tag="set_by_file"):
    """The file of the user's model set something in the whole process, which all that are compared have then.

    Attributes:
        setting: How it is read: "torch.get_num_threads()".
        before, after: What it was, and what the file made of it.
    """

    setting: str
    before: str
    after: str


class OtherNote(Note, tag="other"):
    """A sentence of an old ledger that is of no other kind."""

    text: str


AnyNote = reduce(or_, Note.__subclasses__())  # the union of all classes above


def scrubbed(note: AnyNote, scrub: Callable[[str], str]) -> AnyNote:
    """Return a note whose texts went through `scrub`."""
    texts = {name: scrub(v) for name, v in msgspec.structs.asdict(note).items() if isinstance(v, str)}
    return msgspec.structs.replace(note, **texts)
