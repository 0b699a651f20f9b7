"""Commands to paste, which measure more of what a report measured: with the settings that its user gave it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import NOTHING_CHOSEN, Choice, Coverage
from trainspeed.core.library_model import is_library_model
from trainspeed.core.user_model import is_user_model
from trainspeed.judge.verdict import MIN_BLOCKS

MODELS, TIME = "models", "budget_s"  # parameters that MODEL and BUDGET stand for
# A ledger may come from anywhere: what make, the shell or Markdown would take for more than a value is not repeated.
PLAIN = re.compile(r"[\w .,:=+/@{}\[\]'\"-]*")
UNKNOWN = "…"  # a value that the reader has to choose
UNKNOWN_MIN = float("inf")  # a time likewise
BY_HAND = "in the parameters cell, then run all again"


def command_for(
    trials: Iterable[AnyTrial],
    choice: Choice = NOTHING_CHOSEN,
    *,
    notebooks: Sequence[str] = (),
    budget_min: float | None = None,
    preset: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> str:
    """Return the command that measures trials: on as many nodes as the one of them that takes most.

    With the model where all of them train the same one, which is the user's or a library's: no preset names it. Of a
    notebook that a reader runs by hand, the lines of its parameters cell.

    Args:
        choice: What the user asked the report for; its parameters are those of a notebook where there is one.
        notebooks: Names of those that are measured; all by default.
        budget_min: The time that they are given, in minutes, or `UNKNOWN_MIN`.
        preset: In place of the user's.
        parameters: Of the one notebook, in place of the user's.
    """
    trials = list(trials)
    nodes = max((trial.nodes for trial in trials), default=1)
    models = {trial.model for trial in trials if trial.phase.of_model}
    brought = [model for model in models if is_user_model(model) or is_library_model(model)]
    model = brought[0] if len(models) == len(brought) == 1 else None
    values = dict(parameters or {})
    if choice.by_hand and len(notebooks) == 1 and (values or budget_min):
        return _by_hand(values, budget_min)
    if len(notebooks) == 1:
        own = {
            name: value
            for name, value in choice.parameters.items()
            if PLAIN.fullmatch(_as_yaml({name: value}))
        }
        values = own | values
    taken = [MODELS] * (model is not None) + [TIME] * (budget_min is not None)
    values = {name: value for name, value in values.items() if name not in taken}
    given = {
        "PRESET": preset or choice.preset,
        "MODEL": model if model is None or PLAIN.fullmatch(model) else UNKNOWN,
        "NOTEBOOKS": " ".join(notebooks) or None,
        "BUDGET": None
        if budget_min is None
        else UNKNOWN
        if budget_min == UNKNOWN_MIN
        else f"{budget_min:g}m",
        "PARAMS": f"{notebooks[0]}: {_as_yaml(values)}" if values else None,
    }
    fleet = choice.by_fleet or nodes > 1
    words = ["make", "fleet", "FLEET=fleet.yaml"] if fleet else ["make", "report"]
    words += [f"NODES={nodes}"] if nodes > 1 else []
    words += [f"{name}={_word(value)}" for name, value in given.items() if value is not None]
    return " ".join(words)


def command_with_time(coverage: Coverage, trials: Sequence[AnyTrial] = ()) -> str:
    """Return the command that gives a study alone more time, enough for an interval: see `command_for`.

    Args:
        trials: What the time is for; by default all that was planned.
    """
    return command_for(
        trials or [arm for group in coverage.groups for arm in group.arms],
        coverage.choice,
        notebooks=[coverage.study],
        budget_min=coverage.ampler_minutes(MIN_BLOCKS),
    )


def _by_hand(values: Mapping[str, Any], budget_min: float | None) -> str:
    """Return the lines of a parameters cell that measure more: the rest of it is what was measured."""
    longer = {TIME: 60 * budget_min} if budget_min not in (None, UNKNOWN_MIN) else {}
    lines = [f"{name} = {value!r}" for name, value in (longer | {**values}).items()]
    return f"{'; '.join(lines)}  # {BY_HAND}"


def _as_yaml(values: Mapping[str, Any]) -> str:
    return yaml.safe_dump(
        values, default_flow_style=True, sort_keys=False, width=float("inf"), allow_unicode=True
    ).strip()


def _word(value: str) -> str:
    if re.fullmatch(r"\w+( \w+)+", value):
        return f'"{value}"'
    return value if value == UNKNOWN else shlex.quote(value)
