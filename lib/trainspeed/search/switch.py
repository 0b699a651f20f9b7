"""What could be switched on in a training: levers at a value, as changes of a trial. Knows no run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from trainspeed.core.errors import UserError, check_name
from trainspeed.core.factors import TRAINING
from trainspeed.core.levers.feeding import QUEUE, RESIDENT_PIPELINES, loader_ladder, uploads
from trainspeed.core.levers.host import ALL_CORES, HALF_THREADS, LEAST_CORES_TO_HALVE
from trainspeed.core.levers.lever import Level, Lever, LeverKind, Numbers, Setting, text_of
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import PLAIN_PIPELINES, SINGLE, STRATEGIES, Trial

DEFAULT_LAYOUT = {"torch": "channels_first", "tensorflow": "channels_last", "jax": "channels_last"}
# Device -> precisions that are worth a try in place of the plain one, the most promising first; and what a framework
# has of them already: TensorFlow and JAX round to TF32 by themselves, PyTorch in convolutions only.
PRECISIONS = {"cpu": ("bf16",), "gpu": ("bf16", "fp16", "tf32")}
PLAIN_PRECISIONS = {"tensorflow": ("tf32",), "jax": ("tf32",)}
# Fields of a trial that change with another one and are no switch of their own.
FOLLOWING = ("strategy",)
MOST_LOADERS = 4  # ways to make batches that are raced, the most promising


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A lever at a value.

    Attributes:
        lever: Name of the lever: see `core.levers`.
        value: What it is set to.
        fields: Fields of a trial and what they become, where the lever is one, or needs one.
        settings: Levers and what they are set to, where they are no fields: its own and those that it needs.
    """

    lever: str
    value: str
    fields: tuple[tuple[str, Any], ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def entry(self) -> Lever:
        """The lever's entry in the registry."""
        return LEVERS[self.lever]

    @property
    def numbers(self) -> Numbers:
        """What it does to the numbers that are computed, with what it needs."""
        order = list(Numbers)
        values = {name: text_of(value) for name, value in (*self.fields, *self.settings)}
        own = (LEVERS[name].numbers_with(values.get(name)) for name in self.levers)
        return max(own, key=order.index)

    @property
    def levers(self) -> tuple[str, ...]:
        """Names of all levers that it changes: its own and those that it needs."""
        changed = (*(name for name, _ in self.fields), *(name for name, _ in self.settings))
        return tuple(dict.fromkeys((self.lever, *(name for name in changed if name in LEVERS))))

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the levers that it comes with."""
        return tuple(name for name in self.levers if name != self.lever and name not in FOLLOWING)

    @property
    def of_environment(self) -> bool:
        """Whether it is read as the framework is imported, so that it wants a worker of its own."""
        return any(LEVERS[name].level is Level.ENVIRONMENT for name in self.levers)

    @property
    def words(self) -> str:
        """What it is called: "channels_last", "bf16", "2 devices (ddp)", "fused optimizer"."""
        if not self.entry.of_field or self.value in self.entry.valued:
            return self.entry.named(self.value)
        row, fields = TRAINING[self.lever], dict(self.fields)
        words, queue = (
            row.words(SimpleNamespace(**dict.fromkeys(row.fields) | fields)),
            fields.get("queue", QUEUE),
        )
        return words if queue == QUEUE else f"{words} with a {TRAINING['queue'].value(queue)}"

    def on(self, trial: Trial) -> Trial:
        """Return the trial with this switched on.

        Raises:
            UserError: The trial cannot have it, as when its batch cannot be divided among so many devices.
        """
        return combined(trial, [self])

    def is_on(self, trial: Trial) -> bool:
        """Whether a trial has it."""
        has = dict(trial.levers)
        fields = all(getattr(trial, name) == value for name, value in self.fields)
        return fields and all(has.get(name) == value for name, value in self.settings)


Set = tuple[Switch, ...]  # switches that are on together


@dataclass(frozen=True, kw_only=True)
class NotHere:
    """A lever that cannot be pulled here, and why."""

    lever: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What there is to try.

    Attributes:
        switches: What could be on; of a lever with several values one for each.
        already_on: What a plain script has, each switched the slow way: measured, never in the recipe.
        own: What Trainspeed has in all runs, each switched to what a plain script has: likewise.
        brakes: What slows a script down that has it, each switched on: likewise.
        changing: Levers that train another model: never beside the others, as they need the time to equal accuracy.
        not_here: What cannot be tried, with the reason.
    """

    switches: tuple[Switch, ...] = ()
    already_on: tuple[Switch, ...] = ()
    own: tuple[Switch, ...] = ()
    brakes: tuple[Switch, ...] = ()
    changing: tuple[str, ...] = ()
    not_here: tuple[NotHere, ...] = ()

    @property
    def slow_ways(self) -> tuple[Switch, ...]:
        """What is measured by itself, mostly by making a script slower, and is in no recipe."""
        return self.already_on + self.own + self.brakes


def combined(trial: Trial, switches: Iterable[Switch]) -> Trial:
    """Return the trial with all of these switched on.

    Raises:
        UserError: The trial cannot have them, or two of them exclude each other.
    """
    fields: dict[str, Any] = {}
    settings = dict(trial.levers)
    given: dict[str, Switch] = {}
    for switch in switches:
        for into, pairs in ((fields, switch.fields), (settings, switch.settings)):
            for name, value in pairs:
                if name in given and into[name] != value:
                    rule = f"does not go together with {given[name].lever}: both set {name}."
                    raise UserError("lever", switch.lever, rule, form="{field} {value!r} {rule}")
                into[name], given[name] = value, switch
    if fields.get("strategy", SINGLE) != SINGLE and ALL_CORES[0] not in given:
        settings.pop(ALL_CORES[0], None)  # of the plain setting: each device has a core of its own
    return replace(trial, **fields, levers=tuple(settings.items()))


def compatible(trial: Trial, switches: Sequence[Switch]) -> bool:
    """Whether a trial can have all of these at once."""
    try:
        combined(trial, switches)
    except UserError:
        return False
    return True


def plain_trial(framework: str, model: str, **fields: Any) -> Trial:
    """Return the plain baseline: the framework's default layout and precision, not compiled, one device, no lever."""
    check_name("framework", framework, tuple(STRATEGIES))
    defaults = {"layout": DEFAULT_LAYOUT[framework], "compile": framework == "jax"}
    return Trial(framework=framework, model=model, **defaults | fields)


def candidates(
    start: Trial,
    device: str,
    devices: int = 1,
    names: Collection[str] = (),
    *,
    cores: int = 1,
    gpu_bytes: int | None = None,
) -> Candidates:
    """Return what there is to try on a plain trial.

    Args:
        device: "cpu" or "gpu".
        devices: How many there are.
        names: Of the levers that may be tried; none for all.
        cores: That an input pipeline may use.
        gpu_bytes: Memory of the smallest GPU; None where it is not known.
    Raises:
        UserError: There is no such lever.
    """
    for name in names:
        check_name("lever", name, tuple(LEVERS))
    by_kind: dict[LeverKind, list[Switch]] = {kind: [] for kind in LeverKind}
    changing, not_here = [], []
    for lever in LEVERS.values():
        if (names and lever.name not in names) or lever.name in FOLLOWING:
            continue
        if reason := lever.why_not(start.framework, device):
            not_here.append(NotHere(lever=lever.name, reason=reason))
            continue
        if lever.numbers is Numbers.MODEL:
            changing.append(lever.name)
            continue
        if device == "gpu" and "resident" in lever.needs and not uploads(start, gpu_bytes):
            # Images that are uploaded for its sake alone would be measured with it.
            not_here.append(
                NotHere(lever=lever.name, reason="the images stay on the GPU: nothing is uploaded")
            )
            continue
        found = _switches(lever, start, device, devices, cores)
        by_kind[lever.kind] += (one for one in found if isinstance(one, Switch))
        if not any(isinstance(one, Switch) for one in found):
            not_here += found[:1]
    return Candidates(
        switches=tuple(by_kind[LeverKind.SWITCH]),
        already_on=tuple(by_kind[LeverKind.ALREADY_ON]),
        own=tuple(by_kind[LeverKind.OWN]),
        brakes=tuple(by_kind[LeverKind.BRAKE]),
        changing=tuple(changing),
        not_here=tuple(not_here),
    )


def _switches(lever: Lever, start: Trial, device: str, devices: int, cores: int) -> list[Switch | NotHere]:
    """Return a switch for each value of a lever that the trial can have, and why it cannot have the others."""
    if lever.name == "resident" and start.pipeline not in RESIDENT_PIPELINES:
        return [NotHere(lever=lever.name, reason="this pipeline makes new images: they are uploaded anyway")]
    if not lever.of_field:
        there = (lever.value_of(start), lever.plain.get(device))
        values = [value for value in lever.values if value not in there]
        if lever.name == "steps_per_call":  # Keras would train more steps than an epoch has
            values = [v for v in values if not v.isdecimal() or start.steps_per_epoch % int(v) == 0]
        if cores < LEAST_CORES_TO_HALVE:
            values = [value for value in values if (lever.name, value) != HALF_THREADS]
        found = [_with_needs(lever, value, start, devices) for value in values]
    else:
        found = _of_field(lever.name, start, device, devices, cores)
    return [_possible(one, start) if isinstance(one, Switch) else one for one in found]


def _of_field(name: str, start: Trial, device: str, devices: int, cores: int) -> list[Switch | NotHere]:
    if name == "devices" and devices <= start.devices:
        return [NotHere(lever=name, reason="there is one device" if devices == 1 else "all are in use")]
    if name == "pipeline" and start.pipeline in PLAIN_PIPELINES:
        return [NotHere(lever=name, reason="the images are in memory already, and are not augmented")]
    if name == "precision":
        plain = PLAIN_PRECISIONS.get(start.framework, ())
        values = [{name: value} for value in PRECISIONS[device] if value not in plain]
    elif name == "pipeline":
        ladder = loader_ladder(start.framework, cores, augment=start.augment)
        values = [rung for rung in ladder if _differs(start, rung)][:MOST_LOADERS]
    elif TRAINING[name].switch is None:
        return [NotHere(lever=name, reason="nothing but the plain value is known for it")]
    else:
        values = [TRAINING[name].switch(start, devices)]
    new = [fields for fields in values if _differs(start, fields)]
    if not new:
        return [NotHere(lever=name, reason="the plain trial has it already")]
    named = [(LEVERS[name].value_of(SimpleNamespace(**fields)), fields) for fields in new]
    return [Switch(lever=name, value=value, fields=tuple(fields.items())) for value, fields in named]


def _differs(start: Trial, fields: Mapping[str, Any]) -> bool:
    return any(getattr(start, key) != to for key, to in fields.items())


def _with_needs(lever: Lever, value: str, start: Trial, devices: int) -> Switch | NotHere:
    """Return a switch that sets what the lever needs, too, where the plain trial lacks it."""
    fields: dict[str, Any] = {}
    settings = {lever.name: value}
    for other, values in lever.needs.items():
        needed = LEVERS[other]
        if needed.value_of(start) in values:
            continue
        if not needed.of_field:
            settings[other] = values[0]
        else:
            row = TRAINING["devices" if other == "strategy" else other]
            known = row.switch(start, devices) if row.switch else {}
            if text_of(known.get(other)) not in values:
                return NotHere(lever=lever.name, reason=f"it needs {other}={' or '.join(values)}")
            fields |= known
    return Switch(
        lever=lever.name, value=value, fields=tuple(fields.items()), settings=tuple(settings.items())
    )


def _possible(switch: Switch, start: Trial) -> Switch | NotHere:
    try:
        switch.on(start)
    except UserError as problem:
        return NotHere(lever=switch.lever, reason=str(problem))
    return switch
