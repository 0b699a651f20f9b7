"""What a search found, as values for a page: everything is derived from runs. Words are made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trainspeed.core.result import Seen
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import Judgement
from trainspeed.search.candidates import Candidates
from trainspeed.search.claims import Accuracy, Confirmation, Remainder, WaterfallBar
from trainspeed.search.switch import Set, Switch


class Stage(StrEnum):
    """The stages of a search, in the order in which they are measured."""

    FEASIBLE = "feasibility"
    SLOW_WAYS = "already on"
    RACE = "race"
    SCREEN = "screen"
    ELIMINATE = "elimination"
    CONFIRM = "confirmation"  # the plain trial, and all that were kept
    LEAVE_OUT = "leave one out"  # in the same fresh blocks: all that were kept but some


class Effect(StrEnum):
    """Whether a switch that was asked for was seen in effect."""

    SEEN = "in effect"
    UNSEEN = "asked for, not in effect"  # seen at another value
    UNKNOWN = "asked for, cannot be seen"  # its value could not be looked up
    FAILED = "not measured here"
    OPEN = "not measured yet"


class Decision(StrEnum):
    """What became of a switch: words that stand before a colon and its name, or behind its name."""

    KEPT = "kept"
    KEPT_UNCHECKED = "kept, accuracy not checked"
    KEPT_OPEN = "kept, accuracy undecided"
    UNCONFIRMED = "promising, not confirmed"  # the fresh blocks are missing
    NOT_FASTER = "dropped, as no gain was shown in combination"
    NOT_FASTER_ALONE = "dropped, as no gain was shown alone"
    UNDECIDED = "undecided, as only measured alone for lack of time"
    DISTURBED = "undecided, as other processes had a core while it was measured alone"
    SLOWER_ALONE = "looked slower alone, and not measured further for lack of time"
    HURTS = "hurts accuracy"
    SLOWER = "slower in fresh blocks"
    LOOKED_SLOWER = "looked slower beside the others"  # in fresh blocks, which leave it undecided
    LOST_RACE = "dropped, as another value looked faster"
    LOST_ALONE = "another value looked faster alone, and no time to race them"
    EXCLUDED = "dropped, as not to be had beside a faster one"
    NOT_IN_EFFECT = "asked for, not in effect"
    FAILED = "not measured here"
    OPEN = "not tried for lack of time"

    @property
    def keeps(self) -> bool:
        """Whether the switch stays on."""
        return self in (Decision.KEPT, Decision.KEPT_UNCHECKED, Decision.KEPT_OPEN)

    @property
    def is_open(self) -> bool:
        """Whether there was no time to decide."""
        return self in (
            Decision.UNCONFIRMED,
            Decision.UNDECIDED,
            Decision.DISTURBED,
            Decision.SLOWER_ALONE,
            Decision.LOST_ALONE,
            Decision.OPEN,
        )


@dataclass(frozen=True, kw_only=True)
class Feasible:
    """What was seen of one switch alone.

    Attributes:
        status: How its first run that failed ended, or OK; None where none has run.
        reason: Why it failed, in words that may be a framework's own.
        seen: Lever -> (value seen, how), of each lever that it sets and that is no field.
        alone: Speed-up over the plain trial; with too few blocks for an interval.
        cost_s: Seconds that a run of it takes at least, without waits and what a burst took of its later epochs.
        again_s: Seconds that later ones take at least, which compile less anew, see `programs`, and look up less.
        plain_cost_s: Seconds that later runs of the plain trial take: median, as most of a search are its.
        first_epoch_s, plain_first_epoch_s: Seconds of the first epoch, with tracing and compiling, of the blocks in
            which both have it; the plain trial's is None where there is no such block.
        epoch_s, plain_epoch_s: Seconds of a later epoch.
        peak_memory_bytes, plain_peak_memory_bytes: As in `RunResult`.
    """

    switch: Switch
    effect: Effect
    status: Status | None = None
    reason: str | None = None
    seen: Mapping[str, Seen]
    alone: Judgement | None = None
    cost_s: float | None = None
    again_s: float | None = None
    plain_cost_s: float | None = None
    first_epoch_s: float | None = None
    plain_first_epoch_s: float | None = None
    epoch_s: float | None = None
    plain_epoch_s: float | None = None
    peak_memory_bytes: int | None = None
    plain_peak_memory_bytes: int | None = None

    @property
    def enters(self) -> bool:
        """Whether the search goes on with it."""
        return self.effect is Effect.SEEN


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A speed-up as a regression estimates it: for sorting out, never a claim.

    Attributes:
        switches: One; or two, of whose interaction it is the factor beyond the product.
        log: Natural logarithm of the speed-up: 0.05 is 5 % faster.
        se: Standard error of that.
    """

    switches: Set
    log: float
    se: float


