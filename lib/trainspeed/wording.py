"""Trials and judgements in words: what every sentence, label and table of the report calls them."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.run import Run
from trainspeed.trial import CEILINGS, Trial
from trainspeed.verdict import LEAST_BLOCKS, Judgement, Outcome

COMMON = ("precision", "compile", "image_size")  # told where they differ from the usual, not every time
NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
PART_WORDS = {
    "fit": "with validation and checkpoint",
    "latency": "small messages only",
    "matmul": "matrix products only",
    "conv": "convolutions only",
    "copy": "copies only",
}
OF_A_MODEL = ("model", "layout", "batch_size", "image_size", "compile")  # a ceiling has none of these


def sentence(a: Run, b: Run, factor: str, judgement: Judgement, quantity: str) -> str:
    """Return a verdict in words: b against a, and where it holds."""
    versus = f"{_name(b, factor)} vs {_name(a, factor)}"
    if factor == "control":
        versus = f"control, {_name(a, 'layout')} vs itself"
    if factor == "devices":
        versus = f"{devices_of(b.trial)} vs {devices_of(a.trial)}"
    if factor == "pipeline":
        versus = f"{pipeline_of(b.trial)} vs {pipeline_of(a.trial)}"
    jax_beside_other = factor != "compile" and a.trial.compile != b.trial.compile
    frameworks = {a.trial.framework: a, b.trial.framework: b}
    where = [
        _machine(b if factor == "devices" else a),
        *(_version(run, with_compile=jax_beside_other) for run in frameworks.values()),
    ]
    same_batch = a.trial.batch_size == b.trial.batch_size
    unsaid = ["framework", factor, *["compile"] * jax_beside_other, *["strategy"] * (factor == "devices")]
    where += describe(a.trial, without=[*unsaid, *["batch_size"] * (not same_batch)])
    if not same_batch:
        where.append(f"batch {a.trial.batch_size} on each device")
    blocks = f"{judgement.blocks} block{'s' if judgement.blocks != 1 else ''}"
    return f"{versus}: {measured(judgement, quantity)}. {', '.join(where)}, {blocks}."


def measured(judgement: Judgement, quantity: str = "time") -> str:
    """Return the size, the interval and the outcome in words."""
    if judgement.speedup is None:
        return "not measured"
    decimals, sign, unit = (2, "", "x") if quantity == "time" else (1, "+", " points in test accuracy")

    def text(value: float) -> str:
        return f"{round(value, decimals) + 0.0:{sign}.{decimals}f}"  # no -0.0

    size = text(judgement.speedup) + unit
    if judgement.low is None:
        return f"{size}, no interval: undecided, measure {LEAST_BLOCKS} blocks or more"
    ends = f"{text(judgement.low)} to {text(judgement.high)}"
    words = {Outcome.SAME: "the same within the margin", Outcome.UNDECIDED: "undecided, measure more blocks"}
    outcome = words.get(judgement.outcome, str(judgement.outcome))
    return f"{size} ({judgement.confidence:.0%} interval {ends}): {outcome}".replace("%", " %")


def describe(trial: Trial, without: Sequence[str] = ()) -> list[str]:
    """Return what a reader needs to tell trials apart, in words."""
    words = {
        "framework": NAMES[trial.framework],
        "model": trial.model,
        "layout": trial.layout,
        "batch_size": f"batch {trial.batch_size}",
        "image_size": f"{trial.image_size} px",
        "precision": trial.precision,
        "compile": "compiled" if trial.compile else "not compiled",
    }
    if trial.devices > 1:
        words["strategy"] = devices_of(trial)
    if trial.pipeline != "arrays":
        words["pipeline"] = pipeline_of(trial)
    if trial.part != "both":
        words["part"] = part_of(trial.part)
    unsaid = (*without, *OF_A_MODEL) if trial.part in CEILINGS else without
    return [text for field, text in words.items() if field not in unsaid]


def part_of(part: str) -> str:
    """Return what is run of a training step, in words, where it is not the whole of it."""
    return PART_WORDS.get(part, f"{part} only")


def pipeline_of(trial: Trial) -> str:
    """Return an input pipeline and its workers in words."""
    workers = f" ({trial.workers} worker{'s' * (trial.workers > 1)})" if trial.workers else ""
    return trial.pipeline + workers


def devices_of(trial: Trial) -> str:
    """Return how many devices, and what spreads the batch over them, in words."""
    return "1 device" if trial.devices == 1 else f"{trial.devices} devices ({trial.strategy})"


def _name(run: Run, factor: str) -> str:
    value = getattr(run.trial, factor, factor)
    return NAMES.get(value, str(value)) if factor != "compile" else ("compiled" if value else "not compiled")


def _version(run: Run, *, with_compile: bool) -> str:
    framework = run.trial.framework
    name = f"{NAMES[framework]} {run.versions.get(framework, '')}".strip()
    return f"{name} ({_name(run, 'compile')})" if with_compile else name


def _machine(run: Run) -> str:
    gpus = run.machine.get("gpus") or []
    if run.machine.get("device") == "gpu" and gpus:
        return gpus[0]["name"]
    cores = run.trial.devices
    return f"{run.machine.get('cpu') or 'CPU'} ({cores} core{'s' if cores > 1 else ''})"
