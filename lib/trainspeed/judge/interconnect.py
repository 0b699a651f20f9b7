"""What sending costs between devices: two constants for each class of link, fitted to measured sums.

Pure functions on numbers: measures nothing, knows no run, no framework and no GPU. The model is a ring, in which
every device sends to its neighbour only; a ring over several nodes is as slow as its slowest link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

import numpy as np

from trainspeed.core.errors import UserError
from trainspeed.core.format import counted, listed, three


class LinkClass(StrEnum):
    """What two neighbours of a ring are connected by; the value says it to a reader."""

    WITHIN = "within a node"
    BETWEEN = "between nodes"


@dataclass(frozen=True, kw_only=True)
class Interconnect:
    """What sending costs between two neighbours of the ring: alpha + beta times the size of the message.

    Attributes:
        alpha_s: Of every message, whatever its size, in seconds.
        beta_s_per_byte: Of every byte: 1 / bandwidth. Includes the time to add the gradients up.
        link: What it is the cost of; None where the user gave it, for whatever link.
        devices: Numbers of devices whose sums it was fitted to; none where it was given.
        sizes: Number of sizes that these were measured with.
        off: By what share the fit is off from the sum that it fits least; None where it was given.
    """

    alpha_s: float
    beta_s_per_byte: float
    link: LinkClass | None = None
    devices: tuple[int, ...] = ()
    sizes: int = 0
    off: float | None = None

    def __post_init__(self) -> None:
        _check_amount("alpha_s", self.alpha_s, "for example 20e-6")
        _check_amount("beta_s_per_byte", self.beta_s_per_byte, "for example 1e-10, which is 10 GB/s")

    def message_s(self, size_bytes: float) -> float:
        """Return the seconds that a message between two neighbours takes."""
        return self.alpha_s + size_bytes * self.beta_s_per_byte

    @property
    def words(self) -> str:
        """What it is, its constants, and where they come from."""
        beta = self.beta_s_per_byte
        bandwidth = (
            f"β = {three(1e9 * beta)} ns a byte, {three(1e-9 / beta)} GB/s" if beta else "β = 0, no limit"
        )
        source = "given"
        if self.devices:
            source = f"measured on {counted_devices(self.devices)} with {counted(self.sizes, 'size')}"
        link = f"{self.link}, " if self.link else ""
        return f"{link}α = {1e6 * self.alpha_s:,.1f} µs a message and {bandwidth}, {source}"


@dataclass(frozen=True, kw_only=True)
class Ring:
    """The links that gradients go over, devices being numbered node by node.

    Attributes:
        within, between: Of each class of link; None where it is not known.
        devices_per_node: None where all devices are on one node, however many they are.
    """

    within: Interconnect | None = None
    between: Interconnect | None = None
    devices_per_node: int | None = None

    def links(self, devices: int) -> tuple[Interconnect, ...]:
        """Return the links in a ring of so many devices; none where one that decides is not known."""
        if self.devices_per_node is None or devices <= self.devices_per_node:
            return (self.within,) if self.within else ()
        if not self.between:
            return ()
        inner = self.within if self.devices_per_node > 1 else None
        return (inner, self.between) if inner else (self.between,)

    def allreduce_s(self, size_bytes: float, devices: int) -> float:
        """Return the duration of a ring all-reduce, in seconds: each of its rounds waits for the slowest link.

        Raises:
            ValueError: A link that it goes over is not known.
        """
        if devices == 1:
            return 0.0
        if not (links := self.links(devices)):
            raise ValueError(f"nothing is known of the links between {devices} devices: ask `links` first.")
        messages = 2 * (devices - 1)
        return messages * max(link.message_s(size_bytes / devices) for link in links)


def ring_allreduce_s(size_bytes: float, devices: int, alpha_s: float, beta_s_per_byte: float) -> float:
    """Return the duration of a ring all-reduce over equal links, in seconds: 2(p-1) alpha + 2(p-1)/p size beta.

    0 for one device. Each of p devices sends 2(p-1) messages of size/p: p-1 to add the parts up, p-1 to
    hand the sums round.

    Sources: P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69 (2009) 117, doi:10.1016/j.jpdc.2008.09.002
    (the algorithm); R. Thakur, R. Rabenseifner, W. Gropp, Int. J. High Perform. Comput. Appl. 19 (2005) 49,
    doi:10.1177/1094342005051521 (the cost model; its time per added byte is a part of beta here).
    """
    messages = 2 * (devices - 1)
    return messages * alpha_s + messages / devices * size_bytes * beta_s_per_byte


def fit_interconnect(
    points: Sequence[tuple[int, float, float]], link: LinkClass | None = None
) -> Interconnect | None:
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
    with np.errstate(over="ignore"):
        design = np.array(columns).T / np.array(seconds)[:, None]
    if not np.isfinite(design).all():  # a ledger may say that a sum took next to no time
        return None
    lengths = np.linalg.norm(design, axis=0)  # seconds and seconds per byte are decades apart
    fitted = np.linalg.lstsq(design / lengths, np.ones(len(points)))[0] / lengths
    alpha_s, beta_s_per_byte = fitted.tolist()
    if alpha_s < 0 or beta_s_per_byte < 0:
        return None
    return Interconnect(
        alpha_s=alpha_s,
        beta_s_per_byte=beta_s_per_byte,
        link=link,
        devices=tuple(counts),
        sizes=len({size for _, size, _ in points}),
        off=float(np.abs(design @ fitted - 1).max()),
    )


def counted_devices(counts: Sequence[int]) -> str:
    """Return "2, 4 and 8 devices"."""
    return "1 device" if list(counts) == [1] else f"{listed(sorted(counts))} devices"


def _check_amount(name: str, value: object, hint: str) -> None:
    if not (isinstance(value, Real) and math.isfinite(value) and value >= 0):
        raise UserError(name, value, f"must be a number of 0 or more: {hint}.")
