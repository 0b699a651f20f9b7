"""A made-up machine with levers whose effects are planted, and a study's loop on it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from study_data import MACHINE, VERSIONS
from trainspeed.conduct.plan import Planned, TrialSet, still_to_do
from trainspeed.conduct.schedule import schedule
from trainspeed.core.levers.lever import Lever
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import FINAL, Role, Run, Status
from trainspeed.core.trial import Trial
from trainspeed.search.asking import Asking, continued
from trainspeed.search.candidates import Candidates
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch, plain_trial

FIELDS = {"batch_size": 16, "images_per_epoch": 512, "epochs": 4, "image_size": 16, "dataset": "digits"}
START = plain_trial("torch", "cnn10", **FIELDS)
GAINS = {0: 0.2, 1: 0.08, 2: -0.1}  # of a quiet machine: see `world_of`
MOST_ROUNDS = 25  # a search that asks so often asks for ever
MADE = {f"made_{number:02}": Lever(name=f"made_{number:02}", words=f"lever {number}") for number in range(40)}


def register(monkeypatch) -> None:
    """Put the made-up levers into the registry, for a test."""
    for name, lever in MADE.items():
        monkeypatch.setitem(LEVERS, name, lever)


def switch(number: int, value: str = "on") -> Switch:
    """Return a made-up lever, switched on."""
    name = f"made_{number:02}"
    return Switch(lever=name, value=value, settings=((name, value),))


def switches(count: int) -> tuple[Switch, ...]:
    """Return so many made-up levers, switched on."""
    return tuple(switch(number) for number in range(count))


@dataclass
class World:
    """What each trial takes.

    Attributes:
        gains: Number of a lever -> logarithm of its speed-up alone.
        together: Numbers of two levers -> the same, of both beyond their sum.
        silent: Levers that are asked for in vain: nothing changes, and that is seen.
        fails: Levers with which a run ends so.
        clashes: Sets of levers that are refused together.
        sd: Standard deviation of a run's log time within its group.
        drift: Of a group's level.
        outliers: Share of the runs that take 10 to 40 % more.
        crashes: Share of the runs that crash, and would not do so again.
        points: Lever -> what it adds to the test accuracy, in points.
        accuracy: Of the plain trial; None where it is not asked for.
        run_s: Seconds that a run takes.
        more_s: Lever -> seconds that it adds, such as to compile.
    """

    gains: dict[int, float] = field(default_factory=dict)
    together: dict[tuple[int, int], float] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()
    fails: dict[int, Status] = field(default_factory=dict)
    clashes: tuple[frozenset[int], ...] = ()
    sd: float = 0.016
    drift: float = 0.03
    outliers: float = 0.02
    crashes: float = 0.01
    points: dict[int, float] = field(default_factory=dict)
    accuracy: float | None = None
    run_s: float = 2.4
    more_s: dict[int, float] = field(default_factory=dict)
    seed: int = 0

    def speed(self, on: Sequence[int]) -> float:
        """Return the logarithm of a trial's speed-up over the plain one, in truth."""
        own = [number for number in on if number not in self.silent]
        both = sum(size for pair, size in self.together.items() if set(pair) <= set(own))
        return both + sum(self.gains.get(number, 0.0) for number in own)

    @property
    def best(self) -> float:
        """The logarithm of the best speed-up that can be had."""
        numbers = {n for n, size in self.gains.items() if size} | {n for pair in self.together for n in pair}
        able = [number for number in numbers if number not in self.fails and number not in self.silent]
        sets = (own for size in range(len(able) + 1) for own in combinations(able, size))
        return max(self.speed(own) for own in sets if not self.refuses(own))

    def refuses(self, on: Sequence[int]) -> bool:
        """Whether a run with these on fails, though each runs alone."""
        return any(clash <= set(on) for clash in self.clashes)

    def run(self, planned: Planned) -> Run:
        """Return what a run gives."""
        trial = planned.trial
        on = [int(name.removeprefix("made_")) for name, _ in trial.levers]
        again = planned.label == Role.PLAIN_AGAIN
        place = f"{self.seed}:{Role.RECIPE if again else planned.label}:{trial.seed}"
        level = random.Random(place).gauss(0, self.drift)
        draw = random.Random(f"{place}:{trial.levers}{':again' * again}")
        status = next((self.fails[number] for number in on if number in self.fails), Status.OK)
        if status is Status.OK and self.refuses(on):
            status = Status.UNSUPPORTED
        if status is Status.OK and draw.random() < self.crashes:
            status = Status.CRASHED
        slow = math.log(draw.uniform(1.1, 1.4)) if draw.random() < self.outliers else 0.0
        seconds = math.exp(level + draw.gauss(0, self.sd) + slow - self.speed(on))
        measured = {"reason": "for a test"}
        if status is Status.OK:
            accuracy = self.accuracy
            if accuracy is not None:
                accuracy += sum(self.points.get(number, 0.0) for number in on) / 100 + draw.gauss(0, 0.001)
            measured = {
                "epoch_s": (3 * seconds, seconds, seconds, seconds),
                "images_per_epoch": trial.images_per_epoch,
                "test_accuracy": accuracy,
                "in_effect": {
                    name: ("off" if int(name[-2:]) in self.silent else value, "planted")
                    for name, value in trial.levers
                },
            }
        return Run(
            session="20261120T100000Z-abcd",
            study="switches",
            trial=trial,
            block=planned.block,
            label=planned.label,
            status=status,
            machine=MACHINE,
            versions={"torch": VERSIONS["torch"]},
            stages_s={"start": 0.1, "train": self.run_s - 0.1 + sum(self.more_s.get(n, 0.0) for n in on)},
            **measured,
        )


