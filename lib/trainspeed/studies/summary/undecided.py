"""What the front page says of what is undecided: what would decide it, with the command. Computes no speed-up."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.coverage import NOTHING_CHOSEN
from trainspeed.core.format import listed
from trainspeed.core.markdown import Marked
from trainspeed.judge.blocks_needed import MOST_BLOCKS
from trainspeed.judge.next_step import next_step
from trainspeed.judge.verdict import Outcome
from trainspeed.show.next_steps import at_edge_sentence, decided_by
from trainspeed.studies.summary.accuracy import open_accuracy_sentences
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.gains import recipe_results
from trainspeed.studies.summary.worth import is_part


def undecided_sentences(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Return the undecided sets of switches, and what would decide what is undecided, study by study, with the command.

    Before them stands what fresh blocks did not confirm. Nothing where all is decided. What no reasonable number of
    blocks decides is said in one sentence for all studies.
    """
    sentences, near, kept, drifted = [], {}, {}, []
    compared = [*report.switches, *(verdict for verdict in report.recipes if verdict.quantity == "time")]
    for study in dict.fromkeys(verdict.study for verdict in compared):
        own = [verdict for verdict in compared if verdict.study == study]
        sure = [verdict for verdict in own if verdict.low is not None]
        runs = report.runs.of_study(study)
        step = next_step(sure or own, runs, report.coverage.get(study))
        if step and step.open:
            asked = report.coverage.get(study), report.choices.get(study, NOTHING_CHOSEN)
            sentences.append(f"{study}: {decided_by(step, study, runs.wall_s, *asked)}")
        for verdict in step.at_edge if step else ():
            sentences.append(f"{study}: {at_edge_sentence(verdict)}")
        if step and step.near:
            parts = sum(is_part(verdict, report.kept) for verdict in step.near)
            near |= {study: len(step.near) - parts} if parts < len(step.near) else {}
            kept |= {study: parts} if parts else {}
        if step and step.many_drifted:
            drifted.append(f"{study} ({step.drifted} of {step.of} runs)")
    for counts, end in (
        (near, ". Take what is simpler"),
        (kept, "; by themselves: they are part of what pays together"),
    ):
        if counts:
            sentences.append(
                f"Differences that the noise here hides, for which more than {MOST_BLOCKS} blocks would be needed: "
                f"{', '.join(f'{study} ({number})' for study, number in counts.items())}{end}."
            )
    if drifted:
        sentences.append(
            "The epoch time drifted during many runs of what is undecided, which may be why its intervals are wide: "
            f"{listed(drifted)}."
        )
    lost = [one for one in confirmed if one.unconfirmed and not one.first.candidate.phase.calls]
    unconfirmed = [f"{one.sentence} A longer BUDGET has more fresh blocks." for one in lost]
    return [
        *recipe_results(report, Outcome.UNDECIDED),
        *unconfirmed,
        *sentences,
        *open_accuracy_sentences(report),
    ]


def nothing_undecided(report: ReportSummary) -> Marked:
    """Return what to say where `undecided_sentences` has none: all is decided, or nothing was compared well enough."""
    if any(verdict.low is not None and not verdict.is_control for verdict in report.verdicts):
        return Marked("All that was compared in enough blocks is decided.")
    return Marked(
        "Nothing was compared in enough blocks: see [what was not measured](#what-was-not-measured)."
    )
