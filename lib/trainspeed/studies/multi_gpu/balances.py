"""Which part of a training step holds the other back: its input, or its computing.

Pure functions on runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import (
    MISSING,
    NAMES,
    Number,
    counted,
    devices_of,
    fixed,
    listed,
    model_of,
    pipeline_of,
    three,
)
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, PIPELINES, Trial
from trainspeed.judge.beyond_parts import compute_alone, input_alone
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.show.cells import styled

PARTS = ("input_s", "compute_s", "both_s")
OTHER = {"input": "compute", "compute": "input"}
CAPTION = (
    "Parts of an epoch: medians over the blocks; all compute alone is that of arrays, as is in_model's input"
)
FEW = 3  # pipelines that a sentence names


def pipeline_balances(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the median epochs of every pipeline whose whole steps were tried, in seconds: a row for each.

    Columns: where (framework, model and devices in words), pipeline, input_s (input alone), compute_s (compute
    alone), both_s (whole steps); NaN where not measured; blocks (of whole steps).
    """
    seconds = RunSet(tuple(runs)).medians(lambda run: run.median_epoch_s)
    blocks = Counter(spec for spec, _ in {(run.trial.spec, run.block) for run in runs})

    def position(trial: Trial) -> tuple:
        framework, pipeline = FRAMEWORKS.index(trial.framework), PIPELINES.index(trial.pipeline)
        return framework, trial.model, trial.devices, pipeline, trial.workers

    tried = dict.fromkeys(run.trial.spec for run in runs if run.trial.whole_steps)
    rows = []
    for trial in sorted(tried, key=position):
        where = f"{NAMES[trial.framework]}, {model_of(trial.model)}, {devices_of(trial)}"
        epochs_s = [seconds.get(part) for part in (input_alone(trial), compute_alone(trial), trial)]
        rows.append((where, pipeline_of(trial), *epochs_s, blocks[trial]))
    columns = ["where", "pipeline", *PARTS, "blocks"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(PARTS, float))


def balance_sentences(balances: pd.DataFrame) -> list[str]:
    """Return which part holds the pipelines back, by how much, and how far it is from hiding the other one.

    Args:
        balances: As returned by `pipeline_balances`.
    """
    whole = _whole(balances)
    count, tried = len(whole), len(balances)
    if not count:
        return [f"Of {counted(tried, 'pipeline')} none was measured in all parts."] if tried else []
    were = "was" if count == 1 else "were"
    sentences = [f"Of {tried} pipelines {count} {were} measured in all parts."] if count < tried else []
    sentences += [_of_bottleneck(name, own, count) for name, own in whole.groupby("bottleneck", sort=False)]
    worst = whole.loc[whole["extra_percent"].idxmax()]
    if worst["extra_percent"] > 0:
        most = f"Whole steps take up to {worst['extra_percent']:.0f} % longer than their longer part"
        sentences.append(f"{most}: {_named(worst)}, whose parts take {_parts(worst)}.")
    beyond = int((whole["both_s"] > whole["input_s"] + whole["compute_s"]).sum())
    if beyond and count > 1:
        sentences.append(f"In {beyond} of {count} they take longer than both parts one after the other.")
    if (blocks := int(whole["blocks"].max())) < MIN_BLOCKS:
        sentences.append(f"These are medians over {counted(blocks, 'block')}, and decide nothing.")
    return sentences


def balance_table(balances: pd.DataFrame) -> Styler:
    """Return the seconds of each part of an epoch, and which of them is the bottleneck: a row for each pipeline.

    Args:
        balances: As returned by `pipeline_balances`.
    """
    known = _whole(balances)
    rows = []
    for index, row in balances.iterrows():
        seconds = [MISSING if pd.isna(row[part]) else Number(three(row[part])) for part in PARTS]
        cells = dict(zip(("input alone s", "compute alone s", "whole steps s"), seconds, strict=True))
        bottleneck, over = MISSING, MISSING
        if index in known.index:
            own = known.loc[index]
            bottleneck = f"{own['bottleneck']}, {_ratio(own['times'])} times the {OTHER[own['bottleneck']]}"
            over = fixed(own["extra_percent"], 0, " %", sign="+")
        names = {"framework, model and devices": row["where"], "pipeline": row["pipeline"]}
        rows.append(names | cells | {"bottleneck": bottleneck, "whole steps over it": over})
    return styled(rows, "balances", CAPTION)


def _whole(balances: pd.DataFrame) -> pd.DataFrame:
    """Return the pipelines that were measured in all parts: bottleneck, times the other, whole steps over it in %."""
    found = balances.dropna(subset=list(PARTS)).copy()
    both = found[["input_s", "compute_s"]]
    found["bottleneck"] = (found["input_s"] > found["compute_s"]).map({True: "input", False: "compute"})
    found["times"] = both.max(axis=1) / both.min(axis=1)
    found["extra_percent"] = (100 * (found["both_s"] / both.max(axis=1) - 1)).round()
    return found


def _of_bottleneck(name: str, own: pd.DataFrame, count: int) -> str:
    least, most = (_ratio(own["times"].agg(edge)) for edge in ("min", "max"))
    long = f"{least if least == most else f'{least} to {most}'} times as long as the {OTHER[name]}"
    if len(own) == count:
        who = f"In all {count}" if count > 1 else f"For {_named(own.iloc[0])}"
        return f"{who} the {name} is the bottleneck: it takes {long}."
    which = f": {listed(_named(row) for _, row in own.iterrows())}" if len(own) <= FEW else ""
    return f"In {len(own)} of {count} the {name} is the bottleneck, {long}{which}."


def _named(row: pd.Series) -> str:
    return f"{row['where']}, {row['pipeline']}"


def _parts(row: pd.Series) -> str:
    return f"{three(row['input_s'])} s of input and {three(row['compute_s'])} s of computing"


def _ratio(times: float) -> str:
    return f"{times:.{1 if times < 10 else 0}f}"