def world_of(**planted):
    """Return a quiet machine on which lever 0 and 1 pay, and 2 hurts."""
    return World(**{"gains": GAINS, "outliers": 0.0, "crashes": 0.0, **planted})


def search_of(count=5, **more):
    """Return a search over so many switches."""
    return Search(START, Candidates(switches=switches(count)), **more)


def random_world(seed: int) -> tuple[World, Search]:
    """Return a machine with 16 levers: some pay, two only together, two get into each other's way, most do nothing."""
    draw = random.Random(seed)
    number = draw.sample(range(16), 16)
    size = lambda low, high: math.log(1 + draw.uniform(low, high))  # noqa: E731
    base, needs_base, rival, reverses, medium, other, small, brake, hurts, silent, fails, *_nulls = number
    gains = {
        base: size(0.10, 0.30),
        rival: size(0.10, 0.30),
        reverses: size(0.05, 0.15),
        medium: size(0.04, 0.12),
        other: size(0.04, 0.12),
        small: size(0.02, 0.04),
        brake: -size(0.05, 0.20),
        hurts: -size(0.02, 0.05),
    }
    together = {
        (base, needs_base): size(0.05, 0.20),
        (rival, reverses): -gains[reverses] - size(0.04, 0.12),
    }
    world = World(
        gains=gains,
        together=together,
        silent=frozenset([silent]),
        fails={fails: draw.choice(FINAL)},
        seed=seed,
    )
    return world, Search(START, Candidates(switches=switches(16)))


def nulls(world: World) -> set[int]:
    """Return the levers that do nothing, whatever else is on."""
    active = {n for n, size in world.gains.items() if size} | {n for pair in world.together for n in pair}
    return set(range(16)) - active - set(world.fails)


@dataclass
class Measured:
    """What `drive` measured, and what the search says in the end."""

    runs: list[Run]
    search: Search
    asked: list[list[TrialSet]]


def drive(
    search: Search,
    world: World,
    done: Sequence[Run] = (),
    *,
    fits: Callable[[Planned], bool] = lambda _: True,
) -> Measured:
    """Measure what a search wants until it wants nothing, as a study and its runner do it.

    Args:
        done: Of the session, where it is resumed.
        fits: Whether there is time for a run.
    """
    more, runs, tried, asked = Asking([search]), list(done), set(), []
    hopeless = {(run.label, run.trial.spec) for run in runs if run.is_final}
    while sets := more(runs):
        asked.append(sets)
        assert len(asked) < MOST_ROUNDS, "it asks for ever"
        planned = still_to_do(schedule(sets, 0), runs, lambda one: one.kind in hopeless)
        for one in planned:
            if one.key not in tried and one.kind not in hopeless and fits(one):
                runs.append(world.run(one))
                if runs[-1].status in FINAL:
                    hopeless.add(one.kind)
            tried.add(one.key)
    (search,) = continued([search], runs)
    return Measured(runs, search, asked)


def kept(search: Search) -> set[int]:
    """Return the numbers of the levers that were kept."""
    return {int(switch.lever.removeprefix("made_")) for switch in search.kept}


def trial_speed(world: World, trial: Trial) -> float:
    """Return the logarithm of a trial's speed-up in truth."""
    return world.speed([int(name.removeprefix("made_")) for name, _ in trial.levers])
