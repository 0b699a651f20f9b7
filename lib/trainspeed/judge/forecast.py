"""Forecast how data-parallel training scales, from one device's step and what the links between devices cost.

Pure functions on numbers: measures nothing, draws nothing, knows no framework. The model has compute and
the exchange of gradients, nothing else: input, launch overhead, slower devices and the lower efficiency of a small
batch per device are not in it. So a forecast says what it assumes, and its error against the points that were
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from trainspeed.core.errors import check_name, check_some, check_whole
from trainspeed.core.format import counted, listed, percent, three
from trainspeed.judge.interconnect import Ring, counted_devices
from trainspeed.judge.overlap import Overlap

SCALINGS = ("strong", "weak")  # the global batch is fixed; the batch per device is fixed
MOST_DEVICES = 1024
# Of a step's compute: the backward pass takes about twice the forward pass, and gradients leave during it.
# Source: https://epochai.org/blog/backward-forward-FLOP-ratio
BACKWARD_SHARE = 2 / 3


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


def step_s(compute_s: float, exchange_s: float, overlap: float) -> float:
    """Return the duration of a step, in seconds: compute + the part of the exchange that is not hidden.

    exposed = max(exchange (1 - overlap), exchange - 2/3 compute): no more can hide than `overlap` says,
    and nothing behind anything but the backward pass, 2/3 of the compute.

    Args:
        compute_s: Of one device, on its share of the batch.
        exchange_s: Of all gradients, with nothing beside it.
        overlap: Share of the exchange, 0 to 1, that the framework sends while the backward pass runs.
    """
    return compute_s + max(exchange_s * (1 - overlap), exchange_s - BACKWARD_SHARE * compute_s)


def forecast(
    compute_1_s: float,
    size_bytes: float,
    devices: Sequence[int],
    ring: Ring,
    *,
    scaling: str,
    overlap: float,
) -> list[Forecast]:
    """Return what is expected of each number of devices, in the order given.

    Those between which a link is not known are left out.

    Args:
        compute_1_s: Duration of a step on one device, in seconds. Strong scaling divides it by the number
            of devices, as if a device were as efficient with a smaller batch; weak scaling keeps it.
        size_bytes: Of all gradients.
        scaling: "strong" (global batch fixed) or "weak" (batch per device fixed).
        overlap: See `step_s`.
    """
    check_name("scaling", scaling, SCALINGS)
    check_device_counts(devices)
    rows = []
    for count in devices:
        if count > 1 and not ring.links(count):
            continue
        compute_s, work = (compute_1_s / count, 1) if scaling == "strong" else (compute_1_s, count)
        duration_s = step_s(compute_s, ring.allreduce_s(size_bytes, count), overlap)
        rows.append(Forecast(devices=count, step_s=duration_s, speedup=work * compute_1_s / duration_s))
    return rows


def check_device_counts(devices: Sequence[int]) -> None:
    """Raise a UserError where there is nothing to forecast, or nothing that can be."""
    check_some("devices", devices, "name at least one number of devices.")
    for count in devices:
        check_whole("devices", count, 1, most=MOST_DEVICES)


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
    ring: Ring,
    *,
    size_bytes: float,
    scaling: str,
    overlap: Overlap | None,
    batch_size: int,
    per_node: int | None = None,
) -> str:
    """Return the forecast for the most devices in words: what it assumes, and how far off it was.

    Args:
        measured: See `forecast_error`.
        size_bytes, scaling: What `forecast` was given.
        overlap: None where it was not measured, and nothing was taken to hide.
        batch_size: Images per step of one device.
        per_node: How many of the devices are on each node; None where all are on one.
    """
    most = max(rows, key=lambda row: row.devices)
    assumed = [_links_assumed(ring, most.devices, size_bytes), _overlap_assumed(overlap)]
    assumed += [
        _batch_assumed(scaling, batch_size, most.devices),
        "no device waits for another one or for images",
    ]
    placed = "" if per_node is None else f", {per_node} on each node,"
    return (
        f"Forecast, not measured: {counted_devices([most.devices])}{placed} give {most.speedup:.2f}x the throughput of "
        f"one in {scaling} scaling ({percent(most.efficiency)} of the ideal). "
        f"It assumes that {'; that '.join(assumed)}. "
        f"{_checked(rows, measured, overlap, ' placed so' if placed else '')}"
    )


def _links_assumed(ring: Ring, devices: int, size_bytes: float) -> str:
    links = ring.links(devices)
    seen = sorted({count for link in links for count in link.devices})
    farther = f", all {devices} connected as those that were measured" if seen and devices > seen[-1] else ""
    words = " and ".join(f"({link.words})" for link in links)
    slowest = ", the slower of which decides" if len(links) > 1 else ""
    return f"{three(size_bytes / 1e6)} MB of gradients go round a ring {words}{slowest}{farther}"


def _overlap_assumed(overlap: Overlap | None) -> str:
    if overlap is None:
        return "none of that hides behind the backward pass, since the overlap was not measured"
    return f"{overlap.words} of that hides behind the backward pass, as far as that is long"


def _batch_assumed(scaling: str, batch_size: int, devices: int) -> str:
    if scaling == "weak":
        return f"each device has {counted(batch_size, 'image')} a step, as the one has"
    share = f"{batch_size / devices:g}"
    return f"each device computes its {share} of {batch_size} images as efficiently as one does all"


def _checked(
    rows: Sequence[Forecast], measured: Mapping[int, float], overlap: Overlap | None, placed: str
) -> str:
    """Return how far off it was: not where the overlap comes from, which would agree with itself."""
    taken = overlap and overlap.devices
    others = {count: speedup for count, speedup in measured.items() if count != taken}
    several = sorted(count for count in measured if count > 1)
    beyond = f" Nothing was measured beyond {counted_devices(several[-1:])}{placed}." if several else ""
    error = forecast_error(rows, others)
    if error is not None:
        compared = [row.devices for row in _compared(rows, others)]
        return f"Checked against {counted_devices(compared)}: off by {percent(error)} on average.{beyond}"
    if not several:
        return "Not checked: only one device was measured."
    if taken in several and len(several) == 1:
        return f"Not checked: the step on {taken} devices gave the overlap.{beyond}"
    unforeseen = [count for count in several if count != taken]
    return (
        f"Not checked: nothing was forecast for the {listed(unforeseen)} devices that were measured.{beyond}"
    )


def _compared(rows: Sequence[Forecast], measured: Mapping[int, float]) -> list[Forecast]:
    """Return the forecasts of numbers of devices that were measured, one device left out."""
    return [row for row in rows if row.devices > 1 and row.devices in measured]
