"""What a lever is: a setting that can be switched on or off. Knows no framework and no single lever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainspeed.core.format import NAMES

ALL_FRAMEWORKS = ("tensorflow", "torch", "jax")
ALL_DEVICES = ("cpu", "gpu")
ON, OFF = "on", "off"
LEVERS_FACTOR = "levers"  # in verdicts: all levers of a trial that are no fields of it

Setting = tuple[str, str]  # name of a lever, value
Environment = Mapping[str, str]


def text_of(value: object) -> str:
    """Return a value of a lever, or of the field of a trial that one is, as the text that a lever has."""
    return (ON if value else OFF) if isinstance(value, bool) else str(value)


class Numbers(StrEnum):
    """What a lever does to the numbers that are computed."""

    SAME = "="  # the same arithmetic, up to the order of sums
    # Other rounding, another random stream, or statistics over another part of a batch: accuracy has to be compared.
    ROUNDING = "≈"
    MODEL = "Δ"  # another model or another training: judged by the time to equal accuracy


class Level(StrEnum):
    """Where a lever takes hold, from the outside in."""

    ENVIRONMENT = "environment"  # a variable that is read as the framework is imported
    IMPORT = "import"  # a flag of the process, before anything is built
    BUILD = "build"  # an argument of the model, its compiler, its optimiser
    LOOP = "loop"  # how batches come to the device, and steps are called
    STEP = "step"  # what is done in each step


class LeverKind(StrEnum):
    """Which way a lever is pulled."""

    SWITCH = "switch"  # off in a plain script: it may pay
    ALREADY_ON = "already on"  # on in a plain script: measured by switching it off
    OWN = (
        "Trainspeed's own"  # on in all runs, off in a plain script: measured by setting it as a script has it
    )
    BRAKE = "brake"  # slows a script down that has it: measured by switching it on


@dataclass(frozen=True, kw_only=True)
class Lever:
    """A setting that can be switched on or off.

    A trial carries (name, value) for each lever that differs from the default; one that it does not carry is left
    alone. The levers that are fields of a trial, such as its layout, are changed there instead.

    Attributes:
        name: In trials, parameters and the registry.
        words: What it is called in a sentence or a table: "fused optimizer".
        frameworks: Those that have it.
        devices: "cpu", "gpu": where it can do something.
        values: Those that it can be set to, the most promising first; none of a field, whose own check knows them.
        default: What a plain script has, in words.
        plain: Device -> the value that a plain script has there by itself, so that there is nothing to switch on.
        numbers: See `Numbers`.
        numbers_of: Value -> the same, of that value alone.
        level: See `Level`.
        kind: See `LeverKind`.
        kind_of: Value -> the same, of that value alone, where a plain script has it on some machines only.
        of_field: Whether it is a field of a trial.
        needs: Other lever -> values of it, one of which a trial must have.
        conflicts: Other lever -> values of it that a trial must not have; none named: any but its default.
        conflicts_of: Value -> the same, of that value alone.
        missing: Framework -> why it does not exist there.
        unfit: Device -> why it is not for that one, where it does something there.
        environment: Value -> the variables that set it; of the level `ENVIRONMENT` alone. Of LD_PRELOAD the value is
            the file name of a library, such as "libjemalloc.so.2"; "" takes one away with which each worker is started.
        packages: Value -> the packages that have the library which it preloads, in words.
        valued: Value -> what that value is called, where `words` will not do.
        evidence: How a run sees whether it was in effect, in words.
        source: Where what it promises is said, or its API.
    """

    name: str
    words: str
    frameworks: tuple[str, ...] = ALL_FRAMEWORKS
    devices: tuple[str, ...] = ALL_DEVICES
    values: tuple[str, ...] = (ON,)
    default: str = "off"
    plain: Mapping[str, str] = field(default_factory=dict)
    numbers: Numbers = Numbers.SAME
    numbers_of: Mapping[str, Numbers] = field(default_factory=dict)
    level: Level = Level.BUILD
    kind: LeverKind = LeverKind.SWITCH
    kind_of: Mapping[str, LeverKind] = field(default_factory=dict)
    of_field: bool = False
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    conflicts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    conflicts_of: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    unfit: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Environment] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    valued: Mapping[str, str] = field(default_factory=dict)
    evidence: str = ""
    source: str = ""

    def value_of(self, trial: Any) -> str | None:
        """Return its value in a trial; None where the trial leaves it alone."""
        if not self.of_field:
            return dict(trial.levers).get(self.name)
        return text_of(getattr(trial, self.name))

    def numbers_with(self, value: str | None) -> Numbers:
        """Return what it does to the numbers at a value."""
        return self.numbers_of.get(value, self.numbers)

    def kind_with(self, value: str) -> LeverKind:
        """Return which way it is pulled to come to a value."""
        return self.kind_of.get(value, self.kind)

    def named(self, value: str) -> str:
        """Return what it is called with a value."""
        if value in self.valued:
            return self.valued[value]
        return self.words if len(self.values) == 1 else f"{self.words}: {value}"

    def why_not(self, framework: str, device: str) -> str | None:
        """Return why it is not to be had with a framework on a device, "cpu" or "gpu"; None where it is."""
        if framework not in self.frameworks:
            return self.missing.get(framework) or f"{NAMES[framework]} has no such setting"
        if device not in self.devices:
            return self.unfit.get(device) or f"it does nothing on a {device.upper()}"
        return None
