"""What could be switched on in a training: levers at a value, as changes of a trial. Knows no run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from trainspeed.core.errors import UserError, check_name
from trainspeed.core.factors import TRAINING
from trainspeed.core.levers.feeding import QUEUE
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.levers.lever import Level, Lever, Numbers, Setting, text_of
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import SINGLE, STRATEGIES, Trial

DEFAULT_LAYOUT = {"torch": "channels_first", "tensorflow": "channels_last", "jax": "channels_last"}
# Fields of a trial that change with another one and are no switch of their own.
FOLLOWING = ("strategy",)


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
