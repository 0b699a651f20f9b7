"""The articles' ratios next to this machine's, as one kind of frame. Decides and draws nothing.

Columns of all frames: series (who measured), kind ("published" or "measured"), framework, label (of the
row or the line), x (batch size or devices), value, low, high (NaN: no interval), blocks; then columns of the
frame's own. They are ratios because neither the machine nor the images nor the year is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import pandas as pd

from trainspeed.articles.claims import claims
from trainspeed.articles.evidence import ARTICLE_WORKERS, as_claimed, nearness, plain_precision
from trainspeed.articles.numbers import convolution_gpus, pipelines, published, second_gpu
from trainspeed.core.format import counted
from trainspeed.core.phase import FIT
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, PRECISIONS, STRICT, ZOO, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Judgement

COLUMNS = ("series", "kind", "framework", "label", "x", "value", "low", "high", "blocks")
THIS_MACHINE = "this machine"
ARTICLE_PX = 32  # CIFAR-10, in the articles on several GPUs
WORKER_NAMES = {"threads": "thread", "processes": "process"}


def _frame(theirs: pd.DataFrame, ours: Iterable[dict], own_columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the articles' rows and ours, with the columns of all frames and the frame's own."""
    rows = [{"blocks": 1, **row, "kind": "published"} for row in theirs.to_dict("records")]
    rows += [{"blocks": 1, **row, "kind": "measured"} for row in ours]
    data = pd.DataFrame(rows, columns=[*COLUMNS, *own_columns])
    return data.astype({"value": float, "low": float, "high": float, "blocks": int})


def has_ours(data: pd.DataFrame) -> bool:
    """Return whether this machine has a row in a frame of ratios."""
    return "measured" in set(data["kind"])


def _usable(runs: Iterable[Run], **fields: object) -> list[Run]:
    """Return the uncompiled whole steps in plain precision whose trials have these fields, among data."""
    wanted = {"part": "both", "compile": False, **fields}.items()
    usable = [run for run in RunSet(tuple(runs)).ok() if wanted <= run.trial.as_dict().items()]
    plain = plain_precision(run.trial.precision for run in usable)
    return [run for run in usable if run.trial.precision == plain]


def _series(table: pd.DataFrame, name: str = "") -> pd.Series:
    """Return the name of an article's rows: its hardware, its year, its number."""
    hardware = table[name] if name else table["gpu"] + ", " + table["year"].astype(str)
    return hardware + " (article " + table["source"] + ")"


def batch_sizes(runs: Iterable[Run]) -> pd.DataFrame:
    """Return PyTorch's epoch time relative to that of a model's smallest batch, over the batch size."""
    table = published("pytorch_2080ti").query("devices == 1")
    theirs = table.assign(series=_series(table), label=table["model"], x=table["batch_size"])
    ours = [
        {"series": THIS_MACHINE, "label": run.trial.model, "x": run.trial.batch_size, "s": run.median_epoch_s}
        for run in _usable(RunSet(tuple(runs)).on_lines(), framework="torch", layout="channels_first")
    ]
    data = _frame(theirs.assign(s=theirs["median_epoch_s"]), ours, ["s"])
    data = data.groupby(["series", "kind", "label", "x"], as_index=False).agg(
        s=("s", "median"), blocks=("s", "size")
    )
    lines = data.groupby(["series", "label"])  # sorted by x within each
    data = data.assign(value=data["s"] / lines["s"].transform("first"), framework="torch")
    comparable = lines["x"].transform("size") > 1  # a single size has nothing to be relative to
    return data[comparable].reindex(columns=list(COLUMNS)).reset_index(drop=True)


