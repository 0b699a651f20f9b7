"""Judgements in words: the sentence, the label and the name of a verdict. Decides and measures nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.factors import RECIPE, Factor
from trainspeed.core.format import counted, fixed, fixed_to_interval, interval, percent
from trainspeed.core.levers.lever import LEVERS_FACTOR
from trainspeed.core.machine_text import device_name
from trainspeed.core.run import Run
from trainspeed.judge.blocks_needed import MOST_BLOCKS, blocks_for_margin, blocks_to_decide
from trainspeed.judge.equivalence import Equality, equality_of, is_uneven, margin_of
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Judged, Judgement, Outcome

DEVICES = "devices"  # factor of a comparison of several devices with one
OVER_ONE_CORE = "over one core; a plain script uses all of them"  # what cores gain that are a device each
OUTCOME_WORDS = {Outcome.SAME: "the same within the margin"}
NO_EFFECT = {"time": 1.0, "accuracy": 0.0}
# What an interval rules out that lies above no effect, and below it; an accuracy that is above it is not undecided.
RULED_OUT = {"time": ("not slower", "not faster"), "accuracy": ("", "not higher")}


def sentence(
    a: Run, b: Run, factor: str, judgement: Judgement, quantity: str = "time", without_result: int = 0
) -> str:
    """Return a verdict in words: b against a, and the setting in which it holds.

    Args:
        without_result: Blocks in which one of the two gave no result.
    """
    row, trial = a.trial.factor(factor), a.trial
    first = [f for f in trial.factors.values() if f.in_head and f.name not in row.hidden]
    versus = [row.versus(trial, b.trial), *(f.words(trial) for f in first)]
    # JAX is always compiled: where it meets another framework the versions say so, not the setting.
    compiled = "compile" not in row.fields and _differ("compile", a.trial, b.trial)
    grown = _batch_grows(row, trial, b.trial)
    unsaid = ["framework", *(f.name for f in first), *row.hidden]
    unsaid += ["compile"] * compiled + ["batch_size"] * grown
    machines = (device_name(run.machine, run.trial) for run in ([b] if "devices" in row.fields else [b, a]))
    versions = (version for run in (a, b) for version in _versions(run, with_compile=compiled))
    shared = shared_setting(trial, b.trial, row, unsaid)
    setting = [*dict.fromkeys(machines), *dict.fromkeys(versions), *shared]
    setting += [f"batch {trial.batch_size} on each device"] if grown else []
    blocks = blocks_in_words(judgement) + lost_blocks(without_result)
    return f"{', '.join(versus)}: {measured(judgement, quantity)}. {', '.join(setting)}, {blocks}."


def blocks_in_words(judgement: Judgement, noun: str = "block") -> str:
    """Return in how many blocks something was compared, and of how many, where others disturbed some of them."""
    if not judgement.disturbed:
        return counted(judgement.blocks, noun)
    every = counted(judgement.blocks + judgement.disturbed, noun)
    return f"{judgement.blocks} of {every} (others used the machine in the rest)"


def lost_blocks(number: int) -> str:
    """Return what follows the blocks of a verdict, where one side gave no result in some: ", 2 blocks without …"."""
    return f", {counted(number, 'block')} without a result" if number else ""


def _versions(run: Run, *, with_compile: bool) -> list[str]:
    compiled = f" ({run.trial.factor('compile').words(run.trial)})" if with_compile else ""
    return [f"{version}{compiled}" for version in run.trial.versions_in_words(run.versions)]


def label(baseline: AnyTrial, candidate: AnyTrial, factor: str) -> str:
    """Return what a chart or a table calls a comparison: the setting in which it was made."""
    return ", ".join(_label_words(baseline, candidate, factor))


def _label_words(baseline: AnyTrial, candidate: AnyTrial, factor: str) -> list[str]:
    row = baseline.factor(factor)
    seldom = [f for f in baseline.factors.values() if f.seldom]
    words = [row.lead(row, baseline, candidate)] if row.lead else []
    words += shared_setting(baseline, candidate, row, [*row.hidden, *(f.name for f in seldom)])
    if not row.plain_label:
        words += [f.words(baseline) for f in seldom if f.name not in row.hidden and f.seldom(baseline)]
    return words


def shared_setting(
    baseline: AnyTrial, candidate: AnyTrial, row: Factor, without: Iterable[str] = ()
) -> list[str]:
    """Return a comparison's setting in words without these factors: of all that a search kept, what both have.

    Where each device keeps its batch, it is said to be that of each.
    """
    if row.name != RECIPE:
        unsaid = {*without}
        grown = "batch_size" not in unsaid and _batch_grows(row, baseline, candidate)
        words = baseline.describe(without=unsaid | {"batch_size"} if grown else unsaid)
        return [*words, f"batch {baseline.batch_size} on each"] if grown else words
    both = replace(baseline, levers=tuple(one for one in baseline.levers if one in candidate.levers))
    apart = [f.name for f in both.factors.values() if f.words(both) != f.words(candidate)]
    return both.describe(without={*without, *apart} - {LEVERS_FACTOR})


def name(baseline: AnyTrial, candidate: AnyTrial, factor: str) -> str:
    """Return what was compared and where: "channels_last vs channels_first, PyTorch, cnn10, batch 16"."""
    return ", ".join(name_words(baseline, candidate, factor))


def name_words(baseline: AnyTrial, candidate: AnyTrial, factor: str) -> list[str]:
    """Return the parts of a comparison's name, what was compared first."""
    row = baseline.factor(factor)
    words = [] if row.lead else [row.versus(baseline, candidate)]
    words += _label_words(baseline, candidate, factor)
    return words + [f.words(candidate) for f in candidate.factors.values() if f.in_name(candidate)]


