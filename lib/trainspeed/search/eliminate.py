"""Backward elimination: from all that are promising, what does not pay on top of the others is dropped.

What pays only together with another one is on beside it from the beginning, and what gets into the way of another one
shows itself beside it: a search that begins with nothing on is blind to the one and late for the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trainspeed.core.run import Role
from trainspeed.search.arms import Arm
from trainspeed.search.choose import best_set, may_pay, part_of, pays, with_open
from trainspeed.search.design import leave_out_blocks, without_switches
from trainspeed.search.feasible import SEEDS_APART, alone_fit
from trainspeed.search.findings import Estimate, Round
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.model import Model, model
from trainspeed.search.switch import Set, Switch
from trainspeed.search.together import Together
from trainspeed.search.toggle import TOGGLE_SURE, toggled

HURTS = 2.0  # standard errors below 0: it gets into the way of others
SPOILT = 4.0  # standard errors by which a switch was faster alone than beside one that hurts
MOST_ROUNDS = 3


def round_groups(known: Known, on: Set, number: int, blocks: int) -> list[ArmGroup]:
    """Return what a round measures: in each block every switch is left out in one of the arms."""
    seed = known.start.seed + SEEDS_APART * number
    groups: list[ArmGroup] = []
    if not on:
        return groups
    for block, parts in enumerate(leave_out_blocks(on, blocks, seed)):
        arms = tuple(without_switches(on, off) for off in parts)
        groups.append(ArmGroup(label=round_label(number, blocks), seed=seed + block, arms=arms))
    return groups


def round_label(number: int, blocks: int) -> str:
    """Return the label of a round's runs."""
    return f"{Role.ELIMINATE}{number}/{blocks}"


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """A round that has not begun.

    Attributes:
        number: From 1.
        on: What is on in it, but for what is left out.
        is_spare: Whether it only tells more surely what the rounds before left open: for time that is left over.
    """

    number: int
    on: Set
    is_spare: bool


