"""What a study's page begins with, in words: its answer, and how sure that is. Shows and decides nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainspeed.core.coverage import Coverage
from trainspeed.core.format import NAMES, counted, listed, minutes, percent
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.runs import Measured
from trainspeed.judge.answer import Answer, shared_words, where_measured
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.next_step import NextStep, next_step
from trainspeed.judge.text import OUTCOME_WORDS, interval_of, size_of
from trainspeed.judge.verdict import CONFIDENCE, MARGIN, MIN_BLOCKS, Outcome, expected_false

MOST_NAMED = 4  # settings with one outcome that a sentence names
BLOCKS = {
    "switches": "confirm_blocks"
}  # study -> the parameter that says how many blocks it measures at most
OUTCOMES = {Outcome.SAME: OUTCOME_WORDS[Outcome.SAME]}
NOTHING = f"Nothing is decided: no comparison has {MIN_BLOCKS} blocks or more."


def answer_text(answer: Answer) -> Marked:
    """Return one comparison's answer as Markdown: outcome by outcome, the settings and the sizes."""
    said = [
        f"**{OUTCOMES.get(outcome, str(outcome))}** for {_named(settings)}"
        for outcome, settings in answer.settings.items()
    ]
    return Marked(f"{escape(answer.versus)}: {'; '.join(said)}.")


def first_looks(verdicts: Sequence[Verdict]) -> list[Marked]:
    """Return how much trainings showed that were compared in too few blocks, framework by framework."""
    trained = [
        v for v in verdicts if not v.is_control and not v.candidate.phase.calls and v.quantity == "time"
    ]
    decided = {v.baseline.framework for v in trained if v.low is not None}
    seen: dict[str, list[float]] = {}
    for verdict in trained:
        if verdict.low is None and verdict.speedup is not None:
            seen.setdefault(verdict.baseline.framework, []).append(verdict.speedup)
    return [
        Marked(
            f"{escape(NAMES[framework])}: "
            + (
                f"elsewhere fewer than {MIN_BLOCKS} blocks, which decide nothing; a first look: "
                if framework in decided
                else f"**undecided**, as no comparison has {MIN_BLOCKS} blocks; a first look: "
            )
            + f"{listed(dict.fromkeys((f'{min(sizes):.2f}x', f'{max(sizes):.2f}x')), last='to')}."
        )
        for framework, sizes in seen.items()
    ]


def _named(settings: Sequence[tuple[str, Verdict]]) -> str:
    names = [
        f"{escape(name)} ({size_of(v, v.quantity)}, {interval_of(v, v.quantity)})"
        for name, v in settings[:MOST_NAMED]
    ]
    more = len(settings) - MOST_NAMED
    return listed([*names, f"{more} more"] if more > 0 else names)


def certainty_sentences(
    measured: Measured, verdicts: Sequence[Verdict], control: Sequence[Verdict]
) -> list[str]:
    """Return how sure the answer is, in sentences."""
    sure = [verdict for verdict in verdicts if verdict.low is not None]
    sentences = []
    if sure:
        setting = [*where_measured(sure, measured), *shared_words(sure)]
        sentences.append(f"Measured on: {', '.join(setting)}.")
        sentences.append(_intervals(sure, len(verdicts)))
    noise = [f"{size_of(v)} ({interval_of(v)})" for v in control if v.low is not None]
    if noise:
        sentences.append(
            f"The same setting measured twice, as if it were two: {listed(noise)}. So much is noise."
        )
    doubts = len([*measured.doubts, *study_doubts(measured.runs, control, verdicts)])
    sentences.append(
        Marked(f"{counted(doubts, 'reason')} to distrust this: see the [doubts](#doubts).")
        if doubts
        else "No reason to distrust this was found in the runs."
    )
    step = next_step(sure or verdicts, measured)
    return [*sentences, *step_sentences(step, measured.study, measured.wall_s, measured.coverage)]


def _intervals(sure: Sequence[Verdict], all_of_them: int) -> str:
    blocks = sorted({verdict.blocks for verdict in sure})
    span = f"{blocks[0]}" if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    chance = f"{expected_false(len(sure)):.1f}"
    told = (
        f"Each interval is one of {percent(CONFIDENCE)} over {span} blocks of fresh processes; of {len(sure)} such "
        f"intervals up to {chance} miss the truth by chance."
        if len(sure) > 1
        else f"The interval is one of {percent(CONFIDENCE)} over {span} blocks of fresh processes."
    )
    return f"{told} Comparisons in all: {all_of_them}. What the front page calls confirmed was measured once more."


def step_sentences(step: NextStep | None, study: str, wall_s: float, coverage: Coverage | None) -> list[str]:
    """Return what would decide what is undecided, with the command; nothing where all is decided.

    Args:
        wall_s: Seconds that the study's runs took.
        coverage: What of its plan the study had time for; None where it had no limit.
    """
    if step is None:
        return []
    sentences = []
    if step.open:
        sentences.append(f"Undecided: {decided_by(step, study, wall_s, coverage)}")
    if step.near:
        sentences.append(
            f"Undecided, and so near the margin of {percent(MARGIN)} that more blocks would hardly decide it: "
            f"{counted(len(step.near), 'comparison')}. Take what is simpler."
        )
    if step.many_drifted:
        sentences.append(
            Marked(
                f"The epoch time drifted in {step.drifted} of the {step.of} runs of what is undecided, which may be "
                "why its intervals are wide: see the [doubts](#doubts)."
            )
        )
    return sentences


def decided_by(step: NextStep, study: str, wall_s: float, coverage: Coverage | None) -> str:
    """Return how many blocks would decide what is open, and the command; arguments as of `step_sentences`."""
    time = "" if step.more_s is None else f", about {minutes(step.more_s)} more,"
    return (
        f"{counted(len(step.open), 'comparison')}. {step.blocks} blocks{time} would decide what is as large as it "
        f"looks now: {_command(step, study, wall_s, coverage)}."
    )


def _command(step: NextStep, study: str, wall_s: float, coverage: Coverage | None) -> str:
    """Return the command that measures so many blocks, as `code`: with a file of parameters where it takes one."""
    spent_s = (coverage.spent_s if coverage else wall_s) + (step.more_s or 0.0)
    asked = max((group.most for group in coverage.groups if group.core), default=0) if coverage else 0
    said = f"`make report NOTEBOOKS={study} BUDGET={max(1, math.ceil(spent_s / 60))}m"
    if step.blocks <= asked:
        return f"{said}`"
    parameter = BLOCKS.get(study, "blocks")
    return f"{said} PARAMS=more.yaml` with `{study}: {{{parameter}: {step.blocks}}}` in that file"