def second_device(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return PyTorch's speed-up of 2 devices over 1 at the same batch of all devices, over the batch size."""
    table = second_gpu()
    theirs = table.rename(columns={"model": "label", "batch_size": "x", "speedup": "value"})
    theirs["series"] = _series(table)
    stated = next(claim for claim in claims("multi_gpu") if claim.id == "torch_cnn10")
    ours = [
        {
            "series": _here(v.candidate, v.candidate.strategy),
            "label": v.baseline.model,
            "x": v.baseline.batch_size,
            **_numbers(v.judgement),
        }
        for v in verdicts
        if as_claimed(replace(stated, model=""), v) and v.candidate.devices == 2
    ]
    return _frame(theirs, ours).assign(framework="torch")


def _numbers(judgement: Judgement) -> dict:
    ends = {"low": judgement.low, "high": judgement.high}
    return {"value": judgement.speedup, **ends, "blocks": judgement.blocks}


def _here(trial: Trial, *setting: str) -> str:
    """Return the name of our rows, which mentions images of another size than the article's."""
    px = [] if trial.image_size == ARTICLE_PX else [f"{trial.image_size} px images"]
    return ", ".join([THIS_MACHINE, *setting, *px])


def input_pipelines(runs: Iterable[Run]) -> pd.DataFrame:
    """Return TensorFlow's epoch times relative to one device that is fed by threads, a row per arm.

    Ours are medians over blocks; there are none where one device with threads was not measured. Of several
    such arms the others are relative to the one with the most blocks, and of these to the one that is nearest
    to the article's 4 threads. Own columns: devices, pipeline, workers, batch_size, ms_per_step, accuracy,
    accuracy_points (of what trained as many epochs).
    """
    arm, numbers = ["devices", "pipeline", "workers", "batch_size"], ["ms_per_step", "accuracy"]
    table = pipelines()
    theirs = table.rename(columns={"relative_time": "value", "val_accuracy": "accuracy"})
    theirs["series"] = _series(table, "instance")
    data = RunSet(tuple(runs)).data()
    rows = [
        {"series": _here(run.trial), "px": run.trial.image_size, "s": run.median_epoch_s}
        | {name: getattr(run.trial, name) for name in arm}
        | {"ms_per_step": 1000 * run.step_s, "accuracy": run.test_accuracy, "epochs": len(run.epoch_s)}
        for run in _usable(data, framework="tensorflow", model="cnn_keras", layout="channels_last")
    ]
    medians = ("s", *numbers, "epochs")
    ours = pd.DataFrame(rows, columns=["series", "px", *arm, *medians])
    ours = ours.astype(dict.fromkeys(medians, float)).groupby(["px", "series", *arm], as_index=False)
    ours = ours.agg(blocks=("s", "size"), **{name: (name, "median") for name in medians})
    relative = [row for _, arms in ours.groupby("px") for row in _relative_to_threads(arms)]
    data = _frame(theirs, relative, [*arm, *numbers, "accuracy_points"]).assign(framework="tensorflow")
    return data.assign(label=[_arm(row) for row in data.to_dict("records")])


def _relative_to_threads(arms: pd.DataFrame) -> list[dict]:
    """Return the arms of one size of images relative to one device with threads; none without it."""
    threads = arms[(arms["devices"] == 1) & (arms["pipeline"] == "threads")].to_dict("records")
    if not threads:
        return []
    base = min(threads, key=lambda arm: (-arm["blocks"], abs(arm["workers"] - ARTICLE_WORKERS["threads"])))
    points = (100 * (arms["accuracy"] - base["accuracy"])).where(arms["epochs"] == base["epochs"])
    return arms.assign(value=arms["s"] / base["s"], accuracy_points=points).to_dict("records")


def _arm(row: dict) -> str:
    devices = counted(row["devices"], "device")
    if row["pipeline"] not in WORKER_NAMES or pd.isna(row["workers"]):
        return f"{devices}, {row['pipeline']}"
    name = WORKER_NAMES[row["pipeline"]] if row["workers"] == 1 else row["pipeline"]
    return f"{devices}, {row['workers']:g} {name}"


def precision_shares(verdicts: Iterable[Verdict], as_fp32: Collection[str] = (STRICT,)) -> pd.DataFrame:
    """Return the share of FP32's time of each model in each precision; the article has one band for all.

    1 is FP32's time. There is a row per framework, model, precision, compile and part ("fit": as timed in
    the article). Of several batch sizes or layouts it is the one with an interval, with the most blocks, and
    nearest to the article's. Own columns: model, precision, compile, part, batch_size.

    Args:
        as_fp32: As `evidence.precisions_of_32_bits` returns them.
    """
    stated = {claim.model: claim for claim in claims("amp")}
    best: dict[tuple, Verdict] = {}

    def sort_key(verdict: Verdict) -> tuple:
        """Leave out whether it is the statement's precision: each precision has a row of its own."""
        return nearness(stated.get(verdict.baseline.model, stated[""]))(verdict)[1:]

    for verdict in sorted((v for v in verdicts if _is_share(v, as_fp32)), key=sort_key):
        trial = verdict.candidate
        model = ZOO.index(trial.model) if trial.model in ZOO else len(ZOO), trial.model
        arm = FRAMEWORKS.index(trial.framework), trial.compile, PRECISIONS.index(trial.precision), trial.part
        best.setdefault((*model, *arm), verdict)
    ours = [_share_row(verdict) for _, verdict in sorted(best.items(), key=lambda item: item[0])]
    return _frame(pd.DataFrame(), ours, ["model", "precision", "compile", "part", "batch_size"])


def _is_share(verdict: Verdict, as_fp32: Collection[str]) -> bool:
    base, of_time = verdict.baseline, (verdict.factor, verdict.quantity) == ("precision", "time")
    known = verdict.speedup is not None
    over_fp32 = base.precision in as_fp32 and verdict.candidate.precision not in as_fp32
    return of_time and known and over_fp32 and base.devices == 1 and base.phase.trains


def _share_row(verdict: Verdict) -> dict:
    trial = verdict.candidate
    unsaid = ["layout", "batch_size", "image_size", "pipeline", "part", *["compile"] * (not trial.compile)]
    words = [*trial.describe(without=unsaid), *["with validation"] * (trial.phase is FIT)]
    return (
        trial.as_dict()
        | _numbers(verdict.judgement.turned)
        | {"series": THIS_MACHINE, "label": ", ".join(words)}
    )


def convolution_times(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the time of one convolution in ms over the number of devices; NaN: not split, as on a CPU.

    Args:
        ours: This machine's rows: series, framework, x, value, low, high.
    """
    gpus, cpus = convolution_gpus(), published("conv2d_cpu")
    of_gpus = gpus.assign(series=_series(gpus, "gpu"), x=gpus["devices"], value=gpus["ms"])
    of_cpu = cpus.assign(series="CPU, " + _series(cpus, "library"), value=cpus["ms"])
    return _frame(pd.concat([of_gpus, of_cpu]), ours.to_dict("records")).assign(label="")