@dataclass(frozen=True)
class Elimination:
    """The rounds of a search, by their runs.

    Attributes:
        entered: Switches that the screen had.
        late: Switches that need one of those, and were hardly slower than that alone.
    """

    known: Known
    entered: Set
    late: Set

    @cached_property
    def begin(self) -> Set:
        """The switches that are promising by what ran before the rounds."""
        found = self._model(0)
        if found is None:
            return ()
        together = self._together(0)
        on = best_set(found, self.entered, may_pay, together)
        levers = {name for switch in on for name in switch.levers}
        late = (switch for switch in self.late if set(switch.needs) <= levers)
        return (*on, *(switch for switch in late if not together.clash_in([*on, switch])))

    @cached_property
    def first(self) -> Set:
        """The switches that the first round has on: where few are promising, what may pay yet as well."""
        found = self._model(0)
        return with_open(found, self.begin, self.entered, self._together(0)) if self.begin and found else ()

    @cached_property
    def _replayed(self) -> tuple[list[Round], Set, Ahead | None]:
        """The rounds, what is on in the end, and the round that is next."""
        rounds: list[Round] = []
        kept, on = self.begin, self.first
        spare = False
        for number in range(1, MOST_ROUNDS + 1):
            if not on:
                break
            blocks = self.blocks_of(number)
            arms = self.known.arms(round_label(number, blocks)) if blocks else []
            if not arms:
                return rounds, kept, Ahead(number=number, on=on, is_spare=spare)
            found = self._model(number)
            together = self._together(number)
            estimates = [part_of(found, switch, on) for switch in on if switch in found.switches]
            kept = best_set(found, self.able, pays, together)
            again = (s for s in self._spoilt(found, estimates, kept) if not together.clash_in([*kept, s]))
            kept = (*kept, *again)
            new = Round(
                number=number,
                on=on,
                estimates=tuple(sorted(estimates, key=lambda one: one.log)),
                blocks=len({arm.run.trial.seed for arm in arms}),
                dropped=tuple(switch for switch in on if switch not in kept),
                added=tuple(switch for switch in kept if switch not in on),
                ran_with=tuple(switch for switch in on if any(switch in arm.on for arm in arms)),
            )
            rounds.append(new)
            spare = not _again(new)
            on = best_set(found, self.able, may_pay, together) if spare else kept
            if spare and set(on) == set(kept):
                break
        return rounds, kept, None

    def _spoilt(self, found: Model, estimates: Sequence[Estimate], kept: Set) -> Set:
        """Return what is dropped, though it was far faster alone, with one that gets into the way of others.

        It was measured beside that one, which says nothing of it alone, and few runs do not tell which pair it is.
        """
        worst = min(estimates, key=lambda one: one.log, default=None)
        if worst is None or not slows_down(worst) or worst.switches[0] in kept:
            return ()
        paired = {switch for pair in found.pairs for switch in pair}
        alone = alone_fit(self.known, self.able)
        return tuple(
            switch
            for one in estimates
            if (switch := one.switches[0]) not in {*kept, *worst.switches, *paired}
            and alone.log.get(switch, 0.0) - one.log > SPOILT * math.hypot(alone.se.get(switch, 0.0), one.se)
        )

    @property
    def able(self) -> Set:
        """The switches that may be on."""
        return (*self.entered, *self.late)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds that were run."""
        return tuple(self._replayed[0])

    @property
    def ahead(self) -> Ahead | None:
        """The round that is next; None where it is over."""
        return self._replayed[2]

    @property
    def on(self) -> Set:
        """What is on after the rounds; before the first one, what is promising."""
        return self._replayed[1]

    @cached_property
    def left(self) -> Set:
        """What is left on; without a round, what is sure enough by the screen, or alone.

        What takes long stays if it pays beside the rest, where it was tried so.
        """
        found, tried = self._model(0), toggled(self.known)
        sure = best_set(found, self.able, pays, self._together(0)) if found and not self.rounds else None
        on = self.on if sure is None else sure
        if not tried or self.model is None:
            return on
        base = tuple(switch for switch in on if switch not in tried)
        models = [found for found in (self.model, self.combined) if found]
        return (*base, *(s for s in self.able if s in tried and _pays_beside(s, base, models)))

    @property
    def in_combination(self) -> frozenset[Switch]:
        """The switches that were on beside others, in a round or after all of them."""
        return toggled(self.known).union(*(one.ran_with for one in self.rounds))

    @cached_property
    def estimates(self) -> Mapping[Switch, Estimate]:
        """Of each switch that ran, what it brings on top of what is left on."""
        found = self.model
        return {} if found is None else {s: part_of(found, s, (*self.left, s)) for s in found.switches}

    @cached_property
    def model(self) -> Model | None:
        """What all runs say together."""
        return self._fit([*self._labels(len(self.rounds)), Role.TOGGLE])

    @cached_property
    def combined(self) -> Model | None:
        """What the runs say in which all or most that is promising was on: a compiler may bring little without it."""
        rounds = [label for label in self._labels(len(self.rounds)) if label.startswith(Role.ELIMINATE)]
        return self._fit([*rounds, Role.TOGGLE])

    @cached_property
    def _models(self) -> dict[int, Model | None]:
        return {}

    def _model(self, number: int) -> Model | None:
        """Return what all runs up to a round say."""
        if number not in self._models:
            self._models[number] = self._fit(self._labels(number))
        return self._models[number]

    def _fit(self, labels: Sequence[str]) -> Model | None:
        arms = self.known.arms(*labels)
        return model([arm for arm in arms if self._explains(arm)], self.able)

    def _labels(self, number: int) -> list[str]:
        """Return the labels of all runs up to a round."""
        rounds = [round_label(n, blocks) for n in range(1, number + 1) if (blocks := self.blocks_of(n))]
        return [Role.FEASIBLE, Role.RACE, Role.SCREEN, *rounds]

    def _together(self, number: int) -> Together:
        """Return what all runs up to a round say of what can be on together: what came later changes no round."""
        return Together(self.known, self.known.of(*self._labels(number)))

    def _explains(self, arm: Arm) -> bool:
        """Whether the switches that are still in the search, with what they come with, are all that an arm has on."""
        with_own = (self.known.on_with([switch]) for switch in self.able if switch in arm.on)
        return arm.on == frozenset().union(*with_own)

    def blocks_of(self, number: int) -> int | None:
        """Return how many blocks a round was to have; None where it has not begun."""
        begins = f"{Role.ELIMINATE}{number}/"
        counts = (
            r.run.label.removeprefix(begins) for r in self.known.of(Role.ELIMINATE) if begins in r.run.label
        )
        return next((int(count) for count in counts if count.isdecimal()), None)


def _pays_beside(switch: Switch, base: Set, models: Sequence[Model]) -> bool:
    """Whether a switch pays beside others by one of some models."""
    parts = (part_of(found, switch, (*base, switch)) for found in models if switch in found.switches)
    return any(pays(part, TOGGLE_SURE) for part in parts)


def slows_down(estimate: Estimate) -> bool:
    """Whether a switch is surely slower."""
    return estimate.log < -HURTS * estimate.se


def _again(last: Round) -> bool:
    """Whether another round may find something else: not all that is on now was on together, or nearly."""
    by_switch = {estimate.switches[0]: estimate for estimate in last.estimates}
    hurting = [switch for switch in last.dropped if switch in by_switch and slows_down(by_switch[switch])]
    return bool(last.added or hurting)
