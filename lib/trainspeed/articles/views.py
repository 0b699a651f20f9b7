"""The articles' statements and numbers, and this machine's beside them, as tables. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.articles import numbers
from trainspeed.articles.charts import FAIRNESS_NOTE
from trainspeed.articles.claims import Answer, Claim
from trainspeed.articles.text import reason
from trainspeed.core.format import MISSING, fixed, percent
from trainspeed.core.names import NAMES
from trainspeed.judge.verdict import CONFIDENCE
from trainspeed.show.cells import styled

UNITS = ("fp16", "bf16", "tf32", "fp64", "int8", "int4", "int1")
INTERVAL = f"{percent(CONFIDENCE)} interval"

Cells = Mapping[str, Callable[[dict], str]]  # heading -> the cell of a row


def _table(data: pd.DataFrame, kind: str, caption: str, cells: Cells) -> Styler:
    rows = [{title: cell(row) for title, cell in cells.items()} for row in data.to_dict("records")]
    return styled(rows, kind, caption, columns=list(cells))


def _range(decimals: int, factor: float = 1, unit: str = "") -> Callable[[dict], str]:
    def cell(row: dict) -> str:
        low, high = (fixed(factor * row[end], decimals) for end in ("low", "high"))
        return MISSING if MISSING in (low, high) else f"{low} to {high}{unit}"

    return cell


def claims_table(answers: Iterable[Answer]) -> Styler:
    """Return a row per statement: what the article found or guessed, whether this machine agrees, and why."""
    rows = pd.DataFrame({"answer": list(answers)})
    cells = {
        "article": lambda row: ", ".join(_where(row["answer"].claim)),
        "found there": lambda row: f"{row['answer'].claim.claim} ({row['answer'].claim.size})",
        "this machine": lambda row: str(row["answer"].result),
        "why": lambda row: reason(row["answer"]),
    }
    return _table(rows, "claims", "What the articles found or guessed, checked here", cells)


def _where(claim: Claim) -> list[str]:
    return [str(part) for part in (claim.source, claim.gpu, claim.year) if part]


def experiments_table(claims: Iterable[Claim]) -> Styler:
    """Return a row per statement about a convolution: what the article found or guessed, and what tests it here."""
    rows = pd.DataFrame({"claim": list(claims)})
    cells = {
        "article": lambda row: row["claim"].claim,
        "there": lambda row: row["claim"].size,
        "tested here by": lambda row: row["claim"].experiment,
    }
    caption = "What the article found or guessed, and the experiment for it"
    return _table(rows, "conv2d_guesses", caption, cells)


def second_device_table(data: pd.DataFrame) -> Styler:
    """Return the speed-ups of 2 devices over 1, as returned by `ratios.second_device`."""
    cells = {
        "where": lambda row: row["series"],
        "model": lambda row: row["label"],
        "batch": lambda row: row["x"],
        "speed-up": lambda row: fixed(row["value"], 2, "x"),
        INTERVAL: _range(2),
        "runs": lambda row: row["blocks"],
    }
    caption = f"PyTorch: 2 devices against 1, the same global batch. {FAIRNESS_NOTE}"
    data = data.sort_values(["label", "x", "kind"], ascending=[True, True, True])
    return _table(data, "published_speedups", caption, cells)


def pipelines_table(data: pd.DataFrame) -> Styler:
    """Return epoch time and accuracy relative to one device fed by threads: see `ratios.input_pipelines`."""
    cells = {
        "where": lambda row: row["series"],
        "arm": lambda row: row["label"],
        "batch": lambda row: row["batch_size"],
        "epoch time, relative": lambda row: fixed(row["value"], 2),
        "as far as rounding tells": _range(2),
        "ms per step": lambda row: fixed(row["ms_per_step"], 0 if row["ms_per_step"] >= 10 else 1),
        "accuracy": lambda row: fixed(row["accuracy"], 4),
        "points": lambda row: fixed(row["accuracy_points"], 2, sign="+"),
    }
    caption = f"TensorFlow, cnn_keras: relative to one device fed by threads. {FAIRNESS_NOTE}"
    return _table(data, "published_pipelines", caption, cells)


def shares_table(data: pd.DataFrame) -> Styler:
    """Return the share of FP32's time of each model and precision, as returned by `ratios.precision_shares`."""
    more = {
        "compiled": ("compile", lambda row: "yes" if row["compile"] else "no"),
        "batch": ("batch_size", lambda row: row["batch_size"]),
        "timed": ("part", lambda row: "with validation" if row["part"] == "fit" else "training alone"),
    }
    cells = {
        "framework": lambda row: NAMES[row["framework"]],
        "model": lambda row: row["model"],
        "precision": lambda row: row["precision"],
        **{title: cell for title, (name, cell) in more.items() if data[name].nunique() > 1},
        "share of FP32's time": lambda row: fixed(100 * row["value"], 1, " %"),
        INTERVAL: _range(1, 100, " %"),
        "blocks": lambda row: row["blocks"],
    }
    return _table(data, "shares", "Share of FP32's training time", cells)


