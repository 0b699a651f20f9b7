"""What the amp notebook asks of its runs: what 16 bits buy, whether accuracy holds, and why not more.

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.articles.numbers import why_unsupported
from trainspeed.core.check import check_name
from trainspeed.core.errors import UserError
from trainspeed.core.format import percent
from trainspeed.core.names import NAMES, model_of
from trainspeed.core.phase import COMPUTE, INPUT, PHASES
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FOLDED_IMAGES, FRAMEWORKS, PRECISIONS, ZOO, Trial, grid
from trainspeed.judge.comparison import Verdict, compare
from trainspeed.judge.verdict import Outcome
from trainspeed.snippets import code

BASELINE = "fp32"
QUESTION = "Does a lower precision train faster?"
ACCURACY_QUESTION = "Does accuracy hold in a lower precision?"
COMPARED_FACTORS = ("precision", "part")
EFFICIENTNETS = tuple(model for model in ZOO if model.startswith("efficientnet"))
# Batch and image size of article 003. It prints them for its first four; the others had those of B0.
ARTICLE_SHAPES = {"vgg16": (8, 224), "mobilenet": (16, 160)}
ARTICLE_SHAPE = (16, 224)


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
        models: Of torch; `keras_models` of TensorFlow and JAX.
        image_size, batch_size: 0 for those of article 003, model by model.
        factors: As of `trial.grid`.
    Raises:
        UserError: There is no fp32 to compare with, a name or size that does not exist, more folds than
            images.
    """
    if not precisions or BASELINE not in precisions:
        raise UserError(
            f"precisions (={list(precisions)}) must hold {BASELINE!r}: all others are compared with it."
        )
    for name in frameworks:
        check_name("framework", name, FRAMEWORKS)
    if factors.get("weights") is not None:
        check_name("weights", factors["weights"], ("imagenet",))
        for model in (*models, *keras_models):
            check_name("model with weights", model, ZOO)
    for name, size in (("image_size", image_size), ("batch_size", batch_size)):
        if size < 0:
            raise UserError(name, size, "must be 0, for the article's own, or more.")
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


def survey_trials(core: Iterable[Trial], models: Sequence[str], precisions: Sequence[str]) -> tuple:
    """Return torch's trials of these models in further precisions, to be shown beside fp32."""
    plain = [t for t in core if (t.framework, t.precision) == ("torch", BASELINE) and t.model in models]
    return tuple(replace(trial, precision=precision) for trial in plain for precision in precisions)


def part_trials(
    trials: Iterable[Trial], parts: Sequence[str], frameworks: Sequence[str]
) -> tuple[Trial, ...]:
    """Return parts of the trials of some frameworks alone: "input", "compute", "fit"."""
    for name in frameworks:
        check_name("framework", name, FRAMEWORKS)
    return tuple(replace(t, part=part) for t in trials for part in parts if t.framework in frameworks)


def ordered(runs: Iterable[Run]) -> RunSet:
    """Return the runs by framework, model, precision and block: they are measured in a random order."""

    def place(run: Run) -> tuple:
        trial = run.trial
        return *_place(trial), run.block, [*PHASES].index(trial.part), trial.layout, trial.compile

    return RunSet(tuple(sorted(runs, key=place)))


def whole_steps(runs: Iterable[Run]) -> RunSet:
    """Return the runs of whole training steps, ordered."""
    return ordered(runs).where(lambda run: run.trial.whole_steps)


def _place(trial: Trial) -> tuple[int, int, int]:
    model = ZOO.index(trial.model) if trial.model in ZOO else len(ZOO)
    return FRAMEWORKS.index(trial.framework), model, PRECISIONS.index(trial.precision)


