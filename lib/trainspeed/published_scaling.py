"""What the articles found on 2 and on 8 GPUs, and whether this machine agrees. Measures nothing.

`data/published/` holds it as printed in the articles' texts. Compared are ratios only: neither the GPUs
nor the images nor the libraries are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trainspeed.comparison import Verdict
from trainspeed.published import AGREES, AS_PUBLISHED, CANNOT_TELL, DISAGREES, FOLDER, Claim
from trainspeed.trial import STRATEGIES, WITH_WORKERS, Trial
from trainspeed.verdict import Outcome
from trainspeed.wording import NAMES, devices_of, measured, pipeline_of

LITTLE_GAIN = "little_gain"
LITTLE = 0.5  # a smaller share of the ideal gain is little; the article's 8 GPUs gained 2 % of it
ROUNDING_S = 0.5  # article 002 prints whole seconds: 196 steps of 90 ms are 17.6 s and printed as 18 s
THREADS, PROCESSES, ARRAYS = "threads", "processes", "arrays"  # names of pipelines, as in a trial
GPUS = {"000": 2, "001": 2, "002": 8}  # on which an article compared
ARTICLE_WORKERS = {THREADS: 4, PROCESSES: 32}  # article 002's
ARTICLE_PX = 32  # CIFAR-10, in every article


@dataclass(frozen=True, kw_only=True)
class ScalingClaim(Claim):
    """One statement of an article about more than one GPU.

    Attributes:
        year: None where the article does not say.
        pipeline: Where it was claimed; empty where it is compared, or where the article does not say:
            then it is held against plain arrays.
        kind: What is claimed of the candidate: `faster`, `slower`, `little_gain`.
    """

    year: int | None
    pipeline: str


def scaling_claims(folder: Path = FOLDER) -> list[ScalingClaim]:
    """Return the articles' claims about a second or an eighth GPU."""
    table = pd.read_csv(folder / "claims_multi_gpu.csv", dtype=str, keep_default_na=False)
    rows = table.to_dict("records")
    return [ScalingClaim(**{**row, "year": int(row["year"]) if row["year"] else None}) for row in rows]


