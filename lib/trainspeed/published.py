"""The articles' own numbers and claims, and whether this machine agrees. Measures nothing.

`data/published/` holds them as transcribed from the articles' texts, a source on each row. What the
articles show only as pictures is not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trainspeed.comparison import Verdict, ratios
from trainspeed.environments import ROOT
from trainspeed.run import Run, Status
from trainspeed.schedule import AUXILIARY
from trainspeed.verdict import LEAST_BLOCKS, Judgement, Outcome, median_interval
from trainspeed.wording import measured

FOLDER = ROOT / "data/published"
AGREES, DISAGREES, CANNOT_TELL = "agrees", "disagrees", "cannot tell"
AS_PUBLISHED = ("fp32", False)  # precision and compile of everything that the articles measured


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of an article.

    Attributes:
        kind: What is claimed of the candidate: `faster`, `same`, `gap_closes`, `larger_batch`.
        framework, layout: Where it was claimed; empty where that is what is compared.
    """

    id: str
    source: str
    place: str
    gpu: str
    year: int
    model: str
    framework: str
    layout: str
    factor: str
    baseline: str
    candidate: str
    kind: str
    claim: str
    size: str


def claims(folder: Path = FOLDER) -> list[Claim]:
    """Return the articles' claims about layout and framework."""
    table = pd.read_csv(folder / "claims.csv", dtype=str, keep_default_na=False)
    return [Claim(**{**row, "year": int(row["year"])}) for row in table.to_dict("records")]


def check(claim: Claim, verdicts: Sequence[Verdict], runs: Sequence[Run]) -> tuple[str, str]:
    """Return "agrees", "disagrees" or "cannot tell" here, and why, in a sentence."""
    if claim.kind == "gap_closes":
        return _gap(claim, runs)
    if claim.kind == "larger_batch":
        return _larger_batch(claim, runs)
    fitting = [(v, flipped) for v in verdicts if (flipped := _fits(claim, v)) is not None]
    if not fitting:
        return CANNOT_TELL, f"{claim.model} was not measured here in both arms."
    verdict, flipped = max(fitting, key=lambda pair: pair[0].judgement.blocks)
    judgement = _flip(verdict.judgement) if flipped else verdict.judgement
    where = f"{claim.candidate} against {claim.baseline}, batch {verdict.baseline.batch_size}"
    reason = f"Here {where}: {measured(judgement)}."
    if judgement.outcome == Outcome.UNDECIDED:
        return CANNOT_TELL, reason
    return (AGREES if str(judgement.outcome) == claim.kind else DISAGREES), reason


def _fits(claim: Claim, verdict: Verdict) -> bool | None:
    """None: about something else. True: it compares the same two the other way round."""
    trial = verdict.baseline
    if (verdict.quantity, verdict.factor, trial.model) != ("time", claim.factor, claim.model):
        return None
    if (trial.precision, trial.compile) != AS_PUBLISHED:
        return None
    if claim.framework and trial.framework != claim.framework:
        return None
    if claim.layout and trial.layout != claim.layout:
        return None
    pair = getattr(trial, claim.factor), getattr(verdict.candidate, claim.factor)
    return {(claim.baseline, claim.candidate): False, (claim.candidate, claim.baseline): True}.get(pair)


def _flip(judgement: Judgement) -> Judgement:
    """The same comparison seen from its candidate."""
    turned = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
    return Judgement(
        speedup=None if judgement.speedup is None else 1 / judgement.speedup,
        low=None if judgement.high is None else 1 / judgement.high,
        high=None if judgement.low is None else 1 / judgement.low,
        confidence=judgement.confidence,
        blocks=judgement.blocks,
        outcome=turned.get(judgement.outcome, judgement.outcome),
    )


