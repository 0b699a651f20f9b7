"""What searches of one study want next, and how they share its time: `Plan.more`. Measures nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from trainspeed.conduct.forecast import WORKERS_START_S
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.run import DATA_ROLES, Role, Run
from trainspeed.core.trial import Trial
from trainspeed.search.search import Search
from trainspeed.search.sizes import spent_s


@dataclass
class Asking:
    """What searches want next; remembers what they asked for, as what then did not run found no time.

    Attributes:
        budget_s: Seconds for all of the study; None for any time. What starting and the parts of the plain steps take
            is no search's.
    """

    searches: Sequence[Search]
    budget_s: float | None = None
    asked: set[tuple[str, Trial]] = field(default_factory=set)

    def share_s(self, runs: Sequence[Run]) -> float | None:
        """Return the seconds that each search may take."""
        if self.budget_s is None or not self.searches:
            return None
        others_s = sum(run.busy_s for run in runs if run.role in (*DATA_ROLES, Role.CONTROL_AGAIN))
        return max(1.0, (self.budget_s - WORKERS_START_S - others_s) / len(self.searches))

    def __call__(self, runs: Sequence[Run]) -> list[TrialSet]:
        """Return what to measure next, given the runs so far: `Plan.more`.

        What a search that is over left of its share is for those that go on. What is on already says nothing of what
        to switch on, so it waits until every search has had its fresh blocks.
        """
        going, known, share_s = continued(self.searches, runs), frozenset(self.asked), self.share_s(runs)
        if share_s is not None:
            going = [replace(search, budget_s=share_s) for search in going]
        wanted = [search.wanted(known) for search in going]
        over = [search for search, own in zip(going, wanted, strict=True) if _only_waits(own)]
        longer = [search for search, own in zip(going, wanted, strict=True) if not _only_waits(own)]
        if share_s is not None and over and longer:
            left_s = max(0.0, sum(share_s - spent_s(search.known) for search in over))
            each_s = share_s + left_s / len(longer)
            waiting = [own for own in wanted if _only_waits(own)]
            wanted = [*waiting, *(replace(search, budget_s=each_s).wanted(known) for search in longer)]
        every = [part for own in wanted for part in own]
        sets = [part for part in every if part.label != Role.SLOW_WAY] or every
        self.asked |= {(part.label, trial) for part in sets for trial in part.trials}
        return sets


def _only_waits(wanted: Iterable[TrialSet]) -> bool:
    """Whether a search that wants these is over, but for what is on already."""
    return all(part.label == Role.SLOW_WAY for part in wanted)


def continued(searches: Iterable[Search], runs: Sequence[Run]) -> list[Search]:
    """Return the searches as far as these runs take them."""
    return [replace(search, runs=tuple(runs)) for search in searches]
