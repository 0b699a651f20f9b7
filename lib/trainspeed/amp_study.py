"""What the amp notebook asks of its runs: what 16 bits buy, whether accuracy holds, and why not more.

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from trainspeed import published_amp
from trainspeed.comparison import Verdict, compare
from trainspeed.errors import UserError
from trainspeed.run import Run, Status
from trainspeed.trial import CEILINGS, FRAMEWORKS, PRECISIONS, ZOO, Trial, check_name, grid
from trainspeed.verdict import Outcome
from trainspeed.wording import NAMES

BASELINE = "fp32"
QUESTION = "Does a lower precision train faster?"
ACCURACY_QUESTION = "Does accuracy hold in a lower precision?"
VARIED = ("precision", "part")
CEILING_STEPS = 5  # in an epoch of a ceiling
EFFICIENTNETS = tuple(model for model in ZOO if model.startswith("efficientnet"))
# Batch and image size of article 003. It prints them for its first four; the others had those of B0.
ARTICLE_SHAPES = {"vgg16": (8, 224), "mobilenet": (16, 160)}
ARTICLE_SHAPE = (16, 224)

# Settings to copy, in current APIs.
KERAS_POLICIES = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
TORCH_DTYPES = {"fp16": "float16", "bf16": "bfloat16"}
TORCH_LINES = """with torch.autocast(device_type, dtype=torch.{dtype}):
    loss = loss_of(model(images), labels)"""
TORCH_STEPS = {
    "bf16": "loss.backward()\noptimizer.step()",
    "fp16": "scaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()",
}
TF32_LINES = {
    "torch": 'torch.backends.cudnn.conv.fp32_precision = "tf32"\ntorch.backends.cuda.matmul.fp32_precision = "tf32"',
    "tensorflow": "tf.config.experimental.enable_tensor_float_32_execution(True)",
    "jax": 'jax.config.update("jax_default_matmul_precision", "tensorfloat32")',
}


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
        UserError: There is no fp32 to compare with, or a name or size that does not exist.
    """
    if not precisions or BASELINE not in precisions:
        raise UserError(
            f"precisions (={list(precisions)}) must hold {BASELINE!r}: all others are compared with it."
        )
    for name in frameworks:
        check_name("framework", name, FRAMEWORKS)
    for name, size in (("image_size", image_size), ("batch_size", batch_size)):
        if size < 0:
            raise UserError(f"{name} (={size}) must be 0, for the article's own, or more.")
    trials: list[Trial] = []
    for framework in frameworks:
        for model in models if framework == "torch" else keras_models:
            batch, pixels = ARTICLE_SHAPES.get(model, ARTICLE_SHAPE)
            shape = {"batch_size": batch_size or batch, "image_size": image_size or pixels}
            trials += grid(framework=framework, model=model, precision=precisions, **shape, **factors)
    if not trials:
        raise UserError("nothing to measure: frameworks, models or keras_models is empty.")
    return tuple(trials)


def part_trials(
    trials: Iterable[Trial], parts: Sequence[str], frameworks: Sequence[str]
) -> tuple[Trial, ...]:
    """Return parts of the trials of some frameworks alone: "input", "compute", "fit"."""
    return tuple(replace(t, part=part) for t in trials for part in parts if t.framework in frameworks)


def ceiling_trials(precisions: Sequence[str], trial: Trial) -> tuple[Trial, ...]:
    """Return what measures the ceilings of the device in each precision, and its memory bandwidth.

    Args:
        trial: Any of the study, for what does not matter here.
    """
    base = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_last",
        batch_size=1,
        images_per_epoch=CEILING_STEPS,
        epochs=4,
        image_size=32,
        dataset=trial.dataset,
        seed=trial.seed,
    )
    rates = [replace(base, part=part, precision=p) for p in precisions for part in CEILINGS[:2]]
    return (*rates, replace(base, part=CEILINGS[2]))


