"""What article 004 prints and guesses about one convolution on 1 to 8 GPUs and on a CPU. Measures nothing.

`data/published/` holds it as printed in the article's text, a place on each row. Its two times are not of
one kind: a GPU's is the first call of a fresh process, measured once, with everything that happens only
then; the CPU's is a mean over calls that were warm. So a ratio of them is the article's, not a machine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trainspeed.published import FOLDER

GUESS, FINDING = "guess", "finding"  # kinds of claims
CPU = "CPU"
SERIES_COLUMNS = ("series", "devices", "ms", "low_ms", "high_ms")


def gpu_times(folder: Path = FOLDER) -> pd.DataFrame:
    """Return the article's two tables: the time of one convolution on 1 to 8 GPUs of two types.

    Columns: source, place, gpu ("K80", "V100"), devices, images, width, height, channels, filter_px (these
    two by its code; float32, padding SAME), ms (as printed), timed (what the time is of).
    """
    return pd.read_csv(folder / "conv2d_gpus.csv", dtype={"source": str})


def cpu_times(folder: Path = FOLDER) -> pd.DataFrame:
    """Return what the article measured on a CPU: SciPy in a loop over the images. One row.

    Columns: source, place, cpu, library, call (its code), images, width, height, channels, filter_px, ms,
    std_ms (mean and standard deviation over the runs), runs, loops_per_run, timed.
    """
    return pd.read_csv(folder / "conv2d_cpu.csv", dtype={"source": str})


def device_ratios(data: pd.DataFrame) -> pd.DataFrame:
    """Return the table with each time relative to that on one device of the same type.

    Args:
        data: As of `gpu_times`. Added: one_device_ms, relative_time (time on N devices / time on 1; the
            ideal is 1 / N), speedup (its inverse; the ideal is N).
    """
    one = data[data["devices"] == 1].set_index("gpu")["ms"]
    alone = data["gpu"].map(one)
    return data.assign(one_device_ms=alone, relative_time=data["ms"] / alone, speedup=alone / data["ms"])


def cpu_ratios(gpus: pd.DataFrame, cpus: pd.DataFrame) -> pd.DataFrame:
    """Return the CPU's time relative to each GPU type's, at its best and on all its devices.

    Below 1 the CPU was faster. Columns: source, gpu, cpu_ms, best_devices, best_ms, cpu_over_best (CPU time /
    shortest GPU time), most_devices, most_ms, cpu_over_most (CPU time / time on the most devices).

    Args:
        gpus: As of `gpu_times`.
        cpus: As of `cpu_times`; of several rows the shortest time counts.
    """
    cpu_ms = float(cpus["ms"].min())
    rows = []
    for gpu, group in gpus.groupby("gpu", sort=False):
        best, most = group.loc[group["ms"].idxmin()], group.loc[group["devices"].idxmax()]
        rows.append(
            {
                "source": best["source"],
                "gpu": gpu,
                "cpu_ms": cpu_ms,
                "best_devices": best["devices"],
                "best_ms": best["ms"],
                "cpu_over_best": cpu_ms / best["ms"],
                "most_devices": most["devices"],
                "most_ms": most["ms"],
                "cpu_over_most": cpu_ms / most["ms"],
            }
        )
    return pd.DataFrame(rows)


def article_series(gpus: pd.DataFrame, cpus: pd.DataFrame) -> pd.DataFrame:
    """Return the article's times as a chart takes them: a series per GPU type, and one for the CPU.

    Columns: series, devices (NaN for the CPU: nothing was split), ms, low_ms, high_ms (NaN: no interval).
    """
    source = gpus["source"].iloc[0]
    of_gpus = gpus.assign(series=gpus["gpu"] + f" (article {source})")
    of_cpu = cpus.assign(series=f"{CPU}, " + cpus["library"] + f" (article {source})", devices=float("nan"))
    both = pd.concat([of_gpus, of_cpu], ignore_index=True).reindex(columns=list(SERIES_COLUMNS))
    return both.astype(dict.fromkeys(SERIES_COLUMNS[1:], float))


def article_sentence(gpus: pd.DataFrame, cpus: pd.DataFrame) -> str:
    """Return in a sentence by how much the CPU won in the article, and that the times are not of one kind."""
    cpu = cpus.loc[cpus["ms"].idxmin()]
    parts = [
        f"{row['most_devices']} {row['gpu']} took {row['most_ms'] / row['cpu_ms']:.1f} times as long"
        + f", {row['best_devices']} (the fastest) {row['best_ms'] / row['cpu_ms']:.1f} times"
        * (row["best_devices"] != row["most_devices"])
        for row in cpu_ratios(gpus, cpus).to_dict("records")
    ]
    return (
        f"Article {cpu['source']}: {cpu['images']} images of {cpu['width']}×{cpu['height']} took "
        f"{cpu['ms']:g} ms with {cpu['library']} on a CPU (mean of {cpu['runs']} warm runs); {'; '.join(parts)}. "
        f"Each GPU time is of {gpus['timed'].iloc[0]}."
    )


# Claims.


@dataclass(frozen=True, kw_only=True)
class Conv2dClaim:
    """One statement of the article: what it found, or what it guessed and did not test.

    Attributes:
        year: None: the text has no date.
        kind: `finding` or `guess`.
        claim: In words, in English; `place` has the article's own.
        size: For a finding its numbers, for a guess what the article proposes to try.
        experiment: What tests it here.
    """

    id: str
    source: str
    place: str
    gpu: str
    year: int | None
    kind: str
    claim: str
    size: str
    experiment: str


def conv2d_claims(kind: str | None = None, folder: Path = FOLDER) -> list[Conv2dClaim]:
    """Return the article's findings and then its six guesses, or those of one kind."""
    table = pd.read_csv(folder / "claims_conv2d.csv", dtype=str, keep_default_na=False)
    rows = [{**row, "year": int(row["year"]) if row["year"] else None} for row in table.to_dict("records")]
    return [Conv2dClaim(**row) for row in rows if kind in (None, row["kind"])]
