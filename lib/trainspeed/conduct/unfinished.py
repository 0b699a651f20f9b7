"""A study that was interrupted in JupyterLab goes on when its cell is run again: which session that is.

A report is resumed by its command (`RESUME=1`). In a notebook there is none, so a study has a small file while it
measures, which is left where it does not end. What was measured is in the ledger either way.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from trainspeed.conduct.context import Context
from trainspeed.conduct.plan import Plan
from trainspeed.conduct.resumed import OtherSystem
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted
from trainspeed.core.ledger import Ledger

FOLDER = "unfinished"  # of these files, beside the ledger
REPEATS = "blocks"  # how a parameter ends that says how often something is measured: more may be asked for
BUDGET = "budget_s"  # may be another as well: it says how much of the plan there is time for
PLAIN = (bool, int, float, str, list, tuple, dict, type(None))  # values that a reader sets


class Interrupted(KeyboardInterrupt):
    """The reader has interrupted the kernel: a notebook shows its one line, not where it was at that moment."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@contextmanager
def going_on(study: str, plan: Plan, context: Context, **held: float) -> Iterator[Context]:
    """Give the context in which to measure: by hand, that of a session of the same plan that has not ended.

    A session goes on whatever ended it (an interrupt, a restart of the kernel, an error), unless the study has been
    measured since then, or other trials are asked for now. Only the numbers of blocks and the time may be others.

    Args:
        held: What is equal for all runs of a session beside the plan: how long a turn is, when a run is ended.
    Raises:
        UserError: The folder cannot be written to, or the session was begun on another system; the next time, a new one
            begins.
        Interrupted: By the reader.
    """
    if not context.by_hand:
        try:
            yield context
        except OtherSystem as problem:
            raise UserError(str(problem)) from None
        return
    path = context.out / FOLDER / f"{study}.json"
    with _opened(path, context.out) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until it is closed, or the kernel has ended
        except OSError:  # another notebook measures the study on another GPU, or there are no locks here
            yield context
            return
        planned = plan_id(plan, **held)
        ledger, former = Ledger(context.out), _read(file)
        session = _unfinished(former, planned)
        if session is not None and ledger.newest().get(study) == session:
            context = replace(context, id=session, resume=True)
            kept = counted(len(ledger.read({study: session})[0]), "run")
            print(
                f"{study}: goes on with the session that did not end, and keeps its {kept}. To measure all of it anew, "
                f"delete {FOLDER}/{path.name} in the output folder.",
                flush=True,
            )
        _write(file, json.dumps({"session": context.id, "plan": planned}) + "\n")
        try:
            yield context
        except OtherSystem as problem:
            path.unlink(missing_ok=True)
            raise UserError(f"{problem.what} Run this cell again to begin a new session.") from None
        except BaseException as problem:
            if ledger.newest().get(study) != context.id:  # no run: what was to go on before still is
                _write(file, former)
            if isinstance(problem, KeyboardInterrupt):
                raise Interrupted(
                    f"{study}: interrupted. What was measured is kept: run this cell again to go on."
                ) from None
            raise
        path.unlink(missing_ok=True)


def plan_id(plan: Plan, **held: float) -> str:
    """Return what two plans have in common that differ in the numbers of their blocks, or in their time, alone.

    Args:
        held: As of `going_on`.
    """
    sets = [(name, replace(part, blocks=1, parameter=REPEATS)) for name, part in plan.named_sets]
    asked = getattr(
        plan.remake, "keywords", {}
    )  # of a plan that depends on its runs, the sets do not say all
    # What is no plain value follows from earlier results, and the sets show it.
    parameters = {
        n: v for n, v in asked.items() if isinstance(v, PLAIN) and not n.endswith((REPEATS, BUDGET))
    }
    said = (sets, plan.seed, sorted(parameters.items()), sorted(held.items()))
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _opened(path: Path, out: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+", encoding="utf-8")
    except OSError as problem:
        raise UserError(
            f"cannot write to {out}: {problem.strerror or problem}; make it a folder that you can write to, or name "
            "another one in the environment variable TRAINSPEED_OUT."
        ) from None


def _read(file: TextIO) -> str:
    file.seek(0)
    return file.read()


def _write(file: TextIO, text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


def _unfinished(text: str, planned: str) -> str | None:
    """Return the session that a file names for this plan; None where it names none."""
    try:
        data: Any = json.loads(text)
    except ValueError:
        return None
    same = isinstance(data, dict) and data.get("plan") == planned
    return data.get("session") if same else None
