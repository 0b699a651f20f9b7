"""The search for the set of switches that trains fastest, and what became of each. Measures nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from trainspeed.core.run import Role
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import Outcome
from trainspeed.search import confirm
from trainspeed.search.claims import Confirmation, Remainder
from trainspeed.search.confirm import LARGE
from trainspeed.search.eliminate import round_groups
from trainspeed.search.feasible import feasible, was_seen
from trainspeed.search.findings import Decision, Effect, Feasible, Findings, Race, Stage, Unmeasured
from trainspeed.search.race import race_groups
from trainspeed.search.screen import screen_groups
from trainspeed.search.sizes import most_switches, options
from trainspeed.search.stages import Stages
from trainspeed.search.switch import Set, Switch, combined


@dataclass(frozen=True)
class Search(Stages):
    """A search, and what its runs decide."""

    @cached_property
    def decisions(self) -> dict[Switch, Decision]:
        """What became of each switch that could be on."""
        if not self._thrown_out or (self.rest and self.rest.pays):
            return self._by_itself
        # What all did together says nothing of the others without it.
        return self._by_itself | dict.fromkeys(self._keeping, Decision.UNCONFIRMED)

    @cached_property
    def rest(self) -> Remainder | None:
        """What fresh blocks say of what is left; None where nothing was thrown out, or these were not measured."""
        if not self._thrown_out:
            return None
        return confirm.rest_of(self.known, self._keeping, self.margin_points)

    @property
    def _thrown_out(self) -> bool:
        """Whether something of the fresh blocks is not to be kept."""
        return bool(self.confirmation) and set(self._keeping) != set(self.confirmation.on)

    @property
    def _keeping(self) -> Set:
        return tuple(switch for switch, decision in self._by_itself.items() if decision.keeps)

    @cached_property
    def _by_itself(self) -> dict[Switch, Decision]:
        """What became of each switch, whatever was thrown out beside it."""
        return {one.switch: self._decided(one) for one in self.feasible}

    def _decided(self, one: Feasible) -> Decision:
        switch, found = one.switch, self.confirmation
        early = {
            Effect.OPEN: Decision.OPEN,
            Effect.FAILED: Decision.FAILED,
            Effect.UNSEEN: Decision.NOT_IN_EFFECT,
            Effect.UNKNOWN: Decision.NOT_IN_EFFECT,
        }
        if one.effect in early:
            return early[one.effect]
        if found and switch in found.on:
            return self._confirmed(found, switch)
        if self.known.is_spoiled(switch) and not self._was_combined(switch):
            return Decision.DISTURBED
        if switch in (*self._apart, *self._long) and switch not in self._late:
            return Decision.NOT_FASTER_ALONE if switch in self._alone else Decision.OPEN
        if switch not in self.entered and switch not in self._late:
            races = self._of_race(switch)
            if any(switch.lever not in {e.lever for e in race.entered} for race in races):
                return Decision.EXCLUDED
            if any(race.blocks for race in races):
                return Decision.LOST_RACE
            return Decision.SLOWER_ALONE if self._is_slower_alone(switch) else Decision.LOST_ALONE
        if switch in self.promising:
            return Decision.UNCONFIRMED
        if self._is_shut_out(switch):
            return Decision.EXCLUDED
        untried = switch in self._long and switch not in self.elimination.in_combination
        if self.screen is None or untried:
            return Decision.SLOWER_ALONE if self._is_slower_alone(switch) else Decision.UNDECIDED
        return Decision.NOT_FASTER if switch in (*self._screened, *self._late) else Decision.OPEN

    def _was_combined(self, switch: Switch) -> bool:
        """Whether runs tell of a switch beside others."""
        screened = self.screen is not None and switch in self._screened
        return screened or switch in self.elimination.in_combination

    def _is_slower_alone(self, switch: Switch) -> bool:
        return switch in self._alone and self._alone[switch].log < 0

    def _is_shut_out(self, switch: Switch) -> bool:
        """Whether a switch that was faster alone does not go together with what is promising."""
        faster = switch in self._alone and self._alone[switch].log > 0
        own = (*self.promising, switch)
        return faster and (switch in self.elimination.left or self.together.clash_in(own) is not None)

    def _of_race(self, switch: Switch) -> list[Race]:
        pairs = zip(self._rivals, self.races, strict=True)
        return [one for own, one in pairs if switch in own]

    def _confirmed(self, found: Confirmation, switch: Switch) -> Decision:
        """Return what fresh blocks make of a switch that is in them."""
        if not self._seen_together(found, switch):
            return Decision.NOT_IN_EFFECT
        if switch in self._looked_slower:
            return Decision.LOOKED_SLOWER
        if confirm.switch_judgement(found, switch).outcome is Outcome.SLOWER:
            return Decision.SLOWER
        equality = confirm.hurts(found, switch)
        if equality is Equality.WORSE:
            return Decision.HURTS
        if found.total.outcome is not Outcome.FASTER:
            return Decision.UNCONFIRMED
        checked = {Equality.UNCHECKED: Decision.KEPT_UNCHECKED, Equality.OPEN: Decision.KEPT_OPEN}
        return checked.get(equality, Decision.KEPT)

    @cached_property
    def _looked_slower(self) -> Set:
        """What is no line worth: the others look faster without it, and are faster than the plain trial."""
        if not self.confirmation or not (gone := confirm.looks_slower(self.confirmation)):
            return ()
        rest = tuple(switch for switch in self.confirmation.on if switch not in gone)
        told = confirm.rest_of(self.known, rest, self.margin_points)
        return gone if told and told.pays else ()

    def _seen_together(self, found: Confirmation, switch: Switch) -> bool:
        """Whether a switch was seen in effect beside all others, too, in every run of them."""
        all_on = self.known.on_with(found.on)
        everything = [one for one in self.known.of(Role.RECIPE) if one.on == all_on]
        return all(was_seen(switch, one.run) is Effect.SEEN for one in everything if one.ended_well)

    @cached_property
    def kept(self) -> Set:
        """What the recipe has, the largest gain first."""
        last = self.elimination.estimates
        own = [switch for switch, decision in self.decisions.items() if decision.keeps]
        return tuple(sorted(own, key=lambda s: -last[s].log if s in last else 0.0))

    @property
    def findings(self) -> Findings:
        """Return all that the search found."""
        slow = (feasible(s, self.known, Role.SLOW_WAY) for s in self.candidates.slow_ways)
        start = self.known.start_as_run  # verdicts name it, and are looked up among the runs
        return Findings(
            start=start,
            candidates=self.candidates,
            feasible=self.feasible,
            slow_ways=tuple(slow),
            races=self.races,
            screen=self.screen,
            interactions=found.interactions if (found := self.elimination.model) else (),
            rounds=self.elimination.rounds,
            confirmation=self.confirmation,
            rest=self.rest,
            clashes=self.together.refusals,
            decisions=self.decisions,
            kept=self.kept,
            brings=self.elimination.estimates,
            best=combined(start, self.kept),
            waterfall=confirm.waterfall(self.confirmation),
            accuracy=confirm.by_class(self.confirmation),
            left_out=self.left_out,
            failure=self.failure,
        )

    @property
    def failure(self) -> str | None:
        """Why no run ended well, or none of any switch; None where one did, or none was run."""
        ran = self.known.ran
        if any(one.ended_well for one in ran) and set(self.decisions.values()) != {Decision.FAILED}:
            return None
        failed = next((one.run for one in ran if not one.ended_well), None)
        return f"{failed.status}: {failed.reason}" if failed else None

    @property
    def left_out(self) -> tuple[Unmeasured, ...]:
        """What is missing of the search that there would be with time enough."""
        found = self.elimination
        sizes = options(len(self.entered), self.confirm_blocks)[0]
        screened = self.entered[: most_switches(sizes.columns)]
        fresh = confirm.plan_confirmation(self.known, self.promising, found.estimates, sizes.confirm, LARGE)
        groups = {
            Stage.RACE: [group for own in self._rivals for group in race_groups(self.known, own)],
            Stage.SCREEN: screen_groups(self.known, screened, sizes.columns) if screened else [],
            Stage.ELIMINATE: round_groups(self.known, found.first, 1, sizes.eliminate),
        }
        roles = (Role.RACE, Role.SCREEN, f"{Role.ELIMINATE}1/")
        looked = sum(one.effect is not Effect.OPEN for one in self.feasible)
        counts = [(Stage.FEASIBLE, looked, len(self.feasible))]
        for role, (stage, own) in zip(roles, groups.items(), strict=True):
            planned = sum(group.blocks * len(group.trials(self.start)) for group in own)
            counts.append((stage, sum(one.run.label.startswith(role) for one in self.known.ran), planned))
        if fresh:
            whole, parts = confirm.fresh_runs(self.known)
            arms = len(fresh.trials(self.start))
            counts.append((Stage.CONFIRM, whole, fresh.blocks * min(arms, 2)))
            counts.append((Stage.LEAVE_OUT, parts, fresh.blocks * max(arms - 2, 0)))
        slow = sum(bool(one.on) for one in self.known.of(Role.SLOW_WAY))
        counts.append((Stage.SLOW_WAYS, slow, len(self.candidates.slow_ways) * self.slow_blocks))
        return tuple(
            Unmeasured(stage=stage, had=had, planned=planned)
            for stage, had, planned in counts
            if had < planned
        )