def check_scaling(claim: ScalingClaim, verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Return "agrees", "disagrees" or "cannot tell" here, and why, in a sentence.

    A claim about 8 GPUs is held against what is here, be it 2 CPU cores: the reason says how many. Of
    several verdicts the one with the most blocks answers, and of these the one nearest to the article's
    numbers of GPUs and workers.

    Args:
        verdicts: As `published_verdicts.claim_verdicts` returns them.
    """
    fitting = [verdict for verdict in verdicts if _fits(claim, verdict)]
    if not fitting:
        arms = f"with {_name(claim.baseline)} and with {_name(claim.candidate)}, on more than one device"
        where = "on one device and on more" if claim.factor == "devices" else arms
        return CANNOT_TELL, f"{claim.model} as in the article was not measured here {where}."
    verdict = min(fitting, key=lambda v: _distance(claim, v))
    judgement = verdict.judgement
    reason = f"Here {_where(verdict)}: {measured(judgement)}."
    if claim.kind == LITTLE_GAIN:
        enough = 1 + LITTLE * (verdict.candidate.devices - 1)
        reason += f" Little is less than {enough:.2f}x: {LITTLE:.0%} of the ideal gain.".replace("%", " %")
        if judgement.low is None or judgement.low <= enough <= judgement.high:
            return CANNOT_TELL, reason
        return (AGREES if judgement.high < enough else DISAGREES), reason
    if judgement.outcome == Outcome.UNDECIDED:
        return CANNOT_TELL, reason
    return (AGREES if str(judgement.outcome) == claim.kind else DISAGREES), reason


def _fits(claim: ScalingClaim, verdict: Verdict) -> bool:
    """Whether a verdict is about whole steps in the claim's setting, and compares what the claim compares."""
    one, other = verdict.baseline, verdict.candidate
    return (
        (verdict.quantity, verdict.factor, one.model) == ("time", claim.factor, claim.model)
        and one.part == other.part == "both"
        and (one.precision, one.compile) == AS_PUBLISHED
        and claim.framework in ("", one.framework)
        and claim.layout in ("", one.layout)
        and (claim.factor == "pipeline" or one.pipeline == (claim.pipeline or ARRAYS))
        and (_devices_fit(claim, one, other) if claim.factor == "devices" else _arms_fit(claim, one, other))
    )


def _devices_fit(claim: ScalingClaim, one: Trial, more: Trial) -> bool:
    """Whether one device is compared with more.

    "Faster" and "slower" were claimed at the same global batch. What a generator has to do in an epoch
    is the same at every batch size, so there the batch may grow with the devices.
    """
    same_batch = one.batch_size == more.batch_size
    return one.devices == int(claim.baseline) < more.devices and (same_batch or claim.kind == LITTLE_GAIN)


def _arms_fit(claim: ScalingClaim, one: Trial, other: Trial) -> bool:
    """Whether the claim's two frameworks or pipelines are compared, on the same devices, more than one."""
    names = getattr(one, claim.factor), getattr(other, claim.factor)
    return (
        names == (claim.baseline, claim.candidate)
        and one.devices == other.devices > 1
        and one.batch_size == other.batch_size
    )


def _distance(claim: ScalingClaim, verdict: Verdict) -> tuple:
    """Sort key: the most blocks, the article's GPUs and workers, then an order that does not vary."""
    one, other = verdict.baseline, verdict.candidate
    off = [abs(t.workers - ARTICLE_WORKERS[t.pipeline]) for t in (one, other) if t.pipeline in WITH_WORKERS]
    strategy = STRATEGIES[other.framework].index(other.strategy)
    return (
        *(-verdict.blocks, abs(other.devices - GPUS[claim.source]), sum(off)),
        *(one.batch_size, other.batch_size, strategy, one.layout),
    )


def _where(verdict: Verdict) -> str:
    """Return what was compared here, in words."""
    one, other = verdict.baseline, verdict.candidate
    if verdict.factor == "devices":
        fed = [] if other.pipeline == ARRAYS else [pipeline_of(other)]
        what = [f"{devices_of(other)} against 1", *fed]
    elif verdict.factor == "pipeline":
        what = [f"{pipeline_of(other)} against {pipeline_of(one)}", devices_of(other)]
    else:
        arms = (f"{NAMES[trial.framework]} ({trial.strategy})" for trial in (other, one))
        what = [" against ".join(arms), f"{other.devices} devices"]
    batches = dict.fromkeys((one.batch_size, other.batch_size))
    return ", ".join([*what, f"batch {' and '.join(map(str, batches))}"])


def _name(arm: str) -> str:
    return NAMES.get(arm, arm)


def published_speedups(folder: Path = FOLDER) -> pd.DataFrame:
    """Return the speed-up of 2 GPUs over 1 (PyTorch's DataParallel): median epoch / median epoch.

    The batch size is the global one, on 1 GPU and on 2. Article 001 does not say so outright, but there
    is no other reading: only the model is wrapped for 2 GPUs, and a missing batch size is one that ran
    out of memory, as the Wide ResNet's 512 did on 1 GPU; 2 GPUs trained 512.

    Columns: source, gpu, year, framework, model, batch_size, devices, baseline_s, candidate_s, speedup.
    """
    table = pd.read_csv(folder / "pytorch_2080ti.csv", dtype={"source": str})
    where = ["source", "gpu", "year", "framework", "model", "batch_size"]
    one = table.loc[table["devices"] == 1, [*where, "median_epoch_s"]]
    two = table.loc[table["devices"] == 2, [*where, "devices", "median_epoch_s"]]
    data = one.rename(columns={"median_epoch_s": "baseline_s"}).merge(
        two.rename(columns={"median_epoch_s": "candidate_s"}), on=where
    )
    return data.assign(speedup=data["baseline_s"] / data["candidate_s"])


def pipeline_ratios(folder: Path = FOLDER) -> pd.DataFrame:
    """Return article 002's four variants, each epoch time relative to that of the first (1 GPU, 21 s).

    `low` and `high` are what the rounding to whole seconds leaves open. Without the generator the images
    were not augmented either, so that accuracy is of another training.

    Columns: those of the file, and relative_time, low, high, accuracy_points (epoch 100, against the first).
    """
    table = pd.read_csv(folder / "keras_pipelines_p2_8xlarge.csv", dtype={"source": str})
    seconds, first_s = table["epoch_s"], table["epoch_s"].iloc[0]
    low = (seconds - ROUNDING_S) / (first_s + ROUNDING_S)
    high = (seconds + ROUNDING_S) / (first_s - ROUNDING_S)
    low.iloc[0] = high.iloc[0] = 1.0  # however it was rounded, it is itself
    points = 100 * (table["val_accuracy"] - table["val_accuracy"].iloc[0])
    return table.assign(relative_time=seconds / first_s, low=low, high=high, accuracy_points=points)