def _gap(claim: Claim, runs: Iterable[Run]) -> tuple[str, str]:
    """Whether |log ratio| is smaller at the largest batch than at the smallest, paired by block."""
    rows = [
        row
        for row in ratios(runs, claim.factor, claim.baseline, claim.candidate)
        if (row["model"], row["layout"]) == (claim.model, claim.layout)
        and (row["precision"], row["compile"]) == AS_PUBLISHED
    ]
    batches = sorted({row["batch_size"] for row in rows})
    if not batches:
        return CANNOT_TELL, f"{claim.model} was not measured here in both arms."
    if len(batches) < 2:
        return CANNOT_TELL, "Only one batch size was measured here with both frameworks."
    small, large = (
        {r["block"]: abs(math.log(r["ratio"])) for r in rows if r["batch_size"] == size}
        for size in (batches[0], batches[-1])
    )
    changes = [small[block] - large[block] for block in sorted(small.keys() & large.keys())]
    interval = median_interval(changes)
    sizes = f"from batch {batches[0]} to {batches[-1]}"
    if interval is None:
        return CANNOT_TELL, (
            f"No interval for the change {sizes}: it has {len(changes)} of the {LEAST_BLOCKS} blocks it needs."
        )
    low, high = (math.exp(end) for end in interval)
    reason = f"Here the gap shrinks {low:.2f} to {high:.2f} times {sizes} (above 1: it closes)."
    return (AGREES if low > 1 else DISAGREES if high < 1 else CANNOT_TELL), reason


def _larger_batch(claim: Claim, runs: Iterable[Run]) -> tuple[str, str]:
    """Whether the candidate ran at a batch size at which the baseline was tried and ran out of memory."""
    mine = [run for run in runs if run.trial.model == claim.model and run.label not in AUXILIARY]
    if not any(run.status == Status.OOM for run in mine):
        return CANNOT_TELL, "No run here ran out of memory."

    def batches(framework: str, status: Status) -> set[int]:
        return {r.trial.batch_size for r in mine if r.trial.framework == framework and r.status == status}

    base, cand = batches(claim.baseline, Status.OK), batches(claim.candidate, Status.OK)
    if not base or not cand:
        return CANNOT_TELL, f"{claim.model} was not measured here in both arms."
    base_oom = batches(claim.baseline, Status.OOM) - base
    cand_oom = batches(claim.candidate, Status.OOM) - cand
    reason = f"The largest batch that ran here: {claim.candidate} {max(cand)}, {claim.baseline} {max(base)}."
    if cand & base_oom:
        return AGREES, reason
    return (DISAGREES if cand_oom & (base | base_oom) else CANNOT_TELL), reason


def batch_size_ratios(runs: Iterable[Run], folder: Path = FOLDER) -> pd.DataFrame:
    """Return epoch time relative to the series' smallest batch: the article's and ours.

    Columns: series, kind ("published" or "measured"), model, batch_size, relative_time, blocks.
    Ratios, because neither the GPU, the images nor the year are the same.
    """
    table = pd.read_csv(folder / "pytorch_2080ti.csv", dtype={"source": str})
    table = table[table["devices"] == 1]
    rows = [
        {
            "series": f"{row['gpu']}, {row['year']} (article {row['source']})",
            "kind": "published",
            "model": row["model"],
            "batch_size": row["batch_size"],
            "epoch_s": row["median_epoch_s"],
        }
        for row in table.to_dict("records")
    ]
    rows += [
        {
            "series": "this machine",
            "kind": "measured",
            "model": run.trial.model,
            "batch_size": run.trial.batch_size,
            "epoch_s": run.median_epoch_s,
        }
        for run in runs
        if run.status == Status.OK and run.label not in AUXILIARY and _as_in_article(run)
    ]
    data = pd.DataFrame(rows)
    data = data.groupby(["series", "kind", "model", "batch_size"], as_index=False).agg(
        epoch_s=("epoch_s", "median"), blocks=("epoch_s", "size")
    )
    sizes = data.groupby(["series", "model"])["batch_size"].transform("nunique")
    data = data[sizes > 1].reset_index(drop=True)  # one batch size has nothing to be relative to
    first = data.sort_values("batch_size").groupby(["series", "model"])["epoch_s"].transform("first")
    data["relative_time"] = data.pop("epoch_s") / first
    return data


def _as_in_article(run: Run) -> bool:
    trial = run.trial
    return (trial.framework, trial.layout, trial.precision, trial.compile) == (
        "torch",
        "channels_first",
        "fp32",
        False,
    )
