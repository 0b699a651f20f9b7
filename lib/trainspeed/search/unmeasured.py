"""What of a search was not measured whole: as plain values that a notebook's file keeps, and in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from trainspeed.core.format import NAMES, counted, model_of
from trainspeed.core.quantities import Number, Text
from trainspeed.core.trial import Trial
from trainspeed.search.findings import Findings, Stage, Unmeasured

# Stage -> what it is to a reader.
STAGES = {
    Stage.FEASIBLE: "each switch alone",
    Stage.SLOW_WAYS: "what is on already, what is Trainspeed's own and what brakes, each switched the other way",
    Stage.RACE: "the race between the values of a switch",
    Stage.SCREEN: "the screen of all switches, half of them on in each run",
    Stage.ELIMINATE: "the elimination, which leaves out each of those that look promising",
    Stage.CONFIRM: "the fresh blocks of plain against all together, from which alone claims are made",
    Stage.LEAVE_OUT: "leaving out what was kept, one by one, in fresh blocks",
}
# Stage -> the question of a reader that it answers; that of the fresh blocks is answered by their interval.
QUESTIONS = {
    Stage.FEASIBLE: "what each switch does alone",
    Stage.SLOW_WAYS: "what losing what is on already costs",
    Stage.RACE: "which value of a switch is best",
    Stage.SCREEN: "which switches need each other",
    Stage.ELIMINATE: "what each adds to the others",
    Stage.CONFIRM: "what all together bring",
    Stage.LEAVE_OUT: "what each adds to the others",
}


FRESH = (Stage.CONFIRM, Stage.LEAVE_OUT)  # in the fresh blocks
COMPLETE = " (those of plain against all together are complete)"


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
    return place_of(found.start)


def place_of(trial: Trial) -> str:
    """Return framework and model of a trial, as `where` does of a search."""
    return f"{NAMES[trial.framework]}, {model_of(trial.model)}"


def unmeasured_stages(found: Iterable[Findings]) -> list[UnmeasuredStage]:
    """Return the stages that were not measured whole, search by search; none of a search that failed."""
    return [_stage(one, left) for one in found if not one.failure for left in one.left_out]


def _stage(found: Findings, left: Unmeasured) -> UnmeasuredStage:
    return UnmeasuredStage(where=where(found), stage=left.stage, had=left.had, planned=left.planned)


def unmeasured_sentences(several: Iterable[UnmeasuredStage]) -> list[str]:
    """Return which stages were not measured whole, a sentence for each search."""
    stages: dict[str, list[str]] = {}
    told = [*several]
    short = {left.where for left in told if left.stage is Stage.CONFIRM}
    for left in told:
        had = f"{left.had} of" if left.had else "none of"
        runs = counted(left.planned, "run")
        if left.stage is Stage.CONFIRM:  # where time is left, there are more
            runs = f"the first {runs}, 2 in each block"
        stages.setdefault(left.where, []).append(
            f"{STAGES[left.stage]}: {had} {runs}"
            f"{'' if left.stage is not Stage.LEAVE_OUT or left.where in short else COMPLETE}"
        )
    return [f"{search}: incomplete: {'; '.join(said)}." for search, said in stages.items()]


def open_questions(several: Iterable[UnmeasuredStage], sure: Collection[str] = ()) -> list[str]:
    """Return in short which questions the stages leave open, in whole or in part: a sentence for all with the same.

    Args:
        sure: Searches whose total has an interval, as of `where`: what their fresh blocks lack is no question.
    """
    places: dict[tuple[str, ...], list[str]] = {}
    for search, questions in open_searches(several, sure).items():
        places.setdefault(tuple(questions), []).append(search)
    return [
        f"Open, or answered in part, for {' or '.join(searches)}: {'; '.join(questions)}"
        for questions, searches in places.items()
    ]


def open_searches(
    several: Iterable[UnmeasuredStage], sure: Collection[str] = ()
) -> dict[str, dict[str, None]]:
    """Return each search that leaves questions open, and these in order; arguments as of `open_questions`."""
    asked: dict[str, dict[str, None]] = {}
    for left in several:
        if left.stage not in FRESH or left.where not in sure:
            asked.setdefault(left.where, {})[QUESTIONS[left.stage]] = None
    return asked


def as_values(several: Iterable[UnmeasuredStage]) -> list[dict[str, Any]]:
    """Return stages as plain values, as the file of a notebook keeps them."""
    return msgspec.to_builtins([*several])
