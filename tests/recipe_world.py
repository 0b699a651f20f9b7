"""A machine with planted effects, and a study's loop on it, for the tests of the recipe."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from study_data import make_run
from trainspeed.conduct.plan import Planned, schedule, still_to_do
from trainspeed.core.run import FINAL, Run, Status
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import MARGIN
from trainspeed.studies.summary.recipe import Decision, Search, continued, wanted
from trainspeed.studies.summary.switches import Switch, plain_trial

FIELDS = {"batch_size": 16, "images_per_epoch": 512, "epochs": 4, "image_size": 16, "dataset": "digits"}
SWITCHES = {
    "layout": Switch(factor="layout", fields=(("layout", "channels_last"),), alone=1.3),
    "precision": Switch(factor="precision", fields=(("precision", "bf16"),), alone=1.5),
    "compile": Switch(factor="compile", fields=(("compile", True),), alone=1.2),
    "pipeline": Switch(factor="pipeline", fields=(("pipeline", "in_model"), ("workers", 0)), alone=1.1),
    "batch_size": Switch(factor="batch_size", fields=(("batch_size", 64),)),
    "devices": Switch(factor="devices", fields=(("devices", 2), ("strategy", "ddp")), alone=1.8),
}
MAX_ROUNDS = 20  # a search that asks so often asks for ever


def start_of(framework: str = "torch", model: str = "cnn10", **fields: Any) -> Trial:
    """Return a plain trial."""
    return plain_trial(framework, model, **{**FIELDS, **fields})


def search_of(*factors: str, blocks: int = 6, start: Trial | None = None, **more: Any) -> Search:
    """Return a search that tries these switches of SWITCHES in this order."""
    return Search(start or start_of(), [SWITCHES[name] for name in factors], blocks, **more)


@dataclass
class World:
    """What each trial takes and learns.

    Attributes:
        times: Factor -> how many times faster the switch alone makes it.
        together: Pair of factors -> how many times faster, beyond their product, both are together.
        points: Factor -> what it adds to the test accuracy, in points.
        fails: Returns the status of a run that fails; None for one that does not.
        noise: Standard deviation of a run's time, as a share; of its accuracy, in points / 100.
        accuracy: Of the plain trial, 0 to 1; None where it is not asked for.
        missing: Frameworks that are not installed: one row says so.
    """

    times: Mapping[str, float] = field(default_factory=dict)
    together: Mapping[tuple[str, str], float] = field(default_factory=dict)
    points: Mapping[str, float] = field(default_factory=dict)
    fails: Callable[[Planned], Status | None] = lambda planned: None
    noise: float = 0.005
    accuracy: float | None = 0.8
    seed: int = 0
    missing: tuple[str, ...] = ()

    def on(self, trial: Trial) -> list[str]:
        """Return the switches that are on in a trial."""
        return [
            name
            for name, switch in SWITCHES.items()
            if all(getattr(trial, field) == value for field, value in switch.fields)
        ]

    def speedup(self, trial: Trial) -> float:
        """Return how many times faster than the plain one a trial is, in truth."""
        on = self.on(trial)
        both = (size for pair, size in self.together.items() if set(pair) <= set(on))
        return math.prod([self.times.get(name, 1.0) for name in on]) * math.prod(both)

    def run(self, planned: Planned) -> Run:
        """Return what a run gives; a machine that drifts is a third slower in every other block."""
        trial = planned.trial
        about = {"trial": trial, "block": planned.block, "label": planned.label, "study": "summary"}
        about["versions"] = {trial.framework: "1.0"}
        if status := self.fails(planned):
            return make_run(status=status, **about)
        draw = random.Random(f"{self.seed}:{planned.label}:{trial.as_dict()}")
        seconds = (1 + planned.block % 2 / 3) / self.speedup(trial) * math.exp(draw.gauss(0, self.noise))
        accuracy = None
        if self.accuracy is not None:
            gained = sum(self.points.get(name, 0.0) for name in self.on(trial)) / 100
            accuracy = self.accuracy + gained + draw.gauss(0, self.noise / 5)
        return make_run(seconds, test_accuracy=accuracy, **about)

    def absent(self, planned: Planned) -> Run:
        """Return the row that says that a framework is missing: without versions."""
        about = {"trial": planned.trial, "block": planned.block, "label": planned.label, "versions": {}}
        return make_run(status=Status.UNSUPPORTED, study="summary", **about)


# bf16 and channels_last gain more together than alone; compiled bf16 is slower; batch 64 forgets.
PLANTED = World(
    times={"layout": 1.3, "precision": 1.5, "compile": 1.2, "batch_size": 1.6, "devices": 1.4},
    together={("layout", "precision"): 1.1, ("precision", "compile"): 0.7},
    points={"batch_size": -3.0},
)
ORDER = ("precision", "layout", "compile", "pipeline", "batch_size", "devices")


@dataclass
class Measured:
    """What `drive` measured: in how many rounds, in which order, and the searches in the end."""

    runs: list[Run]
    rounds: int
    searches: list[Search]
    planned: list[Planned]

    @property
    def search(self) -> Search:
        """The one search."""
        (search,) = self.searches
        return search


def ended_for_good(runs: Sequence[Run]) -> Callable[[Planned], bool]:
    """Return what tells of a planned run whether its trial would end the same again."""
    kinds = {(run.label, run.trial.spec) for run in runs if run.is_final and run.versions}
    return lambda planned: planned.kind in kinds


def drive(searches: Sequence[Search] | Search, world: World, done: Sequence[Run] = ()) -> Measured:
    """Measure what searches want until they want nothing, as `study.measure` and its runner do it.

    Args:
        done: Of the session, where it is resumed.
    """
    searches = [searches] if isinstance(searches, Search) else list(searches)
    runs, tried, hopeless, told, order, rounds = list(done), set(), set(), set(), [], 0
    todo = still_to_do(schedule(wanted(searches, ()), 0), runs, ended_for_good(runs))

    def further() -> list[Planned]:
        new = still_to_do(schedule(wanted(searches, runs), 0), runs, ended_for_good(runs))
        return [planned for planned in new if planned.key not in tried]

    while todo := todo or further():
        rounds += 1
        assert rounds < MAX_ROUNDS, "it asks for ever"
        for planned in todo:
            tried.add(planned.key)
            framework = planned.trial.framework
            if planned.kind in hopeless or framework in told:
                continue
            order.append(planned)
            if framework in world.missing:
                told.add(framework)
                runs.append(world.absent(planned))
                continue
            runs.append(world.run(planned))
            if runs[-1].status in FINAL:
                hopeless.add(planned.kind)
        todo = ()
    last_of_each = list({run.key: run for run in runs}.values())
    return Measured(last_of_each, rounds, continued(searches, last_of_each), order)


def kept(search: Search) -> list[str]:
    """Return the factors that were kept, in order."""
    return [step.switch.factor for step in search.steps if step.decision.keeps]


def greedy(world: World, search: Search) -> tuple[list[str], list[float]]:
    """Return what a search without noise keeps, and the true gain of each switch when it is tried."""
    now, found, gains = search.start, [], []
    for switch in search.switches:
        after = switch.on(now)
        gains.append(world.speedup(after) / world.speedup(now))
        if gains[-1] > 1 + MARGIN:
            found.append(switch.factor)
            now = after
    return found, gains


def decisions(search: Search) -> dict[str, Decision]:
    """Return what became of each factor that was tried."""
    return {step.switch.factor: step.decision for step in search.steps}
