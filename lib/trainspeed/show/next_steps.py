"""What would decide what is undecided, in words, with the command that measures it. Shows and decides nothing."""

from __future__ import annotations

import math

from trainspeed.core.coverage import NOTHING_CHOSEN, Choice, Coverage
from trainspeed.core.format import counted, minutes, percent
from trainspeed.core.markdown import Marked
from trainspeed.judge.blocks_needed import MOST_BLOCKS
from trainspeed.judge.commands import command_for
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.next_step import NextStep
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MARGIN

START_S = 15.0  # of a report: its workers, a kernel, a page
# Study -> the parameter that says how many blocks it measures at most.
BLOCKS = {"switches": "confirm_blocks"}


def step_sentences(
    step: NextStep | None,
    study: str,
    wall_s: float,
    coverage: Coverage | None,
    choice: Choice = NOTHING_CHOSEN,
) -> list[str]:
    """Return what would decide what is undecided, with the command; nothing where all is decided.

    Args:
        wall_s: Seconds that the study's runs took.
        coverage: What of its plan the study had time for; None where it had no limit.
        choice: What its user asked for, where it had no limit.
    """
    if step is None:
        return []
    sentences = []
    if step.open:
        sentences.append(f"Undecided: {decided_by(step, study, wall_s, coverage, choice)}")
    if step.near:
        sentences.append(
            "Undecided, and lost in the noise here: "
            f"{counted(len(step.near), 'comparison')}, for which more than {MOST_BLOCKS} blocks would be needed. Take "
            "what is simpler."
        )
    sentences += [f"Undecided: {at_edge_sentence(verdict)}" for verdict in step.at_edge]
    if step.many_drifted:
        sentences.append(
            Marked(
                f"The epoch time drifted in {step.drifted} of the {step.of} runs of what is undecided, which may be "
                "why its intervals are wide: see the [doubts](#doubts)."
            )
        )
    return sentences


def decided_by(
    step: NextStep, study: str, wall_s: float, coverage: Coverage | None, choice: Choice = NOTHING_CHOSEN
) -> str:
    """Return how many blocks would decide what is open, and the command; arguments as of `step_sentences`."""
    what = step.open[0].name if len(step.open) == 1 else counted(len(step.open), "comparison")
    return f"{what}. {how_to_measure(step, study, wall_s, coverage, choice)}."


def at_edge_sentence(verdict: Verdict) -> str:
    """Return that a difference is known well, and is as large as what is not worth a switch."""
    side = "faster" if verdict.speedup > 1 else "slower"
    return (
        f"{verdict.name}: {size_of(verdict)} ({interval_of(verdict)}), about "
        f"{percent(abs(verdict.speedup - 1))} {side}, "
        f"at the edge of the {percent(MARGIN)} margin: it makes no difference worth a switch."
    )


def how_to_measure(
    step: NextStep, study: str, wall_s: float, coverage: Coverage | None, choice: Choice = NOTHING_CHOSEN
) -> str:
    """Return the same without what is open, as the end of a sentence; arguments as of `step_sentences`."""
    time = "" if step.more_s is None else f", about {minutes(step.more_s)} more,"
    if_so = (
        "it, if the difference is as large as it looks now"
        if len(step.open) == 1
        else "them, if the differences are as large as they look now"
    )
    return f"{step.blocks} blocks in all{time} would decide {if_so}: {_command(step, study, wall_s, coverage, choice)}"


def _command(step: NextStep, study: str, wall_s: float, coverage: Coverage | None, choice: Choice) -> str:
    """Return the command that measures so many blocks, as `code`, with PARAMS where the plan has fewer."""
    spent_s = START_S + (coverage.spent_s if coverage else wall_s) + (step.more_s or 0.0) + step.others_s
    asked = max((group.most for group in coverage.groups if group.core), default=0) if coverage else 0
    if step.slow_ways and not step.has_others:
        values = {"already_on": step.blocks, "levers": [*step.slow_ways]}
    else:
        slow = {"already_on": step.blocks} if step.slow_ways else {}
        values = {BLOCKS.get(study, "blocks"): step.blocks, **slow} if slow or step.blocks > asked else {}
    command = command_for(
        (verdict.candidate for verdict in step.open),
        coverage.choice if coverage else choice,
        notebooks=[study],
        budget_min=max(1, math.ceil(spent_s / 60)),
        parameters=values,
    )
    return f"`{command}`"
