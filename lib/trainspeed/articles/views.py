"""The articles' statements and numbers, and this machine's next to them, as tables. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.articles.charts import FAIRNESS_NOTE
from trainspeed.articles.claims import Claim, ClaimAnswer
from trainspeed.articles.numbers import convolution_gpus, printed, published
from trainspeed.articles.text import reason
from trainspeed.core.format import MISSING, NAMES, fixed, fixed_to_interval, interval, percent
from trainspeed.judge.verdict import CONFIDENCE
from trainspeed.show.cells import styled

UNITS = ("fp16", "bf16", "tf32", "fp64", "int8", "int4", "int1")
INTERVAL = f"{percent(CONFIDENCE)} interval"


def claims_table(answers: Iterable[ClaimAnswer]) -> Styler:
    """Return a row per statement: what the article found or guessed, whether this machine agrees, and why."""
    rows = [
        {**_stated(answer.claim), "this machine": str(answer.result), "why": reason(answer)}
        for answer in answers
    ]
    return styled(rows, "claims", "What the articles found or guessed, checked here")


def unmeasured_table(answers: Iterable[ClaimAnswer]) -> Styler:
    """Return a row per statement that nothing was measured about: what the article found or guessed, and why not."""
    rows = [{**_stated(answer.claim), "why": reason(answer)} for answer in answers]
    return styled(rows, "unmeasured_claims", "What the articles found or guessed, and was not measured here")


def _stated(claim: Claim) -> dict[str, str]:
    article = ", ".join(str(part) for part in (claim.source, claim.gpu, claim.year) if part)
    return {"article": article, "found there": f"{claim.claim} ({claim.size})"}


def experiments_table(claims: Iterable[Claim]) -> Styler:
    """Return a row per statement about a convolution, and the experiment that tests it here."""
    rows = [{"article": c.claim, "there": c.size, "tested here by": c.experiment} for c in claims]
    return styled(rows, "conv2d_guesses", "What the article found or guessed, and the experiment for it")


def batch_sizes_table(data: pd.DataFrame) -> Styler:
    """Return the epoch times relative to those of the smallest batch, as returned by `ratios.batch_sizes`."""
    rows = [
        {
            "where": row["series"],
            "model": row["label"],
            "batch": row["x"],
            "epoch time, relative": fixed(row["value"], 2),
            "runs": row["blocks"],
        }
        for row in data.sort_values(["label", "x", "kind"]).to_dict("records")
    ]
    caption = f"PyTorch, channels_first: relative to the smallest batch. {FAIRNESS_NOTE}"
    return styled(rows, "published_batch_sizes", caption)


def second_device_table(data: pd.DataFrame) -> Styler:
    """Return the speed-ups of 2 devices over 1, as returned by `ratios.second_device`."""
    rows = [
        {
            "where": row["series"],
            "model": row["label"],
            "batch": row["x"],
            "speed-up": fixed_to_interval(row["value"], row["low"], row["high"], 2, "x"),
            INTERVAL: interval(row["low"], row["high"]),
            "runs": row["blocks"],
        }
        for row in data.sort_values(["label", "x", "kind"]).to_dict("records")
    ]
    caption = f"PyTorch: 2 devices against 1, the same global batch. {FAIRNESS_NOTE}"
    return styled(rows, "published_speedups", caption)


def pipelines_table(data: pd.DataFrame) -> Styler:
    """Return epoch time and accuracy relative to one device fed by threads: see `ratios.input_pipelines`."""
    rows = [
        {
            "where": row["series"],
            "arm": row["label"],
            "batch": row["batch_size"],
            "epoch time, relative": fixed(row["value"], 2),
            "as far as rounding tells": interval(row["low"], row["high"]),
            "ms per step": fixed(row["ms_per_step"], 0 if row["ms_per_step"] >= 10 else 1),
            "accuracy": fixed(row["accuracy"], 4),
            "points": fixed(row["accuracy_points"], 2, sign="+"),
        }
        for row in data.to_dict("records")
    ]
    caption = f"TensorFlow, cnn_keras: relative to one device fed by threads. {FAIRNESS_NOTE}"
    return styled(rows, "published_pipelines", caption)


def shares_table(data: pd.DataFrame) -> Styler:
    """Return the shares of FP32's time, a row per model and precision: see `ratios.precision_shares`."""
    rows = []
    for row in data.to_dict("records"):
        setting = {
            "compile": ("compiled", "yes" if row["compile"] else "no"),
            "batch_size": ("batch", row["batch_size"]),
            "part": ("timed", "with validation" if row["part"] == "fit" else "training alone"),
        }
        ends = interval(100 * row["low"], 100 * row["high"], 1)
        rows.append(
            {
                "framework": NAMES[row["framework"]],
                "model": row["model"],
                "precision": row["precision"],
                **dict(cell for name, cell in setting.items() if data[name].nunique() > 1),
                "share of FP32's time": fixed(100 * row["value"], 1, " %"),
                INTERVAL: ends if ends == MISSING else f"{ends} %",
                "blocks": row["blocks"],
            }
        )
    return styled(rows, "shares", "Share of FP32's training time")


