"""What a turn of a group is, and how many of its arms begin at once. Measures nothing.

By the group's first block, and by how its trials trained in groups before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from trainspeed.conduct.plan import Planned
from trainspeed.conduct.turns import Turns, fewest_epochs, shortest_turn_s, turn_of_calls, turns_of_epochs
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import Run
from trainspeed.core.trial import PLAIN_PIPELINES, RUN_AHEAD, Trial
from trainspeed.sensors.processes import usable_cores
from trainspeed.worker.events import TakeTurn

# How many times as long as later ones a second epoch may take that is not to be in a turn for its pace alone; where a
# program is compiled in it, such as that of all steps of an epoch in one call, it takes longer.
SETTLED = 1.25


@dataclass(kw_only=True)
class TurnPlan:
    """The turns of a study's groups.

    Attributes:
        device: "gpu" or "cpu": what every run of the study trains on.
        turn_s: Seconds of a turn, about; trainings have more and shorter ones in the same time.
    """

    device: str
    turn_s: float
    _known: dict[tuple[int, frozenset[Any]], Turns] = field(default_factory=dict, init=False)
    _epoch_s: dict[AnyTrial, list[float]] = field(default_factory=dict, init=False)
    _settled: set[AnyTrial] = field(default_factory=set, init=False)
    _alone: set[frozenset[Any]] = field(default_factory=set, init=False)

    def turns(self, group: Sequence[Planned], rounds: int, epoch_s: Sequence[float]) -> Turns:
        """Return the turns of the group's arms: the same in every block, by the pace of the first.

        That is one epoch of each arm. Where a trial took turns before, in another group, and was faster, its pace is
        that: by an epoch beside a neighbour's burst all fresh blocks of a search had the fewest turns.

        Args:
            rounds: How many turns of `turn_s` each arm has time for in a block.
            epoch_s: Seconds of an epoch of each arm that has come so far.
        """
        if group[0].trial.phase.calls:
            calls = max(planned.trial.calls for planned in group)
            return Turns(rounds=rounds, each=turn_of_calls(self.turn_s, calls, rounds=rounds))
        if not epoch_s:  # none has come so far: no pace to keep to
            return Turns(rounds=rounds, each=TakeTurn(epochs=1))
        if len(epoch_s) == len(group):
            epoch_s = [self._pace_s(one.trial, own) for one, own in zip(group, epoch_s, strict=True)]
        least = max(planned.trial.epochs for planned in group)
        fitting = {"shortest_s": shortest_turn_s(self.device), "rounds": rounds}
        lead_in = lead_in_of(one.trial for one in group)
        turns = turns_of_epochs(epoch_s, self.turn_s, least, lead_in=lead_in, **fitting)
        return self._known.setdefault(_key(group, rounds), turns)

    def least_s(self, group: Sequence[Planned], rounds: int, epoch_s: Sequence[float]) -> float:
        """Return about how many seconds the turns of the arms that have come take at least; arguments as above."""
        if not epoch_s or group[0].trial.phase.calls:
            return 0.0
        least = max(planned.trial.epochs for planned in group)
        return fewest_epochs(rounds, least, lead_in_of(one.trial for one in group)) * sum(epoch_s)

    def learn(self, runs: Iterable[Run]) -> None:
        """Take in how long the epochs of trainings took that had turns."""
        for run in runs:
            if run.turns and run.later_epoch_s:
                usual_s = median(run.later_epoch_s)
                self._epoch_s.setdefault(run.trial.spec, []).append(usual_s)
                if run.epochs_before_turns > 1 and run.epoch_s[1] <= SETTLED * usual_s:
                    self._settled.add(run.trial.spec)

    def is_paced(self, group: Sequence[Planned], rounds: int) -> bool:
        """Return whether no arm of a group needs a second epoch before its turns, which tells how long one takes.

        From the second block on, on CPU cores that stay the same, where in an earlier block that epoch took as long as
        those of the turns, and where without it a run still trains as many as were asked for. Without it the first
        epoch of the first turn took 1.00 to 1.02 times as long as later ones on 1 or 2 cores, and 1.05 times on all.
        """
        known = self._known.get(_key(group, rounds))
        if known is None or self.cores(group) is None:
            return False
        trained = 1 + known.rounds * known.each.epochs
        return all(one.trial.spec in self._settled and one.trial.epochs <= trained for one in group)

    def _pace_s(self, trial: AnyTrial, epoch_s: float) -> float:
        """Return the seconds of a trial's epoch: as usual before, or as now where that was faster."""
        known = self._epoch_s.get(trial.spec)
        return min(epoch_s, median(known)) if known else epoch_s

    def side_by_side(self, some: Sequence[Planned], group: Sequence[Planned], rounds: int) -> int:
        """Return how many arms are built and train their first epoch at once, as many as may end at once, or one.

        One in the first block: it tells how long that takes alone.

        Args:
            some: Those that are alive together.
            group: All that are compared.
        """
        first = _key(group, rounds) not in self._known
        return 1 if first else self.end_at_once(some, group) or 1

    def end_at_once(self, some: Sequence[Planned], group: Sequence[Planned]) -> int | None:
        """Return how many arms look up at once what is not timed, each on a CPU core of its own, or all on all.

        None where an arm is to stay where it starts: on GPUs, whose autotuning would be disturbed; where one needs some
        cores to itself, or starts processes, which would stay where they were started; and where several did not
        fit into memory. Arguments as above.
        """
        movable = self.device == "cpu" and all(_is_movable(planned.trial) for planned in some)
        several = min(len(usable_cores()), len(some))
        return several if movable and several > 1 and _kinds(group) not in self._alone else None

    def cores(self, group: Sequence[Planned]) -> int | None:
        """Return on how many CPU cores the arms of a group run, the same last ones; None where one may run on all.

        Others count on these in the turns of all arms alike: who takes the core of one of two threads, and none of an
        arm with one, disturbs the round of both.
        """
        trials = [planned.trial for planned in group]
        kept = all(isinstance(trial, Trial) and trial.pipeline in PLAIN_PIPELINES for trial in trials)
        counts = [trial.cores for trial in trials]
        return max(counts) if kept and self.device == "cpu" and None not in counts else None

    def begin_alone(self, some: Sequence[Planned], group: Sequence[Planned]) -> bool:
        """Have a group begin and end one after the other from now on, and return whether it had not: as above.

        What does not fit into memory while several are built may well fit afterwards.
        """
        at_once = self.end_at_once(some, group) is not None
        self._alone.add(_kinds(group))
        return at_once


