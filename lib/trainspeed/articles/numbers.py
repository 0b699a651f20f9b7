"""The articles' own numbers, as printed in their texts. Measures nothing, and knows no machine.

`data/published/` holds them, with a source on each row; what the articles show only as pictures is not there.
"""

from __future__ import annotations

import pandas as pd

from trainspeed.articles.claims import FOLDER
from trainspeed.core.format import DEFAULT_PRECISION
from trainspeed.core.trial import STRICT

ROUNDING_S = 0.5  # article 002 prints whole seconds: 196 steps of 90 ms are 17.6 s and printed as 18 s
BAND = (0.45, 0.60)  # article 003: the share of FP32's time, over all of its models


def published(name: str) -> pd.DataFrame:
    """Return a file of `data/published` with its columns; `source` is the article's number, as text."""
    return pd.read_csv(FOLDER / f"{name}.csv", dtype={"source": str})


def printed(name: str) -> pd.DataFrame:
    """Return a file of `data/published` as text, with all digits as printed."""
    return pd.read_csv(FOLDER / f"{name}.csv", dtype=str, keep_default_na=False)


def second_gpu() -> pd.DataFrame:
    """Return article 001's speed-up of 2 GPUs over 1 (DataParallel): median epoch / median epoch.

    The batch size is the global one, on 1 GPU and on 2. The article does not say so outright, but there
    is no other reading: only the model is wrapped for 2 GPUs, and a missing batch size is one that ran
    out of memory, as the Wide ResNet's 512 did on 1 GPU; 2 GPUs trained 512.

    Columns: source, gpu, year, model, batch_size, speedup.
    """
    table, where = published("pytorch_2080ti"), ["source", "gpu", "year", "model", "batch_size"]
    one, two = (table[table["devices"] == n].set_index(where)["median_epoch_s"] for n in (1, 2))
    return (one / two).dropna().rename("speedup").reset_index()


def pipelines() -> pd.DataFrame:
    """Return article 002's four variants, each epoch time relative to that of the first (1 GPU, 21 s).

    `low` and `high` are what the rounding to whole seconds leaves open. Without the generator the images
    were not augmented either, so that accuracy is of another training.

    Columns: those of the file (ms_per_step where it is printed for a sample, too), and relative_time, low,
    high, accuracy_points (epoch 100, against the first).
    """
    table = published("keras_pipelines_p2_8xlarge")
    seconds, first_s = table["epoch_s"], table["epoch_s"].iloc[0]
    low = (seconds - ROUNDING_S) / (first_s + ROUNDING_S)
    high = (seconds + ROUNDING_S) / (first_s - ROUNDING_S)
    low.iloc[0] = high.iloc[0] = 1.0  # however it was rounded, it is itself
    return table.assign(
        ms_per_step=table["ms_per_step"].fillna(table["us_per_sample"] * table["batch_size"] / 1000),
        relative_time=seconds / first_s,
        low=low,
        high=high,
        accuracy_points=100 * (table["val_accuracy"] - table["val_accuracy"].iloc[0]),
    )


def why_unsupported(precision: str, gpu_name: str, capability: str | None) -> str | None:
    """Return why a GPU's matrix units lack a precision, by the article's table; None where it has no reason.

    The generation is the last one of the table that is not newer than the GPU. Every GPU has
    32 bits, and a CPU has no matrix units.

    Args:
        capability: Compute capability such as "7.5"; None for a CPU.
    """
    if capability is None or precision in (STRICT, DEFAULT_PRECISION):
        return None
    table = printed("matrix_unit_precisions")  # oldest generation first
    not_newer = table[table["compute_capability"].astype(float) <= float(capability)]
    if not_newer.empty:
        first = table.iloc[0]
        return f"Matrix units came with {first['architecture']}; {gpu_name} is older (article {first['source']})."
    last = not_newer.iloc[-1]
    if precision in set(table.loc[table["architecture"] == last["architecture"], "precision"]):
        return None
    generation = f"{last['architecture']} (as the {gpu_name})"
    return f"{generation} has no {precision} in its matrix units (article {last['source']})."


def convolution_gpus() -> pd.DataFrame:
    """Return article 004's times of one convolution on 1 to 8 GPUs, relative to one GPU and to its CPU.

    The two times are not of one kind: a GPU's is the first call of a fresh process, measured once, with
    everything that happens only then; the CPU's is a mean over calls that were warm. So their ratio is the
    article's, not a machine's.

    Columns: those of the file, relative_time (time on N devices / time on 1; the ideal is 1 / N), cpu_ms,
    cpu_ratio (CPU time / GPU time; below 1 the CPU was faster).
    """
    table, cpu_ms = published("conv2d_gpus"), published("conv2d_cpu")["ms"].min()
    alone = table["gpu"].map(table[table["devices"] == 1].set_index("gpu")["ms"])
    return table.assign(relative_time=table["ms"] / alone, cpu_ms=cpu_ms, cpu_ratio=cpu_ms / table["ms"])


def convolution_sentence() -> str:
    """Return by how much the CPU won in article 004, and that the times are not of one kind."""
    (cpu,), table = published("conv2d_cpu").to_dict("records"), convolution_gpus()
    parts = []
    for gpu, rows in table.groupby("gpu", sort=False):
        most, best = rows.loc[rows["devices"].idxmax()], rows.loc[rows["ms"].idxmin()]
        parts.append(f"{most['devices']} {gpu} took {1 / most['cpu_ratio']:.1f} times as long")
        if best["devices"] != most["devices"]:
            parts[-1] += f", {best['devices']} (the fastest) {1 / best['cpu_ratio']:.1f} times"
    return (
        f"Article {cpu['source']}: {cpu['images']} images of {cpu['width']}×{cpu['height']} took "
        f"{cpu['ms']:g} ms with {cpu['library']} on a CPU (mean of {cpu['runs']} warm runs); {'; '.join(parts)}. "
        f"Each GPU time is of {table['timed'].iloc[0]}."
    )
