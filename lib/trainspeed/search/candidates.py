"""What there is to try on a plain trial: levers at their values, and why others cannot be had here. Knows no run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

from trainspeed.core.errors import NAME_FORM, UserError, check_name
from trainspeed.core.factors import TRAINING
from trainspeed.core.levers.feeding import RESIDENT_PIPELINES, loader_ladder, uploads
from trainspeed.core.levers.host import HALF_THREADS, LEAST_CORES_TO_HALVE, plain_values
from trainspeed.core.levers.lever import OFF, ON, Lever, LeverKind, Numbers, text_of
from trainspeed.core.levers.registry import LEVERS, chosen_levers
from trainspeed.core.trial import LAYOUTS, PIPELINES, PLAIN_PIPELINES, PRECISIONS, STRATEGIES, Trial
from trainspeed.search.switch import FOLLOWING, Switch

# Device -> precisions that are worth a try in place of the plain one, the most promising first; and what a framework
# has of them already: TensorFlow and JAX round to TF32 by themselves, PyTorch in convolutions only.
WORTHWHILE = {"cpu": ("bf16",), "gpu": ("bf16", "fp16", "tf32")}
PLAIN_PRECISIONS = {"tensorflow": ("tf32",), "jax": ("tf32",)}
# Those of the fields of a trial; of the others a number.
FIELD_VALUES = {
    "layout": LAYOUTS,
    "precision": PRECISIONS,
    "compile": (ON, OFF),
    "pipeline": PIPELINES,
    "strategy": tuple(dict.fromkeys(name for names in STRATEGIES.values() for name in names)),
}
STEPS_IN_A_CALL = ("steps_per_call", "scan_steps")
ORDER = "loader_order"
OF_LOADERS = ("pipeline", "loader_persistent", ORDER, "loader_context", "private_threads")
IN_MEMORY = (
    "the images are in memory already, and are not augmented; with the parameter pipeline=generator, by which batches "
    "are made as it trains, loaders are tried"
)
ON_MOST = plain_values({})  # what a plain script has by itself on a machine of which nothing is known
MOST_LOADERS = 4  # ways to make batches that are raced, the most promising


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
        aside: What is here of all of these and was not to be tried.
        not_here: What cannot be tried, with the reason.
    """

    switches: tuple[Switch, ...] = ()
    already_on: tuple[Switch, ...] = ()
    own: tuple[Switch, ...] = ()
    brakes: tuple[Switch, ...] = ()
    changing: tuple[str, ...] = ()
    aside: tuple[Switch, ...] = ()
    not_here: tuple[NotHere, ...] = ()

    @property
    def slow_ways(self) -> tuple[Switch, ...]:
        """What is measured by itself, mostly by making a script slower, and is in no recipe."""
        return self.already_on + self.own + self.brakes


def candidates(
    start: Trial,
    device: str,
    devices: int = 1,
    names: Collection[str] = (),
    *,
    cores: int = 1,
    gpu_bytes: int | None = None,
    plain: Mapping[str, str] = ON_MOST,
    lacking: Mapping[str, str] = MappingProxyType({}),
) -> Candidates:
    """Return what there is to try on a plain trial.

    Args:
        device: "cpu" or "gpu".
        devices: How many there are.
        names: Of the levers that may be tried, or "name=value" for one of its values; none for all.
        cores: That an input pipeline may use.
        gpu_bytes: Memory of the smallest GPU; None where it is not known.
        plain: Lever -> the value that a plain script has on this machine by itself: see `levers.host.plain_values`.
        lacking: Lever -> why this machine has it not: see `levers.compute.without_arithmetic`.
    Raises:
        UserError: There is no such lever, or it has no such value.
    """
    chosen = chosen_levers(names)
    by_kind: dict[LeverKind, list[Switch]] = {kind: [] for kind in LeverKind}
    changing, aside, not_here = [], [], []
    for lever in LEVERS.values():
        if lever.name in FOLLOWING:
            if lever.name in chosen:
                not_here.append(NotHere(lever=lever.name, reason="it comes with devices: name that"))
            continue
        if reason := lever.why_not(start.framework, device) or lacking.get(lever.name):
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
        found = _switches(lever, start, device, devices, cores, plain.get(lever.name))
        if chosen and lever.name not in chosen:
            aside += (one for one in found if isinstance(one, Switch))
        else:
            found = _wanted(found, chosen.get(lever.name), plain.get(lever.name))
            for one in found:
                if isinstance(one, Switch):
                    by_kind[lever.kind_with(one.value)].append(one)
        if not any(isinstance(one, Switch) for one in found):
            not_here += found[:1]
    return Candidates(
        switches=tuple(by_kind[LeverKind.SWITCH]),
        already_on=tuple(by_kind[LeverKind.ALREADY_ON]),
        own=tuple(by_kind[LeverKind.OWN]),
        brakes=tuple(by_kind[LeverKind.BRAKE]),
        changing=tuple(changing),
        aside=tuple(aside),
        not_here=tuple(not_here),
    )


