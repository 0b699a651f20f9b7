"""What a worker measures and hands to the runner: typed, so that both sides know the same fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import msgspec

from trainspeed.core.notes import AnyNote
from trainspeed.core.probe import ProbeValue
from trainspeed.core.quantities import Amount, Count, Durations, Elapsed, Name, Number, Size, Whole
from trainspeed.core.trial import LAYOUTS

DISTURBED_CORES = 0.2  # used by others: from there on a turn's times were seen to change
FEWEST_QUIET = 2  # turns that tell by themselves how fast a run is; of many, a third
# Kinds of work that have a switch for TF32 of their own, in PyTorch.
CONVOLUTIONS, PRODUCTS = TF32_WORK = ("convolutions", "matrix products")


def fewest_quiet(turns: int) -> int:
    """Return how many of so many turns have to be left alone by others, so that these alone count."""
    return max(FEWEST_QUIET, turns // 3)


class EffectivePrecision(msgspec.Struct, frozen=True, kw_only=True):
    """The dtypes in which the convolutions computed.

    Attributes:
        dtypes: dtype -> number of convolutions; None where the number is not known.
        asked: True where what ran could not be found out: these are the dtypes that the layers were set to.
    """

    dtypes: Mapping[str, int | None]
    asked: bool = False


def layouts_text(layouts: Mapping[str, int | None] | None) -> str | None:
    """Return layout -> number of convolutions in words; None where it was not looked up."""
    if not layouts:
        return None
    # Any other order of the dimensions is XLA's: b is the batch, 0 and 1 are height and width, f the channels.
    # "unknown" is a data format of TensorFlow that is neither of the layouts.
    names = {name: name if name in (*LAYOUTS, "unknown") else f"XLA's order {name}" for name in layouts}
    if len(layouts) == 1:
        return next(iter(names.values()))
    parts = ", ".join(f"{names[name]} in {layouts[name]}" for name in sorted(layouts))
    return f"mixed: {parts} of {sum(layouts.values())} convolutions"


def precision_text(precision: EffectivePrecision | None, tf32: Sequence[str] | None = None) -> str | None:
    """Return the dtypes that ran in words; None where they were not looked up.

    Args:
        tf32: As in `RunResult`.
    """
    if precision is None or not precision.dtypes:
        return None
    text = " and ".join(sorted(precision.dtypes)) + (" (asked)" if precision.asked else "")
    return f"{text}, {tf32_text(tf32)}" if tf32 and "float32" in precision.dtypes else text


def tf32_text(tf32: Sequence[str]) -> str:
    """Return in which work TF32 is allowed, in words."""
    if not tf32:
        return "no TF32"
    return "TF32 allowed" if len(tf32) == len(TF32_WORK) else f"TF32 allowed in {' and '.join(tf32)}"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How a run failed, as values; its reason says it in words.

    Attributes:
        stage: Stage in which it failed: "start", "build", "train" and so on; None where it did not begin.
        error: Class of the exception, or name of the signal; None where there was none.
        cause: What its text means, as in `trainspeed.worker.device_errors.Cause`; None where that is not known, and in
            older lines.
        in_user_file: Whether the user's own model or data is the cause.
        final: Whether it was the last of several crashes alike: see `trainspeed.conduct.crashes`.
        needs_s: Seconds that a block of it would have taken at least, where there was not as much time; else None.
    """

    stage: str | None = None
    error: str | None = None
    cause: str | None = None
    in_user_file: bool = False
    final: bool = False
    needs_s: Amount | None = None

    @property
    def lacked_time(self) -> bool:
        """Whether its block was given up for want of time: that says nothing of the trial."""
        return self.needs_s is not None


# The value of a lever that was seen in effect, None where it could not be seen, and how it was looked for.
Seen = tuple[str | None, str]


class GpuMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a run took of a GPU's memory, as the driver counts it; of several GPUs, the one that it took most of.

    Attributes:
        before_bytes: In use before the run touched the GPU.
        taken_bytes: What came to that until its training had ended.
        total_bytes: Size of the memory.
    """

    before_bytes: Count
    taken_bytes: Whole
    total_bytes: Size


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one arm of a block did while the others rested: a training its epochs, a convolution its calls.

    Attributes:
        round: In each round every arm of the block has a turn; from 0.
        place: Which of the round's turns it was, from 0.
        start_s: Seconds from the run's request to the turn's first step.
        end_s: The same to its end; None in older lines.
        epoch_s: Duration of each of its epochs, in seconds.
        lead_in: How many of these, from the first on, do not count: see `turn_plan.lead_in_of`.
        call_s, resident_s: Those of its calls, as in `CallTimes`.
        sm_clock_mhz: Clock of the GPUs' multiprocessors at its end, a mean over the GPUs in use; None where
            there is none, or it cannot be read, and in older lines.
        throttle_reasons: What held their clocks down then, on any of them, as in a `Sample`; None likewise.
        others_cores: Cores that other processes and the hypervisor had in it, on average, of those that the arms of the
            block run on (in older lines, of all); None where that cannot be told, as of a turn of less than 0.1 s
            (0.2 s on many cores), and in still older lines.
    """

    round: Number
    place: Number
    start_s: Elapsed
    end_s: Elapsed | None = None
    epoch_s: Durations = ()
    lead_in: Number = 0
    call_s: Durations = ()
    resident_s: Durations = ()
    sm_clock_mhz: Amount | None = None
    throttle_reasons: Name | None = None
    others_cores: Amount | None = None

    @property
    def counted_epoch_s(self) -> tuple[float, ...]:
        """Its epochs that count; all where none would."""
        return tuple(self.epoch_s[self.lead_in :] or self.epoch_s)

    @property
    def is_disturbed(self) -> bool:
        """Whether others had so much of the cores that what was measured is not the run's own pace."""
        return self.others_cores is not None and self.others_cores > DISTURBED_CORES


class LinkSum(msgspec.Struct, frozen=True, kw_only=True):
    """How long the devices took to sum a message of one size.

    Attributes:
        size_bytes: Of the message, which every device has one of.
        sum_s: Seconds of one sum: of each epoch after the first, the mean over its sums.
    """

    size_bytes: Size
    sum_s: Durations


