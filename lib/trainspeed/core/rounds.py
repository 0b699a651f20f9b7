"""Which rounds of turns tell how fast runs are, one against the other."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.result import fewest_quiet
from trainspeed.core.run import Run


def common_rounds(runs: Iterable[Run]) -> frozenset[int]:
    """Return the rounds in which all of these runs had a turn, without those in which others used their cores.

    Who slows one run down more than the other, as who takes the core of one of two threads, would decide which is
    faster. A round is left out for what others did in it, never for what was measured in it, and of all runs at once;
    where too few would be left, all count: see `fewest_quiet`.
    """
    known = list(runs)
    rounds = frozenset.intersection(*(frozenset(run.round_s) for run in known)) if known else frozenset()
    disturbed = {turn.round for run in known for turn in run.turns if turn.is_disturbed}
    quiet = rounds - disturbed
    return quiet if len(quiet) >= fewest_quiet(len(rounds)) else rounds


def are_disturbed(runs: Iterable[Run]) -> bool:
    """Return whether others used their cores while these runs had their turns, in rounds that count all the same."""
    known = list(runs)
    counted = common_rounds(known)
    return any(turn.is_disturbed and turn.round in counted for run in known for turn in run.turns)
