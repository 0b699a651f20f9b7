"""Forecast how data-parallel training scales, from one device's step and two constants of the interconnect.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. The model has compute and
the exchange of gradients, nothing else: input, launch overhead and the lower efficiency of a small batch
per device are not in it. So a forecast is printed with its error against the points that were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import fmean

import numpy as np

from trainspeed.core.errors import UserError, check_name, check_some, check_whole
from trainspeed.core.format import listed, percent

SCALINGS = ("strong", "weak")  # the global batch is fixed; the batch per device is fixed
# Of a step's compute: the backward pass takes about twice the forward pass, and gradients leave during it.
# Source: https://epochai.org/blog/backward-forward-FLOP-ratio
BACKWARD_SHARE = 2 / 3


@dataclass(frozen=True, kw_only=True)
class Interconnect:
    """What sending costs between two neighbours of the ring: alpha + beta times the size of the message.

    Attributes:
        alpha_s: Of every message, whatever its size, in seconds.
        beta_s_per_byte: Of every byte: 1 / bandwidth. Includes the time to add the gradients up.
        source: Where the two come from, as it is printed: "measured on 2 devices", "given".
    """

    alpha_s: float
    beta_s_per_byte: float
    source: str

    def __post_init__(self) -> None:
        _check_amount("alpha_s", self.alpha_s, "for example 20e-6")
        _check_amount("beta_s_per_byte", self.beta_s_per_byte, "for example 1e-10, which is 10 GB/s")


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is expected of one number of devices.

    Attributes:
        step_s: Duration of a training step, in seconds.
        speedup: Throughput relative to one device; the ideal is `devices`, in strong and in weak scaling.
    """

    devices: int
    step_s: float
    speedup: float

    @property
    def efficiency(self) -> float:
        """Speed-up as a share of the ideal one."""
        return self.speedup / self.devices


def ring_allreduce_s(size_bytes: float, devices: int, alpha_s: float, beta_s_per_byte: float) -> float:
    """Return the duration of a ring all-reduce, in seconds: 2(p-1) alpha + 2(p-1)/p size beta.

    0 for one device. Each of p devices sends 2(p-1) messages of size/p: p-1 to add the parts up, p-1 to
    hand the sums round.

    Sources: P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69 (2009) 117, doi:10.1016/j.jpdc.2008.09.002
    (the algorithm); R. Thakur, R. Rabenseifner, W. Gropp, Int. J. High Perform. Comput. Appl. 19 (2005) 49,
    doi:10.1177/1094342005051521 (the cost model; its time per added byte is a part of beta here).
    """
    messages = 2 * (devices - 1)
    return messages * alpha_s + messages / devices * size_bytes * beta_s_per_byte


def fit_interconnect(points: Sequence[tuple[int, float, float]]) -> Interconnect | None:
    """Return the constants that fit measured all-reduces best; None where no ring would give such times.

    Least squares of the relative errors: the sizes span decades, and with absolute errors the largest
    would leave alpha to its noise. None where alpha or beta comes out negative (time that grows faster than
    the size, or falls with it): with that constant raised to 0, a model that does not hold would forecast.

    Args:
        points: (devices, size in bytes, seconds), one per measured all-reduce; of 2 or more devices each.
    Raises:
        ValueError: No number of devices has two sizes, so alpha and beta cannot be told apart.
    """
    counts = sorted({devices for devices, _, _ in points})
    if len({(devices, size_bytes) for devices, size_bytes, _ in points}) == len(counts):
        raise ValueError(
            f"points (={list(points)!r}) must have two sizes on one number of devices at least, or alpha and "
            "beta cannot be told apart: measure a small and a large one."
        )
    seconds = [point[2] for point in points]
    # The duration is linear in alpha and beta: a column for 1 s of alpha, one for 1 s per byte of beta.
    columns = [[ring_allreduce_s(size, p, *one) for p, size, _ in points] for one in ((1, 0), (0, 1))]
    design = np.array(columns).T / np.array(seconds)[:, None]
    lengths = np.linalg.norm(design, axis=0)  # seconds and seconds per byte are decades apart
    fitted = np.linalg.lstsq(design / lengths, np.ones(len(points)))[0] / lengths
    alpha_s, beta_s_per_byte = fitted.tolist()
    if alpha_s < 0 or beta_s_per_byte < 0:
        return None
    source = f"measured on {_devices(counts)}"
    return Interconnect(alpha_s=alpha_s, beta_s_per_byte=beta_s_per_byte, source=source)


