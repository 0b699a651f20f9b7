"""Which of this machine's verdicts and runs bear on an article's statement. Measures nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from statistics import median

from trainspeed.articles.claims import Claim, ClaimAnswer, Evidence, Result, decide, without_gpu
from trainspeed.core.format import DEFAULT_PRECISION
from trainspeed.core.phase import FIT
from trainspeed.core.run import DATA_ROLES, Run, Status
from trainspeed.core.trial import STRATEGIES, STRICT, WITH_WORKERS, Trial
from trainspeed.judge.comparison import Verdict, ratios
from trainspeed.judge.verdict import judge

BOTH_WAYS = "That depends on layout, precision, compiler, number of devices or another setting."
HALVES = ("fp16", "bf16")  # bf16 answers for the articles' fp16 where that was not measured
PLAIN = (STRICT, DEFAULT_PRECISION)  # the articles left the flags alone, on GPUs without TF32
SAID = ("layout", "precision", "compile", "devices")  # of trials whose memory is compared
# Fields that are no matter to how large a batch fits, or in which these trials differ.
MAY_DIFFER = ("framework", "strategy", "batch_size", "images_per_epoch", "epochs", "dataset", "seed", "fold")
ALIKE = tuple(field.name for field in fields(Trial) if field.name not in MAY_DIFFER)
ARTICLE_WORKERS = {"threads": 4, "processes": 32}  # article 002's


def check_claim(claim: Claim, verdicts: Iterable[Verdict], runs: Iterable[Run] = ()) -> ClaimAnswer:
    """Return what this machine's verdicts say about a statement; runs answer what no verdict can.

    Of several verdicts the one with the most blocks answers, and of these the one nearest to the article's
    devices, workers, batch and images. A statement about 8 GPUs is compared with what is here, even if that
    is 2 GPUs of another kind; of CPU cores it says nothing.
    """
    runs = tuple(runs)
    if claim.hardware and runs and all(run.machine.get("device") == "cpu" for run in runs):
        return without_gpu(claim)
    if claim.kind == "larger_batch":
        return _larger_batch(claim, runs)
    if claim.kind == "gap_closes":
        return decide(claim, _gap(claim, runs), "It takes two batch sizes at which both were measured.")
    as_fp32 = precisions_of_32_bits(runs)
    relevant = sorted(filter(None, (as_claimed(claim, v, as_fp32) for v in verdicts)), key=nearness(claim))
    if claim.model:
        relevant = relevant[:1]
    else:  # about every model: what tells most comes first
        relevant = [v for v in relevant if v.candidate.precision == relevant[0].candidate.precision]
        relevant = sorted(relevant, key=lambda v: v.speedup, reverse=claim.kind == "share")
    return decide(claim, [Evidence(name=_name(v), judgement=v.judgement, verdict=v) for v in relevant])


def precisions_of_32_bits(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the precisions that are strict fp32: the default one too where runs in it say that they used no TF32."""
    plain = [
        run.tf32 for run in runs if run.trial.phase.of_model and run.trial.precision == DEFAULT_PRECISION
    ]
    known = [tf32 for tf32 in plain if tf32 is not None]
    return (STRICT, DEFAULT_PRECISION) if known and not any(known) else (STRICT,)


def as_claimed(claim: Claim, verdict: Verdict, as_fp32: Collection[str] = (STRICT,)) -> Verdict | None:
    """Return a verdict in the direction of the statement; None where it compares something else.

    Args:
        as_fp32: As `precisions_of_32_bits` returns them.
    """
    quantity = "accuracy" if claim.kind == "none_worse" else "time"
    if (verdict.quantity, verdict.factor) != (quantity, claim.factor) or verdict.speedup is None:
        return None
    if _fits(claim, verdict.baseline, verdict.candidate, as_fp32):
        return verdict
    if quantity == "time" and _fits(claim, verdict.candidate, verdict.baseline, as_fp32):
        ends = {"baseline": verdict.candidate, "candidate": verdict.baseline}
        return replace(verdict, **ends, judgement=verdict.judgement.turned)
    return None


def _fits(claim: Claim, one: Trial, other: Trial, as_fp32: Collection[str]) -> bool:
    """Return whether two trials are the statement's, in its setting: plain 32 bits, not compiled, in whole steps.

    Accuracy may be that of compiled models, and the batch may grow with the devices where a generator's
    gain is claimed: what it has to do in an epoch is the same at every batch size. The articles had one machine.
    """
    if claim.factor == "devices":
        arms = one.devices == 1 < other.devices
    else:
        candidates = HALVES if claim.candidate in HALVES else (claim.candidate,)
        baselines = as_fp32 if claim.factor == "precision" else (claim.baseline,)
        arms = getattr(one, claim.factor) in baselines and getattr(other, claim.factor) in candidates
        arms = arms and one.devices == other.devices and (one.devices > 1) == (claim.devices > 1)
    where = ("model", "framework", "layout", "pipeline")
    return (
        arms
        and one.nodes == other.nodes == 1
        and all(getattr(claim, name) in ("", getattr(one, name)) for name in where)
        and one.precision in PLAIN
        and (claim.kind == "none_worse" or not one.compile)
        and one.part == other.part
        and one.phase.trains
        and (one.batch_size == other.batch_size or claim.kind == "little_gain")
    )


