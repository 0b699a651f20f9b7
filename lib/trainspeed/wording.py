"""Trials and judgements in words: what every sentence, label and table of the report calls them."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.conv2d_trial import LIBRARIES, AnyTrial, Conv2dTrial
from trainspeed.run import Run
from trainspeed.trial import CEILINGS, Trial
from trainspeed.verdict import LEAST_BLOCKS, Judgement, Outcome

COMMON = ("precision", "compile", "image_size")  # told where they differ from the usual, not every time
NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX", "scipy": "SciPy and OpenCV"}
LIBRARY_NAMES = {
    "tensorflow": "TensorFlow",
    "keras": "Keras layer",
    "torch": "PyTorch",
    "jax": "JAX",
    "scipy_signal": "scipy.signal.convolve2d",
    "scipy_ndimage": "scipy.ndimage",
    "scipy_fft": "scipy fftconvolve",
    "scipy_oaconvolve": "scipy oaconvolve",
    "opencv": "OpenCV filter2D",
}
RESIDENCY = "residency"  # factor of calls whose data stay on the device, over whole calls
TELLING = ("tensorflow", "keras", "torch", "jax", "scipy", "opencv")  # versions that a sentence tells
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
    if isinstance(a.trial, Conv2dTrial):
        return _conv2d_sentence(a, b, factor, judgement)
    versus = f"{_name(b, factor)} vs {_name(a, factor)}"
    if factor == "control":
        versus = f"control, {_name(a, 'layout')} vs itself"
    if factor == "devices":
        versus = f"{devices_of(b.trial)} vs {devices_of(a.trial)}"
    if factor == "pipeline":
        versus = f"{pipeline_of(b.trial)} vs {pipeline_of(a.trial)}"
    if factor == "batch_size":
        versus = f"batch {b.trial.batch_size} vs batch {a.trial.batch_size}"
    jax_beside_other = factor != "compile" and a.trial.compile != b.trial.compile
    frameworks = {a.trial.framework: a, b.trial.framework: b}
    where = [
        _machine(b if factor == "devices" else a),
        *(_version(run, with_compile=jax_beside_other) for run in frameworks.values()),
    ]
    same_batch = a.trial.batch_size == b.trial.batch_size
    unsaid = ["framework", factor, *["compile"] * jax_beside_other, *["strategy"] * (factor == "devices")]
    where += describe(a.trial, without=[*unsaid, *["batch_size"] * (not same_batch)])
    if not same_batch and factor != "batch_size":
        where.append(f"batch {a.trial.batch_size} on each device")
    blocks = f"{judgement.blocks} block{'s' if judgement.blocks != 1 else ''}"
    return f"{versus}: {measured(judgement, quantity)}. {', '.join(where)}, {blocks}."


def _conv2d_sentence(a: Run, b: Run, factor: str, judgement: Judgement) -> str:
    """Return a verdict on convolutions in words; each run has the versions of its own Python."""
    versions = {run.trial.framework: run.versions for run in (a, b)}
    machines = [b] if factor == "devices" else [b, a]  # of a CPU library, the CPU
    where = [*dict.fromkeys(_machine(run) for run in machines)]
    where += [
        f"{name} {v}" for several in versions.values() for name, v in several.items() if name in TELLING
    ]
    where += describe(a.trial, without=("library", "devices"))
    blocks = f"{judgement.blocks} block{'s' if judgement.blocks != 1 else ''}"
    versus = conv2d_versus(a.trial, b.trial, factor)
    return f"{versus}: {measured(judgement)}. {', '.join(where)}, {blocks}."


def conv2d_versus(baseline: Conv2dTrial, candidate: Conv2dTrial, factor: str) -> str:
    """Return which two convolutions were compared, in words."""
    here, there = library_of(candidate), library_of(baseline)
    if factor == "control":
        return f"control, {here} vs itself"
    if factor == "devices":
        return f"{candidate.devices} devices vs {baseline.devices}, {here}"
    if factor == RESIDENCY:
        return f"data that stay on the device vs a round trip, {here}"
    if factor not in ("library", "mode"):
        return (
            f"{factor.replace('_', ' ')} {getattr(candidate, factor)} vs {getattr(baseline, factor)}, {here}"
        )
    return f"{here} vs {there}"


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


def library_of(trial: Conv2dTrial) -> str:
    """Return a library and, where it has several modes, how it is called."""
    name = LIBRARY_NAMES[trial.library]
    name += f" ({trial.mode})" if len(LIBRARIES[trial.library]) > 1 else ""
    return f"{name} on the CPU" if trial.processor == "cpu" else name


def describe_conv2d(trial: Conv2dTrial, without: Sequence[str] = ()) -> list[str]:
    """Return what a reader needs to tell convolutions apart, in words."""
    words = {
        "library": library_of(trial),
        "images": f"{trial.images} image{'s' * (trial.images > 1)} of {trial.height}×{trial.width}",
        "channels": f"{trial.channels} channel{'s' * (trial.channels > 1)}",
        "filters": f"{trial.filters} filter{'s' * (trial.filters > 1)}",
        "filter_size": f"{trial.filter_size}×{trial.filter_size}",
    }
    if trial.devices > 1:
        words["devices"] = f"{trial.devices} devices"
    return [text for field, text in words.items() if field not in without]


def describe(trial: AnyTrial, without: Sequence[str] = ()) -> list[str]:
    """Return what a reader needs to tell trials apart, in words."""
    if isinstance(trial, Conv2dTrial):
        return describe_conv2d(trial, without)
    words = {
        "framework": NAMES[trial.framework],
        "model": model_of(trial.model),
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


def model_of(model: str) -> str:
    """Return a model's name in a sentence or a chart: without the folder, of one of the user's own."""
    return model.rpartition("/")[2]


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
    if run.machine.get("device") == "gpu" and gpus and not run.trial.on_cpu:
        return gpus[0]["name"]
    cores = run.trial.devices
    return f"{run.machine.get('cpu') or 'CPU'} ({cores} core{'s' if cores > 1 else ''})"