def pair(baseline: AnyTrial, candidate: AnyTrial) -> str:
    """Return two trials by all in which they differ: "bf16 vs fp32, PyTorch, cnn10, batch 16"."""
    differ = [f.name for f in baseline.factors.values() if f.words(baseline) != f.words(candidate)]
    versus = [f.versus(baseline, candidate) for f in _differing(baseline, candidate)] or ["measured twice"]
    return ", ".join(versus + baseline.describe(without=differ))


def switched_on(baseline: AnyTrial, candidate: AnyTrial) -> list[str]:
    """Return the switches that a trial has beyond a plain one: ["channels_last", "bf16", "fused optimizer"]."""
    switched: list[str] = []
    for factor in _differing(baseline, candidate):
        versus = factor.versus(baseline, candidate)
        switched += factor.each(baseline, candidate) if factor.each else [versus.partition(" vs ")[0]]
    return switched


def switched_in_short(baseline: AnyTrial, candidate: AnyTrial) -> str:
    """Return the same as a number, or by its name where it is one: "3 switches", or "bf16"."""
    switched = switched_on(baseline, candidate)
    return switched[0] if len(switched) == 1 else counted(len(switched), "switch", "switches")


def _differing(baseline: AnyTrial, candidate: AnyTrial) -> list[Factor]:
    differ = [f for f in baseline.factors.values() if f.words(baseline) != f.words(candidate)]
    along = {field for factor in differ for field in factor.with_fields}
    return [factor for factor in differ if factor.name not in along]


def measured(judgement: Judgement, quantity: str = "time") -> str:
    """Return how large the effect is, its interval and the outcome, in words."""
    if judgement.speedup is None:
        return "not measured"
    size = size_of(judgement, quantity, points=" points in test accuracy")
    if judgement.low is None:
        return f"{size}, no interval: undecided, measure {MIN_BLOCKS} blocks or more"
    outcome = outcome_word(judgement, quantity)
    outcome = OUTCOME_WORDS.get(outcome, outcome)
    if outcome == Outcome.UNDECIDED:
        leaning = leaning_of(judgement, quantity)
        outcome = f"{judgement.outcome}{leaning and f', but {leaning}'}"
        needed = blocks_to_decide if quantity == "time" else blocks_for_margin
        if judgement.quiet_speedup is not None:
            quiet = fixed(judgement.quiet_speedup, 2, "x")
            outcome += f"; {quiet} where other processes left it alone: stop them"
        elif uneven := uneven_in_words(judgement):
            outcome += f", as {uneven}"
        elif needed(judgement):  # else more of them would hardly decide it
            outcome += "; measure more blocks" if leaning else ", measure more blocks"
    ends = f"{percent(judgement.confidence)} interval {interval_of(judgement, quantity)}"
    return f"{size} ({ends}): {outcome}"


def outcome_word(judgement: Judgement, quantity: str = "time") -> str:
    """Return an outcome as a table has it; that of an accuracy as `accuracy_in_words` says it."""
    return accuracy_in_words(judgement) if quantity == "accuracy" else str(judgement.outcome)


