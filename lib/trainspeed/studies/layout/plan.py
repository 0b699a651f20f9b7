"""What the layout notebook measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainspeed.conduct.machine import default_allocation
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner
from trainspeed.core.trial import grid

COMPARED_FACTORS = ("layout",)  # between the arms of a comparison
ACROSS = (
    "framework",
    "compile",
)  # in which trials of two comparisons are held against each other: JAX compiles
LINE_FACTORS = ("layout", "batch_size")  # between the points of the lines over batch size


@dataclass(frozen=True, kw_only=True)
class LayoutPlan(Plan):
    """Both layouts of every framework.

    Attributes:
        core: Compared in every block, in the first precision.
        precise: The same in further precisions, where the time is enough.
        sizes: Further batch sizes, in turns with those of the core, so that time against batch size is a line.
        survey: Further models.
        allocation: Shows what memory each framework takes when left alone; on GPUs only.
    """

    core: TrialSet
    precise: TrialSet
    sizes: TrialSet
    survey: TrialSet
    allocation: TrialSet


@planner
def plan_layout(
    *,
    frameworks: Sequence[str],
    models: Sequence[str],
    layouts: Sequence[str],
    precisions: Sequence[str],
    compile: Sequence[bool],
    batch_sizes: Sequence[int],
    blocks: int,
    survey_models: Sequence[str],
    survey_batch_sizes: Sequence[int],
    survey_blocks: int,
    controls: Sequence[str],
    image_size: int,
    images_per_epoch: int,
    epochs: int,
    accuracy_blocks: int,
    dataset: str,
    seed: int,
) -> LayoutPlan:
    """Return the plan of the notebook's parameters, which its parameter cell explains.

    Raises:
        UserError: No trial can have such a value.
    """

    def trials(
        models: Sequence[str], batch_sizes: Sequence[int], precisions: Sequence[str] = precisions[:1]
    ) -> tuple:
        return grid(
            framework=frameworks,
            layout=layouts,
            precision=precisions,
            compile=compile,
            image_size=image_size,
            images_per_epoch=images_per_epoch,
            epochs=epochs,
            dataset=dataset,
            seed=seed,
            model=models,
            batch_size=batch_sizes,
        )

    core = trials(models, batch_sizes)
    precise = trials(models, batch_sizes, precisions[1:]) if precisions[1:] else ()
    sizes = trials(models, survey_batch_sizes) if survey_batch_sizes else ()
    survey = trials(survey_models, batch_sizes) if survey_models else ()
    twice = one_per_framework(core, controls)
    few = {"blocks": survey_blocks, "parameter": "survey_blocks", "across": ACROSS}
    return LayoutPlan(
        core=TrialSet(trials=core, blocks=blocks, controls=twice, factors=COMPARED_FACTORS, across=ACROSS),
        precise=TrialSet(trials=precise, blocks=blocks, factors=COMPARED_FACTORS, across=ACROSS),
        sizes=TrialSet(trials=sizes, anchors=core if sizes else (), factors=LINE_FACTORS, lines=True, **few),
        survey=TrialSet(trials=survey, factors=COMPARED_FACTORS, **few),
        allocation=default_allocation(core),
        accuracy_blocks=accuracy_blocks,
        seed=seed,
    )