@dataclass(frozen=True, kw_only=True)
class CallTimes:
    """How long a convolution took: see `trainspeed.worker.convolution.calls`.

    Attributes:
        call_s: Duration of warm calls, from images in the host's memory to the result there, in seconds. Of a turn
            of many calls there are about 20 values: the medians of as many calls that followed each other.
        resident_s: The same without transfers, data staying on the device; each a mean over several calls.
        warm_s: Stage -> its seconds in each of other warm calls, which wait after every stage.
        placement: Devices that the result was computed on, as the library names them.
    """

    call_s: tuple[float, ...] = ()
    resident_s: tuple[float, ...] = ()
    warm_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    placement: str | None = None


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a model is and what ran, looked up after the timed epochs; None where it could not be found out.

    Attributes:
        effective_layout: Layout that the convolutions really ran in -> number of them; None where the number
            is not known.
        effective_precision: The dtypes in which the convolutions really ran.
        layers: Layer table of the model (see `trainspeed.core.layer_table`), in the first block only.
        parameters: Number of the model's trainable parameters.
        step_flops: Floating-point operations of a step, 2 per multiply-add.
        step_bytes: Least memory traffic of a step in fp32, in bytes; an estimate.
        profile: How a step's time splits (`matrix_share`, 0 to 1) and the kernels that took most.
        notes: What makes the run doubtful; empty when clean.
    """

    effective_layout: Mapping[str, int | None] | None = None
    effective_precision: EffectivePrecision | None = None
    layers: tuple[Mapping[str, Any], ...] | None = None
    parameters: int | None = None
    step_flops: float | None = None
    step_bytes: float | None = None
    profile: Mapping[str, Any] | None = None
    notes: tuple[AnyNote, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunResult(Inspection, CallTimes):
    """What was measured of one trial in one process; where the run failed, what was measured until then.

    Attributes:
        epoch_s: Duration of each epoch, in seconds, in the order measured; the first is epoch_s[0].
        stages_s: Seconds of "start" (request to ready child), "build" (model on device), "train"
            (all epochs), "wait" (for its turns), "inspect" (levers, and at last layout and layers) and "evaluate"
            (test images), in this order; of a convolution, of the first call's stages.
        images_per_epoch: Images consumed by one epoch, summed over all devices.
        repeats: How often each step after the first epoch did its work: once where a model trains; a ceiling and an
            exchange of gradients do it until an epoch is long enough.
        classes: Number of classes of the data set; None where nothing was trained, and in older lines.
        test_accuracy: Share of held-out images classified correctly, 0 to 1; None where it was not asked for.
        peak_memory_bytes: Peak on the fullest device by the framework's allocator; on a CPU what the
            process added to its resident memory, compilers too. None where it cannot be read, and of a run that took
            programs of earlier ones.
        gpu_memory: What the framework's default allocation took; None of a run that was not for that.
        energy_j: Joules that the devices in use consumed over `metered_s`, by their counters; None of several nodes,
            as only one of them reads its own.
        metered_s: Seconds of the epochs after the first that their counters were read over; of a run that took turns,
            of these alone. None where there is no counter, or where the time was too short for it, and in older lines,
            whose `energy_j` is that of all turns; without turns, of all epochs, the first among them.
        built_beside: How many other arms were built and trained their first epoch at the same time, each on a core of
            its own or all on all cores, which may have taken longer for it; 0 where it did so alone, as in older lines.
        compiled_anew: Whether the process traced, compiled and autotuned all that it trained with, and took nothing
            of it from a cache; False where its compiler could take programs of earlier runs of the same session: see
            `programs`; None in older lines.
        tf32: Kinds of work (`TF32_WORK`) in which the device may round 32-bit numbers to TF32, by the framework's
            switches as they were; empty where none: in strict fp32, on a CPU, on a GPU before Ampere. None where it
            was not asked, and in older lines.
        gpu_load_percent: Load of the GPUs in use, as in a `Sample`, on average over the ends of its turns; without
            turns, of its epochs after the first. None where it is not known, and in older lines.
        turns: Turns that it took; their epochs are in `epoch_s`, too, their calls in `call_s` and `resident_s`. Empty
            where it ran alone.
        link_sums: Sums of several sizes, the smallest first; of the phase that measures a link, else empty.
        waiting_cores: CPU cores that it used on average while it waited for its turns.
        waiting_gpu: Share of the GPU that it used most, 0 to 1, on average while it waited for its turns, by the
            driver's samples; None where that does not tell, where it had no GPU or no turns, and in older lines.
        no_waiting_gpu: Why that is not known of a run that waited with a GPU.
        in_effect: Name of each lever of the trial -> what was seen of it, and of the fields of a trial that
            are levers; empty where nothing was looked up. Older lines lack the fields.
        probe: What a probe measured, by name, in the units that the names end in; empty of every other trial.
        skipped_steps: Steps left out because a scaled gradient overflowed; None where nothing is scaled.
    """

    epoch_s: tuple[float, ...] = ()
    stages_s: Mapping[str, float] = field(default_factory=dict)
    images_per_epoch: int | None = None
    repeats: int = 1
    classes: int | None = None
    test_accuracy: float | None = None
    peak_memory_bytes: int | None = None
    gpu_memory: GpuMemory | None = None
    energy_j: float | None = None
    metered_s: float | None = None
    gpu_load_percent: float | None = None
    probe: Mapping[str, ProbeValue] = field(default_factory=dict)
    skipped_steps: int | None = None
    built_beside: int = 0
    compiled_anew: bool | None = None
    tf32: tuple[Name, ...] | None = None
    turns: tuple[Turn, ...] = ()
    link_sums: tuple[LinkSum, ...] = ()
    waiting_cores: float | None = None
    waiting_gpu: float | None = None
    no_waiting_gpu: str | None = None
    in_effect: Mapping[str, Seen] = field(default_factory=dict)

    @property
    def counted_turns(self) -> tuple[Turn, ...]:
        """The turns that tell how fast it is: those that others left alone; all where these are too few."""
        quiet = tuple(turn for turn in self.turns if not turn.is_disturbed)
        return quiet if len(quiet) >= fewest_quiet(len(self.turns)) else self.turns

    @property
    def median_call_s(self) -> float | None:
        """Median of a convolution's warm calls: of its counted turns."""
        calls = tuple(s for turn in self.counted_turns for s in turn.call_s) or self.call_s
        return median(calls) if calls else None

    @property
    def median_resident_s(self) -> float | None:
        """Median of a convolution's calls whose data stay on the device: of its counted turns."""
        calls = tuple(s for turn in self.counted_turns for s in turn.resident_s) or self.resident_s
        return median(calls) if calls else None