def families(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a chart of model families: of several EfficientNets only the smallest."""
    measured = set(frame["model"])
    scaled = [model for model in EFFICIENTNETS if model in measured]
    return frame[~frame["model"].isin(scaled[1:])]


def _by_model(verdicts: Iterable[Verdict]) -> list[Verdict]:
    def place(verdict: Verdict) -> tuple:
        return not verdict.candidate.whole_steps, -verdict.blocks, _place(verdict.candidate)

    return sorted(verdicts, key=place)


def precision_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return every precision over strict fp32 in training: by framework, model and precision.

    Ceilings are left out: `amp_why` tells them.
    """
    question = QUESTION if quantity == "time" else ACCURACY_QUESTION
    training = [run for run in runs if not run.trial.phase.ceiling]
    found = [
        compare(training, "precision", BASELINE, precision, question=question, quantity=quantity)
        for precision in PRECISIONS[1:]
    ]
    return _by_model(verdict for several in found for verdict in several)


def unsupported_sentences(runs: Iterable[Run]) -> list[str]:
    """Return which precisions this device lacks, each reason once.

    A framework that is not there (its runs have no versions) lacks none: `Measured.skipped_sentences`.
    """
    reasons: dict[str, dict[str, None]] = {}
    for run in ordered(runs):
        lacking = run.status == Status.UNSUPPORTED and run.reason and run.versions
        if lacking and not run.trial.phase.ceiling:
            where = f"{NAMES[run.trial.framework]} {run.trial.precision}"
            reasons.setdefault(run.reason, {})[where] = None
    said = {r: r if r.startswith(PRECISIONS) else r[:1].upper() + r[1:] for r in reasons}
    return [f"Not measured here: {', '.join(where)}. {said[why]}." for why, where in reasons.items()]


def hardware_sentences(runs: Iterable[Run]) -> list[str]:
    """Return why a GPU lacks them, by the article's table of matrix units."""
    reasons: dict[str, None] = {}
    for run in runs:
        gpus = run.machine.get("gpus") or []
        if run.status == Status.UNSUPPORTED and run.machine.get("device") == "gpu" and gpus:
            gpu = gpus[0]
            why = why_unsupported(run.trial.precision, gpu["name"], gpu.get("compute_capability"))
            reasons |= {why: None} if why else {}
    return list(reasons)


def skip_sentences(runs: Iterable[Run]) -> list[str]:
    """Return how many steps the loss scaler left out, where one was at work."""
    counts: dict[tuple[str, str, str, int], list[int]] = {}
    for run in ordered(runs):
        if run.skipped_steps is not None:
            trial = run.trial
            where = trial.framework, trial.model, trial.precision, trial.steps_per_epoch * trial.epochs
            counts.setdefault(where, []).append(run.skipped_steps)
    sentences = []
    for (framework, model, precision, steps), skipped in counts.items():
        middle = median(skipped)
        left_out = f"{middle:g} of {steps} steps, whose gradients overflowed"
        of = f"median of {len(skipped)} runs" if len(skipped) > 1 else "1 run"
        sentences.append(
            f"{NAMES[framework]}, {model_of(model)}, {precision}: the loss scaler left out "
            f"{left_out if middle else f'none of {steps} steps'} ({of})."
        )
    return sentences


def one_variant(runs: RunSet, layout: str, compile: bool) -> RunSet:
    """Return the runs of one layout and one compiler, the control's among them: JAX is always compiled."""
    return runs.where(
        lambda run: (
            run.trial.layout == layout and (run.trial.framework == "jax" or run.trial.compile == compile)
        )
    )


def without_untrained(runs: Iterable[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs of the models that learned something in fp32, and a sentence for each that did not.

    Two models that guess are equally accurate, which says nothing of their precision.
    """
    runs = list(runs)
    arms: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.trial.precision == BASELINE and run.test_accuracy is not None:
            arms.setdefault((run.trial.framework, run.trial.model), []).append(run)
    accuracies = {arm: median(run.test_accuracy for run in found) for arm, found in arms.items()}
    guessing = {arm: arms[arm][0] for arm, found in accuracies.items() if found < arms[arm][0].learned_from}
    told = [
        f"{NAMES[framework]}, {model_of(model)}: {percent(accuracies[framework, model])} in {BASELINE} is near "
        f"chance ({100 * run.chance:.3g} %): it has not learned yet, so accuracy is not compared. Train more epochs."
        for (framework, model), run in guessing.items()
    ]
    return [run for run in runs if (run.trial.framework, run.trial.model) not in guessing], told


def input_sentences(runs: Sequence[Run]) -> list[str]:
    """Return whether making the images holds training back: input alone against compute alone."""
    seconds = ordered(runs).medians(lambda run: run.median_epoch_s)
    sentences = []
    for trial, input_s in seconds.items():
        compute_s = seconds.get(trial.only(COMPUTE))
        if trial.phase is INPUT and compute_s:
            rest = "the rest" if trial.framework == "torch" else "the model, which enlarges them,"
            verb = "is the bottleneck" if input_s > compute_s else "is not the bottleneck"
            sentences.append(
                f"{NAMES[trial.framework]}, {model_of(trial.model)}, {trial.precision}: reading and enlarging the "
                f"images of an epoch takes {input_s:.3g} s alone, {rest} {compute_s:.3g} s: the input {verb} "
                f"({percent(input_s / compute_s)})."
            )
    return sentences


def precision_settings(verdicts: Sequence[Verdict]) -> list[str]:
    """Return, for each framework, the lines that switch on what was faster, as Markdown."""
    texts = []
    for framework in FRAMEWORKS:
        mine = [v for v in verdicts if v.candidate.framework == framework and v.quantity == "time"]
        wins = [v for v in mine if v.outcome == Outcome.FASTER]
        if mine and not wins:
            decided = [v for v in mine if v.outcome != Outcome.UNDECIDED]
            advice = "was not faster; stay with fp32" if decided else "is undecided: measure more blocks"
            texts.append(f"**{NAMES[framework]}**: a lower precision {advice}.")
        for precision in dict.fromkeys(v.candidate.precision for v in wins):
            found = [v for v in wins if v.candidate.precision == precision]
            gains = [(model_of(v.candidate.model), v.speedup) for v in found]
            lines = code.lines("precision", framework=framework, precision=precision)
            texts.append(code.faster_block(framework, precision, gains, lines))
    return texts
