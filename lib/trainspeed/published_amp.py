"""What article 003 prints and claims about mixed precision, and whether this machine agrees. Measures nothing.

`data/published/` holds it as printed in the article's text. Its measured times are there only as pictures:
one band for all models is what can be compared. Knows no framework's code and no chart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trainspeed.comparison import Verdict
from trainspeed.published import AGREES, CANNOT_TELL, DISAGREES, FOLDER, Claim
from trainspeed.trial import FRAMEWORKS, PRECISIONS, ZOO
from trainspeed.verdict import CONFIDENCE, LEAST_BLOCKS, Outcome, expected_false
from trainspeed.wording import NAMES, describe, measured

BAND = (0.45, 0.60)  # the article's share of FP32's time, over all of its models
SHARE, ABOVE, ACCURACY_HOLDS = "share", "above", "accuracy_holds"  # kinds of claims
HALVES = ("fp16", "bf16")  # mixed precisions, the article's first
WHOLE = ("both", "fit")  # parts that are training; the article timed `fit`
# Batch size and pixels, section 6-6. Those of EfficientNetB1 to B5 are not printed.
ARTICLE_SIZES = {
    "vgg16": (8, 224),
    "mobilenet": (16, 160),
    "resnet50": (16, 224),
    "efficientnet_b0": (16, 224),
}
SHARE_COLUMNS = (
    *("framework", "model", "precision", "compile", "part", "layout", "batch_size", "image_size"),
    *("share", "low", "high", "blocks"),
)


# What is printed.


def matrix_units(folder: Path = FOLDER) -> pd.DataFrame:
    """Return which precisions the matrix units (Tensor Cores) of three generations compute.

    Columns: source, place, architecture, printed_architecture (the article has "Tuning" for Turing), gpu
    (its example), precision ("bf16"), printed (the article has "BP16"), compute_capability ("7.5": not from
    the article), capability_source.
    """
    return pd.read_csv(folder / "matrix_unit_precisions.csv", dtype=str)


def mixed_accuracy(folder: Path = FOLDER) -> pd.DataFrame:
    """Return the accuracies in FP32 and in mixed precision that NVIDIA reported and the article cites.

    Columns: source, place, table, task, dataset, model, metric, fp32, mixed (both in %), cited, note, points
    (mixed - fp32), decimals (as many as are printed).
    """
    texts = dict.fromkeys(("source", "fp32", "mixed"), str)
    table = pd.read_csv(folder / "nvidia_mixed_accuracy.csv", dtype=texts, keep_default_na=False)
    decimals = table["fp32"].str.partition(".")[2].str.len()
    table = table.astype({"fp32": float, "mixed": float})
    return table.assign(points=(table["mixed"] - table["fp32"]).round(2), decimals=decimals)


def ec2_gpus(folder: Path = FOLDER) -> pd.DataFrame:
    """Return the article's two cloud instances: what their GPUs can do on paper, and the price of an hour.

    Columns: source, place, family, size (to which the price belongs), gpu, fp32_tflops, mixed_tflops,
    usd_per_hour, printed_tflops_per_usd, pricing, region, as_of.
    """
    return pd.read_csv(folder / "ec2_gpus.csv", dtype={"source": str})


def tflops_per_dollar(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the article's own arithmetic: TFLOPS for a dollar an hour, on paper.

    Args:
        table: As of `ec2_gpus`. Added: fp32_tflops_per_usd, mixed_tflops_per_usd, and mixed_over_fp32: the
            article promises 16 times, which is the V100's; the T4 that it measured has 8 on paper.
    """
    return table.assign(
        fp32_tflops_per_usd=table["fp32_tflops"] / table["usd_per_hour"],
        mixed_tflops_per_usd=table["mixed_tflops"] / table["usd_per_hour"],
        mixed_over_fp32=table["mixed_tflops"] / table["fp32_tflops"],
    )


def why_unsupported(
    precision: str, gpu_name: str | None, capability: str | tuple[int, int] | None, folder: Path = FOLDER
) -> str | None:
    """Return why a GPU's matrix units lack a precision, from the article's table; None where it has no reason.

    The generation is the last one of the table that is not newer than the GPU. fp32 is no precision of
    matrix units, and a CPU has none.

    Args:
        gpu_name: Of this machine; without one, the article's example is named.
        capability: (7, 5) or "7.5"; None for a CPU.
    """
    if capability is None or precision == "fp32":
        return None
    here, table = _pair(capability), matrix_units(folder)
    made = {text: _pair(text) for text in table["compute_capability"].unique()}
    known = [text for text, number in made.items() if number <= here]
    if not known:
        first = table.iloc[0]
        return (
            f"Matrix units came with {first['architecture']}; {gpu_name or 'this GPU'} "
            f"is older (article {first['source']})."
        )
    rows = table[table["compute_capability"] == max(known, key=made.__getitem__)]
    if precision in set(rows["precision"]):
        return None
    row = rows.iloc[0]
    generation = f"{row['architecture']} (as the {gpu_name or row['gpu']})"
    return f"{generation} has no {precision} in its matrix units (article {row['source']})."


