"""The stages of a search, replayed from its runs, so that it can be resumed and drawn again.

It says which groups of arms it wants next and measures none. What a stage found is a function of its runs alone; only
how large a stage is depends on the time, and that is in its runs. The time is reckoned anew with every run: so a stage
that has begun stays as it is, and none before it goes on, or what it began with would not be what was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.bursts import undisturbed_s
from trainspeed.core.run import Role
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.search import confirm, eliminate
from trainspeed.search.choose import best_set, pays
from trainspeed.search.claims import Confirmation
from trainspeed.search.design import without_switches
from trainspeed.search.eliminate import Elimination
from trainspeed.search.entrants import Entrants
from trainspeed.search.feasible import again_groups, alone_groups, look_groups, looks_had
from trainspeed.search.findings import Screen
from trainspeed.search.in_time import USUAL_BLOCKS, TimeLeft
from trainspeed.search.known import ArmGroup
from trainspeed.search.race import race_groups
from trainspeed.search.screen import columns_of, screen, screen_groups
from trainspeed.search.sizes import ELIMINATE_BLOCKS, SPARE, TOGETHER_RUNS, costs_of, most_switches
from trainspeed.search.switch import Set
from trainspeed.search.together import Together
from trainspeed.search.toggle import begun_toggle, toggle_groups

FEASIBLE_BLOCKS = 1
# A first look that takes longer than this share of the search's time, and than so many seconds, is ended: a compiler
# that measures many kernels may take minutes to begin, and what pays then has no time left.
LOOK_SHARE, LEAST_LOOK_S = 0.1, 60.0
SURE_ALONE = 5.0  # standard errors from which one look is enough to confirm what takes long
Asked = Collection[tuple[str, Trial]]


@dataclass(frozen=True)
class Stages(Entrants):
    """The search for one framework and model, as far as its runs go."""

    @cached_property
    def screen(self) -> Screen | None:
        """What the screen says; None where it was not run."""
        return screen(self.known, self._screened, {s: one.log for s, one in self._alone.items()})

    @property
    def _columns(self) -> int:
        """Columns of the screen: of that which has begun, else of the one there is time for; 0 for none."""
        begun = (columns_of(one.run.label) for one in self.known.of(Role.SCREEN))
        return next((number for number in begun if number), self._sizes.columns)

    @property
    def _screened(self) -> Set:
        """The switches of the screen, in the registry's order: of one that has not begun the quickest alone."""
        begun = frozenset().union(*(one.on for one in self.known.of(Role.SCREEN)))
        if begun:
            return tuple(switch for switch in self.entered if switch in begun)
        ranked = sorted(self.entered, key=lambda s: -self._alone[s].log if s in self._alone else 0.0)
        return tuple(switch for switch in self.entered if switch in ranked[: most_switches(self._columns)])

    @cached_property
    def elimination(self) -> Elimination:
        """How far the backward elimination got."""
        return Elimination(self.known, self._screened or self.entered, self._late)

    @cached_property
    def promising(self) -> Set:
        """What the elimination leaves on, as far as it goes together."""
        found, best = self.elimination, self.elimination.left
        if found.model is None:
            return best
        if self.together.clash_in(best):
            best = best_set(found.model, found.able, pays, self.together)
        return self.together.choose(best, self._strongest, found.model.speed)

    @property
    def _promising_alone(self) -> Set:
        return self.elimination.begin or self._to_look_at(self.entered)

    @property
    def _confirmable(self) -> Set:
        """What is promising and has time for fresh blocks: better some of it confirmed than all of it not."""
        if not self._time:
            return self.promising
        gains = {switch: own.log for switch, own in self.elimination.estimates.items()}
        return self._time.confirmed(self.promising, gains)

    @property
    def _time(self) -> TimeLeft | None:
        """The time that is left; None for any."""
        if self.budget_s is None:
            return None
        costs = costs_of(self.feasible)
        return TimeLeft(known=self.known, costs=costs, confirm=self.confirm_blocks, budget_s=self.budget_s)

    @property
    def _strongest(self) -> Set:
        """What the elimination leaves on, whether or not it goes together, the strongest first."""
        found = self.elimination
        return tuple(sorted(found.left, key=lambda s: -found.model.speed((s,)))) if found.model else ()

    @cached_property
    def together(self) -> Together:
        """What all runs say of switches that are on together."""
        return Together(self.known, self.known.ran)

    @cached_property
    def confirmation(self) -> Confirmation | None:
        """What the fresh blocks say."""
        return confirm.read_confirmation(self.known, self.margin_points)

    def wanted(self, asked: Asked = frozenset()) -> list[TrialSet]:
        """Return what to measure next, including what of it has been measured; nothing when the search is over.

        Args:
            asked: (label, trial) of what was asked for before in this session: what of it did not run found no time,
                and the search goes on without it.
        """
        for groups in self._stages():
            if left := [group for group in groups if group.left(self.known, asked)]:
                return [group.trial_set(self.start) for group in left]
        return []

    def _stages(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of one stage after the other; each depends on the runs of those before it."""
        known, candidates = self.known, self.candidates
        if not known.of(Role.RECIPE):
            yield from self._before_fresh()
        fresh = self._fresh()
        yield [fresh] if fresh else []
        if self.slow_blocks and candidates.slow_ways:
            yield alone_groups(known, candidates.slow_ways, self.slow_blocks, Role.SLOW_WAY)

    def _before_fresh(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the stages that say what the fresh blocks are made of."""
        known = self.known
        if not known.of(Role.TOGETHER, Role.TOGGLE):
            yield from self._first_looks()
            yield again_groups(known, self.feasible, FEASIBLE_BLOCKS)
            if self._sizes.races and not known.of(Role.SCREEN, Role.ELIMINATE):
                yield [group for own in self._rivals for group in race_groups(known, own)]
            if self._columns and self._screened:
                yield screen_groups(known, self._screened, self._columns)
            yield from self._more_looks()
        # A try may take the time in which all of a set would be confirmed: then rounds are of the others.
        is_cut = set(self._confirmable) < set(self.promising)
        if not known.of(Role.TOGGLE) and (is_cut or not known.of(Role.TOGETHER)):
            yield from self._rounds()
        yield self._toggle()
        if self.together.clashes or not self._time or self._time.takes_a_try(self._confirmable):
            yield self.together.groups(self._confirmable, self._strongest)

    def _first_looks(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the feasibility: as many as leave time for fresh blocks of what is found."""
        groups = alone_groups(self.known, self.candidates.switches, FEASIBLE_BLOCKS, Role.FEASIBLE)
        if self.budget_s is None:
            yield groups
            return
        for group in groups:
            runs = [one.run.busy_s for one in self.known.ran]
            usual_s = [undisturbed_s(one.run) for one in self.known.ran]
            ahead = len(group.arms) + TOGETHER_RUNS + 3 * min(MIN_BLOCKS, self.confirm_blocks)
            if not runs or SPARE * (sum(runs) + fmean(usual_s) * ahead) <= self.budget_s:
                yield [replace(group, limit_s=max(LEAST_LOOK_S, LOOK_SHARE * self.budget_s))]

    def _more_looks(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of the next look at what looked quick alone, where there is no screen.

        Where nothing looked quick, at all that was not clearly slower: one look is soon mistaken.
        """
        looked = self._promising_alone
        if looked and not self._columns and looks_had(self.known) < self._sizes.looks:
            yield look_groups(self.known, looked)

    def _rounds(self) -> Iterable[list[ArmGroup]]:
        """Yield the groups of each round of the elimination: those of one that was interrupted, too."""
        found = self.elimination
        for one in found.rounds:
            blocks = found.blocks_of(one.number)
            yield eliminate.round_groups(self.known, one.ran_with, one.number, blocks)
        if (ahead := found.ahead) is not None:
            on, blocks = self._round_ahead(ahead)
            if blocks:
                yield eliminate.round_groups(self.known, on, ahead.number, blocks)

    def _round_ahead(self, ahead: eliminate.Ahead) -> tuple[Set, int]:
        """Return what is on in a round that has not begun, and how many blocks it has; 0 for none."""
        most = ELIMINATE_BLOCKS if ahead.number == 1 else USUAL_BLOCKS
        if self._time:
            on, open_ = self._confirmable, self._open_to_toggle
            own, blocks = self._time.round(ahead.on, on, most, spare=ahead.is_spare, open_=open_)
            begin = self.elimination.begin
            if ahead.number == 1 and ahead.on != begin and blocks < min(most, USUAL_BLOCKS):
                return self._time.round(begin, on, most, spare=ahead.is_spare, open_=open_)
            return own, blocks
        return ahead.on, 0 if ahead.is_spare else most

    def _toggle(self) -> list[ArmGroup]:
        """Return the groups that tell whether what takes long pays beside the rest, where no round had time for it."""
        if (begun := begun_toggle(self.known)) or self._time is None or self.known.of(Role.TOGETHER):
            return begun
        open_ = self._open_to_toggle
        base = without_switches(self.promising, open_)
        for count in range(len(open_), 0, -1):
            if blocks := self._time.toggle_blocks(base, open_[:count]):
                return toggle_groups(self.known, base, open_[:count], blocks)
        return []

    @property
    def _open_to_toggle(self) -> Set:
        """What takes long, was on beside nothing else, and is neither sure to pay nor to be slower; the best first."""
        found, own = self.elimination, self.elimination.estimates
        long = self._time.long(found.able) if self._time else ()
        untried = (s for s in long if s in own and s not in found.in_combination)
        open_ = (
            s for s in untried if not eliminate.slows_down(own[s]) and own[s].log < SURE_ALONE * own[s].se
        )
        return tuple(sorted(open_, key=lambda switch: -own[switch].log))

    def _fresh(self) -> ArmGroup | None:
        estimates, blocks = self.elimination.estimates, self.confirm_blocks
        own = [
            confirm.plan_confirmation(self.known, self._confirmable, estimates, blocks, large)
            for large in confirm.LARGES
        ]
        if begun := confirm.as_begun(self.known, own, blocks):
            return begun
        return self._time.fresh(own) if self._time else own[-1]
