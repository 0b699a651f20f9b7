"""The time that a report may take, and how its notebooks share it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import pandas as pd

from trainspeed.conduct.context import Context
from trainspeed.conduct.forecast import StudyPlan, read_plan
from trainspeed.core.errors import UserError
from trainspeed.core.files import CHECK
from trainspeed.core.format import listed, minutes
from trainspeed.core.user_model import user_models_in
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebook_run import End, NotebookRun
from trainspeed.report.parameters import BUDGET, read_budget

PARAMETER = "budget_s"  # of a notebook that measures: its own time
HOW_TO_WRITE = "must be a time such as 90s, 15m, 1.5h or 1h30m."
TIME = re.compile(r"(\s*[0-9]+(\.[0-9]+)?\s*(s|sec|m|min|h)\s*)+")
LONGEST_S = 365 * 86_400.0
# Of a notebook: its kernel's start, its charts and its page. On 2 cores of an EPYC it was 3 to 4 s.
OVERHEAD_S = 5.0
SHORTEST_S = 1.0  # of a share


def parse_budget(text: str) -> float:
    """Return a time such as "15m" in seconds.

    Raises:
        UserError: It is none, or not a positive one.
    """
    try:  # pandas takes a number without a unit for nanoseconds
        seconds = pd.Timedelta(text.strip()).total_seconds() if TIME.fullmatch(text) else 0.0
    except pd.errors.OutOfBoundsTimedelta:
        seconds = math.inf
    if seconds <= 0:
        raise UserError("BUDGET", text, HOW_TO_WRITE)
    if seconds > LONGEST_S:
        raise UserError("BUDGET", text, "is more than a year: 8760h at most.")
    return seconds


def budget_of(
    asked: str | None, files: Sequence[Path | str], names: Sequence[str], all_names: Sequence[str]
) -> float | None:
    """Return the seconds that a report may take; None without a limit.

    Args:
        asked: As the user typed it. It holds for whatever is run; what a file says holds for all notebooks, and
            for some of them their part of it.
        files: A preset, and further files that take precedence, or their text.
    """
    if asked is not None:
        return parse_budget(asked)
    written = None
    for path in files:
        written = read_budget(path, otherwise=written)
    return None if written is None or not names else parse_budget(str(written)) * len(names) / len(all_names)


def ask_for_plans(
    names: Sequence[str],
    values: Mapping[str, Mapping[str, object]],
    folder: Path,
    out: Path,
    *,
    hands: int | None = None,
    limited: bool = True,
) -> tuple[dict[str, StudyPlan], list[End], bool]:
    """Run the notebooks as far as their plans; return those, how each ended, and whether the user interrupted.

    Args:
        out: Folder whose earlier runs tell how long a trial takes.
        hands: See `Context`.
        limited: Whether they share a time, so that what one leaves is for those that come after it.
    """
    plans: dict[str, StudyPlan] = {}
    ends = []
    models = tuple(sorted(user_models_in([*values.values()])))
    with TemporaryDirectory() as scratch, Interruption() as interruption:
        for name in names:
            file = Path(scratch) / f"{name}.json"
            context = Context(id="", out=out, plan_to=file, in_report=True, user_models=models, hands=hands)
            environment = replace(context, notebook=name).environment()
            source = folder / f"{name}.ipynb"
            ends.append(NotebookRun(source, values[name], environment, interruption, planning=True).run())
            if (plan := read_plan(file)) is not None:
                last, starts = not limited or name == names[-1], plan.starts or not plans
                plans[name] = replace(plan, last=last, starts=starts)
            if interruption.asked:
                break
        return plans, ends, interruption.asked


def check_budget(
    budget_s: float,
    plans: Mapping[str, StudyPlan],
    given_s: Mapping[str, float | None] = MappingProxyType({}),
    hands: int = 1,
) -> None:
    """Raise a UserError where there is not even time for a block of one comparison in each notebook.

    Args:
        given_s: Notebook -> the seconds that the user has given it, None for no limit, of those that share no time.
        hands: Number of equal machines that share the blocks.
    """
    whole_s = {CHECK: None, **given_s}
    each_s = {
        n: plan.spent_s(whole_s[n], hands) if n in whole_s else plan.least_s for n, plan in plans.items()
    }
    least_s = sum(OVERHEAD_S + seconds for seconds in each_s.values())
    if plans and budget_s < least_s:
        fixed = [
            f"{name} with its own {PARAMETER} ({minutes(each_s[name])})" for name in plans if name in given_s
        ]
        if others := [name for name in plans if name not in given_s]:
            fixed.append(f"one block of one comparison in each of {', '.join(others)}")
        raise UserError(
            f"{BUDGET.upper()} ({minutes(budget_s)}) is too short: {listed(fixed)} takes about {minutes(least_s)}. "
            "Give it that or more, or name fewer NOTEBOOKS."
        )


Weight = tuple[float, ...]


class Shares:
    """Gives each notebook its part of what is left of a report's time: to all what they need first, then the rest.

    Args:
        weights: Notebook -> the seconds that it needs first, next, and so on, in the order in which they run: see
            `StudyPlan.needs_s`.
        fixed_s: Notebook -> the seconds that the user has given it.
        spent_s: Notebook -> seconds that it measured for before the report was interrupted.
    """

    def __init__(
        self,
        budget_s: float,
        weights: Mapping[str, Weight],
        *,
        fixed_s: Mapping[str, float] = MappingProxyType({}),
        spent_s: Mapping[str, float] = MappingProxyType({}),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._weights, self._fixed_s, self._spent_s = dict(weights), dict(fixed_s), dict(spent_s)
        self._clock = clock
        self._end_s = clock() + budget_s - sum(self._spent_s.values())

    def of(self, name: str) -> float | None:
        """Return the seconds that the next notebook may measure for, those before an interruption among them.

        None where it has no share: its time is fixed, or it has no limit.
        """
        if name not in self._weights:
            self._fixed_s.pop(name, None)
            self._spent_s.pop(name, None)
            return None
        overhead_s = OVERHEAD_S * (len(self._weights) + len(self._fixed_s))
        left_s = self._end_s - self._clock() - overhead_s - sum(self._fixed_s.values())
        left_s += sum(self._spent_s.values())
        whole_s = [sum(needed) for needed in zip(*self._weights.values(), strict=True)]
        own_s = self._weights.pop(name)
        self._spent_s.pop(name, None)
        share_s = 0.0
        for all_need_s, needs_s in zip(whole_s, own_s, strict=True):
            given_s = max(0.0, min(left_s, all_need_s))
            share_s += needs_s * (given_s / all_need_s) if all_need_s else 0.0
            left_s -= given_s
        if left_s > 0:
            share_s += left_s * sum(own_s) / sum(whole_s) if sum(whole_s) else left_s
        return max(SHORTEST_S, share_s)  # also where nothing is left: a study measures at least one block
