"""Which arms of a block are alive at once: all that are compared, or smaller groups where memory is not enough.

Of those that several nodes train, only one is alive: a node follows one run at a time.

Measures nothing: it is told which groups did not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trainspeed.conduct.plan import Planned
from trainspeed.core.run import AGAIN

Kinds = frozenset[Any]  # of runs, which are the same in every block: see `Planned.kind`


@dataclass
class AliveTogether:
    """The groups that fit into memory, as far as earlier blocks have shown."""

    _halves: dict[Kinds, Kinds] = field(default_factory=dict, init=False)

    def groups(self, group: Sequence[Planned]) -> list[list[Planned]]:
        """Return a group as the groups to measure: itself, or those that it had to be split into."""
        if further := _further_across(group):
            together = [one for one in group if one not in further]
            return [*self.groups(together), *([one] for one in further)]
        if (half := self._halves.get(_kinds(group))) is None:
            return [list(group)]
        parts = [[one for one in group if (one.kind in half) is inside] for inside in (True, False)]
        return [smaller for part in parts for smaller in self.groups(part)]

    def halve(self, group: Sequence[Planned]) -> list[list[Planned]]:
        """Split a group of two or more that did not fit, now and in later blocks, and return its halves."""
        chain = _neighbours(group)
        self._halves[_kinds(group)] = _kinds(chain[: (len(chain) + 1) // 2])
        return self.groups(group)

    def forget(self, group: Sequence[Planned]) -> None:
        """Take a group as whole again: the one that did not fit is not tried again."""
        kinds = _kinds(group)
        self._halves = {whole: half for whole, half in self._halves.items() if not whole <= kinds}


def _further_across(group: Sequence[Planned]) -> list[Planned]:
    """Return the arms of several nodes beyond the first, which is the same one in every block."""
    across = [planned for planned in group if planned.trial.nodes > 1]
    return sorted(across, key=lambda one: (one.label in AGAIN.values(), repr(one.kind)))[1:]


def _kinds(group: Sequence[Planned]) -> Kinds:
    return frozenset(planned.kind for planned in group)


def _neighbours(group: Sequence[Planned]) -> list[Planned]:
    """Return a group so that each is followed by the one that differs from it least.

    The second half of an A/A control comes last: to part it from the first costs no verdict its pairs.
    """
    left = sorted(group, key=lambda planned: planned.label in AGAIN.values())
    chain = [left.pop(0)]
    while left:
        nearest = min(left, key=lambda planned: _distance(chain[-1], planned))
        left.remove(nearest)
        chain.append(nearest)
    return chain


def _distance(one: Planned, other: Planned) -> tuple[bool, int]:
    settings = zip(one.trial.as_dict().values(), other.trial.as_dict().values(), strict=True)
    return other.label in AGAIN.values(), sum(a != b for a, b in settings)