def step_s(
    compute_s: float, size_bytes: float, devices: int, interconnect: Interconnect, overlap: float
) -> float:
    """Return the duration of a step, in seconds: compute + the part of the exchange that is not hidden.

    exposed = max(exchange (1 - overlap), exchange - 2/3 compute): no more can hide than `overlap` says,
    and nothing behind anything but the backward pass, 2/3 of the compute.

    Args:
        compute_s: Of one device, on its share of the batch.
        size_bytes: Of all gradients.
        overlap: Share of the exchange, 0 to 1, that the framework sends while the backward pass runs.
    """
    if not (isinstance(overlap, Real) and 0 <= overlap <= 1):
        raise UserError(
            f"overlap (={overlap!r}) must lie between 0 (the whole exchange is waited for) and 1 (it hides "
            "as far as the backward pass is long)."
        )
    exchange_s = ring_allreduce_s(size_bytes, devices, interconnect.alpha_s, interconnect.beta_s_per_byte)
    return compute_s + max(exchange_s * (1 - overlap), exchange_s - BACKWARD_SHARE * compute_s)


def forecast(
    compute_1_s: float,
    size_bytes: float,
    devices: Sequence[int],
    interconnect: Interconnect,
    *,
    scaling: str,
    overlap: float,
) -> list[Forecast]:
    """Return what is expected of each number of devices, in the order given.

    Args:
        compute_1_s: Duration of a step on one device, in seconds. Strong scaling divides it by the number
            of devices, as if a device were as efficient with a smaller batch; weak scaling keeps it.
        size_bytes, overlap: See `step_s`.
        scaling: "strong" (global batch fixed) or "weak" (batch per device fixed).
    """
    check_name("scaling", scaling, SCALINGS)
    check_some("devices", devices, "name at least one number of devices.")
    rows = []
    for count in devices:
        check_whole("devices", count, 1)
        compute_s, work = (compute_1_s / count, 1) if scaling == "strong" else (compute_1_s, count)
        duration_s = step_s(compute_s, size_bytes, count, interconnect, overlap)
        rows.append(Forecast(devices=count, step_s=duration_s, speedup=work * compute_1_s / duration_s))
    return rows


def forecast_error(rows: Sequence[Forecast], measured: Mapping[int, float]) -> float | None:
    """Return the mean of |forecast - measured| / measured, as a share; None if there is nothing to compare.

    Args:
        measured: Number of devices -> speed-up in throughput. One device has a speed-up of 1 in both and
            does not count.
    """
    compared = _compared(rows, measured)
    return fmean(abs(row.speedup / measured[row.devices] - 1) for row in compared) if compared else None


def forecast_sentence(
    rows: Sequence[Forecast],
    measured: Mapping[int, float],
    interconnect: Interconnect,
    *,
    size_bytes: float,
    scaling: str,
    overlap: float,
) -> str:
    """Return the forecast for the most devices in a sentence: what it assumes, and how far off it was.

    Args:
        measured: See `forecast_error`.
        size_bytes, scaling, overlap: What `forecast` was given.
    """
    most = max(rows, key=lambda row: row.devices)
    beta = interconnect.beta_s_per_byte
    bandwidth = f"β = {1e9 * beta:.3g} ns a byte ({1e-9 / beta:.3g} GB/s)" if beta else "β = 0 (no limit)"
    unforeseen = [count for count in measured if count > 1]
    error = forecast_error(rows, measured)
    if error is not None:
        compared = [row.devices for row in _compared(rows, measured)]
        check = f"checked against {_devices(compared)}: off by {percent(error)} on average"
    elif unforeseen:
        check = f"not checked: nothing was forecast for the {_devices(unforeseen)} that were measured"
    else:
        check = "not checked: only one device measured"
    return (
        f"Forecast, not measured: {_devices([most.devices])} give {most.speedup:.2f}x the throughput of one in "
        f"{scaling} scaling ({percent(most.efficiency)} of the ideal), for a ring all-reduce of "
        f"{size_bytes / 1e6:.3g} MB with an overlap of {percent(overlap)} with the backward pass, "
        f"α = {1e6 * interconnect.alpha_s:,.1f} µs a message and {bandwidth}, {interconnect.source}; {check}."
    )


def _compared(rows: Sequence[Forecast], measured: Mapping[int, float]) -> list[Forecast]:
    """Return the forecasts of numbers of devices that were measured, one device left out."""
    return [row for row in rows if row.devices > 1 and row.devices in measured]


def _devices(counts: Sequence[int]) -> str:
    """Return "2, 4 and 8 devices"."""
    return "1 device" if list(counts) == [1] else f"{listed(sorted(counts))} devices"


def _check_amount(name: str, value: object, hint: str) -> None:
    if not (isinstance(value, Real) and math.isfinite(value) and value >= 0):
        raise UserError(name, value, f"must be a number of 0 or more: {hint}.")
