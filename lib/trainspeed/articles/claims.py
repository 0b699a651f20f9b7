"""What the articles state, and the rules by which evidence supports it or not. Measures nothing.

`data/published/claims.csv` has the statements as data, one a row. The kind of a statement is its rule:

- `faster`, `slower`, `same`: the comparison that is nearest to the article's has this outcome.
- `share`: the share of the baseline's time lies between low and high. `times`, `gap_closes`: the ratio does.
  `little_gain`: the gain is less than `high` of the ideal one. A statement that names no model is about all.
- `any_faster`, `none_faster`, `none_worse`: some, or none, of several comparisons have that outcome.
- `larger_batch`, `memory`: no times are compared.

Where any one of several comparisons decides, each is judged as one of so many (`Judgement.one_of`): of 8 intervals
of 95 %, one in five times one is wrong by chance. What has to hold for all of them needs no such care.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trainspeed.core.paths import ROOT
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Judgement, Outcome

FOLDER = ROOT / "data/published"
NUMBERS = {"year": int, "devices": int, "batch_size": int, "image_size": int, "low": float, "high": float}
OUTCOME_KINDS = ("faster", "slower", "same")
BANDS = ("share", "times", "little_gain", "gap_closes")
TALLIES = {  # kind -> the outcome that is counted, and whether some should have it
    "any_faster": (Outcome.FASTER, True),
    "none_faster": (Outcome.FASTER, False),
    "none_worse": (Outcome.WORSE, False),
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of an article.

    Attributes:
        study: The study whose page shows it.
        place: The article's own words, and where they stand.
        hardware: "GPU" where it is about GPUs or their matrix units, so that nothing else can tell; empty where any
            device can, or its experiment says what another one tells.
        year: None where the article does not say.
        claim: The statement in English; `size` has its numbers, or what the article proposes to try.
        factor, baseline, candidate: What is compared; empty for a convolution.
        model, framework, layout, pipeline: The setting in which it was claimed; empty where any will do.
        devices, batch_size, image_size: Those of the article; None where it does not say.
        low, high: Limits in the unit of the kind; None where there is no limit.
        experiment: What tests a statement about a convolution here.
    """

    study: str
    id: str
    source: str
    place: str
    gpu: str
    hardware: str
    year: int | None
    claim: str
    size: str
    kind: str
    factor: str
    baseline: str
    candidate: str
    model: str
    framework: str
    layout: str
    pipeline: str
    devices: int | None
    batch_size: int | None
    image_size: int | None
    low: float | None
    high: float | None
    experiment: str


def claims(study: str, models: Collection[str] | None = None) -> list[Claim]:
    """Return a study's statements about every model, and those about these models (None: all)."""
    with (FOLDER / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["study"] == study]
    for row in rows:
        row |= {name: number(row[name]) if row[name] else None for name, number in NUMBERS.items()}
    return [Claim(**row) for row in rows if models is None or row["model"] in ("", *models)]


class Result(StrEnum):
    """What this machine says about a statement."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNDECIDED = "undecided"
    UNMEASURED = "not measured here"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A judgement of this machine that bears on a statement.

    Attributes:
        name: What was compared, in words.
        verdict: The verdict that the judgement is from; None where it was made for the statement alone.
    """

    name: str
    judgement: Judgement
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimAnswer:
    """What this machine says about a statement, and why; `text.reason` puts it into words.

    Attributes:
        evidence: What was compared; first the one nearest to the article's, or the one that tells most.
        note: What else there is to say, in whole sentences; without evidence, what is missing.
    """

    claim: Claim
    result: Result
    evidence: tuple[Evidence, ...] = ()
    note: str = ""


def without_gpu(claim: Claim) -> ClaimAnswer:
    """Return the answer of a machine without a GPU to a statement that is about GPUs."""
    return ClaimAnswer(
        claim=claim, result=Result.UNMEASURED, note="This is about GPUs, and none was used here."
    )


def decide(claim: Claim, evidence: Iterable[Evidence], missing: str = "") -> ClaimAnswer:
    """Return what the evidence says about a statement, by the rule of its kind.

    Args:
        missing: What has to be done or known first; it is the answer's note where there is no evidence.
    """
    known = tuple(item for item in evidence if item.judgement.speedup is not None)
    if not known:
        return ClaimAnswer(claim=claim, result=Result.UNMEASURED, note=missing)
    if claim.kind in OUTCOME_KINDS:
        outcome = known[0].judgement.outcome
        holds = None if outcome == Outcome.UNDECIDED else outcome == claim.kind
    elif claim.kind in BANDS:
        holds = _all_within(claim, known)
    else:
        outcome, wanted = TALLIES[claim.kind]
        any_has_it = _any_has(known, outcome)
        holds = None if any_has_it is None else any_has_it == wanted
    result = {True: Result.AGREES, False: Result.DISAGREES, None: Result.UNDECIDED}[holds]
    return ClaimAnswer(claim=claim, result=result, evidence=known)


def limits(claim: Claim, item: Evidence) -> tuple[float, float]:
    """Return the speed-ups between which a statement about a band holds."""
    if claim.kind == "share":
        return 1 / claim.high if claim.high else 0.0, 1 / claim.low
    if claim.kind == "little_gain":
        return 0.0, 1 + claim.high * (item.verdict.candidate.devices - 1)
    return claim.low or 0.0, claim.high or math.inf


def chances(evidence: Sequence[Evidence]) -> int:
    """Return how many comparisons had a chance to decide: those with an interval."""
    return sum(item.judgement.low is not None for item in evidence)


def _all_within(claim: Claim, evidence: Sequence[Evidence]) -> bool | None:
    """Return whether all lie between the limits; None where that is not sure.

    What has no interval does not count, unless its estimate alone is beyond the limits.
    """
    sure: list[bool] = []
    for item in evidence:
        (low, high), judgement = limits(claim, item), item.judgement
        strict = judgement.one_of(chances(evidence))
        if judgement.low is None:
            sure += [] if low < judgement.speedup < high else [False]
        elif strict.low is not None and (strict.high < low or strict.low > high):
            return False
        else:
            sure.append(low < judgement.low and judgement.high < high)
    return True if sure and all(sure) else None


def _any_has(evidence: Sequence[Evidence], outcome: Outcome) -> bool | None:
    """Return whether one surely has an outcome among so many; False where none has it and all are decided."""
    judgements = [item.judgement for item in evidence]
    if any(judgement.one_of(chances(evidence)).outcome == outcome for judgement in judgements):
        return True
    return (
        None if any(judgement.outcome in (outcome, Outcome.UNDECIDED) for judgement in judgements) else False
    )
