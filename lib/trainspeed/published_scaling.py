"""What the articles found on 2 and on 8 GPUs, and whether this machine agrees. Measures nothing.

`data/published/` holds it as printed in the articles' texts. Compared are ratios only: neither the GPUs
nor the images nor the libraries are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trainspeed import published
from trainspeed.comparison import Verdict
from trainspeed.published import AGREES, AS_PUBLISHED, CANNOT_TELL, DISAGREES, FOLDER, Claim
from trainspeed.verdict import Outcome
from trainspeed.wording import measured

LITTLE_GAIN = "little_gain"
LITTLE = 0.5  # a smaller share of the ideal gain is little; the article's 8 GPUs gained 2 % of it
ROUNDING_S = 0.5  # article 002 prints whole seconds: 196 steps of 90 ms are 17.6 s and printed as 18 s
THREADS, ARRAYS = "threads", "arrays"  # names of pipelines, as in a trial


@dataclass(frozen=True, kw_only=True)
class ScalingClaim(Claim):
    """One statement of an article about more than one GPU.

    Attributes:
        year: None where the article does not say.
        pipeline: Where it was claimed; empty where the article does not say or where it is compared.
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
    number of GPUs.
    """
    if claim.factor != "devices":
        several = [v for v in verdicts if min(v.baseline.devices, v.candidate.devices) > 1]
        return published.check(claim, several, ())
    fitting = [verdict for verdict in verdicts if _fits(claim, verdict)]
    if not fitting:
        return (
            CANNOT_TELL,
            f"{claim.model} as in the article was not measured here on one device and on more.",
        )
    wanted = int(claim.candidate)
    verdict = max(fitting, key=lambda v: (v.judgement.blocks, -abs(v.candidate.devices - wanted)))
    one, more, judgement = verdict.baseline, verdict.candidate, verdict.judgement
    sizes = dict.fromkeys((one.batch_size, more.batch_size))
    where = f"{more.devices} devices ({more.strategy}) against 1, batch {' and '.join(map(str, sizes))}"
    reason = f"Here {where}: {measured(judgement)}."
    if claim.kind == LITTLE_GAIN:
        enough = 1 + LITTLE * (more.devices - 1)
        reason += f" Little is less than {enough:.2f}x: {LITTLE:.0%} of the ideal gain.".replace("%", " %")
        if judgement.low is None or judgement.low <= enough <= judgement.high:
            return CANNOT_TELL, reason
        return (AGREES if judgement.high < enough else DISAGREES), reason
    if judgement.outcome == Outcome.UNDECIDED:
        return CANNOT_TELL, reason
    return (AGREES if str(judgement.outcome) == claim.kind else DISAGREES), reason


def _fits(claim: ScalingClaim, verdict: Verdict) -> bool:
    """Whether a verdict is about one device and more, in the claim's setting.

    "Faster" and "slower" were claimed at the same global batch. What a generator has to do in an epoch
    is the same at every batch size, so there the batch may grow with the devices.
    """
    one, more = verdict.baseline, verdict.candidate
    return (
        (verdict.quantity, verdict.factor, one.model) == ("time", "devices", claim.model)
        and one.devices == int(claim.baseline) < more.devices
        and (one.precision, one.compile) == AS_PUBLISHED
        and claim.framework in ("", one.framework)
        and claim.layout in ("", one.layout)
        and claim.pipeline in ("", one.pipeline)
        and (claim.kind == LITTLE_GAIN or one.batch_size == more.batch_size)
    )


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
