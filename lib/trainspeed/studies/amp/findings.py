"""What the amp notebook asks of its runs: what 16 bits buy, whether accuracy holds, and why not more.

Pure functions on runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import combinations
from statistics import median

from trainspeed.articles.numbers import why_unsupported
from trainspeed.core.format import DEFAULT_PRECISION, NAMES, listed, model_of, percent, precision_of, three
from trainspeed.core.markdown import escape
from trainspeed.core.phase import COMPUTE, INPUT, PHASES
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FOLDED_IMAGES, FRAMEWORKS, PRECISIONS, STRICT, ZOO, Trial
from trainspeed.judge.comparison import Verdict, compare
from trainspeed.judge.guessing import guessing_range
from trainspeed.judge.text import size_of, what_decides
from trainspeed.judge.verdict import CONFIDENCE, Outcome
from trainspeed.snippets import code
from trainspeed.studies.amp.plan import baseline_of

PRECISION_QUESTIONS = {
    "time": "Does a lower precision train faster?",
    "accuracy": "Does accuracy hold in a lower precision?",
}


def ordered(runs: Iterable[Run]) -> RunSet:
    """Return the runs by framework, model, precision and block: they are measured in a random order."""

    def position(run: Run) -> tuple:
        trial = run.trial
        return *_position(trial), run.block, [*PHASES].index(trial.part), trial.layout, trial.compile

    return RunSet(tuple(sorted(runs, key=position)))


def _position(trial: Trial) -> tuple[int, int, int]:
    model = ZOO.index(trial.model) if trial.model in ZOO else len(ZOO)
    return FRAMEWORKS.index(trial.framework), model, PRECISIONS.index(trial.precision)


def whole_steps(runs: Iterable[Run]) -> RunSet:
    """Return the runs of whole training steps, ordered."""
    return ordered(runs).where(lambda run: run.trial.whole_steps)


def one_variant(runs: RunSet, layout: str, compile: bool) -> RunSet:
    """Return the runs of one layout and one setting of the compiler, with the control's; JAX always compiles."""
    return runs.where(
        lambda run: (
            run.trial.layout == layout and (run.trial.framework == "jax" or run.trial.compile == compile)
        )
    )


def precision_verdicts(runs: Sequence[Run], quantity: str = "time") -> list[Verdict]:
    """Return every precision over the default one, and those of fewer bits over strict fp32, in training.

    They are ordered by framework, model and precision. What a script gains is over the default precision, which may
    be TF32; article 003's numbers are over fp32.

    Ceilings of the device are left out: `judge.roofline.ceiling_sentence` compares them.

    Args:
        quantity: "time" or "accuracy".
    """
    training = [run for run in runs if not run.trial.phase.ceiling]
    question = PRECISION_QUESTIONS[quantity]
    verdicts: list[Verdict] = []
    for baseline, name in combinations(PRECISIONS, 2):  # in the order of their bits, the default one first
        if baseline in (DEFAULT_PRECISION, STRICT):
            verdicts += compare(training, "precision", baseline, name, question=question, quantity=quantity)

    def position(verdict: Verdict) -> tuple:
        over = PRECISIONS.index(verdict.baseline.precision)
        return not verdict.candidate.whole_steps, -verdict.blocks, over, _position(verdict.candidate)

    return sorted(verdicts, key=position)


def unsupported_sentences(runs: Iterable[Run]) -> list[str]:
    """Return which precisions this device lacks, each reason once.

    Runs of a framework that is not installed have no versions; `Measured.skipped_sentences` names those.
    """
    lacking: dict[str, dict[str, None]] = {}
    for run in ordered(runs):
        unsupported = run.status == Status.UNSUPPORTED and run.reason and run.versions
        if unsupported and not run.trial.phase.ceiling:
            reason = run.reason
            if not reason.startswith(PRECISIONS):  # their names stay in small letters
                reason = reason[:1].upper() + reason[1:]
            lacking.setdefault(reason, {})[f"{NAMES[run.trial.framework]} {run.trial.precision}"] = None
    return [f"Not measured here: {', '.join(names)}. {reason}." for reason, names in lacking.items()]