def _pair(capability: str | tuple[int, int]) -> tuple[int, ...]:
    parts = capability.split(".") if isinstance(capability, str) else capability
    return tuple(int(part) for part in parts)


# Claims.


@dataclass(frozen=True, kw_only=True)
class AmpClaim(Claim):
    """One statement of the article about mixed precision.

    Attributes:
        year: Of the article's list of prices; the text has no other date.
        model, framework: Empty where the claim is about every one.
        kind: `share` (of FP32's time, between low and high), `above` (the share does not fall to low),
            `accuracy_holds`.
        low, high: Shares of FP32's time; None where the claim names none.
    """

    low: float | None
    high: float | None


def amp_claims(models: Collection[str] | None = None, folder: Path = FOLDER) -> list[AmpClaim]:
    """Return the article's claims: those about every model, and those about these models (None: all)."""
    table = pd.read_csv(folder / "claims_amp.csv", dtype=str, keep_default_na=False)
    claims = [
        AmpClaim(
            **{**row, "year": int(row["year"])}
            | {end: float(row[end]) if row[end] else None for end in ("low", "high")}
        )
        for row in table.to_dict("records")
    ]
    return [claim for claim in claims if models is None or claim.model in ("", *models)]


def check_amp(claim: AmpClaim, verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Return "agrees", "disagrees" or "cannot tell" here, and why, in a sentence.

    A share of FP32's time is 1 / speed-up, so its interval is 1 / high to 1 / low. Where fp16 was not
    compared, bf16 answers, and the reason says so.

    Args:
        verdicts: With factor "precision", from fp32; of quantity "time", and "accuracy" for that claim.
    """
    fitting = [verdict for verdict in verdicts if _fits(claim, verdict)]
    precision = next((p for p in HALVES if any(v.candidate.precision == p for v in fitting)), None)
    if precision is None:
        what = f"{claim.model or 'No model'} was {'not ' * bool(claim.model)}measured here"
        where = f" with {NAMES[claim.framework]}" if claim.framework else ""
        return CANNOT_TELL, f"{what} in both precisions{where}."
    fitting = [verdict for verdict in fitting if verdict.candidate.precision == precision]
    checks = {SHARE: _check_share, ABOVE: _check_above, ACCURACY_HOLDS: _check_accuracy}
    answer, reason = checks[claim.kind](claim, fitting)
    if precision != claim.candidate:
        reason += f" This is {precision}: {claim.candidate} was not compared here."
    return answer, reason


def _fits(claim: AmpClaim, verdict: Verdict) -> bool:
    """Whether a verdict is about training in mixed precision in the claim's setting.

    The article did not compile; NVIDIA's finding on accuracy is not bound to a setting.
    """
    one, accuracy = verdict.baseline, claim.kind == ACCURACY_HOLDS
    return (
        _is_precision_pair(verdict, "accuracy" if accuracy else "time")
        and verdict.candidate.precision in HALVES
        and claim.model in ("", one.model)
        and claim.framework in ("", one.framework)
        and claim.layout in ("", one.layout)
        and (accuracy or not one.compile)
    )


def _is_precision_pair(verdict: Verdict, quantity: str) -> bool:
    """Whether a precision is compared with fp32 on one device, in whole training."""
    one, judged = verdict.baseline, verdict.judgement.speedup is not None
    return (
        (verdict.factor, verdict.quantity, one.precision) == ("precision", quantity, "fp32")
        and one.part in WHOLE
        and one.devices == 1
        and judged
    )


def _distance(verdict: Verdict) -> tuple:
    """Sort key: an interval, then nearest to what the article timed, the most blocks, an order that does not vary."""
    trial = verdict.baseline
    batch, pixels = ARTICLE_SIZES.get(trial.model, (trial.batch_size, trial.image_size))
    off = abs(math.log2(trial.batch_size / batch)), abs(trial.image_size - pixels)
    known = verdict.low is None, trial.part != "fit", -verdict.blocks
    return *known, *off, trial.batch_size, trial.image_size, trial.layout


def _check_share(claim: AmpClaim, fitting: Sequence[Verdict]) -> tuple[str, str]:
    verdict = min(fitting, key=_distance)
    share, low, high = _share(verdict)
    band = f"{100 * claim.low:.0f} to {100 * claim.high:.0f} %"
    where = f"Here {_where(verdict)}: {100 * share:.1f} % of FP32's time"
    if low is None:
        return CANNOT_TELL, f"{where}, no interval: measure {LEAST_BLOCKS} blocks or more."
    where += f" ({100 * CONFIDENCE:.0f} % interval {100 * low:.1f} to {100 * high:.1f} %)"
    if claim.low <= low and high <= claim.high:
        return AGREES, f"{where}, within {band}."
    if high < claim.low or low > claim.high:
        return DISAGREES, f"{where}, {'less' if high < claim.low else 'more'} than {band}."
    return CANNOT_TELL, f"{where}, partly within {band}."


def _check_above(claim: AmpClaim, fitting: Sequence[Verdict]) -> tuple[str, str]:
    """The best verdict decides: that no share falls so far is claimed of all."""
    limit = 1 / claim.low
    sure = [verdict for verdict in fitting if verdict.high is not None]
    best = max(sure or fitting, key=lambda v: (v.high or v.speedup, v.speedup))
    reason = f"Here at most {_where(best)}: {measured(best.judgement)}; 1/{limit:g} would be {limit:g}x."
    if not sure or any(v.speedup >= limit for v in fitting if v.high is None):
        return CANNOT_TELL, reason
    if best.high < limit:
        return AGREES, reason
    return (DISAGREES if any(v.low >= limit for v in sure) else CANNOT_TELL), reason


def _check_accuracy(claim: AmpClaim, fitting: Sequence[Verdict]) -> tuple[str, str]:
    """It holds where none is worse and all are decided; as many worse as chance makes are no evidence."""
    counts = Counter(verdict.outcome for verdict in fitting)
    order = (Outcome.SAME, Outcome.BETTER, Outcome.WORSE, Outcome.UNDECIDED)
    names = {Outcome.SAME: "the same within the margin"}
    told = ", ".join(f"{counts[o]} {names.get(o, str(o))}" for o in order if counts[o])
    worst = min(fitting, key=lambda v: v.speedup)
    reason = (
        f"Here, of {len(fitting)} comparison{'s' * (len(fitting) > 1)} with fp32: {told}. "
        f"The lowest: {_where(worst)}: {measured(worst.judgement, 'accuracy')}."
    )
    if worse := counts[Outcome.WORSE]:
        by_chance = expected_false(sum(verdict.low is not None for verdict in fitting))
        if worse > by_chance:
            return DISAGREES, reason
        return CANNOT_TELL, f"{reason} Of so many, up to {by_chance:.1f} are wrong by chance."
    return (CANNOT_TELL if counts[Outcome.UNDECIDED] else AGREES), reason


def _share(verdict: Verdict) -> tuple[float, float | None, float | None]:
    """The share of FP32's time and its interval's ends: 1 / speed-up turns the ends around."""
    if verdict.low is None or verdict.high is None:
        return 1 / verdict.speedup, None, None
    return 1 / verdict.speedup, 1 / verdict.high, 1 / verdict.low


def _where(verdict: Verdict) -> str:
    return ", ".join(describe(verdict.candidate, without=("layout", "image_size", "compile")))


def shares_beside(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the share of FP32's time of each model in each precision, to be drawn beside `BAND`.

    One row per framework, model, precision, compile and part ("fit": as timed there): of several batch sizes
    or layouts the one with an interval, the most blocks, nearest to the article's. No rows where nothing was compared.

    Columns: framework, model, precision, compile, part, layout, batch_size, image_size, share (1 is FP32's time),
    low, high (NaN without an interval), blocks.
    """
    best: dict[tuple, Verdict] = {}
    for verdict in sorted((v for v in verdicts if _is_precision_pair(v, "time")), key=_distance):
        trial = verdict.candidate
        best.setdefault((trial.framework, trial.model, trial.precision, trial.compile, trial.part), verdict)
    rows = []
    for verdict in best.values():
        trial = verdict.candidate
        fields = {name: getattr(trial, name) for name in SHARE_COLUMNS if hasattr(trial, name)}
        share, low, high = _share(verdict)
        rows.append({**fields, "share": share, "low": low, "high": high, "blocks": verdict.blocks})

    def place(row: dict) -> tuple:
        model = ZOO.index(row["model"]) if row["model"] in ZOO else len(ZOO)
        framework, precision = FRAMEWORKS.index(row["framework"]), PRECISIONS.index(row["precision"])
        return model, row["model"], framework, row["compile"], precision, row["part"]

    table = pd.DataFrame(sorted(rows, key=place), columns=list(SHARE_COLUMNS))
    return table.astype({"share": float, "low": float, "high": float})
