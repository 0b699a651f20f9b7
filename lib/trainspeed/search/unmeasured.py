"""What of a search was not measured whole: as plain values that a notebook's file keeps, and in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from trainspeed.core.format import NAMES, counted, model_of
from trainspeed.core.quantities import Number, Text
from trainspeed.search.findings import Findings, Stage, Unmeasured

# Stage -> what it is to a reader.
STAGES = {
    Stage.FEASIBLE: "each switch alone",
    Stage.SLOW_WAYS: "what is on already, what is Trainspeed's own and what brakes, each switched the other way",
    Stage.RACE: "the race between the values of a switch",
    Stage.SCREEN: "the screen of all switches, half of them on in each run",
    Stage.ELIMINATE: "the elimination, which leaves out each of those that look promising",
    Stage.CONFIRM: "the fresh blocks, from which alone claims are made",
}


class UnmeasuredStage(msgspec.Struct, kw_only=True, frozen=True):
    """A stage of a search that was not measured whole.

    Attributes:
        where: Framework and model of the search, in words.
        had, planned: Runs that there are, and that the stage has when it is complete.
    """

    where: Text
    stage: Stage
    had: Number
    planned: Number


def where(found: Findings) -> str:
    """Return what a search is for: framework and model."""
    return f"{NAMES[found.start.framework]}, {model_of(found.start.model)}"


def unmeasured_stages(found: Iterable[Findings]) -> list[UnmeasuredStage]:
    """Return the stages that were not measured whole, search by search; none of a search that failed."""
    return [_stage(one, left) for one in found if not one.failure for left in one.left_out]


def _stage(found: Findings, left: Unmeasured) -> UnmeasuredStage:
    return UnmeasuredStage(where=where(found), stage=left.stage, had=left.had, planned=left.planned)


def unmeasured_sentences(several: Iterable[UnmeasuredStage]) -> list[str]:
    """Return which stages were not measured whole, a sentence for each search."""
    stages: dict[str, list[str]] = {}
    for left in several:
        had = f"{left.had} of" if left.had else "none of"
        stages.setdefault(left.where, []).append(
            f"{STAGES[left.stage]}: {had} {counted(left.planned, 'run')}"
        )
    return [f"{search}: not measured whole: {'; '.join(said)}." for search, said in stages.items()]


def as_values(several: Iterable[UnmeasuredStage]) -> list[dict[str, Any]]:
    """Return stages as plain values, as the file of a notebook keeps them."""
    return msgspec.to_builtins([*several])
