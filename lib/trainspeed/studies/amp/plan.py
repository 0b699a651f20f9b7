"""What the amp notebook measures: every model in every precision, and what tells why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.judge.cost import check_price
from trainspeed.studies.amp.findings import BASELINE, COMPARED_FACTORS, amp_trials, part_trials, survey_trials


@dataclass(frozen=True, kw_only=True)
class AmpPlan(Plan):
    """Models in several precisions.

    Attributes:
        core: Compared in every block, over the folds of a cross-validation.
        why: With fewer blocks: further precisions, parts of a step alone, the ceilings of the device.
    """

    core: TrialSet
    why: TrialSet


@planner
def plan_amp(
    *,
    frameworks: Sequence[str],
    models: Sequence[str],
    keras_models: Sequence[str],
    precisions: Sequence[str],
    survey_precisions: Sequence[str],
    survey_models: Sequence[str],
    layouts: Sequence[str],
    compile: Sequence[bool],
    image_size: int,
    batch_size: int,
    images_per_epoch: int,
    epochs: int,
    folds: int,
    blocks: int,
    accuracy_blocks: int,
    weights: str | None,
    controls: Sequence[str],
    fit_frameworks: Sequence[str],
    part_blocks: int,
    usd_per_hour: float | None,
    dataset: str,
    seed: int,
) -> AmpPlan:
    """Return the plan of the notebook's parameters, which its parameter cell explains.

    Raises:
        UserError: A value that cannot be measured, or a price that is none.
    """
    check_price(usd_per_hour)
    core = amp_trials(
        frameworks,
        models,
        keras_models,
        precisions,
        image_size=image_size,
        batch_size=batch_size,
        layout=layouts,
        compile=compile,
        images_per_epoch=images_per_epoch,
        epochs=epochs,
        folds=folds,
        dataset=dataset,
        pipeline="resize",
        weights=weights,
        seed=seed,
    )
    plain = [trial for trial in core if trial.precision == BASELINE]
    why = survey_trials(core, survey_models, survey_precisions)
    why += part_trials(plain, ("input", "compute"), frameworks)
    why += part_trials(core, ("fit",), fit_frameworks)
    if "torch" in frameworks:
        why += ceiling_trials([*precisions, *survey_precisions], dataset=core[0].dataset, seed=seed)
    return AmpPlan(
        core=TrialSet(
            trials=core, blocks=blocks, controls=one_per_framework(core, controls), factors=COMPARED_FACTORS
        ),
        why=TrialSet(trials=why, blocks=part_blocks, factors=COMPARED_FACTORS, parameter="part_blocks"),
        auto="mnist",
        accuracy_blocks=accuracy_blocks,
        seed=seed,
    )