def matrix_units_table() -> Styler:
    """Return a row per generation of GPUs: which precisions its matrix units compute."""
    data = numbers.matrix_units()
    wide = data.groupby("architecture", sort=False).agg(
        gpu=("gpu", "first"), capability=("compute_capability", "first"), has=("precision", set)
    )
    cells = {
        "generation": lambda row: row["architecture"],
        "example": lambda row: row["gpu"],
        "compute capability": lambda row: row["capability"],
        **{name: lambda row, name=name: "yes" if name in row["has"] else MISSING for name in UNITS},
    }
    printed = [*zip(data["printed_architecture"], data["architecture"], strict=True)]
    printed += zip(data["printed"], data["precision"].str.upper(), strict=True)
    slips = dict.fromkeys(f"“{there}” for {meant}" for there, meant in printed if there != meant)
    caption = (
        f"Precisions of the matrix units (Tensor Cores), article {data['source'].iloc[0]} (printed there: "
        f"{', '.join(slips)}). Compute capability: {data['capability_source'].iloc[0]}"
    )
    return _table(wide.reset_index(), "matrix_units", caption, cells)


def accuracies_table() -> Styler:
    """Return a row per model: accuracy in FP32 and in mixed precision, as NVIDIA reported it."""
    data = numbers.mixed_accuracy()
    cells = {
        "task": lambda row: f"{row['task']}, {row['dataset']}",
        "model": lambda row: row["model"],
        "metric": lambda row: row["metric"],
        "FP32": lambda row: fixed(row["fp32"], row["decimals"], " %"),
        "mixed": lambda row: fixed(row["mixed"], row["decimals"], " %"),
        "points": lambda row: fixed(row["points"], row["decimals"], sign="+"),
        "note": lambda row: row["note"],
    }
    first = data.iloc[0]
    caption = f"Accuracy in mixed precision: {first['cited']}, as cited by article {first['source']}"
    return _table(data, "nvidia_accuracies", caption, cells)


def prices_table() -> Styler:
    """Return a row per cloud instance: TFLOPS on paper, the price of an hour, TFLOPS for a dollar an hour."""
    data = numbers.ec2_gpus()
    cells = {
        "instance": lambda row: f"{row['family']} ({row['size']})",
        "GPU": lambda row: row["gpu"],
        "FP32 TFLOPS": lambda row: fixed(row["fp32_tflops"], 2),
        "mixed TFLOPS": lambda row: fixed(row["mixed_tflops"], 0),
        "mixed / FP32": lambda row: fixed(row["mixed_over_fp32"], 1, "x"),
        "USD per hour": lambda row: fixed(row["usd_per_hour"], 3),
        "FP32 TFLOPS per USD/h": lambda row: fixed(row["fp32_tflops_per_usd"], 1),
        "mixed TFLOPS per USD/h": lambda row: fixed(row["mixed_tflops_per_usd"], 1),
    }
    first = data.iloc[0]
    when = f"{first['pricing']}, {first['region']}, {first['as_of']} (article {first['source']})"
    return _table(data, "ec2_prices", f"What the GPUs can do on paper, and its price: {when}", cells)


def convolutions_table() -> Styler:
    """Return a row per number of devices: article 004's times, relative to one device and to the CPU."""
    data, (cpu,) = numbers.convolutions(), numbers.published("conv2d_cpu").to_dict("records")
    wide = data.pivot(index="devices", columns="gpu", values=["ms", "relative_time", "cpu_ratio"])
    cells = {"devices": lambda row: row["devices", ""]}
    for gpu in data["gpu"].unique():
        cells[f"{gpu}, ms"] = lambda row, gpu=gpu: fixed(row["ms", gpu], 0)
        cells[f"{gpu} / its 1 device"] = lambda row, gpu=gpu: fixed(row["relative_time", gpu], 3)
        cells[f"CPU / {gpu}"] = lambda row, gpu=gpu: fixed(row["cpu_ratio", gpu], 3)
    first = data.iloc[0]
    caption = (
        f"{first['images']} images of {first['width']}×{first['height']}, {first['filter_px']}×"
        f"{first['filter_px']} filter (article {first['source']}): the first call, in ms, relative to that on one "
        f"device, and {cpu['library']} on a CPU ({cpu['ms']:g} ± {cpu['std_ms']:g} ms, warm) relative to it: below "
        "1 the CPU was faster"
    )
    return _table(wide.reset_index(), "conv2d_devices", caption, cells)
