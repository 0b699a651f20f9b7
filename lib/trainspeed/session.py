"""Where a notebook measures to, and whether it measures, renders or plans: told by its environment.

The report's command line sets the variables; a notebook opened in JupyterLab has none of them.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trainspeed.environments import ROOT


@dataclass(frozen=True, kw_only=True)
class Session:
    """One `make report`, or one interactive measuring.

    Attributes:
        out: Folder of the ledger that is written, and of everything else in `$OUT`.
        render_from: Folder whose newest session is shown again; then nothing is measured.
        in_report: Whether papermill runs the notebook, so that progress is plain lines.
        told: What became of the report's other notebooks, a mapping each: see `front_page.Ran`.
    """

    id: str
    out: Path
    resume: bool = False
    render_from: Path | None = None
    plan_only: bool = False
    in_report: bool = False
    told: tuple[Mapping[str, Any], ...] = ()


def new_id(now: datetime | None = None) -> str:
    """Return a session id that sorts by time and that two reports at once do not share."""
    return f"{now or datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def current(environment: Mapping[str, str] = os.environ) -> Session:
    """Return the session that this notebook runs in."""
    render = environment.get("TRAINSPEED_RENDER")
    return Session(
        id=environment.get("TRAINSPEED_SESSION") or new_id(),
        out=Path(environment.get("TRAINSPEED_OUT") or ROOT / "outputs"),
        resume=bool(environment.get("TRAINSPEED_RESUME")),
        render_from=Path(render) if render else None,
        plan_only=bool(environment.get("TRAINSPEED_PLAN")),
        in_report=bool(environment.get("TRAINSPEED_REPORT")),
        told=tuple(json.loads(environment.get("TRAINSPEED_NOTEBOOKS") or "[]")),
    )
