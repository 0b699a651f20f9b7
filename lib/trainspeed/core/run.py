"""What one fresh process measured of one trial, and what for: raw values; everything else is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from statistics import median
from typing import Any

import msgspec

from trainspeed.core.convolution import STAGES, AnyTrial
from trainspeed.core.result import Failure, RunResult

WAIT = "wait"  # stage: the waits for turns, which are no part of "train"
TIMED_STAGES = (*STAGES, "warm")  # of a convolution's run: its first call, and all that come after
DEFAULT_CLASSES = 10  # of the data sets that lines without `classes` were trained on
# A model has learned something from here on, of the way from guessing to knowing: 20 % with ten classes.
LEARNED_SHARE = 1 / 9
SCHEMA = 3  # raise when a field changes meaning


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


class Role(StrEnum):
    """What a run is for, apart from its trial; the value is its label in the ledger.

    A label may go on after the value: that of a recipe's step ends with the factor that it switches, "recipe:
    devices", that of a race with its levers, of a screen with its columns, of an elimination with its round, of what
    takes long with its blocks.
    """

    DATA = ""
    CONTROL = "A"  # the first half of an A/A control: data of its trial, too
    CONTROL_AGAIN = "A again"
    ANCHOR = "anchor"  # once more beside other batch sizes, for their line
    ALLOCATION = "default allocation"  # shows how much memory a framework takes when left alone
    BISECTED = "bisected"  # at a size that depends on earlier runs
    CONFIRMATION = "confirmation"
    RECIPE_STEP = "recipe: "
    FEASIBLE = "feasible"  # each switch alone, beside the plain trial
    LADDER = "batch ladder"  # larger and larger batches, which train another model
    SLOW_WAY = "slow way"  # what a plain script has, switched off; what slows it down, switched on
    RACE = "race: "  # switches that exclude each other
    SCREEN = "screen: "  # many switches at once, in mirror pairs
    TOGETHER = "together"  # what is promising, once: do these go together?
    ELIMINATE = "eliminate: "  # all that are promising, and each left out
    TOGGLE = "toggle: "  # what takes long, on and off beside all else that is promising
    RECIPE = "recipe"  # all switches together, in fresh blocks
    PLAIN_AGAIN = "plain again"  # the plain trial of those blocks once more: half of an A/A control

    @classmethod
    @cache  # a search asks for it of each of its runs at every step
    def of(cls, label: str) -> Role:
        """Return the role of a label; a label that is no role's is read as a recipe's step."""
        if label in cls._value2member_map_:
            return cls(label)
        return next((r for r in cls if r.endswith(": ") and label.startswith(r)), cls.RECIPE_STEP)


AGAIN = {Role.CONTROL: Role.CONTROL_AGAIN, Role.RECIPE: Role.PLAIN_AGAIN}  # halves of an A/A control
DATA_ROLES = frozenset({Role.DATA, Role.CONTROL, Role.BISECTED})  # of verdicts, tables and charts
# Looked at for their time alone: what a search keeps is evaluated in fresh blocks.
OF_SEARCH = {Role.FEASIBLE, Role.SLOW_WAY, Role.RACE, Role.SCREEN, Role.ELIMINATE, Role.TOGGLE, Role.TOGETHER}
TIMED_ONLY = frozenset(OF_SEARCH | {Role.PLAIN_AGAIN})


@dataclass(frozen=True, kw_only=True)
class Run(RunResult):
    """What one fresh process measured of one trial, and of what: one line of the ledger.

    Attributes:
        label: What the run is for, as in `Role`; empty for data.
        group: Number of the runs of a block that are compared and take turns, however they end; None of one alone.
        subgroup: Which of those were alive together, where memory was not enough for all of the group; else 0.
        block: Which repeat of the whole grid, from 0.
        reason: Why there is no result, in words that may be a framework's own.
        failure: The same as values; None where the run ended well.
        started_at: UTC, ISO 8601.
        monitor: Path of the monitor's CSV, relative to the ledger.
        node: The fleet's name of the machine that measured it, "a10g-2", or of the first of several; None without one.
        import_s: Seconds that the worker took to import the library; of convolutions only.
    """

    session: str
    study: str
    trial: AnyTrial
    block: int
    group: int | None = None
    subgroup: int = 0
    label: str = ""
    status: Status = Status.OK
    reason: str | None = None
    failure: Failure | None = None
    started_at: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    monitor: str | None = None
    node: str | None = None
    import_s: float | None = None
    schema: int = SCHEMA

    @property
    def is_final(self) -> bool:
        """Whether its trial would end so again, so that it is not tried in later blocks, nor in a resumed report."""
        failure = self.failure or Failure()
        return failure.final or (self.status in FINAL and not failure.lacked_time)

    @property
    def first_epoch_s(self) -> float | None:
        """The first epoch: it holds tracing, compiling and autotuning.

        None where other arms did so beside it, or not all was compiled anew. Where a last partial batch was dropped,
        its share of a later epoch is added, as the rest does not grow with the images.
        """
        if not self.epoch_s or self.built_beside or self.compiled_anew is False:
            return None
        return self.epoch_s[0] + (self.median_epoch_s or 0.0) * (1 - self._consumed)

    @property
    def median_epoch_s(self) -> float | None:
        """Median of `later_epoch_s`, scaled to the images asked for."""
        known = self.later_epoch_s and self.images_per_epoch
        return median(self.later_epoch_s) / self._consumed if known else None

    @property
    def later_epoch_s(self) -> tuple[float, ...]:
        """The epochs that count: of its counted turns, not the second; without turns, all after the first."""
        return sum((turn.counted_epoch_s for turn in self.counted_turns), ()) or self.epoch_s[1:]

    @property
    def round_s(self) -> dict[int, float]:
        """Round -> what is compared of the run's turn in it: the median call, or the median epoch as in `median_s`."""
        if self.call_s:
            return {turn.round: median(turn.call_s) for turn in self.turns}
        return {turn.round: median(turn.counted_epoch_s) / self._consumed for turn in self.turns}

    @property
    def round_clock_mhz(self) -> dict[int, float]:
        """Round -> the clock of the GPUs' multiprocessors at the end of the run's turn in it, where it is known."""
        return {turn.round: turn.sm_clock_mhz for turn in self.turns if turn.sm_clock_mhz}

    @property
    def round_throttle_reasons(self) -> dict[int, frozenset[str]]:
        """Round -> what held the GPUs' clocks down at the end of the run's turn in it, where it is known."""
        known = ((turn.round, turn.throttle_reasons) for turn in self.turns)
        return {number: frozenset(text.split("|")) for number, text in known if text is not None}

    @property
    def alive_with(self) -> tuple[str, str | None, int | None, int]:
        """The same for two runs of a block that took turns with one another, or that both took none."""
        return self.session, self.node, self.group, self.subgroup

    @property
    def block_key(self) -> tuple[int, str | None]:
        """The same for two runs that may be paired: of one block, and measured by one node."""
        return self.block, self.node

    @property
    def step_s(self) -> float | None:
        """Median duration of a training step in `later_epoch_s`, in seconds; of a ceiling or a sum, of one."""
        later = self.later_epoch_s
        return median(later) / (self.trial.steps_per_epoch * self.repeats) if later else None

    @property
    def median_s(self) -> float | None:
        """The time that is compared: of a training's later epoch, or of a convolution's warm call."""
        return self.median_call_s if self.call_s else self.median_epoch_s

    @property
    def trains(self) -> bool:
        """Whether it belongs to a model's training, in whole or in part: neither a convolution nor a ceiling."""
        return self.trial.phase.of_model

    @property
    def was_begun(self) -> bool:
        """Whether it was begun: not where it was known beforehand that memory is not enough."""
        return self.status is not Status.OOM or self.failure is None or self.failure.stage is not None

    @property
    def chance(self) -> float:
        """Test accuracy of guessing, 0 to 1."""
        return 1 / (self.classes or DEFAULT_CLASSES)

    @property
    def learned_from(self) -> float:
        """Test accuracy from which on a model is called better than guessing, 0 to 1."""
        return self.chance + LEARNED_SHARE * (1 - self.chance)

    @property
    def waited_s(self) -> float:
        """Seconds in which it waited for its turns."""
        return self.stages_s.get(WAIT, 0.0)

    @property
    def busy_s(self) -> float:
        """Seconds from its request to its end, without waits for turns; its share where others were built beside it."""
        built_s = self.trained_from_s + sum(self.epoch_s[:1]) if self.built_beside else 0.0
        all_s = sum(self.stages_s.values())
        return all_s - self.waited_s - built_s * self.built_beside / (1 + self.built_beside)

    @property
    def power_w(self) -> float | None:
        """Mean power of the devices in use while epochs after the first were timed, in watts; None where not known.

        In an older line the counter of a run without turns was read over its first epoch too, which draws less.
        """
        seconds = self.metered_s or sum(s for turn in self.turns for s in turn.epoch_s)
        return None if self.energy_j is None or not seconds else self.energy_j / seconds

    @property
    def epoch_energy_j(self) -> float | None:
        """Joules that the devices in use consume in an epoch as long as the median one; None where not known."""
        known = self.power_w is not None and self.median_epoch_s is not None
        return self.power_w * self.median_epoch_s if known else None

    @property
    def trained_from_s(self) -> float:
        """Seconds from its request to its first epoch."""
        return self.stages_s.get("start", 0.0) + self.stages_s.get("build", 0.0)

    @property
    def epochs_before_turns(self) -> int:
        """How many epochs it trained before its first turn, or without one."""
        return len(self.epoch_s) - sum(len(turn.epoch_s) for turn in self.turns)

    @property
    def timed_s(self) -> float:
        """Seconds within all epochs but the first, or within a convolution's calls."""
        cold = [s for stage, s in self.stages_s.items() if stage in TIMED_STAGES] if self.call_s else []
        return sum(self.epoch_s[1:]) + sum(cold)

    @property
    def _consumed(self) -> float:
        """Share of the images asked for that an epoch used."""
        return (self.images_per_epoch or self.trial.images_per_epoch) / self.trial.images_per_epoch

    @property
    def images_per_s(self) -> float | None:
        """Training throughput after the first epoch."""
        return self.trial.images_per_epoch / seconds if (seconds := self.median_epoch_s) else None

    @property
    def role(self) -> Role:
        """What the run is for."""
        return Role.of(self.label)

    @property
    def key(self) -> tuple[str, int, AnyTrial]:
        """What makes two lines of one study the same measurement, by whichever node: label, block and trial."""
        return self.label, self.block, self.trial

    def as_dict(self) -> dict[str, Any]:
        """Return the ledger line as a JSON object."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in LINE}


# The fields of a ledger line, in order: what was measured comes last. A reader of lines looks for the session and
# the study at their beginning.
_MEASURED = {measured.name for measured in fields(RunResult)}
LINE = ("schema", *sorted((f.name for f in fields(Run) if f.name != "schema"), key=_MEASURED.__contains__))