def check_field_values(names: Iterable[str]) -> None:
    """Raise a UserError, with a suggestion, where one of these levers is a field of a trial and has no such value.

    Args:
        names: As of `candidates`.
    """
    for name, values in chosen_levers(names).items():
        what = f"value of the lever {name!r}"
        for value in values if LEVERS[name].of_field else ():
            if name in FIELD_VALUES:
                check_name(what, value, FIELD_VALUES[name])
            elif not value.isdecimal():
                raise UserError(what, value, "must be a whole number, such as 2.", form=NAME_FORM)


def _wanted(
    found: list[Switch | NotHere], values: Collection[str] | None, plain: str | None
) -> list[Switch | NotHere]:
    """Return the switches to these values alone, and why others cannot be; all without any value."""
    if not values or not found:
        return found
    left = [one for one in found if isinstance(one, NotHere) or one.value in values]
    lever = found[0].lever
    here = ", ".join(one.value for one in found if isinstance(one, Switch))
    reason = f"{lever} has no {' or '.join(sorted(values))} to try here: {here} can be tried"
    if {*values} == {plain}:
        reason = f"a plain script has {lever}={plain} by itself on this machine"
    return left or [NotHere(lever=lever, reason=reason)]


def _switches(
    lever: Lever, start: Trial, device: str, devices: int, cores: int, plain: str | None
) -> list[Switch | NotHere]:
    """Return a switch for each value of a lever that the trial can have, and why it cannot have the others."""
    if lever.name == "resident" and start.pipeline not in RESIDENT_PIPELINES:
        return [NotHere(lever=lever.name, reason="this pipeline makes new images: they are uploaded anyway")]
    if lever.name in OF_LOADERS and start.pipeline in PLAIN_PIPELINES:
        return [NotHere(lever=lever.name, reason=IN_MEMORY)]
    if lever.name == ORDER and start.workers == 1:
        return [NotHere(lever=lever.name, reason="one worker has one order only")]
    if not lever.of_field:
        there = (lever.value_of(start), lever.plain.get(device), plain)
        values = [value for value in lever.values if value not in there]
        if lever.name in STEPS_IN_A_CALL:  # Keras would train more steps than an epoch has
            values = [v for v in values if not v.isdecimal() or start.steps_per_epoch % int(v) == 0]
        if cores < LEAST_CORES_TO_HALVE:
            values = [value for value in values if (lever.name, value) != HALF_THREADS]
        found = [_with_needs(lever, value, start, devices, cores) for value in values]
    else:
        found = _of_field(lever.name, start, device, devices, cores)
    return [_possible(one, start) if isinstance(one, Switch) else one for one in found]


def _of_field(name: str, start: Trial, device: str, devices: int, cores: int) -> list[Switch | NotHere]:
    if name == "devices" and devices <= start.devices:
        return [NotHere(lever=name, reason="there is one device" if devices == 1 else "all are in use")]
    if name == "precision":
        plain = PLAIN_PRECISIONS.get(start.framework, ())
        values = [{name: value} for value in WORTHWHILE[device] if value not in plain]
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


def _with_needs(lever: Lever, value: str, start: Trial, devices: int, cores: int) -> Switch | NotHere:
    """Return a switch that sets what the lever needs, too, where the plain trial lacks it."""
    fields: dict[str, Any] = {}
    settings = {lever.name: value}
    for other, values in lever.needs.items():
        needed = LEVERS[other]
        if needed.value_of(start) in values:
            continue
        if lever.kind_with(value) is not LeverKind.SWITCH:
            # Beside the plain trial, it would be measured together with what it needs.
            return NotHere(lever=lever.name, reason=f"a plain trial needs {_either(other, values)} for it")
        if not needed.of_field:
            settings[other] = values[0]
            continue
        if other == "pipeline":
            known = _rung(lever, values, start, cores)
        else:
            row = TRAINING["devices" if other == "strategy" else other]
            known = row.switch(start, devices) if row.switch else {}
        if text_of(known.get(other)) not in values:
            return NotHere(lever=lever.name, reason=f"it needs {_either(other, values)}")
        fields |= known
    return Switch(
        lever=lever.name, value=value, fields=tuple(fields.items()), settings=tuple(settings.items())
    )


def _rung(lever: Lever, pipelines: Collection[str], start: Trial, cores: int) -> Mapping[str, Any]:
    """Return the fields of the most promising of these pipelines; none where the ladder has none of them."""
    able = {*pipelines} - ({*RESIDENT_PIPELINES} if "resident" in lever.needs else set())
    ladder = loader_ladder(start.framework, cores, augment=start.augment)
    rungs = (rung for rung in ladder if lever.name != ORDER or rung["workers"] != 1)
    return next((rung for rung in rungs if rung["pipeline"] in able), {})


def _either(lever: str, values: Collection[str]) -> str:
    return f"{lever}={' or '.join(values)}"


def _possible(switch: Switch, start: Trial) -> Switch | NotHere:
    try:
        switch.on(start)
    except UserError as problem:
        return NotHere(lever=switch.lever, reason=str(problem))
    return switch
