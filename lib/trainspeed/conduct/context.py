"""Where a notebook measures to, and whether it measures, renders or plans: its environment decides.

The report's command line sets the variables; a notebook opened in JupyterLab has none of them.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from trainspeed.core.asked import choices_of
from trainspeed.core.coverage import NOTHING_CHOSEN, read_coverage
from trainspeed.core.errors import NAME_FORM, UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.runs import Measured, RunSet

SHARES_HEAD = "TRAINSPEED_BESIDE_HEAD"  # set on a node where the services of a fleet's head run, too
# Field of a context -> the variable that passes it to a kernel; the default holds where it is missing or empty.
VARIABLES = {
    "id": "TRAINSPEED_SESSION",
    "out": "TRAINSPEED_OUT",
    "resume": "TRAINSPEED_RESUME",
    "render_from": "TRAINSPEED_RENDER",
    "plan_to": "TRAINSPEED_PLAN",
    "in_report": "TRAINSPEED_REPORT",
    "notebook_statuses": "TRAINSPEED_NOTEBOOKS",
    "user_models": "TRAINSPEED_MODELS",
    "node": "TRAINSPEED_NODE",
    "hands": "TRAINSPEED_HANDS",
    "worker_pool": "TRAINSPEED_WORKERS",
    "last": "TRAINSPEED_LAST",
    "notebook": "TRAINSPEED_NOTEBOOK",
}
ID_TIME = re.compile(r"\d{8}T\d{6}Z(?=-)")  # how an id begins
TWINS_VARIABLE = "TRAINSPEED_TWINS"  # tells a report within a fleet which equal nodes help it


@dataclass(frozen=True, kw_only=True)
class Context:
    """One `make report`, or one interactive measuring.

    Attributes:
        out: Folder of the ledger that is written, and of everything else in `$OUT`.
        render_from: Folder whose newest session is shown again; then nothing is measured.
        plan_to: File that takes the plan; then nothing is measured.
        in_report: Whether papermill runs the notebook, so that progress is plain lines.
        notebook_statuses: How the report's other notebooks ended, a mapping for each: see
            `trainspeed.studies.summary.collect`.
        user_models: The models of the user's own that the report was asked to measure; others are not run.
        node: The fleet's name of this machine: see `Run`.
        hands: How many equal nodes a plan counts on, this one among them; None: on those that are there.
        worker_pool: Socket of the pool that keeps the report's workers; None: each study has its own.
        last: Whether nothing else of the report measures after it, so that nobody can use what it leaves of the time.
        notebook: Name of the notebook that a report runs; None where it measures without one, and where a reader runs
            it, who may have saved it under another name.
        by_hand: Whether a reader runs the notebook, in JupyterLab: it may be interrupted and run again.
    """

    id: str
    out: Path
    resume: bool = False
    render_from: Path | None = None
    plan_to: Path | None = None
    in_report: bool = False
    notebook_statuses: tuple[Mapping[str, Any], ...] = ()
    user_models: tuple[str, ...] = ()
    node: str | None = None
    hands: int | None = None
    worker_pool: Path | None = None
    last: bool = False
    notebook: str | None = None
    by_hand: bool = False

    def for_study(self, study: str) -> Context:
        """Return the context for a study to be measured in, or drawn.

        Raises:
            UserError: A report runs a notebook of another name: under this one it would find no runs, nor any verdict.
        """
        if self.notebook not in (None, study):
            rule = f"must have the name of its notebook: measure({self.notebook!r}, …)."
            raise UserError("study", study, rule, form=NAME_FORM)
        return self

    def environment(self) -> dict[str, str]:
        """Return the variables with which a kernel runs its notebook in this context."""
        values = {name: getattr(self, name) for name in VARIABLES}
        return {VARIABLES[name]: _as_text(value) for name, value in values.items() if value}


def _as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value.resolve())
    if isinstance(value, str):
        return value
    return "1" if value is True else json.dumps(value)


def twin_names() -> tuple[str, ...]:
    """Return the names of the nodes that help this report, as its environment says; none outside a fleet."""
    told = os.environ.get(TWINS_VARIABLE)
    return tuple(json.loads(told)["names"]) if told else ()


def utc_now() -> str:
    """Return the time as a ledger has it, such as "2026-11-20T10:00:00.000+00:00"."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id(now: datetime | None = None) -> str:
    """Return a session id that sorts by time and that two reports at once do not share."""
    return f"{now or datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def check_clock(session: str, *known: Iterable[str]) -> None:
    """Raise a UserError where the clock is behind a session that is there: what is newest is told by the ids."""
    latest = max((found[0] for found in map(ID_TIME.match, chain(*known)) if found), default="")
    if latest > session[: len(latest)]:
        raise UserError(
            f"there is a session of {latest}, and this machine's clock says {session[: len(latest)]}, so that pages "
            "would not take this one for the newest: set the clock right, or name another folder, OUT=…"
        )


def current(environment: Mapping[str, str] = os.environ) -> Context:
    """Return the context that this notebook runs in."""
    given = {name: environment.get(variable) for name, variable in VARIABLES.items()}
    return Context(
        id=given["id"] or new_id(),
        out=Path(given["out"] or ROOT / "outputs"),
        resume=bool(given["resume"]),
        render_from=Path(given["render_from"]) if given["render_from"] else None,
        plan_to=Path(given["plan_to"]) if given["plan_to"] else None,
        in_report=bool(given["in_report"]),
        notebook_statuses=tuple(json.loads(given["notebook_statuses"] or "[]")),
        user_models=tuple(json.loads(given["user_models"] or "[]")),
        node=given["node"] or None,
        hands=int(given["hands"]) if given["hands"] else None,
        worker_pool=Path(given["worker_pool"]) if given["worker_pool"] else None,
        last=bool(given["last"]),
        notebook=given["notebook"] or None,
        by_hand=not any(text for name, text in given.items() if name != "out"),
    )


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


def recorded(study: str, context: Context, may_be_empty: bool = False) -> Measured:
    """Return the newest session of a study in the folder that is rendered again.

    Raises:
        UserError: There is none, and it may not be empty.
    """
    source = context.render_from
    ledger = Ledger(source)
    session = ledger.newest().get(study, context.id)
    runs, doubts = ledger.read({study: session})
    newest = RunSet(runs).last_of_each().with_anchors_as_data()
    if not newest and not may_be_empty:
        raise UserError(f"no runs of {study!r} in {source.name}: run `make report` first.")
    coverage = read_coverage(source, {study: session}).get(study)
    choice = choices_of(source, {study: session}, newest).get(study, NOTHING_CHOSEN)
    told = {"doubts": doubts, "coverage": coverage, "choice": choice}
    return Measured(newest.runs, study, session, out=context.out, folder=source, **told)
