"""What introduces a section of the page on switches, where the section has something: how it was measured or reads."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.core.format import listed
from trainspeed.search.findings import Findings
from trainspeed.search.unmeasured import where

TIME = (
    "The plain setting, in parts that took turns with one another: whole steps, the same batch again and again "
    "(compute), the input alone, transfer to the device with it, and, where an epoch has enough images, steps with "
    "validation and a checkpoint in each. What is neither computing nor waiting for input is the rest of a step: the "
    "host that launches it. Parts are compared round by round, and a difference that is no larger than one between the "
    "same steps, measured twice, is counted as computing."
)
OTHER_WAYS = (
    "What a plain script has already is measured by switching it off, what Trainspeed sets and a script has not by "
    "setting it as a script has it, and a brake by switching it on."
)
PAIRS = (
    "What two switches do together beyond what each does alone. A screen of few runs tells some pairs from one another "
    "only as a group; where that is so, the sentence names the others."
)
LEAVE_ONE_OUT = (
    "The table to act on: how much longer a step takes without a switch, all others on. What adds little is a line of "
    "code that you can do without."
)
SCREEN = (
    "A dot is an estimate from the screen, in which half of the other switches are on; its bar is two standard errors. "
    "What lies within the grey band is no more than noise alone makes, by columns of the screen that stand for "
    "nothing, or as assumed where there are too few of them."
)
RACED = "The dot of a value that lost a race before the screen is an estimate from that race."
NOT_SCREENED = (
    "What was in no screen has the estimate of it alone; its bar is the 95 % interval, where there are blocks enough "
    "for one."
)
ALONE = "A dot is an estimate from a switch alone; its bar is the 95 % interval, where there are blocks enough for one."
LARGER_BATCH = (
    "The plain setting at larger and larger batches (Δ): where throughput stops growing, or memory ends it. At the "
    "same learning rate a larger batch trains fewer steps in an epoch, and may learn less: it is no part of what is "
    "kept. All of these trained the same number of epochs, so one that is as accurate after them has reached that "
    "accuracy sooner; one that is less accurate needs more epochs, and how many was not measured."
)
CODE = "A program with all that was kept; a comment says what each switch does to the numbers."


def other_ways(found: Iterable[Findings]) -> list[str]:
    """Return what the table of what is on already has, where there is one."""
    return [OTHER_WAYS] if any(one.slow_ways for one in found) else []


def effects(found: Iterable[Findings]) -> list[str]:
    """Return how to read the chart of what each switch does: of what is in it, and of nothing else.

    What does not hold for all searches begins with the names of those for which it does.
    """
    told: dict[str, list[str]] = {}
    searches = list(found)
    for one in searches:
        for text in _dots(one):
            told.setdefault(text, []).append(where(one))
    return [
        text if len(own) == len(searches) else f"{listed(own)}: {_inside(text)}" for text, own in told.items()
    ]


def _dots(found: Findings) -> list[str]:
    """Return where the estimates of a search come from."""
    if found.screen is None:
        return [ALONE]
    screened = {switch for estimate in found.screen.estimates for switch in estimate.switches}
    shown = {one.switch for one in found.feasible if one.enters} - screened
    raced = {
        switch for race in found.races if race.blocks for one in race.estimates for switch in one.switches
    }
    alone = bool(shown - raced) or any(slow.enters for slow in found.slow_ways)
    return [SCREEN] + [RACED] * bool(shown & raced) + [NOT_SCREENED] * alone


def _inside(text: str) -> str:
    return text[0].lower() + text[1:]
