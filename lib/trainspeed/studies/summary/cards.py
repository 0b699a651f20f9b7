"""A card for each study on the front page: its question, its answer, a small chart. Decides nothing."""

from __future__ import annotations

import base64
import html
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, display

from trainspeed.core.format import counted
from trainspeed.judge.answer import ORDER, Answer, answers
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import size_of
from trainspeed.judge.verdict import MARGIN, Outcome
from trainspeed.show.answer import OUTCOMES
from trainspeed.show.axes import ratio_axis
from trainspeed.show.forest import forest
from trainspeed.show.theme import OUTCOME_STYLES, PALE, SMALL_PT
from trainspeed.studies.summary.collect import ReportNotebook, ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed

MOST_ROWS = 5  # of a card's chart
MOST_NAMED = 2  # settings with one outcome
MOST_ANSWERS = 2
WIDTH_IN, ROW_IN = 4.4, 0.38
LABEL_LETTERS = 26
DPI = 100
EMPTY = "Nothing is decided: no comparison has 6 blocks or more."
NO_REMARKS: Mapping[Verdict, str] = {}


def show_cards(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> None:
    """Show a card for each study of the report that compares something.

    Args:
        confirmed: What became of some of the gains in fresh blocks; one that they refuted is no gain on its card.
    """
    again = {c.first: c for c in confirmed if c.again}
    cards = "".join(card for ran, own in in_card_order(report) if (card := _card(ran, own, report, again)))
    if cards:
        display(HTML(f'<div class="cards">{cards}</div>'))


def in_card_order(report: ReportSummary) -> list[tuple[ReportNotebook, list[Verdict]]]:
    """Return each notebook and its verdicts: studies of trainings first, those of single convolutions last."""
    own = [(ran, [v for v in report.verdicts if v.study == ran.name]) for ran in report.notebooks]
    return sorted(own, key=lambda one: bool(one[1]) and all(v.candidate.phase.calls for v in one[1]))


def remarked(
    verdicts: Sequence[Verdict], report: ReportSummary, again: Mapping[Verdict, Confirmed]
) -> dict[Verdict, str]:
    """Return the verdicts with what a card has to say beside each: what fresh blocks say of it, and how old it is.

    What fresh blocks refuted is undecided: one measurement says so, the other one not.
    """
    remarks = {}
    for verdict in verdicts:
        one = again.get(verdict)
        said = [f"{one.word} in fresh blocks"] if one else []
        said += ["from an earlier session"] if report.is_older(verdict.session) else []
        if one and one.refuted:
            open_ = replace(verdict.judgement, outcome=Outcome.UNDECIDED)
            verdict = replace(verdict, judgement=open_)
        remarks[verdict] = "".join(f"; {remark}" for remark in said)
    return remarks


def headline_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that a study answers its question with: switches on time that have an interval."""
    return [v for v in verdicts if v.quantity == "time" and v.row.choice and v.low is not None]


def _card(
    ran: ReportNotebook,
    verdicts: Sequence[Verdict],
    report: ReportSummary,
    again: Mapping[Verdict, Confirmed],
) -> str:
    if not any(verdict.row.choice for verdict in verdicts):
        return ""
    title = html.escape(ran.title)
    link = f'<a href="{html.escape(ran.page, quote=True)}">{title}</a>' if ran.page else title
    told = remarked(headline_verdicts(verdicts), report, again)
    groups = answers(told)
    said = "".join(f"<p>{card_text(answer, told)}</p>" for answer in groups[:MOST_ANSWERS])
    more = sum(len(several) for answer in groups[MOST_ANSWERS:] for several in answer.settings.values())
    rest = f"<p>{counted(more, 'more comparison')} on its page.</p>" if more else ""
    return f'<div class="card"><h3>{link}</h3>{said or f"<p>{EMPTY}</p>"}{rest}{_picture([*told], ran)}</div>'


def card_text(answer: Answer, remarks: Mapping[Verdict, str] = NO_REMARKS) -> str:
    """Return one comparison's answer as HTML, in short; remarks are as of `remarked`."""
    said = []
    for outcome, settings in answer.settings.items():
        names = [
            f"{html.escape(name)} ({size_of(verdict)}{html.escape(remarks.get(verdict, ''))})"
            for name, verdict in settings[:MOST_NAMED]
        ]
        names += [f"{len(settings) - MOST_NAMED} more"] if len(settings) > MOST_NAMED else []
        said.append(
            f"<strong>{html.escape(OUTCOMES.get(outcome, str(outcome)))}</strong> for {', '.join(names)}"
        )
    return f"{html.escape(answer.versus)}: {'; '.join(said)}."


def _picture(verdicts: Sequence[Verdict], ran: ReportNotebook) -> str:
    """Return the chart of the clearest verdicts as an image that needs no file; nothing without a verdict."""
    rows = card_rows(verdicts)
    if rows.empty:
        return ""
    figure, ax = plt.subplots(figsize=(WIDTH_IN, 0.75 + ROW_IN * len(rows)), layout="constrained")
    forest(rows, looks=OUTCOME_STYLES, ax=ax)
    known = rows[["value", "low", "high"]].stack()
    ratio_axis(ax.xaxis, min(known.min(), 1 / (1 + MARGIN)), max(known.max(), 1 + MARGIN))
    ax.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5)
    ax.tick_params(axis="x", labelsize=SMALL_PT)
    ax.set_xlabel("times as fast, log scale", fontsize=SMALL_PT)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=2 * DPI)
    width, height = (round(DPI * inches) for inches in figure.get_size_inches())
    plt.close(figure)
    source = base64.b64encode(data.getvalue()).decode()
    alt = html.escape(f"Speed-ups that answer “{ran.title}”, with intervals.", quote=True)
    return f'<img src="data:image/png;base64,{source}" width="{width}" height="{height}" alt="{alt}">'


def card_rows(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the rows of a card's chart, as `show.forest.forest` takes them: the largest effects, faster ones first."""
    groups = answers(verdicts)
    named = []
    for answer in groups:
        several = [setting for settings in answer.settings.values() for setting in settings]
        for name, verdict in several:
            label = f"{answer.versus}: {name}" if len(several) > 1 else answer.versus
            named.append((name if len(groups) == 1 else label, verdict))
    named.sort(key=lambda row: (ORDER.index(row[1].outcome), -abs((row[1].speedup or 1) - 1)))
    rows = [
        {
            "label": textwrap.shorten(name, 2 * LABEL_LETTERS, placeholder=" …"),
            "kind": str(verdict.outcome),
            "value": verdict.speedup,
            "low": verdict.low,
            "high": verdict.high,
        }
        for name, verdict in named[:MOST_ROWS]
    ]
    return pd.DataFrame(rows, columns=["label", "kind", "value", "low", "high"])