@dataclass(frozen=True, kw_only=True)
class Race:
    """Switches that exclude each other, or of which one needs the other, measured beside the plain trial.

    Attributes:
        name: Of the levers, joined by "+".
        entered: Those that the search goes on with.
        blocks: How many there were.
    """

    name: str
    estimates: tuple[Estimate, ...]
    entered: Set
    blocks: int


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What the folded two-level screen says: see `search.screen`.

    Attributes:
        estimates: Of each switch, averaged over the others half on, half off; the largest first.
        empty: The estimates of the columns that stand for nothing: twice the same, so what they say is noise.
        band: Half-width of the band of noise around 0, as a logarithm: about 95 % of nulls are in it.
        lenth_se: Lenth's pseudo standard error of an estimate; None with too few columns.
        pairs: Mirror pairs that both ended well.
        planned: Mirror pairs of the design.
    """

    estimates: tuple[Estimate, ...]
    empty: tuple[float, ...]
    band: float
    lenth_se: float | None
    pairs: int
    planned: int


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """Two switches that do together what neither does alone.

    Attributes:
        pair: The pair that explains it best.
        log: Factor beyond the product of the two, as a natural logarithm: below 0, they get into each other's way.
        se: Standard error of that.
        aliases: Other pairs of which the same contrast is made: one of them may be the cause as well.
    """

    pair: tuple[Switch, Switch]
    log: float
    se: float
    aliases: tuple[tuple[Switch, Switch], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Clash:
    """Switches that fail together, each of which runs alone.

    Attributes:
        reason: Why such a run failed.
    """

    switches: Set
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round of the backward elimination: all that are still on, and each left out.

    Attributes:
        number: From 1.
        on: What was on.
        estimates: What each of them brings on top of the others, from all runs so far; the smallest first.
        blocks: How many there were of this round.
        dropped: What the round took out; of these none with the last round.
        added: What it took in again, as it pays without those that were dropped.
        ran_with: Of what was on, all but what takes so long that it was left to the runs before.
    """

    number: int
    on: Set
    estimates: tuple[Estimate, ...]
    blocks: int
    dropped: Set = ()
    added: Set = ()
    ran_with: Set = ()


@dataclass(frozen=True, kw_only=True)
class Unmeasured:
    """What of a stage was left out, mostly for lack of time.

    Attributes:
        had: Runs that there are.
        planned: Runs that the stage has when it is complete.
    """

    stage: Stage
    had: int
    planned: int


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that a search found for one framework and model, as far as its runs go.

    Attributes:
        start: The plain trial, as it ran.
        feasible: Of each switch that could be on, in the registry's order.
        slow_ways: The same of what a plain script has already, of Trainspeed's own settings, and of brakes; mostly
            their speed-ups are below 1.
        rest: What fresh blocks say of those that are left, where they threw something out; None where they did not, or
            had no arm of these.
        clashes: What does not go together.
        decisions: Switch -> what became of it.
        kept: What the recipe has, the largest gain first.
        brings: Switch -> what it brings on top of those that the elimination left on, by all runs before the fresh
            blocks: what went into these was chosen by it.
        best: The trial with all of these.
        waterfall: From fresh blocks alone.
        accuracy: By class.
        left_out: Stages that were not measured whole.
        failure: Why no run ended well, or none of any switch: the first reason. None where one did, or none was run.
    """

    start: Trial
    candidates: Candidates
    feasible: tuple[Feasible, ...]
    slow_ways: tuple[Feasible, ...]
    races: tuple[Race, ...]
    screen: Screen | None
    interactions: tuple[Interaction, ...]
    rounds: tuple[Round, ...]
    confirmation: Confirmation | None
    rest: Remainder | None = None
    clashes: tuple[Clash, ...] = ()
    decisions: Mapping[Switch, Decision]
    kept: Set
    brings: Mapping[Switch, Estimate]
    best: Trial
    waterfall: Sequence[WaterfallBar]
    accuracy: tuple[Accuracy, ...]
    left_out: tuple[Unmeasured, ...]
    failure: str | None = None
