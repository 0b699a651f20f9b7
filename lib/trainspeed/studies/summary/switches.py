"""The switches of a recipe: which settings verdicts call faster, and which are tried although no verdict does.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from trainspeed.core.errors import check_name
from trainspeed.core.factors import TRAINING
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import STRATEGIES, Trial
from trainspeed.judge.comparison import Verdict, compare
from trainspeed.judge.verdict import Outcome

DEFAULT_LAYOUT = {"torch": "channels_first", "tensorflow": "channels_last", "jax": "channels_last"}


def switchable() -> list[str]:
    """Return the names of the factors that a recipe may switch."""
    return [row.name for row in TRAINING.values() if row.switch]


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A setting to switch on.

    Attributes:
        factor: One of `switchable`.
        fields: Fields of a trial and what they become.
        alone: Speed-up that a study found for it alone; None where no verdict calls it faster.
        model: The model that it was found on, where that is not the recipe's; None otherwise.
    """

    factor: str
    fields: tuple[tuple[str, Any], ...]
    alone: float | None = None
    model: str | None = None

    def on(self, trial: Trial) -> Trial:
        """Return the trial with this switched on.

        Raises:
            UserError: The trial cannot have it, as when its batch cannot be divided among so many devices.
        """
        return replace(trial, **dict(self.fields))

    @property
    def words(self) -> str:
        """What it is called: "channels_last", "bf16", "2 devices (ddp)"."""
        row = TRAINING[self.factor]
        return row.words(SimpleNamespace(**dict.fromkeys(row.fields) | dict(self.fields)))


def plain_trial(framework: str, model: str, **fields: Any) -> Trial:
    """Return the plain baseline: the framework's default layout and precision, not compiled, one device."""
    check_name("framework", framework, tuple(STRATEGIES))
    defaults = {"layout": DEFAULT_LAYOUT[framework], "compile": framework == "jax"}
    return Trial(framework=framework, model=model, **defaults, **fields)


def switches_that_won(verdicts: Iterable[Verdict], start: Trial, devices: int | None = None) -> list[Switch]:
    """Return the switches that verdicts call faster for this framework, the largest gain first.

    A switch counts where its loser is what the plain trial has. If there are several for one factor, one that was
    measured on this model comes first, then the larger gain.

    Args:
        devices: How many there are, as verdicts may come from a machine with more; None for no limit.
    """
    best: dict[str, tuple[bool, float, Switch]] = {}
    for verdict in verdicts:
        won = _won(verdict)
        if won is None or verdict.candidate.framework != start.framework:
            continue
        winner, loser, gain = won
        if devices is not None and winner.devices > devices:
            continue
        row = verdict.row
        if any(getattr(start, name) != getattr(loser, name) for name in row.fields):
            continue
        fields = tuple((name, getattr(winner, name)) for name in (*row.fields, *row.extra_fields(winner)))
        other = None if winner.model == start.model else winner.model
        ranked = other is None, gain, Switch(factor=verdict.factor, fields=fields, alone=gain, model=other)
        if verdict.factor not in best or ranked[:2] > best[verdict.factor][:2]:
            best[verdict.factor] = ranked
    return [switch for _, _, switch in sorted(best.values(), key=lambda ranked: -ranked[1])]


def _won(verdict: Verdict) -> tuple[Trial, Trial, float] | None:
    """Return the winner, the loser and the gain of a verdict; None where nothing won that can be switched on."""
    baseline, candidate, size = verdict.baseline, verdict.candidate, verdict.speedup
    if verdict.quantity != "time" or not verdict.row.switch or not size or not candidate.whole_steps:
        return None
    if "batch_size" not in verdict.row.fields and baseline.batch_size != candidate.batch_size:
        return None  # weak scaling: the batch grew too
    if verdict.outcome is Outcome.FASTER:
        return candidate, baseline, size
    if verdict.outcome is Outcome.SLOWER:
        return baseline, candidate, 1 / size
    return None


def extra_verdicts(runs: Iterable[Run]) -> list[Verdict]:
    """Return further verdicts on the studies' runs: on compiling and on batch sizes."""
    trained = RunSet(tuple(run for run in runs if run.trial.whole_steps))
    verdicts = []
    for study in dict.fromkeys(run.study for run in trained):
        own = trained.of_study(study)
        sizes = sorted({run.trial.batch_size for run in own})
        pairs = [("compile", False, True), *(("batch_size", *two) for two in combinations(sizes, 2))]
        for factor, *values in pairs:
            verdicts += compare(own, factor, *values, question=f"Does another {factor} train faster?")
    return verdicts


def untested_switches(
    factors: Sequence[str], start: Trial, won: Sequence[Switch], devices: int = 1
) -> list[Switch]:
    """Return a switch for each of these factors that is not among those that won.

    Args:
        devices: How many there are.
    Raises:
        UserError: A factor that no recipe may switch.
    """
    for name in factors:
        check_name("factor in try_also", name, switchable())
    names = dict.fromkeys(name for name in factors if name not in {switch.factor for switch in won})
    untested = [Switch(factor=n, fields=tuple(TRAINING[n].switch(start, devices).items())) for n in names]
    return [s for s in untested if any(getattr(start, name) != value for name, value in s.fields)]
