"""What a program to paste has for the levers of its trial: lines, keyword arguments and variables, each at its place.

Before the first of a lever's lines a comment says what the lever is and what it does to the numbers. Text only: a lever
whose line takes the place of another, or stands in the loop, is in the templates; `torch_lines` and `keras_lines` have
the others.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping

from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.levers.lever import ON, Lever, LeverKind, Numbers, text_of
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import Trial

Lines = Mapping[
    str, str
]  # place in the program -> lines there, or the keyword arguments of what is called there
Pasted = Mapping[str, Callable[[str, Trial], Lines]]  # lever -> (value, trial) -> its lines

# The places of lines in a program, from top to bottom, and of calls with further keyword arguments.
VARIABLES, SHELL, TEMPLATE = "variables", "shell", "template"
# Of the command that starts the program: a command before it, and the variables that it is started without.
PREFIX, UNSET = "prefix", "unset"
PLACES = (
    VARIABLES,
    SHELL,
    "flags",
    "data",
    "loader",
    "model",
    "before ddp",
    "ddp",
    "spread",
    "before compile",
    "compile",
    "optimizer",
    "after optimizer",
    "dataset",
    "before fit",
    "fit",
    "loop",
    "moved",
    "step",
    "after step",
    TEMPLATE,
)
NUMBERS = {
    Numbers.SAME: "same numbers but for the order of sums",
    Numbers.ROUNDING: "other rounding",
    Numbers.MODEL: "changes the training",
}
KINDS = {
    LeverKind.SWITCH: "",
    LeverKind.ALREADY_ON: "; without this it is on",
    LeverKind.OWN: "",
    LeverKind.BRAKE: "; a brake: remove it",
}
# Read as the program is loaded, before its first line: set where it is started.
LOADED = ("LD_", "GLIBC_", "MALLOC_", "TCMALLOC_", "KMP_", "OMP_", "GOMP_")
OF_FLAGS = ("XLA_FLAGS",)  # variables that hold several
BEFORE_IMPORT = "# Set before {} imported: later it does nothing."
IMPORTED = {"torch": "torch is", "tensorflow": "TensorFlow and Keras are", "jax": "JAX and Keras are"}
ONLY_TOGETHER = "; confirmed as a set"  # short, or paper breaks the line
IN_TEMPLATE: Lines = {TEMPLATE: ""}  # the template itself has what such a lever changes


class LeverLines:
    """The lines of a trial's levers.

    Args:
        pasted: Those of its framework.
        plain: What was switched on from: the reader's program has its levers anyway, and each field of the trial that
            is another one has its comment; None for a program of which that is not known.
        confirmed: The levers of which it was confirmed what they bring beside the others: the comments of the others
            say so. None: nothing is said of it.
    Raises:
        LookupError: A lever has neither lines nor variables.
    """

    def __init__(
        self,
        trial: Trial,
        pasted: Pasted,
        plain: Trial | None = None,
        confirmed: Collection[str] | None = None,
    ) -> None:
        self._confirmed, self._framework = confirmed, trial.framework
        without = plain.levers if plain else ()
        switched = (name for name, lever in LEVERS.items() if plain and lever.of_field)
        self._fields = {
            name: text_of(getattr(trial, name))
            for name in switched
            if getattr(trial, name) != getattr(plain, name)
        }
        self._values = {name: value for name, value in trial.levers if (name, value) not in without}
        self._lines: dict[str, Lines] = {}
        for name, value in self._values.items():
            variables = LEVERS[name].environment.get(value, {})
            places = {SHELL if key.startswith(LOADED) else VARIABLES: "" for key in variables}
            lines = {**places, **(pasted[name](value, trial) if name in pasted else {})}
            if not lines:
                raise LookupError(f"the lever {name}={value} has no lines for {trial.framework}.")
            self._lines[name] = lines

    def value(self, name: str) -> str | None:
        """Return the value of a lever; None where it is left alone."""
        return self._values.get(name)

    def comment(self, name: str, value: str) -> str:
        """Return the comment of a lever, and whether it was confirmed only together with the others."""
        alone = self._confirmed is None or name in self._confirmed
        return f"{comment_of(LEVERS[name], value)}{'' if alone else ONLY_TOGETHER}"

    def comments(self, *names: str) -> list[str]:
        """Return the comments of those of these levers that the trial has."""
        return [self.comment(name, self._values[name]) for name in names if name in self._values]

    def fields(self, *names: str) -> list[str]:
        """Return the comments of those of these fields that were switched."""
        return [self.comment(name, self._fields[name]) for name in names if name in self._fields]

    def at(self, place: str) -> list[str]:
        """Return the lines of a place; where it is a lever's first, its comment stands before them."""
        return [
            line
            for name, lines in self._lines.items()
            if place in lines
            for line in (*(self.comments(name) if _first(lines) == place else ()), *lines[place].splitlines())
        ]

    def before(self, call: str) -> list[str]:
        """Return the comments of the levers that begin with keyword arguments of a call."""
        return self.comments(*(name for name, lines in self._lines.items() if _first(lines) == call))

    def keywords(self, call: str) -> str:
        """Return the keyword arguments of a call, to stand behind others: ", fused=True"."""
        return "".join(f", {lines[call]}" for lines in self._lines.values() if call in lines)

    def modules(self, *more: str) -> list[str]:
        """Return the imports of Python's own modules, with some more of them."""
        needed = {lines["modules"] for lines in self._lines.values() if "modules" in lines} | {
            *filter(None, more)
        }
        return [f"import {name}" for name in sorted(needed | ({"os"} if self.variables else set()))]

    @property
    def imports(self) -> list[str]:
        """The further imports from the framework."""
        return [lines["imports"] for lines in self._lines.values() if "imports" in lines]

    def mention(self, module: str) -> bool:
        """Return whether a line of a lever needs a module."""
        texts = (
            text for lines in self._lines.values() for part in lines.values() for text in part.splitlines()
        )
        return any(f"{module}." in text for text in texts if not text.startswith("#"))

    @property
    def variables(self) -> list[str]:
        """The lines that set what is read as the framework is imported; flags add to the reader's own."""
        found: list[str] = []
        for name, lines in self._lines.items():
            found += self.comments(name) if VARIABLES in lines else []
            for key, text in self._environment(name, loaded=False):
                own = f'os.environ.get("{key}", "") + " ' if key in OF_FLAGS else '"'
                found.append(f'os.environ["{key}"] = {own}{text}"')
        return [BEFORE_IMPORT.format(IMPORTED[self._framework]), *found] if found else []

    @property
    def shell(self) -> str:
        """What stands before the command that starts the program, such as "env -u NAME OTHER=value taskset -c 0 "."""
        loaded: dict[str, list[str]] = {}
        for name, lines in self._lines.items():
            for key, text in self._environment(name, loaded=True):
                loaded.setdefault(key, []).append(text)
            for key in lines.get(UNSET, "").split():
                loaded.setdefault(key, [])
        away = "".join(f"-u {key} " for key, texts in loaded.items() if not any(texts))
        given = ((key, " ".join(texts)) for key, texts in loaded.items() if any(texts))
        prefixes = (f"{lines[PREFIX]} " for lines in self._lines.values() if PREFIX in lines)
        variables = "".join(f"{key}={shlex.quote(text)} " for key, text in given)
        return f"{away and 'env '}{away}{variables}{''.join(prefixes)}"

    def _environment(self, name: str, *, loaded: bool) -> list[tuple[str, str]]:
        """Return the variables of a lever that are read as the program is loaded, or those that are read later."""
        variables = LEVERS[name].environment.get(self._values[name], {})
        return [(key, text) for key, text in variables.items() if key.startswith(LOADED) == loaded]


def same_lines(**lines: str) -> Callable[[str, Trial], Lines]:
    """Return the same lines for each value; "{value}" stands for it, and "_" in a place for a space."""
    return lambda value, _: {
        place.replace("_", " "): text.replace("{value}", value) for place, text in lines.items()
    }


def in_template(_value: str, _trial: Trial) -> Lines:
    """Return no lines: the template has what changes, and asks for the comment."""
    return IN_TEMPLATE


THRESHOLDS = same_lines(
    shell="# On in Trainspeed, off in a script; to have it, start that with\n# "
    + " ".join(f"{name}={text}" for name, text in MALLOC_THRESHOLDS.items())
)


def _first(lines: Lines) -> str | None:
    return next((place for place in PLACES if place in lines), None)


def comment_of(lever: Lever, value: str) -> str:
    """Return what stands before a lever's lines: what it is, its class, and whether it is to be removed."""
    name = lever.words if lever.of_field and value == ON else lever.named(value)
    return f"# {name}: {NUMBERS[lever.numbers_with(value)]}{KINDS[lever.kind_with(value)]}"
