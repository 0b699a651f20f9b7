"""The switches of a recipe: which settings verdicts call faster, and which are tried untold.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from trainspeed.comparison import Verdict, compare
from trainspeed.run import Run
from trainspeed.trial import STRATEGIES, Trial, check_name
from trainspeed.verdict import Outcome

FACTORS = ("layout", "precision", "compile", "pipeline", "batch_size", "devices")
# Fields of a trial that a switch may change besides the one that it is called by.
WITH = {"devices": ("devices", "strategy"), "pipeline": ("pipeline", "workers")}
DEFAULT_LAYOUT = {"torch": "channels_first", "tensorflow": "channels_last", "jax": "channels_last"}
TIMES_BATCH = 4  # a batch that is tried untold: so many times the plain one


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A setting to switch on.

    Attributes:
        factor: One of FACTORS.
        fields: Fields of a trial and what they become.
        found: Speed-up that a study found for it alone; None where no verdict calls it faster.
        model: That it was found on, where that is another one.
    """

    factor: str
    fields: tuple[tuple[str, Any], ...]
    found: float | None = None
    model: str | None = None

    def on(self, trial: Trial) -> Trial:
        """Return the trial with this switched on.

        Raises:
            UserError: The trial cannot have it, such as a batch that so many devices cannot share.
        """
        return replace(trial, **dict(self.fields))

    @property
    def words(self) -> str:
        """What it is called: "channels_last", "bf16", "2 devices (ddp)"."""
        values = dict(self.fields)
        value = values[self.factor]
        if self.factor == "compile":
            return "compiled" if value else "not compiled"
        if self.factor == "devices":
            return f"{value} devices ({values['strategy']})"
        if self.factor == "batch_size":
            return f"batch {value}"
        if self.factor == "pipeline" and (workers := values.get("workers")):
            return f"{value} ({workers} worker{'s' * (workers > 1)})"
        return str(value)


def plain(framework: str, model: str, **fields: Any) -> Trial:
    """Return the plain baseline: the framework's default layout, strict fp32, not compiled, one device."""
    check_name("framework", framework, tuple(STRATEGIES))
    how = {"layout": DEFAULT_LAYOUT[framework], "compile": framework == "jax"}
    return Trial(framework=framework, model=model, **how, **fields)


def switches_that_won(verdicts: Iterable[Verdict], start: Trial, devices: int | None = None) -> list[Switch]:
    """Return the switches that verdicts call faster for this framework, the largest gain first.

    A switch counts where its loser is what the plain trial has; of several for one factor the one measured on
    this model counts first, then the larger gain.

    Args:
        devices: How many there are: verdicts may be of a machine with more. None: as many as any verdict has.
    """
    best: dict[str, tuple[bool, float, Switch]] = {}
    for verdict in verdicts:
        won = _won(verdict)
        if won is None or verdict.candidate.framework != start.framework:
            continue
        winner, loser, gain = won
        if devices is not None and winner.devices > devices:
            continue
        names = WITH.get(verdict.factor, (verdict.factor,))
        if any(getattr(start, name) != getattr(loser, name) for name in names):
            continue
        also = ("queue",) if verdict.factor == "pipeline" and winner.workers else ()
        fields = tuple((name, getattr(winner, name)) for name in (*names, *also))
        other = None if winner.model == start.model else winner.model
        rank = other is None, gain, Switch(factor=verdict.factor, fields=fields, found=gain, model=other)
        if verdict.factor not in best or rank[:2] > best[verdict.factor][:2]:
            best[verdict.factor] = rank
    return [switch for _, _, switch in sorted(best.values(), key=lambda rank: -rank[1])]


def _won(verdict: Verdict) -> tuple[Trial, Trial, float] | None:
    """Return a time verdict's winner, loser and gain; None where nothing won that could be switched on."""
    baseline, candidate, size = verdict.baseline, verdict.candidate, verdict.speedup
    if verdict.quantity != "time" or verdict.factor not in FACTORS or not size:
        return None
    if not isinstance(candidate, Trial) or candidate.part != "both":
        return None
    if verdict.factor != "batch_size" and baseline.batch_size != candidate.batch_size:
        return None  # weak scaling: the batch grew too
    if verdict.outcome is Outcome.FASTER:
        return candidate, baseline, size
    if verdict.outcome is Outcome.SLOWER:
        return baseline, candidate, 1 / size
    return None


def beside(runs: Iterable[Run]) -> list[Verdict]:
    """Return the verdicts that the studies' runs allow beside their own: compiled or not, and batch sizes."""
    of: dict[str, list[Run]] = {}
    for run in runs:
        if run.trains and run.trial.part == "both":
            of.setdefault(run.study, []).append(run)
    found = []
    for mine in of.values():
        sizes = sorted({run.trial.batch_size for run in mine})
        pairs = [("compile", False, True), *(("batch_size", *two) for two in combinations(sizes, 2))]
        for factor, *values in pairs:
            found += compare(mine, factor, *values, question=f"Does another {factor} train faster?")
    return found


def tried_untold(
    factors: Sequence[str], start: Trial, told: Sequence[Switch], devices: int = 1
) -> list[Switch]:
    """Return a switch for each of these factors that no verdict speaks of.

    Args:
        devices: How many there are.
    """
    for name in factors:
        check_name("factor in try_also", name, FACTORS)
    named = [name for name in dict.fromkeys(factors) if name != "devices" or devices > 1]
    strategies = STRATEGIES[start.framework][1:]
    other = "channels_last" if start.layout == "channels_first" else "channels_first"
    values: dict[str, tuple] = {
        "layout": (("layout", other),),
        "precision": (("precision", "bf16"),),
        "compile": (("compile", True),),
        "pipeline": (("pipeline", "in_model"), ("workers", 0)),
        "batch_size": (("batch_size", TIMES_BATCH * start.batch_size),),
        "devices": (("devices", devices), ("strategy", strategies[0])),
    }
    known = {switch.factor for switch in told}
    found = [Switch(factor=name, fields=values[name]) for name in named if name not in known]
    return [s for s in found if any(getattr(start, name) != value for name, value in s.fields)]
