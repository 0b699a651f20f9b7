"""The newest runs of a study, as the ledger has them. Measures nothing."""

from __future__ import annotations

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.runs import Measured, RunSet


def recorded(study: str, context: Context, may_be_empty: bool = False) -> Measured:
    """Return the newest session of a study in the folder that is drawn again.

    Raises:
        UserError: There is none, and it may not be empty.
    """
    source = context.render_from
    ledger = Ledger(source)
    name = ledger.newest().get(study, context.id)
    runs, doubts = ledger.read({study: name})
    newest = RunSet(runs).last_of_each()
    if not newest and not may_be_empty:
        raise UserError(f"no runs of {study!r} in {source.name}: run `make report` first.")
    return Measured(newest.runs, study, name, out=context.out, folder=source, doubts=doubts)
