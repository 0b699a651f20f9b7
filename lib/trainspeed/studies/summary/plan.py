"""What the front page measures: the largest gains again, and the recipe, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from trainspeed.conduct.context import current
from trainspeed.conduct.machine import devices_here
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.errors import check_whole
from trainspeed.core.run import Role
from trainspeed.core.trial import PLAIN_PIPELINES, Trial
from trainspeed.core.user_model import is_named
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.summary.collect import ReportSummary, data_set, plain_precision
from trainspeed.studies.summary.confirmation import confirming, largest, next_largest
from trainspeed.studies.summary.recipe import Search, searches, wanted
from trainspeed.studies.summary.switches import extra_verdicts

NOTEBOOKS = 1  # that usually finds a gain to confirm


@dataclass(frozen=True, kw_only=True)
class SummaryPlan(Plan):
    """Fresh blocks of the largest gains, and a search for each recipe.

    Attributes:
        top: The verdicts that are measured again.
        next_ones: Those that are, too, one after the other, where time is left.
        searches: A search for each framework and model, without any runs yet.
    """

    top: Sequence[Verdict]
    next_ones: Sequence[Verdict]
    searches: Sequence[Search]


@planner
def plan_summary(
    *,
    report: ReportSummary,
    drawn: bool,
    frameworks: Sequence[str],
    models: Sequence[str],
    switches: Sequence[str],
    try_also: Sequence[str],
    pipeline: str,
    batch_size: int,
    image_size: int,
    images_per_epoch: int,
    epochs: int,
    blocks: int,
    accuracy_margin: float,
    confirm: int,
    confirm_blocks: int,
    dataset: str,
    seed: int,
) -> SummaryPlan:
    """Return the plan for the notebook's parameters, which its parameter cell explains.

    Args:
        report: What the other notebooks of the report found.
        drawn: Whether the runs of an earlier report are drawn again.
    Raises:
        UserError: A value that cannot be measured.
    """
    check_whole("blocks", blocks, 1, "6 or more give an interval")
    check_whole("confirm", confirm, 0, "0 confirms nothing")
    check_whole("confirm_blocks", confirm_blocks, 0, "0 confirms nothing")
    devices, _ = devices_here("summary")
    # A verdict in the folder may name any file: a model of the user's own is run only where the user named it. What is
    # drawn runs nothing, and shows whatever was measured again.
    again = {run.trial.model for run in report.own.role(Role.CONFIRMATION) if run.trains} if drawn else ()
    named = {*models, *current().user_models, *again}
    known = [v for v in report.switches if is_named(v.baseline, named) and is_named(v.candidate, named)]
    gains = [verdict for verdict in known if verdict.outcome is Outcome.FASTER]
    top = largest(gains, of_each=confirm, devices=devices)
    next_ones = next_largest(known, top, devices) if confirm and confirm_blocks else []
    planned = searches(
        frameworks,
        models,
        [*report.verdicts, *extra_verdicts(report.runs)],
        switches=switches,
        try_also=try_also,
        devices=devices,
        blocks=blocks,
        margin_points=accuracy_margin,
        precision=plain_precision(report, drawn=drawn),
        pipeline=pipeline,
        augment=pipeline not in PLAIN_PIPELINES,
        batch_size=batch_size,
        image_size=image_size,
        images_per_epoch=images_per_epoch,
        epochs=epochs,
        dataset=data_set(dataset, report, drawn=drawn),
        seed=seed,
    )
    return SummaryPlan(
        top=top,
        next_ones=next_ones,
        searches=planned,
        foreseen=(
            *_foreseen_confirmations(planned, confirm * NOTEBOOKS - len(top), confirm_blocks),
            *_foreseen_steps(planned, switches),
        ),
        others=(*confirming(top, confirm_blocks), *wanted(planned, ())),
        more=partial(wanted, planned),
        spare=lambda runs: confirming(next_ones, confirm_blocks),
        may_be_empty=True,
        accuracy_blocks=blocks,
        seed=seed,
    )


def _foreseen_confirmations(
    searches: Sequence[Search], confirmations: int, blocks: int
) -> tuple[TrialSet, ...]:
    """Return pairs of plain trials in place of the confirmations that are not known yet."""
    starts = [search.start for search in searches]
    confirmed = [starts[number % len(starts)] for number in range(max(0, confirmations))] if starts else []
    return tuple(_pair_in_place(start, blocks, "confirm_blocks") for start in confirmed)


def _foreseen_steps(searches: Sequence[Search], switches: Sequence[str]) -> tuple[TrialSet, ...]:
    """Return pairs in place of a recipe's steps after its first one, and of one gain that a notebook may yet find."""
    return tuple(
        _pair_in_place(search.start, search.blocks, "blocks")
        for search in searches
        for _ in range(max(0, len(search.switches) - 1) + bool(switches))
    )


def _pair_in_place(start: Trial, blocks: int, parameter: str) -> TrialSet:
    return TrialSet(trials=(start,), controls=(start,), blocks=blocks, parameter=parameter)
