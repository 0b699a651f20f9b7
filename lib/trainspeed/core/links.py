"""What connects two GPUs, as a value: a kind, and how many of its links. Its words are a machine's `interconnect`."""

from __future__ import annotations

from enum import StrEnum


class LinkKind(StrEnum):
    """What connects two GPUs."""

    NVLINK = "nvlink"  # directly or through a switch
    PCIE = "pcie"  # on whatever way