def accuracy_in_words(judgement: Judgement | None) -> str:
    """Return what is known of an accuracy: "better", "not lower", "at most 0.5 points lower", "undecided", …

    That it was kept needs no interval that lies between both margins: see `equivalence.equality_of`.
    """
    equality = equality_of(judgement)
    if equality is not Equality.EQUAL:
        return str(equality)
    points = f"{margin_of(judgement):g} points"
    words = {Outcome.BETTER: str(Outcome.BETTER), Outcome.SAME: f"the same within {points}"}
    kept = "not lower" if judgement.low >= NO_EFFECT["accuracy"] else f"at most {points} lower"
    return words.get(judgement.outcome, kept)


def uneven_in_words(judgement: Judgement) -> str:
    """Return why an accuracy is undecided however many blocks there are; "" where its baseline is even enough."""
    if not is_uneven(judgement):
        return ""
    differs, margin = (
        f"{round(points, 1):g} points" for points in (judgement.baseline_range, margin_of(judgement))
    )
    return (
        f"the baseline's own accuracy differs by up to {differs} from block to block, too much to tell {margin}: train "
        "for more epochs or on more images"
    )


def leaning_of(judged: Judgement | Judged, quantity: str = "time") -> str:
    """Return what the interval of an undecided verdict rules out: "not slower", or "not higher"; "" where nothing.

    What `accuracy_in_words` says is not said once more.
    """
    own = judged if isinstance(judged, Judgement) else judged.judgement
    if judged.outcome is not Outcome.UNDECIDED or judged.low is None or own.quiet_speedup is not None:
        return ""
    if judged.low >= NO_EFFECT[quantity]:
        return RULED_OUT[quantity][0]
    return RULED_OUT[quantity][1] if judged.high <= NO_EFFECT[quantity] else ""


def size_in_short(judged: Judgement | Judged, quantity: str = "time") -> str:
    """Return the size, its interval and what that rules out: "1.02x, 1.01 to 1.05, so not slower"."""
    ends = "" if judged.low is None else interval_of(judged, quantity)
    leaning = leaning_of(judged, quantity)
    return ", ".join(filter(None, [size_of(judged, quantity), ends, leaning and f"so {leaning}"]))


def what_decides(verdicts: Iterable[Judged]) -> str:
    """Return what follows the word undecided of verdicts on time: how many blocks decide it, or that too many do."""
    undecided = [verdict for verdict in verdicts if verdict.outcome is Outcome.UNDECIDED]
    if all(verdict.low is None for verdict in undecided):
        return f": measure {MIN_BLOCKS} blocks or more"
    needed = [blocks_to_decide(verdict) for verdict in undecided if verdict.low is not None]
    if blocks := max(filter(None, needed), default=None):
        return f": {blocks} blocks would decide it, if the difference is as large as it looks now"
    return f", and more than {MOST_BLOCKS} blocks would be needed to decide it: take what is simpler"


def size_of(
    judgement: Judgement | Judged, quantity: str = "time", *, times: str = "x", points: str = " points"
) -> str:
    """Return how large the effect is, with as many digits as its interval: "1.34x", or "+0.5 points"."""
    known = judgement.speedup, judgement.low, judgement.high
    return (
        fixed_to_interval(*known, decimals_of(*known[1:]), times)
        if quantity == "time"
        else fixed_to_interval(*known, 1, points, sign="+")
    )


def interval_of(judgement: Judgement | Judged, quantity: str = "time") -> str:
    """Return the ends of its interval: "1.31 to 1.37", "1.016 to 1.105" where 1.02 were untrue, or "+0.3 to +0.8"."""
    if quantity == "time":
        ends = judgement.low, judgement.high
        return interval(*ends, decimals_of(*ends))
    return interval(judgement.low, judgement.high, 1, sign="+")


def decimals_of(low: float | None, high: float | None) -> int:
    """Return how many decimals a speed-up and its interval take: one more where an end else looks beyond the margin."""
    ends = [end for end in (low, high) if end is not None]
    return 2 + any(_looks_beyond(end, 2) and not _looks_beyond(end, 3) for end in ends)


def _looks_beyond(end: float, decimals: int) -> bool:
    shown, most = round(end, decimals), 1 + MARGIN
    return shown >= most > end or shown <= 1 / most < end < 1


def _differ(field: str, one: AnyTrial, other: AnyTrial) -> bool:
    return getattr(one, field, None) != getattr(other, field, None)


def _batch_grows(row: Factor, one: AnyTrial, other: AnyTrial) -> bool:
    """Whether a device's batch is fixed, so that the batch of all devices differs."""
    return "batch_size" not in row.fields and _differ("batch_size", one, other)
