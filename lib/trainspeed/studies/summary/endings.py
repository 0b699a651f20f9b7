"""How the notebooks of a report ended, also where their files cannot say it: what only draws ends well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trainspeed.core.asked import read_asked
from trainspeed.core.coverage import read_coverage
from trainspeed.core.files import CHECK, SUMMARY
from trainspeed.core.no_result import failures_in_short, has_result
from trainspeed.core.runs import RunSet
from trainspeed.studies.summary.notebooks import ReportNotebook

OK, INCOMPLETE, INTERRUPTED = "ok", "incomplete", "interrupted"
CUT_SHORT = "measuring ended before all that there was time for was measured"
NOT_MEASURED = "asked for and not measured"


def newest_session(notebooks: Sequence[ReportNotebook]) -> str:
    """Return the newest session that a notebook shows; "" for none. A check beside a report is no newer report."""
    of_reports = [one.session or "" for one in notebooks if one.name != CHECK]
    return max(of_reports or [one.session or "" for one in notebooks], default="")


def as_they_ended(
    notebooks: Sequence[ReportNotebook],
    runs: RunSet,
    folder: Path,
    measured: Mapping[str, str],
    *,
    drawn: bool,
) -> tuple[ReportNotebook, ...]:
    """Return the notebooks with what became of those that are called "ok", and those that were never begun.

    A study with a limit of time records at its end what that was enough for. One that has runs and no such record was
    interrupted; without a limit, it cannot be told from one that ended. What the newest report was asked for and has
    no run of is named, too; what it has runs of and no page was left out on purpose. A notebook none of whose runs
    gave a result lacks all of it.

    Args:
        runs: Of the sessions that the notebooks show, each once.
        folder: Holds the ledger, and beside it what was asked for and what was recorded.
        measured: Study -> its newest session with a run.
        drawn: Whether the front page measures nothing, so that its own measuring may have been interrupted.
    """
    asked = {one.session: one for one in read_asked(folder)}
    newest = newest_session(notebooks)
    known = {one.name: one for one in notebooks}
    wanted = asked[newest].notebooks if newest in asked else ()
    sessions = dict.fromkeys(wanted, newest) | {one.name: one.session or "" for one in notebooks}
    recorded = read_coverage(folder, sessions)

    def is_cut_short(name: str) -> bool:
        request = asked.get(sessions[name])
        return request is not None and request.has_limit(name) and name not in recorded

    def ended(one: ReportNotebook) -> ReportNotebook:
        if one.status != OK:
            return one
        if one.name in wanted and (one.session or "") < newest and measured.get(one.name, "") < newest:
            return replace(
                one, status=INTERRUPTED, error=f"{NOT_MEASURED} in session {newest}; this is an older one"
            )
        if one.rendered and is_cut_short(one.name):
            return replace(one, status=INTERRUPTED, error=CUT_SHORT)
        if not has_result(own := runs.of_study(one.name)):
            return replace(one, status=INCOMPLETE, error=failures_in_short(own))
        return one

    def never_ended(name: str) -> str | None:
        if name == SUMMARY:  # without a limit, it may have found nothing to measure again
            begun = CUT_SHORT if measured.get(name) == newest else NOT_MEASURED
            return begun if drawn and is_cut_short(name) else None
        return None if name in recorded or measured.get(name, "") >= newest else NOT_MEASURED

    missing = [(name, why) for name in wanted if name not in known and (why := never_ended(name))]
    return (
        *map(ended, notebooks),
        *(
            ReportNotebook(
                name=name,
                title="Confirmations" if name == SUMMARY else name,
                status=INTERRUPTED,
                error=why,
                session=newest,
                rendered=True,
            )
            for name, why in missing
        ),
    )