def plain_precision(measured: Iterable[str]) -> str:
    """Return the precision that stands for the articles' plain one: strict fp32 where it was measured."""
    return STRICT if STRICT in set(measured) else DEFAULT_PRECISION


def nearness(claim: Claim) -> Callable[[Verdict], tuple]:
    """Return a sort key for verdicts: most blocks, nearest to the article's, then a fixed order."""

    def key(verdict: Verdict) -> tuple:
        one, other = verdict.baseline, verdict.candidate
        fed = (trial for trial in (one, other) if trial.pipeline in WITH_WORKERS)
        extra_workers = sum(abs(trial.workers - ARTICLE_WORKERS[trial.pipeline]) for trial in fed)
        return (
            claim.candidate in HALVES and other.precision != claim.candidate,
            # Article 003 timed with validation.
            *(verdict.low is None, one.phase is not FIT, -verdict.blocks, one.precision != STRICT),
            *(abs(other.devices - (claim.devices or 1)), extra_workers),
            abs(math.log2(one.batch_size / claim.batch_size)) if claim.batch_size else 0,
            abs(one.image_size - claim.image_size) if claim.image_size else 0,
            *(one.batch_size, other.batch_size, one.image_size, one.layout),
            STRATEGIES[other.framework].index(other.strategy),
        )

    return key


def _name(verdict: Verdict) -> str:
    """Return what was compared; of frameworks on several devices also how the candidate spreads the batch."""
    other = verdict.candidate
    spread = f" ({other.framework}: {other.strategy})"
    return verdict.name + spread * (verdict.factor == "framework" and other.devices > 1)


def _gap(claim: Claim, runs: Iterable[Run]) -> list[Evidence]:
    """Return how many times larger the gap is at the smallest batch than at the largest, paired by block.

    Which of the two is ahead at a batch size is the same in all its blocks: turned block by block, noise around no
    difference would look like a gap.
    """
    wanted = {"model": claim.model, "layout": claim.layout, "compile": False}
    gaps: dict[int, dict[int, float]] = {}
    rows = ratios(runs, claim.factor, claim.baseline, claim.candidate)
    plain = plain_precision(row["precision"] for row in rows)
    for row in rows:
        if (wanted | {"precision": plain}).items() <= row.items():
            gaps.setdefault(row["batch_size"], {})[row["block"]] = row["ratio"]
    if len(gaps) < 2:
        return []
    small, large = (_turned(gaps[end(gaps)]) for end in (min, max))
    both = sorted(small.keys() & large.keys())
    where = f", {claim.layout}" if claim.layout else ""
    name = f"the gap at batch {min(gaps)} over that at batch {max(gaps)}{where}"
    return [Evidence(name=name, judgement=judge([small[b] for b in both], [large[b] for b in both]))]


def _turned(ratios: Mapping[int, float]) -> dict[int, float]:
    """Return the ratios of a batch size's blocks, all turned so that their median is 1 or more."""
    ahead = median(ratios.values()) >= 1
    return {block: ratio if ahead else 1 / ratio for block, ratio in ratios.items()}


def _larger_batch(claim: Claim, runs: Iterable[Run]) -> ClaimAnswer:
    """Return whether the candidate ran at a batch size at which the baseline ran out of memory, all else equal.

    A run that was not begun, as memory was known to be too small, shows nothing of either.
    """
    arms = (claim.baseline, claim.candidate)
    alike: dict[tuple, list[Run]] = {}
    for run in runs:
        trial = run.trial
        if (
            trial.framework in arms
            and trial.model == claim.model
            and run.role in DATA_ROLES
            and run.was_begun
        ):
            alike.setdefault(tuple(getattr(trial, name) for name in ALIKE), []).append(run)
    if not any(run.status is Status.OOM for own in alike.values() for run in own):
        return ClaimAnswer(claim=claim, result=Result.UNMEASURED, note="No run here ran out of memory.")
    found = {answer.result: answer for answer in (_larger_of_alike(claim, own) for own in alike.values())}
    if Result.AGREES in found and Result.DISAGREES in found:
        return replace(found[Result.AGREES], result=Result.UNDECIDED, note=BOTH_WAYS)
    return next(found[result] for result in Result if result in found)


def _larger_of_alike(claim: Claim, runs: Sequence[Run]) -> ClaimAnswer:
    """Return the same of runs whose trials differ in framework and batch size alone."""
    sizes: dict[tuple[str, Status], set[int]] = {}
    for run in runs:
        sizes.setdefault((run.trial.framework, run.status), set()).add(run.trial.batch_size)
    base, cand = (sizes.get((arm, Status.OK), set()) for arm in (claim.baseline, claim.candidate))
    base_oom, cand_oom = (sizes.get((arm, Status.OOM), set()) for arm in (claim.baseline, claim.candidate))
    if not base or not cand or not (base_oom or cand_oom):
        return ClaimAnswer(claim=claim, result=Result.UNMEASURED)
    setting = ", ".join(runs[0].trial.factors[name].words(runs[0].trial) for name in SAID)
    largest = f"{claim.candidate} {max(cand)}, {claim.baseline} {max(base)}"
    note = f"The largest batch that ran here: {largest} ({setting})."
    fits_less = (cand_oom - cand) & (base | base_oom)
    otherwise = Result.DISAGREES if fits_less else Result.UNDECIDED
    return ClaimAnswer(
        claim=claim, result=Result.AGREES if cand & (base_oom - base) else otherwise, note=note
    )
