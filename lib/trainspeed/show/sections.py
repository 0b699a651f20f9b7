"""Sections that every study's notebook has, written once: machine, speed-ups, monitor, doubts."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import Markdown, display

from trainspeed.core.guard import guarded
from trainspeed.core.markdown import escape
from trainspeed.core.runs import Measured
from trainspeed.judge.answer import answers
from trainspeed.judge.arithmetic import default_sentences
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.verdict import Outcome
from trainspeed.show import forest, notebook, tables
from trainspeed.show.answer import (
    AGAIN,
    AGAIN_BY_HAND,
    accuracy_text,
    answer_text,
    certainty_sentences,
    first_looks,
)
from trainspeed.show.coverage import core_left_out, coverage_sentences, left_out_table
from trainspeed.show.messages import of_comparisons
from trainspeed.show.monitor import plot_monitor
from trainspeed.show.no_answer import nothing_decided
from trainspeed.show.theme import show

HOW_TO_READ_SPEEDUPS = """
How to read the chart: right of 1, what is named first is faster. The bar is the 95 % interval over the
blocks{hollow}. Inside the grey band a difference is not worth switching for.{controls}
"""
CONTROLS = (
    " The controls are one trial measured twice in each block: their bars show what noise alone does here."
)
HOLLOW = "; a hollow mark has too few blocks for one"
HOW_TO_READ_CONTROLS = (
    "Controls: the same setting measured twice, as if it were two, which shows what noise alone does."
)
# What the lines and ticks of a chart mean, the chart itself says: not all have the same.
HOW_TO_READ_THE_MONITOR = "Sampled beside the runs by a process of its own. Shaded: runs."


def run(measured: Measured, *more: str) -> None:
    """Show what was measured, what was skipped, and further sentences of the study."""
    sentences = coverage_sentences(measured.coverage)
    notebook.show_sentences([measured.summary(), *sentences, *measured.skipped_sentences(), *more])
    if measured.coverage and (measured.coverage.left_out or measured.coverage.unequal):
        notebook.show_folded("What there was no time for", left_out_table(measured.coverage))


def answer(
    verdicts: Sequence[Verdict],
    control: Sequence[Verdict],
    alt: str,
    *,
    on_cores: bool = False,
    accuracy: Sequence[Verdict] | None = None,
    untrained: Sequence[str] = (),
    measured: Measured | None = None,
    unanswered: Sequence[str] = (),
) -> None:
    """Show what was decided, a sentence for each comparison, and the chart that carries it.

    The chart has, and its title counts, what has an interval; where nothing has one, all there is.

    Args:
        alt: What the chart shows, for readers who cannot see it.
        on_cores: Whether a device is a CPU core: see `answer_text`.
        accuracy: The verdicts on accuracy, where what is faster may cost some; None where it does not.
        untrained: What had not learned, so that its accuracy is not compared: see `accuracy_text`.
        measured: All of the study, which tells what there was no time for, and why nothing has a result.
        unanswered: Sentences on what this machine cannot answer, which come first.
    """
    sure = [verdict for verdict in verdicts if verdict.low is not None]
    said = [answer_text(one, on_cores=on_cores) for one in answers(sure)]
    kept = [accuracy_text(accuracy, untrained)] if accuracy is not None else []
    first = AGAIN_BY_HAND if measured is not None and measured.by_hand else AGAIN
    again = [first] if any(verdict.outcome is Outcome.FASTER for verdict in sure) else []
    told = [*said, *again, *first_looks(verdicts), *kept] if said else nothing_decided(measured, verdicts)
    left = [] if measured is None else core_left_out(measured.coverage)
    text = "\n\n".join([*unanswered, *told, *map(escape, left)])
    display(Markdown(text), metadata=notebook.of_verdicts(sure))
    shown = [*(sure or verdicts), *control]
    with guarded():
        title = f"{of_comparisons(shown)}{' (a device is one core)' * on_cores}"
        show(forest.plot_speedups(shown, title=title), alt=alt)
    _explain_speedups(shown)


def certainty(
    measured: Measured,
    verdicts: Sequence[Verdict],
    control: Sequence[Verdict],
    *,
    doubted: Sequence[Verdict] = (),
) -> None:
    """Show how sure the answer is: where it holds, blocks, noise, doubts, and what would decide what is open.

    Args:
        doubted: Those that `doubts` was given, where they are more than the answer's.
    """
    notebook.show_sentences(certainty_sentences(measured, verdicts, control, doubted or verdicts))


def decided(verdicts: Sequence[Verdict], *, otherwise: str) -> None:
    """Show the sentences of the verdicts that have an interval; `otherwise` where none has."""
    sentences = [verdict.sentence for verdict in verdicts if verdict.low is not None]
    notebook.show_sentences(sentences, otherwise=otherwise, verdicts=verdicts)


def machine(measured: Measured) -> None:
    """Show the machine, the versions of what was measured, and what the default precision was."""
    with guarded():
        trials = [run.trial for run in measured.runs]
        display(tables.machine_table(measured.machine, measured.versions, trials))
    if sentences := default_sentences(measured.runs):
        notebook.show_sentences(sentences)


def speedups(verdicts: Sequence[Verdict], alt: str) -> None:
    """Show verdicts and controls as a chart and a table.

    Args:
        alt: What the chart shows, for readers who cannot see it.
    """
    _explain_speedups(verdicts)
    with guarded():
        show(forest.plot_speedups(verdicts, title=of_comparisons(verdicts)), alt=alt)
    verdict_rows(verdicts)


def verdict_rows(verdicts: Sequence[Verdict], *, caption: str = "Verdicts") -> None:
    """Show verdicts and controls as a table, if there are any."""
    if not verdicts:
        return
    anchors = [verdict.anchor for verdict in verdicts]
    shown = notebook.of_verdicts(verdicts, anchors=anchors)
    display(tables.verdict_table(verdicts, caption=caption), metadata=shown)


def monitor(measured: Measured) -> None:
    """Show what the monitor sampled during the runs."""
    samples, spans, doubts = notebook.monitor_data(measured)
    _explain(HOW_TO_READ_THE_MONITOR)
    if doubts:
        notebook.show_sentences(doubts)
    alt = "Load, memory, power, temperature and clocks over time, a line per device, with the runs shaded."
    show(plot_monitor(samples, spans), alt=alt)


def doubts(
    measured: Measured,
    control: Sequence[Verdict] | None,
    verdicts: Sequence[Verdict] = (),
    *,
    more: Sequence[str] = (),
) -> None:
    """Show the reasons to distrust a study, and below them, under words of their own, what its controls show.

    Args:
        control: Its A/A controls; None where it compares nothing.
        verdicts: What it compared.
        more: Further reasons, of the study itself.
    """
    _explain("Reasons to distrust what is above, each with a remedy.")
    sentences = [
        *more,
        *measured.doubts,
        *study_doubts(measured.runs, control, verdicts, measured.coverage),
    ]
    notebook.show_sentences(sentences, otherwise="None found.")
    if sure := [verdict for verdict in control or () if verdict.low is not None]:
        _explain(HOW_TO_READ_CONTROLS)
        decided(sure, otherwise="")


def _explain_speedups(verdicts: Sequence[Verdict]) -> None:
    """Show how to read a chart of these verdicts: what a hollow mark and a control are, where there is one."""
    hollow = any(verdict.low is None and verdict.speedup is not None for verdict in verdicts)
    controls = any(verdict.is_control for verdict in verdicts)
    _explain(HOW_TO_READ_SPEEDUPS.format(hollow=HOLLOW * hollow, controls=CONTROLS * controls))


def _explain(text: str) -> None:
    display(Markdown(" ".join(text.split())))
