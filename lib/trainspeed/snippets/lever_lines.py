"""What a program to paste has for the levers of its trial: lines, keyword arguments and variables, each at its place.

Before the first of a lever's lines a comment says what the lever is and what it does to the numbers. Text only: a lever
whose line takes the place of another, or stands in the loop, is in the templates; `torch_lines` and `keras_lines` have
the others.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from trainspeed.core.levers.lever import Kind, Lever, Numbers
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import Trial

Lines = Mapping[
    str, str
]  # place in the program -> lines there, or the keyword arguments of what is called there
Pasted = Mapping[str, Callable[[str], Lines]]  # lever -> value -> its lines

NUMBERS = {
    Numbers.SAME: "same numbers",
    Numbers.ROUNDING: "other rounding",
    Numbers.MODEL: "changes the training",
}
KINDS = {
    Kind.SWITCH: "",
    Kind.ALREADY_ON: "; without this it is on",
    Kind.BRAKE: "; a brake: remove it",
}
# Read as the program is loaded, before its first line: set where it is started.
LOADED = ("LD_", "GLIBC_", "MALLOC_", "TCMALLOC_", "KMP_", "OMP_", "GOMP_")


class LeverLines:
    """The lines of a trial's levers.

    Args:
        pasted: Those of its framework.
    Raises:
        LookupError: A lever has neither lines nor variables.
    """

    def __init__(self, trial: Trial, pasted: Pasted) -> None:
        self._values = dict(trial.levers)
        self._lines = {name: pasted[name](value) for name, value in trial.levers if name in pasted}
        for name, value in trial.levers:
            if not self._lines.get(name) and not self._variables(name):
                raise LookupError(f"the lever {name}={value} has no lines for {trial.framework}.")

    def value(self, name: str) -> str | None:
        """Return the value of a lever; None where it is left alone."""
        return self._values.get(name)

    def comments(self, *names: str) -> list[str]:
        """Return the comments of those of these levers that the trial has."""
        return [comment_of(LEVERS[name], self._values[name]) for name in names if name in self._values]

    def at(self, place: str) -> list[str]:
        """Return the lines of a place, each lever's below its comment."""
        return [
            line
            for name, lines in self._lines.items()
            if place in lines
            for line in (*self.comments(name), *lines[place].splitlines())
        ]

    def imports(self, place: str) -> list[str]:
        """Return the lines of a place without comments, each once."""
        return [*dict.fromkeys(lines[place] for lines in self._lines.values() if place in lines)]

    def keywords(self, call: str) -> str:
        """Return the keyword arguments of a call, to stand behind others: ", fused=True"."""
        return "".join(f", {lines[call]}" for lines in self._lines.values() if call in lines)

    def before(self, call: str) -> list[str]:
        """Return the comments of the levers that have keyword arguments of a call."""
        return self.comments(*(name for name, lines in self._lines.items() if call in lines))

    @property
    def variables(self) -> list[str]:
        """The lines that set what is read as the framework is imported."""
        lines: list[str] = []
        already: set[str] = set()
        for name in self._values:
            own = {key: text for key, text in self._variables(name).items() if not key.startswith(LOADED)}
            lines += self.comments(name) if own else []
            for key, text in own.items():  # flags of one variable add up
                lines.append(
                    f'os.environ["{key}"] {"+= " if key in already else "= "}"{" " * (key in already)}{text}"'
                )
                already.add(key)
        return lines

    @property
    def shell(self) -> str:
        """What stands before the command that starts the program: "NAME=value "."""
        loaded: dict[str, list[str]] = {}
        for name in self._in_shell():
            for key, text in self._variables(name).items():
                if key.startswith(LOADED):
                    loaded.setdefault(key, []).append(text)
        return "".join(f"{key}={shlex.quote(' '.join(texts))} " for key, texts in loaded.items())

    @property
    def before_shell(self) -> list[str]:
        """The comments of the levers whose variables stand before the command."""
        return self.comments(*self._in_shell())

    def _in_shell(self) -> list[str]:
        return [n for n in self._values if any(key.startswith(LOADED) for key in self._variables(n))]

    def _variables(self, name: str) -> Mapping[str, str]:
        return LEVERS[name].environment.get(self._values[name], {})


def comment_of(lever: Lever, value: str) -> str:
    """Return what stands before a lever's lines: what it is, its class, and whether it is to be removed."""
    return f"# {lever.named(value)}: {NUMBERS[lever.numbers]}{KINDS[lever.kind]}"
