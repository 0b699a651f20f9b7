"""All levers by name, and what holds of the levers of a trial. Knows no framework and no run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trainspeed.core.errors import NAME_FORM, UserError, check_name
from trainspeed.core.levers import brakes, compute, epochs, feeding, fields, host, keras, xla
from trainspeed.core.levers.lever import Lever, Setting

LEVERS: Mapping[str, Lever] = {
    lever.name: lever
    for module in (fields, compute, keras, xla, feeding, epochs, host, brakes)
    for lever in module.LEVERS
}

FORM = "must be name=value, such as 'optimizer=fused'."


def check_setting(name: object, value: object) -> None:
    """Raise a UserError, with a suggestion, where there is no such lever or it has no such value."""
    lever = LEVERS.get(name)
    if lever and not lever.of_field and value in lever.values:
        return
    if lever and lever.of_field:
        raise UserError("lever", name, f"is a field of a trial: give {name} its value there.", form=NAME_FORM)
    check_name("lever", name, [lever.name for lever in LEVERS.values() if not lever.of_field])
    check_name(f"value of the lever {name!r}", value, LEVERS[name].values)


def check_levers(trial: Any) -> None:
    """Raise a UserError where a trial has levers that its framework lacks, or that do not go together.

    Args:
        trial: A `core.trial.Trial`.
    """
    for name, value in trial.levers:
        lever = LEVERS[name]
        if trial.framework not in lever.frameworks:
            raise UserError(
                "lever",
                name,
                f"is not one of {trial.framework}'s: {lever.why_not(trial.framework, '')}.",
                form=NAME_FORM,
            )
        for other, values in lever.needs.items():
            if LEVERS[other].value_of(trial) not in values:
                raise UserError("lever", name, f"needs {_either(other, values)}.", form=NAME_FORM)
        of_value = lever.conflicts_of.get(value, {})
        for given, conflicts in ((name, lever.conflicts), (f"{name}={value}", of_value)):
            for other, values in conflicts.items():
                has = LEVERS[other].value_of(trial)
                if has in values or (not values and has is not None):
                    rule = f"does not go together with {other}={has}."
                    raise UserError("lever", given, rule, form=NAME_FORM)


def parse_levers(levers: str | Iterable[str | Sequence[str]]) -> tuple[Setting, ...]:
    """Return levers as a trial carries them, sorted by name.

    Args:
        levers: Each as "name=value", or as (name, value); a single one may stand alone.
    Raises:
        UserError: There is no such lever, it has no such value, or one is named twice.
    """
    given = [levers] if isinstance(levers, str) else levers
    if not isinstance(given, Iterable):
        raise UserError("levers", levers, FORM)
    settings = [_setting(one) for one in given]
    names = [name for name, _ in settings]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(
            "levers", ", ".join(map("=".join, settings)), f"names {twice[0]} twice: give it one value."
        )
    for name, value in settings:
        check_setting(name, value)
    return tuple(sorted(settings))


def chosen_levers(names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return lever -> those of its values that may be tried; none for all of them.

    Args:
        names: Each as "name", or as "name=value" for that value alone; several of one lever add up.
    Raises:
        UserError: There is no such lever, or it has no such value. What a field can be is the trial's to say.
    """
    chosen: dict[str, frozenset[str]] = {}
    for given in names:
        name, equals, value = (part.strip() for part in str(given).partition("="))
        check_name("lever", name, tuple(LEVERS))
        if not equals:
            chosen[name] = frozenset()
            continue
        if LEVERS[name].values:
            check_name(f"value of the lever {name!r}", value, LEVERS[name].values)
        if chosen.get(name, {value}):
            chosen[name] = chosen.get(name, frozenset()) | {value}
    return chosen


def is_switched(plain: Any, trial: Any) -> bool:
    """Whether a trial has any lever, a field or another, at a value that the plain one has not.

    Args:
        plain, trial: Two `core.trial.Trial`.
    """
    values = ((lever.value_of(trial), lever.value_of(plain)) for lever in LEVERS.values())
    return any(value not in (None, before) for value, before in values)


def levers_apart(one: Any, other: Any) -> frozenset[str]:
    """Return the names of the levers, fields or others, in which two `core.trial.Trial` differ."""
    return frozenset(lever.name for lever in LEVERS.values() if lever.value_of(one) != lever.value_of(other))


def in_environment(levers: Iterable[Setting]) -> tuple[Setting, ...]:
    """Return those of these levers that set a variable before their framework is imported."""
    return tuple((name, value) for name, value in levers if LEVERS[name].environment.get(value))


def environment_of(levers: Iterable[Setting]) -> dict[str, str]:
    """Return the variables that these levers set before their framework is imported."""
    variables: dict[str, str] = {}
    for name, value in levers:
        for variable, text in LEVERS[name].environment.get(value, {}).items():
            # Flags of one variable add up.
            variables[variable] = f"{variables[variable]} {text}" if variable in variables else text
    return variables


def words_of(levers: Iterable[Setting]) -> str:
    """Return what these levers are called: "fused optimizer, 2 threads"."""
    return ", ".join(LEVERS[name].named(value) for name, value in levers)


def words_apart(before: Collection[Setting], after: Collection[Setting]) -> list[str]:
    """Return what levers have beyond others, each by itself: ["8 steps a call", "without huge pages"]."""
    more = [setting for setting in after if setting not in before]
    # A lever at another value is told by the new one.
    fewer = [one for one in before if one not in after and one[0] not in dict(more)]
    return [*(words_of([one]) for one in more), *(f"without {words_of([one])}" for one in fewer)]


def _setting(one: object) -> Setting:
    if isinstance(one, str):
        name, equals, value = (part.strip() for part in one.partition("="))
        if not (name and equals and value):
            raise UserError("lever", one, FORM, form=NAME_FORM)
        return name, value
    if isinstance(one, Sequence) and len(one) == 2 and all(isinstance(part, str) for part in one):
        return one[0], one[1]
    raise UserError("lever", one, FORM, form=NAME_FORM)


def _either(name: str, values: tuple[str, ...]) -> str:
    return " or ".join(f"{name}={value}" for value in values)
