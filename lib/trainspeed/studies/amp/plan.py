"""What the amp notebook measures: every model in every precision, and what tells why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainspeed.conduct.machine import devices_here
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner
from trainspeed.core.errors import UserError, check_name, check_whole
from trainspeed.core.format import DEFAULT_PRECISION
from trainspeed.core.trial import FOLDED_IMAGES, FRAMEWORKS, STRICT, ZOO, Trial, grid
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.judge.cost import check_price

PRECISION_FACTORS = ("precision", "part")  # fields in which the arms of a comparison differ
# Batch and image size of article 003. It prints them for its first four; the others had those of B0.
ARTICLE_SHAPES = {"vgg16": (8, 224), "mobilenet": (16, 160)}
ARTICLE_SHAPE = (16, 224)


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
    plain = [trial for trial in core if trial.precision == baseline_of(precisions)]
    surveyed = [trial for trial in plain if trial.framework == "torch" and trial.model in survey_models]
    why = tuple(replace(trial, precision=p) for trial in surveyed for p in survey_precisions)
    why += part_trials(plain, ("input", "compute"), frameworks)
    why += part_trials(core, ("fit",), fit_frameworks)
    if "torch" in frameworks:
        limited = [*precisions, *survey_precisions]
        if devices_here("amp")[1] == "GPU":
            limited.append("tf32")  # the default precision may be that
        why += ceiling_trials(dict.fromkeys(limited), dataset=core[0].dataset, seed=seed)
    controlled = one_per_framework(core, controls)
    return AmpPlan(
        core=TrialSet(trials=core, blocks=blocks, controls=controlled, factors=PRECISION_FACTORS),
        why=TrialSet(trials=why, blocks=part_blocks, factors=PRECISION_FACTORS, parameter="part_blocks"),
        auto="mnist",
        accuracy_blocks=accuracy_blocks,
        seed=seed,
    )


def amp_trials(
    frameworks: Sequence[str],
    models: Sequence[str],
    keras_models: Sequence[str],
    precisions: Sequence[str],
    *,
    image_size: int,
    batch_size: int,
    **factors: Any,
) -> tuple[Trial, ...]:
    """Return every model in every precision.

    Args:
        models: Models of torch; `keras_models` are those of TensorFlow and JAX.
        image_size, batch_size: 0 stands for those of article 003, model by model.
        factors: As for `grid`.
    Raises:
        UserError: Without a baseline, for a name or size that does not exist, and for more folds than images.
    """
    if baseline_of(precisions) is None:
        raise UserError(
            f"precisions (={list(precisions)}) must hold {DEFAULT_PRECISION!r} or {STRICT!r}: all others are compared "
            "with it."
        )
    if factors.get("weights") is not None:
        check_name("weights", factors["weights"], ("imagenet",))
        for model in (*models, *keras_models):
            check_name("model with weights", model, ZOO)
    for name, size in (("image_size", image_size), ("batch_size", batch_size)):
        check_whole(name, size, 0, "0 is the article's own")
    trials: list[Trial] = []
    for framework in frameworks:
        for model in models if framework == "torch" else keras_models:
            batch, pixels = ARTICLE_SHAPES.get(model, ARTICLE_SHAPE)
            shape = {"batch_size": batch_size or batch, "image_size": image_size or pixels}
            trials += grid(framework=framework, model=model, precision=precisions, **shape, **factors)
    if not trials:
        raise UserError("nothing to measure: frameworks, models or keras_models is empty.")
    if (folds := trials[0].folds) and folds > FOLDED_IMAGES:
        rule = f"is more than the {FOLDED_IMAGES:,} images that are split into them: lower folds."
        raise UserError("folds", folds, rule)
    return tuple(trials)


def baseline_of(precisions: Collection[str]) -> str | None:
    """Return the precision that all others are compared with: the default one where it is there, else strict fp32."""
    return next((name for name in (DEFAULT_PRECISION, STRICT) if name in precisions), None)


def part_trials(
    trials: Iterable[Trial], parts: Sequence[str], frameworks: Sequence[str]
) -> tuple[Trial, ...]:
    """Return the parts ("input", "compute", "fit") alone of those trials that are of these frameworks."""
    for name in frameworks:
        check_name("framework", name, FRAMEWORKS)
    return tuple(replace(t, part=part) for t in trials for part in parts if t.framework in frameworks)