def hardware_sentences(runs: Iterable[Run]) -> list[str]:
    """Return why the GPU lacks the precisions that were unsupported, by the article's table of matrix units."""
    reasons = {}
    for run in runs:
        gpus = run.machine.get("gpus") or []
        if run.status == Status.UNSUPPORTED and run.machine.get("device") == "gpu" and gpus:
            name, capability = gpus[0]["name"], gpus[0].get("compute_capability")
            reasons[why_unsupported(run.trial.precision, name, capability)] = None
    return [reason for reason in reasons if reason]


def skip_sentences(runs: Iterable[Run]) -> list[str]:
    """Return how many steps the loss scaler left out, for the runs that had one."""
    arms: dict[tuple[str, str, str, int], list[Run]] = {}
    for run in ordered(runs):
        if run.skipped_steps is not None:
            trial = run.trial
            arm = trial.framework, trial.model, trial.precision, trial.steps_per_epoch
            arms.setdefault(arm, []).append(run)
    sentences = []
    for (framework, model, precision, of_epoch), own in arms.items():
        middle = median(run.skipped_steps for run in own)
        # In turns a run trains more epochs than it was asked for.
        steps = f"{of_epoch * median(len(run.epoch_s) for run in own):.0f}"
        left_out = f"{middle:g} of {steps} steps, whose gradients overflowed"
        source = f"median of {len(own)} runs" if len(own) > 1 else "1 run"
        sentences.append(
            f"{NAMES[framework]}, {model_of(model)}, {precision}: the loss scaler left out "
            f"{left_out if middle else f'none of {steps} steps'} ({source})."
        )
    return sentences


