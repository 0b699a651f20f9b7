"""What can be checked of the instrument itself: a probe, in a framework, on its devices. Knows no framework.

A probe runs in a forked child of the framework's worker, as every trial does, and returns values by name; what they
mean is judged elsewhere, from the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainspeed.core.errors import check_name, check_whole
from trainspeed.core.factors import BaseTrial, Factor, always, rows
from trainspeed.core.format import NAMES, counted
from trainspeed.core.phase import PROBE
from trainspeed.core.trial import FRAMEWORKS

FULL = "oom"  # it is to fail
# Name of a probe -> what it does, in words. `worker.probes` has its code, for each framework that can.
PROBES = {
    "epoch": "an epoch by other clocks and by other loops",
    "arithmetic": "the bits that survive a product and a convolution",
    "work": "the arithmetic of a step, and of a matrix product",
    FULL: "more memory than there is",
    "memory": "memory that is planted",
    "energy": "a GPU's energy, power and load",
    "monitor": "what sampling all sensors costs",
}
IN_ROUNDS = ("epoch",)  # compares two loops
WITHOUT_FRAMEWORK = ("monitor",)  # the same in every framework's worker: one is enough
MAX_DEVICES = 1024
ROUNDS = 9  # turns of two loops beside each other: from 9 on, one that is out of line decides nothing
MAX_ROUNDS = 10_000
# Why a profiler told nothing, beside the class of an exception that it ended with.
ON_CPU, NOTHING_SEEN = "on_cpu", "nothing_seen"

# What a probe measured: raw values by name, in the units that the names end in.
ProbeValue = float | str | bool | tuple[float, ...] | None

PROBING = rows(
    Factor(name="framework", value=lambda name: NAMES.get(name, name), described=always),
    Factor(name="name", value=lambda name: PROBES.get(name, name), described=always),
    Factor(name="devices", value=lambda v: counted(v, "device"), described=lambda probe: probe.devices > 1),
)


@dataclass(frozen=True, kw_only=True)
class Probe(BaseTrial):
    """One check of the instrument to run: frozen, hashable, JSON.

    Attributes:
        name: One of `PROBES`.
        devices: Number of GPUs that it uses; where there is none, of CPU cores.
        rounds: In which a probe that compares two loops gives each a turn; the others have none.
    """

    framework: str
    name: str
    devices: int = 1
    rounds: int = ROUNDS

    factors = PROBING
    phase = PROBE
    whole_steps = False  # no time of it is compared
    dataset = None  # a probe that trains takes its images itself
    on_cpu = False

    def __post_init__(self) -> None:
        check_name("framework", self.framework, FRAMEWORKS)
        check_name("probe", self.name, tuple(PROBES))
        check_whole("devices", self.devices, 1, most=MAX_DEVICES)
        check_whole("rounds", self.rounds, 1, most=MAX_ROUNDS)

    def in_block(self, block: int) -> Probe:
        """Return itself: nothing of it depends on the block."""
        return self

    @property
    def spec(self) -> Probe:
        """Itself: nothing of it changes between blocks."""
        return self

    graph_key = spec


def is_probe(data: Any) -> bool:
    """Return whether the JSON of a trial is that of a probe."""
    return "name" in data and "model" not in data and "library" not in data