def lead_in_of(trials: Iterable[AnyTrial]) -> int:
    """Return how many epochs at the beginning of a turn do not count, of trials that take turns with each other.

    tf.data's threads fill their buffers while others train: without training, the first epoch of 32 batches after that
    took 0.87 to 0.89 of the time of the next. It counts for none of them, as a first epoch is slower for the others.
    """
    return int(any(getattr(trial, "pipeline", None) in RUN_AHEAD for trial in trials))


def _key(group: Sequence[Planned], rounds: int) -> tuple[int, frozenset[Any]]:
    return rounds, _kinds(group)


def _kinds(group: Sequence[Planned]) -> frozenset[Any]:
    return frozenset(planned.kind for planned in group)


def places_of(arms: int, at_once: int, ends_at_once: int | None, **all_alike: Any) -> list[dict[str, Any]]:
    """Return fields of the request of each arm: `others_built` and `core_offset`, and what is the same for all.

    Args:
        at_once, ends_at_once: See `measure_in_turns`.
    """
    if ends_at_once is None:
        return [{"others_built": 0, "core_offset": None} | all_alike] * arms
    together = (min(at_once, arms - number + number % at_once) for number in range(arms))
    return [
        {"others_built": own - 1, "core_offset": number % ends_at_once} | all_alike
        for number, own in enumerate(together)
    ]


def _is_movable(trial: AnyTrial) -> bool:
    """Return whether a run is one process that goes on as well on another core, or on all of them beside others."""
    if not isinstance(trial, Trial) or trial.cores not in (1, None):
        return False
    torch = trial.framework == "torch"
    compiles = trial.compile and torch  # with processes of its own
    # Its threads spin while they wait for each other: those of two runs on the same cores take many times as long.
    spins = trial.cores is None and torch
    return trial.pipeline in PLAIN_PIPELINES and not compiles and not spins
