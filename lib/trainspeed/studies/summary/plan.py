"""What the front page measures: the largest gains again, in fresh blocks, and the next ones where time is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainspeed.conduct.context import current
from trainspeed.conduct.machine import devices_here
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.errors import check_whole
from trainspeed.core.run import Role
from trainspeed.core.trial import Trial
from trainspeed.core.user_model import is_named
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.fastest import LIBRARY, fastest_against_next
from trainspeed.search.switch import plain_trial
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import confirming, largest, next_largest
from trainspeed.studies.summary.worth import worthwhile

NOTEBOOKS = 1  # that usually find a gain to confirm
# In place of what is not known yet; how long a block takes is decided by its turns, whatever the trial.
FORESEEN = {"batch_size": 16, "image_size": 16, "images_per_epoch": 128, "epochs": 4}


@dataclass(frozen=True, kw_only=True)
class SummaryPlan(Plan):
    """Fresh blocks of the largest gains.

    Attributes:
        top: The verdicts that are measured again.
        next_ones: Those that are, too, one after the other, where time is left.
    """

    top: Sequence[Verdict]
    next_ones: Sequence[Verdict]


@planner
def plan_summary(
    *,
    report: ReportSummary,
    drawn: bool,
    confirm: int,
    confirm_blocks: int,
    seed: int,
) -> SummaryPlan:
    """Return the plan for the notebook's parameters, which its parameter cell explains.

    Args:
        report: What the other notebooks of the report found.
        drawn: Whether the runs of an earlier report are drawn again.
    Raises:
        UserError: A value that cannot be measured.
    """
    check_whole("confirm", confirm, 0, "0 confirms nothing")
    check_whole("confirm_blocks", confirm_blocks, 0, "0 confirms nothing")
    check_whole("seed", seed, 0)
    devices, _ = devices_here("summary")
    # A verdict in the folder may name any file: a model of the user's own is run only where the user named it. What is
    # drawn runs nothing, and shows whatever was measured again.
    again = {run.trial.model for run in report.own.role(Role.CONFIRMATION) if run.trains} if drawn else ()
    named = {*current().user_models, *again}
    # What a search found is from fresh blocks already.
    fresh = {verdict.study for verdict in report.recipes}
    known = [v for v in report.switches if is_named(v.baseline, named) and is_named(v.candidate, named)]
    known = [verdict for verdict in known if verdict.study not in fresh]
    gains = worthwhile(known, report.verdicts, report.machine)
    # Which library is the fastest is what a reader takes from calls, not how slow the slowest one is.
    answers = fastest_against_next(known)
    answered = {verdict.study for verdict in answers}
    gains = [verdict for verdict in gains if verdict.factor != LIBRARY or verdict.study not in answered]
    top = largest([*answers, *gains], of_each=confirm, devices=devices, first=answers)
    next_ones = next_largest(known, top, devices) if confirm and confirm_blocks else []
    return SummaryPlan(
        top=top,
        next_ones=next_ones,
        foreseen=_foreseen(confirm * NOTEBOOKS - len(top), confirm_blocks),
        others=tuple(confirming(top, confirm_blocks)),
        spare=lambda runs: confirming(next_ones, confirm_blocks),
        may_be_empty=True,
        seed=seed,
    )


def _foreseen(confirmations: int, blocks: int) -> tuple[TrialSet, ...]:
    """Return pairs of a plain trial in place of the confirmations that are not known yet."""
    plain: Trial = plain_trial("torch", "cnn10", **FORESEEN)
    pair = TrialSet(trials=(plain,), controls=(plain,), blocks=blocks, parameter="confirm_blocks")
    return (pair,) * max(0, confirmations)