def _by_model(verdicts: Iterable[Verdict]) -> list[Verdict]:
    def place(verdict: Verdict) -> tuple:
        trial = verdict.candidate
        model = ZOO.index(trial.model) if trial.model in ZOO else len(ZOO)
        order = FRAMEWORKS.index(trial.framework), model, PRECISIONS.index(trial.precision)
        return trial.part != "both", -verdict.blocks, order

    return sorted(verdicts, key=place)


def precision_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return every precision over strict fp32: by framework, model and precision."""
    question = QUESTION if quantity == "time" else ACCURACY_QUESTION
    found = [
        compare(runs, "precision", BASELINE, precision, question=question, quantity=quantity)
        for precision in PRECISIONS[1:]
    ]
    return _by_model(verdict for several in found for verdict in several)


def unsupported_sentences(runs: Iterable[Run]) -> list[str]:
    """Return which precisions this device lacks, each reason once."""
    reasons: dict[str, dict[str, None]] = {}
    for run in runs:
        if run.status == Status.UNSUPPORTED and run.reason and run.trial.part not in CEILINGS:
            where = f"{NAMES[run.trial.framework]} {run.trial.precision}"
            reasons.setdefault(run.reason, {})[where] = None
    return [
        f"Not measured here: {', '.join(where)}. {reason[:1].upper()}{reason[1:]}."
        for reason, where in reasons.items()
    ]


def hardware_sentences(runs: Iterable[Run]) -> list[str]:
    """Return why a GPU lacks them, by the article's table of matrix units."""
    reasons: dict[str, None] = {}
    for run in runs:
        gpus = run.machine.get("gpus") or []
        if run.status == Status.UNSUPPORTED and run.machine.get("device") == "gpu" and gpus:
            gpu = gpus[0]
            why = published_amp.why_unsupported(
                run.trial.precision, gpu["name"], gpu.get("compute_capability")
            )
            reasons |= {why: None} if why else {}
    return list(reasons)


def skip_sentences(runs: Iterable[Run]) -> list[str]:
    """Return how many steps the loss scaler left out, where one was at work."""
    counts: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        if run.skipped_steps is not None:
            counts.setdefault((run.trial.framework, run.trial.model), []).append(run.skipped_steps)
    return [
        f"{NAMES[framework]}, {model}, fp16: the loss scaler left out {median(skipped):g} steps of a training "
        f"(median of {len(skipped)} runs), in which a gradient overflowed."
        for (framework, model), skipped in counts.items()
    ]


def input_sentences(runs: Sequence[Run]) -> list[str]:
    """Return whether making the images holds training back: input alone against compute alone."""
    seconds = {run.trial.without_seed(): run.median_epoch_s for run in runs if run.status == Status.OK}
    sentences = []
    for trial, input_s in seconds.items():
        compute_s = seconds.get(replace(trial, part="compute"))
        if trial.part == "input" and compute_s and input_s is not None:
            verb = "is the bottleneck" if input_s > compute_s else "is not the bottleneck"
            sentences.append(
                f"{NAMES[trial.framework]}, {trial.model}, {trial.precision}: reading and enlarging the images of an "
                f"epoch takes {input_s:.3g} s alone, the rest {compute_s:.3g} s: the input {verb} "
                f"({input_s / compute_s:.0%}).".replace("%", " %")
            )
    return sentences


def settings(verdicts: Sequence[Verdict]) -> list[str]:
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
            where = "; ".join(f"{v.candidate.model}: {v.speedup:.2f}x" for v in found)
            code = f"```python\n{_lines(framework, precision)}\n```"
            texts.append(f"**{NAMES[framework]}**, {precision} ({where})\n\n{code}")
    return texts


def _lines(framework: str, precision: str) -> str:
    if precision == "tf32":
        return TF32_LINES[framework]
    if framework == "torch":
        lines = f"{TORCH_LINES.format(dtype=TORCH_DTYPES[precision])}\n{TORCH_STEPS[precision]}"
        made = "scaler = torch.amp.GradScaler(device_type)  # once, before the loop\n"
        return made * (precision == "fp16") + lines
    return (
        f'keras.config.set_dtype_policy("{KERAS_POLICIES[precision]}")  # before the model is made\n'
        'outputs = keras.layers.Dense(classes, dtype="float32")(x)  # the loss needs the range'
    )
