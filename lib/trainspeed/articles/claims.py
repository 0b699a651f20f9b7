"""What the articles state, and the rules by which evidence supports it or not. Measures nothing.

`data/published/claims.csv` has the statements as data, one a row. The kind of a statement is its rule:

- `faster`, `slower`, `same`: the outcome of the comparison that is nearest to the article's.
- `share`: the share of the baseline's time lies between low and high. `times`, `gap_closes`: the ratio does.
  `little_gain`: the gain is less than `high` of the ideal one. A statement about no model is one about all.
- `any_faster`, `none_faster`, `none_worse`: of several comparisons some, or none, have that outcome.
- `larger_batch`, `memory`: no times are compared.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trainspeed.core.paths import ROOT
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Judgement, Outcome, expected_false

FOLDER = ROOT / "data/published"
NUMBERS = {"year": int, "devices": int, "batch_size": int, "image_size": int, "low": float, "high": float}
OUTCOMES = ("faster", "slower", "same")
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
        study: Whose page shows it.
        place: The article's own words, and where they stand.
        year: None where the article does not say.
        claim: In English; `size` has its numbers, or what the article proposes to try.
        factor, baseline, candidate: What is compared; empty for a convolution.
        model, framework, layout, pipeline: Where it was claimed; empty where any will do.
        devices, batch_size, image_size: The article's; None where it does not say.
        low, high: In the unit of the kind; None: no limit.
        experiment: What tests it here, of a convolution.
    """

    study: str
    id: str
    source: str
    place: str
    gpu: str
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
    """Return the statements for a study: those about every model, and those about these models (None: all)."""
    with (FOLDER / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["study"] == study]
    found = [Claim(**{name: _cell(name, text) for name, text in row.items()}) for row in rows]
    return [claim for claim in found if models is None or claim.model in ("", *models)]


def _cell(name: str, text: str) -> str | int | float | None:
    if name in NUMBERS:
        return NUMBERS[name](text) if text else None
    return text


class Result(StrEnum):
    """What this machine says of a statement."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNDECIDED = "undecided"
    UNMEASURED = "not measured here"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A judgement of this machine that bears on a statement.

    Attributes:
        name: What was compared, in words.
        verdict: Where the judgement is from; None where it was made for the statement alone.
    """

    name: str
    judgement: Judgement
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What this machine says of a statement, and why; `text.reason` has it in words.

    Attributes:
        evidence: What was compared; the nearest to the article's first, or what tells most.
        note: What else there is to say, in whole sentences; without evidence, what is missing.
    """

    claim: Claim
    result: Result
    evidence: tuple[Evidence, ...] = ()
    note: str = ""


def decide(claim: Claim, evidence: Iterable[Evidence], missing: str = "") -> Answer:
    """Return what the evidence says of a statement, by the rule of its kind.

    Args:
        missing: What to do or to know first, for where there is no evidence.
    """
    known = tuple(item for item in evidence if item.judgement.speedup is not None)
    if not known:
        return Answer(claim=claim, result=Result.UNMEASURED, note=missing)
    if claim.kind in OUTCOMES:
        outcome = known[0].judgement.outcome
        holds = None if outcome == Outcome.UNDECIDED else outcome == claim.kind
    elif claim.kind in BANDS:
        holds = _all_within(claim, known)
    else:
        outcome, wanted = TALLIES[claim.kind]
        some = _some([item.judgement for item in known], outcome)
        holds = None if some is None else some == wanted
    result = {True: Result.AGREES, False: Result.DISAGREES, None: Result.UNDECIDED}[holds]
    return Answer(claim=claim, result=result, evidence=known)


def limits(claim: Claim, item: Evidence) -> tuple[float, float]:
    """Return between which speed-ups a statement of a band holds."""
    if claim.kind == "share":
        return 1 / claim.high if claim.high else 0.0, 1 / claim.low
    if claim.kind == "little_gain":
        return 0.0, 1 + claim.high * (item.verdict.candidate.devices - 1)
    return claim.low or 0.0, claim.high or math.inf


def _all_within(claim: Claim, evidence: Sequence[Evidence]) -> bool | None:
    """What has no interval does not count, unless its estimate alone is beyond the limits."""
    found: list[bool | None] = []
    for item in evidence:
        (low, high), judgement = limits(claim, item), item.judgement
        if judgement.low is None:
            found += [] if low < judgement.speedup < high else [None]
        elif judgement.high < low or judgement.low > high:
            return False
        else:
            found.append(True if low < judgement.low and judgement.high < high else None)
    return True if found and None not in found else None


def _some(judgements: Sequence[Judgement], outcome: Outcome) -> bool | None:
    """Whether more have an outcome than noise makes; False: none has, and all are decided."""
    count = sum(judgement.outcome == outcome for judgement in judgements)
    if count > expected_false(sum(judgement.low is not None for judgement in judgements)):
        return True
    undecided = any(judgement.outcome == Outcome.UNDECIDED for judgement in judgements)
    return None if count or undecided else False