def matrix_units_table() -> Styler:
    """Return a row per generation of GPUs: which precisions its matrix units compute."""
    data = printed("matrix_unit_precisions")
    rows = []
    for generation, units in data.groupby("architecture", sort=False):
        first, known = units.iloc[0], set(units["precision"])
        row = {"generation": generation, "example": first["gpu"]}
        row |= {"compute capability": first["compute_capability"]}
        rows.append(row | {unit: "yes" if unit in known else MISSING for unit in UNITS})
    names = [*zip(data["printed_architecture"], data["architecture"], strict=True)]
    names += zip(data["printed"], data["precision"].str.upper(), strict=True)
    slips = dict.fromkeys(f"“{there}” for {meant}" for there, meant in names if there != meant)
    caption = (
        f"Precisions of the matrix units (Tensor Cores), article {data['source'].iloc[0]} (printed there: "
        f"{', '.join(slips)}). Compute capability: {data['capability_source'].iloc[0]}"
    )
    return styled(rows, "matrix_units", caption, say_once=False)  # as it is printed


def accuracies_table() -> Styler:
    """Return a row per model: accuracy in FP32 and in mixed precision, as NVIDIA reported it."""
    data = printed("nvidia_mixed_accuracy")
    rows = []
    for row in data.to_dict("records"):
        fp32, mixed, decimals = float(row["fp32"]), float(row["mixed"]), len(row["fp32"].partition(".")[2])
        rows.append(
            {
                "task": f"{row['task']}, {row['dataset']}",
                "model": row["model"],
                "metric": row["metric"],
                "FP32": fixed(fp32, decimals, " %"),
                "mixed": fixed(mixed, decimals, " %"),
                "points": fixed(mixed - fp32, decimals, sign="+"),
                "note": row["note"],
            }
        )
    first = data.iloc[0]
    caption = f"Accuracy in mixed precision: {first['cited']}, as cited by article {first['source']}"
    return styled(rows, "nvidia_accuracies", caption)


def prices_table() -> Styler:
    """Return a row per cloud instance: TFLOPS on paper, the price of an hour, TFLOPS for a dollar an hour.

    The article promises 16 times as many in mixed precision, as the V100 has; the T4 that it measured has 8.
    """
    data = published("ec2_gpus")
    rows = [
        {
            "instance": f"{row['family']} ({row['size']})",
            "GPU": row["gpu"],
            "FP32 TFLOPS": fixed(row["fp32_tflops"], 2),
            "mixed TFLOPS": fixed(row["mixed_tflops"], 0),
            "mixed / FP32": fixed(row["mixed_tflops"] / row["fp32_tflops"], 1, "x"),
            "USD per hour": fixed(row["usd_per_hour"], 3),
            "FP32 TFLOPS per USD/h": fixed(row["fp32_tflops"] / row["usd_per_hour"], 1),
            "mixed TFLOPS per USD/h": fixed(row["mixed_tflops"] / row["usd_per_hour"], 1),
        }
        for row in data.to_dict("records")
    ]
    first = data.iloc[0]
    when = f"{first['pricing']}, {first['region']}, {first['as_of']} (article {first['source']})"
    return styled(rows, "ec2_prices", f"What the GPUs can do on paper, and its price: {when}")


def convolutions_table() -> Styler:
    """Return a row per number of devices: article 004's times, relative to one device and to the CPU."""
    data, (cpu,) = convolution_gpus(), published("conv2d_cpu").to_dict("records")
    rows = {devices: {"devices": devices} for devices in sorted(set(data["devices"]))}
    for row in data.to_dict("records"):
        rows[row["devices"]] |= {
            f"{row['gpu']}, ms": fixed(row["ms"], 0),
            f"{row['gpu']} / its 1 device": fixed(row["relative_time"], 3),
            f"CPU / {row['gpu']}": fixed(row["cpu_ratio"], 3),
        }
    first = data.iloc[0]
    caption = (
        f"{first['images']} images of {first['width']}×{first['height']}, {first['filter_px']}×"
        f"{first['filter_px']} filter (article {first['source']}): the first call, in ms, relative to that on one "
        f"device, and {cpu['library']} on a CPU ({cpu['ms']:g} ± {cpu['std_ms']:g} ms, warm) relative to it: below "
        "1 the CPU was faster"
    )
    return styled([*rows.values()], "conv2d_devices", caption)
