"""What the fresh blocks of a search say: the only claims. Values; words are made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from trainspeed.core.levers.lever import Numbers
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import Judgement, Outcome
from trainspeed.search.switch import Set


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """What leaving some switches out of all that were kept costs, in fresh blocks.

    Attributes:
        switches: Those that were left out: a large one (with what needs it), or the small ones as a group.
        time: Speed-up of all kept over all but these. Its interval holds at once with those of the others.
        accuracy: Difference in points that these make; None where it was not checked.
        equality: What that says of accuracy.
        large: Whether it was left out alone, for what it brings; False of the group of small ones.
    """

    switches: Set
    time: Judgement
    accuracy: Judgement | None
    equality: Equality
    large: bool


@dataclass(frozen=True, kw_only=True)
class WaterfallBar:
    """A bar of the waterfall from the plain trial to all that were kept; all bars multiply to the total.

    Attributes:
        switches: What it stands for; empty for what several do together and none does alone.
        speedup: By how much leaving them out slows down: above 1 is a gain.
        low, high: Ends of its interval; None where there is none, as of what several do together.
    """

    switches: Set
    speedup: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """What the switches of a class do to the test accuracy, in fresh blocks.

    Attributes:
        numbers: The class: the same numbers, or other rounding.
        switches: Those that were kept, of that class.
        judgement: Difference in points between all kept and the plain trial; None where it was not checked.
        equality: What it says.
    """

    numbers: Numbers
    switches: Set
    judgement: Judgement | None
    equality: Equality


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What fresh blocks say: the only claims.

    Attributes:
        on: What was on in "all".
        total: Speed-up of all over the plain trial.
        accuracy: Difference in points of all and the plain trial; None where it was not checked.
        equality: What that says.
        left_out: For each large one and for the group of the small ones; empty where one switch was kept.
        blocks: How many there were.
        reason: Why an arm gave no result; None where all did.
    """

    on: Set
    total: Judgement
    accuracy: Judgement | None
    equality: Equality
    left_out: tuple[Ablation, ...]
    blocks: int
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """What fresh blocks say of those that are left, where something of all that were on was thrown out.

    Attributes:
        on: Those that are left.
        time: Speed-up over the plain trial. Its interval holds at once with those of the other arms.
        accuracy: Difference in points of these and the plain trial; None where it was not checked.
        equality: What that says.
    """

    on: Set
    time: Judgement
    accuracy: Judgement | None
    equality: Equality

    @property
    def pays(self) -> bool:
        """Whether it is faster, and not known to be less accurate."""
        return self.time.outcome is Outcome.FASTER and self.equality is not Equality.WORSE
