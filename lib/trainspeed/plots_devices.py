"""How the monitor's chart shows a device: its line, its name in the legend, what its load means."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from trainspeed.theme import OKABE_ITO

MEANINGS = {  # kind of device -> sentence
    "gpu": "Load of a GPU: share of time in which a kernel was running (not how full the GPU was).",
    "core": "Load of a core: share of time it was busy, by any process.",
    "host": "Load of the host: share of all cores that were busy.",
}
# No colour of a framework; the host is grey.
LOOKS = tuple(
    {"color": OKABE_ITO[color], "linestyle": linestyle}
    for linestyle in ("-", "--")
    for color in ("black", "purple", "sky blue", "orange")
)


def looks(samples: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return each device's line: the host in grey first, below the accelerators and cores."""
    names = sorted(samples["device"].unique(), key=lambda name: (name != "host", *_kind_and_number(name)))
    host = {"host": {"color": ".35", "linestyle": (0, (3, 1))}} if "host" in names else {}
    others = [name for name in names if name != "host"]
    return host | {name: LOOKS[place % len(LOOKS)] for place, name in enumerate(others)}


def label(device: str, rows: pd.DataFrame) -> str:
    """Return "gpu0: NVIDIA H200 (141 GB)", or "core 2"; `rows` are the samples of this device."""
    kind, number = _kind_and_number(device)
    if kind == "core":
        return f"core {number}"
    name = rows["name"].dropna().iloc[0] if "name" in rows and rows["name"].notna().any() else ""
    total = rows["memory_total_bytes"].max() if "memory_total_bytes" in rows else None
    size = f" ({total / 1e9:,.0f} GB)" if pd.notna(total) else ""
    return f"{device}: {name}{size}" if name else f"{device}{size}"


def meaning(samples: pd.DataFrame) -> str:
    """Return what load means for each kind of device that has one here."""
    devices = samples.loc[samples["load_percent"].notna(), "device"] if "load_percent" in samples else ()
    kinds = {_kind_and_number(device)[0] for device in devices}
    return " ".join(sentence for kind, sentence in MEANINGS.items() if kind in kinds)


def _kind_and_number(device: str) -> tuple[str, int]:
    kind, digits = re.fullmatch(r"(.*?)(\d*)", str(device), re.DOTALL).groups()
    return kind, int(digits or -1)