def without_untrained(runs: Iterable[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs of the models that learned something in the baseline, and a sentence for each that did not.

    Two models that guess are equally accurate, which says nothing of their precision.
    """
    runs = list(runs)
    arms = _untrained(runs)
    sentences = []
    for (framework, model), arm in arms.items():
        accuracy = _accuracy(arm)
        sentences.append(
            f"{NAMES[framework]}, {model_of(model)}: {percent(accuracy)} in {precision_of(arm[0].trial.precision)} is "
            f"{_against_chance(accuracy, arm[0])}: it has not learned yet, so accuracy is not compared. Train "
            "more epochs."
        )
    learned = [run for run in runs if (run.trial.framework, run.trial.model) not in arms]
    return learned, sentences


def untrained_models(runs: Iterable[Run]) -> list[str]:
    """Return the models that learned nothing in the baseline: "mobilenet and resnet50 in PyTorch"."""
    models: dict[str, list[str]] = {}
    for framework, model in _untrained(runs):
        models.setdefault(framework, []).append(model_of(model))
    return [f"{listed(names)} in {NAMES[framework]}" for framework, names in models.items()]


def _untrained(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return (framework, model) -> the runs of the baseline, of those that learned nothing in it."""
    runs = list(runs)
    baseline = baseline_of({run.trial.precision for run in runs})
    arms: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.trial.precision == baseline and run.test_accuracy is not None:
            arms.setdefault((run.trial.framework, run.trial.model), []).append(run)
    return {name: arm for name, arm in arms.items() if _accuracy(arm) < arm[0].learned_from}


def _accuracy(arm: Sequence[Run]) -> float:
    return median(run.test_accuracy for run in arm)


def _against_chance(accuracy: float, run: Run) -> str:
    """Return whether an accuracy is what guessing gets, with the interval of that where the images are known."""
    chance = f"{100 * run.chance:.3g} %"
    if run.trial.folds is None:
        return f"near chance ({chance})"
    images = FOLDED_IMAGES // run.trial.folds  # in a fold, or one more
    low, high = guessing_range(run.chance, images)
    where = "at" if low <= accuracy <= high else "near"
    sure = f"{percent(low)} to {percent(high)} in {percent(CONFIDENCE)} of runs"
    return f"{where} chance (guessing gets {chance} of {images} images right, {sure})"


def input_sentences(runs: Iterable[Run]) -> list[str]:
    """Return whether making the images holds training back: input alone against compute alone."""
    seconds = ordered(runs).medians(lambda run: run.median_epoch_s)
    sentences = []
    for trial, input_s in seconds.items():
        compute_s = seconds.get(trial.only(COMPUTE))
        if trial.phase is INPUT and compute_s:
            enlarged = trial.framework == "torch"
            made = "reading and enlarging the images" if enlarged else "reading the images"
            rest = "the rest" if enlarged else "the model, which enlarges them,"
            verb = "is the bottleneck" if input_s > compute_s else "is not the bottleneck"
            sentences.append(
                f"{NAMES[trial.framework]}, {model_of(trial.model)}, {precision_of(trial.precision)}: {made} of "
                f"an epoch takes {three(input_s)} s alone, {rest} {three(compute_s)} s: the input "
                f"{verb} ({percent(input_s / compute_s)})."
            )
    return sentences


def precision_settings(verdicts: Sequence[Verdict], accuracy: Sequence[Verdict] = ()) -> list[str]:
    """Return, for each framework, the lines that switch on what was faster in whole steps, as Markdown.

    Beside where a precision was faster stands where it was slower, and where it cost accuracy, which is no gain.

    Args:
        accuracy: Verdicts on the accuracy of the same trials.
    """
    texts = []
    baseline = baseline_of({v.baseline.precision for v in verdicts})
    told = [v for v in verdicts if v.baseline.precision == baseline and v.candidate.precision != STRICT]
    worse = {(v.baseline, v.candidate) for v in accuracy if v.outcome is Outcome.WORSE}
    for framework in FRAMEWORKS:
        mine = [v for v in told if v.candidate.framework == framework and v.candidate.whole_steps]
        wins = [v for v in mine if v.outcome == Outcome.FASTER and (v.baseline, v.candidate) not in worse]
        if mine and not wins:
            texts.append(f"**{NAMES[framework]}**: {escape(_no_gain(mine, baseline))}")
        for precision in dict.fromkeys(v.candidate.precision for v in wins):
            gains = [
                (model_of(v.candidate.model), v.speedup) for v in wins if v.candidate.precision == precision
            ]
            lines = code.lines("precision", framework=framework, precision=precision)
            others = [v for v in mine if v.candidate.precision == precision and v not in wins]
            not_for = _not_for(others, worse)
            texts.append(code.faster_block(framework, precision, gains, lines, not_for=not_for))
    return texts


def _no_gain(verdicts: Sequence[Verdict], baseline: str) -> str:
    """Return what was decided, and what was not, where no precision is worth switching on: each with its model."""
    open_ = [v for v in verdicts if v.outcome is Outcome.UNDECIDED]
    costly = [v for v in verdicts if v.outcome is Outcome.FASTER]
    others = [v for v in verdicts if v not in open_ and v not in costly]
    stay = f"stay with {precision_of(baseline)} there"
    said = [f"faster, but less accurate: {_precisions(costly)}; {stay}."] if costly else []
    said += [f"not faster: {_precisions(others)}; {stay}."] if others else []
    said += [f"undecided: {_precisions(open_)}{what_decides(open_)}."] if open_ else []
    return " ".join([said[0], *(sentence[0].upper() + sentence[1:] for sentence in said[1:])])


def _precisions(verdicts: Sequence[Verdict]) -> str:
    """Return which precisions of which models verdicts are on: "bf16 for mobilenet (0.68x)"."""
    names = [(v.candidate.precision, model_of(v.candidate.model), size_of(v)) for v in verdicts]
    return ", ".join(f"{precision} for {model} ({size})" for precision, model, size in names)


def _not_for(verdicts: Sequence[Verdict], worse: Container[tuple[Trial, Trial]]) -> str:
    """Return for which models a precision is not worth switching on: "slower: mobilenet (0.64x)"; or nothing."""
    slower = [v for v in verdicts if v.outcome is Outcome.SLOWER]
    hurt = [v for v in verdicts if (v.baseline, v.candidate) in worse]
    said = {"slower": [f"{model_of(v.candidate.model)} ({v.speedup:.2f}x)" for v in slower]}
    said["less accurate"] = [model_of(v.candidate.model) for v in hurt]
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in said.items() if names)
