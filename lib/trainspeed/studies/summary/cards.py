"""A card for each study on the front page: its question, its answer, a small chart. Decides nothing."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, display
from matplotlib.axes import Axes

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import counted
from trainspeed.core.run import OF_SEARCH
from trainspeed.judge.answer import ORDER, Answer, answers
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.fastest import against_each, fastest_library, on_several_devices
from trainspeed.judge.text import OVER_ONE_CORE, size_of
from trainspeed.judge.verdict import MARGIN, Outcome
from trainspeed.show.answer import OUTCOMES
from trainspeed.show.axes import ratio_axis
from trainspeed.show.fitting import render_figure
from trainspeed.show.no_answer import NOTHING, lack_of
from trainspeed.show.series import marks
from trainspeed.show.theme import OUTCOME_STYLES, PALE, SMALL_PT
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed, counts_of, gain
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.plain_script import beaten, is_on_cores, plain_script
from trainspeed.studies.summary.worth import not_kept_words, part_words

MOST_ROWS = 5  # of a card's chart
MOST_NAMED = 2  # settings with one outcome
MOST_ANSWERS = 2
# Hardly wider than a phone of 360 px has room for, so that its letters keep their size there.
WIDTH_IN, ROW_IN, AROUND_IN = 3.4, 0.42, 0.55
LABEL_LETTERS = 40  # of a line above a mark; the number has the rest of the first one
LABEL_UP, MARK_DOWN = 0.2, 0.22  # from the middle of a row, in rows
LINE = 0.38  # height of a further line of a label, in rows
HALF_STRIP = 0.23  # height of the margin behind a mark, from the mark to its end, in rows
NO_REMARKS: Mapping[Verdict, str] = {}


def show_cards(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> None:
    """Show a card for each study of the report that compares something: what pays together first, convolutions last.

    Args:
        confirmed: What became of some of the gains in fresh blocks; one that they refuted is no gain on its card.
    """
    again = {c.first: c for c in confirmed if c.again}
    cards = "".join(card for ran, own in in_card_order(report) if (card := _card(ran, own, report, again)))
    if cards:
        display(HTML(f'<div class="cards">{cards}</div>'))


def in_card_order(report: ReportSummary) -> list[tuple[ReportNotebook, list[Verdict]]]:
    """Return each notebook and its verdicts: what pays together first, studies of single convolutions last."""
    own = [(ran, [v for v in report.verdicts if v.study == ran.name]) for ran in report.notebooks]
    return sorted(own, key=lambda one: _place(one[1]))


def _place(verdicts: Sequence[Verdict]) -> tuple[bool, bool]:
    calls = bool(verdicts) and all(verdict.candidate.phase.calls for verdict in verdicts)
    return calls, all(verdict.factor != RECIPE for verdict in verdicts)


def remarked(
    verdicts: Sequence[Verdict],
    report: ReportSummary,
    again: Mapping[Verdict, Confirmed],
    *,
    brief: bool = False,
) -> dict[Verdict, str]:
    """Return the verdicts with what a card has to say beside each: what fresh blocks say of it, how old it is,
    that it is over one core, and whether it is part of what pays together, or was tried there and not kept.

    What fresh blocks confirmed has their size, which is all that is said of it in brief. What they did not confirm is
    undecided: one measurement says so, the other one not.
    """
    remarks = {}
    for verdict in verdicts:
        one = again.get(verdict)
        still = one and verdict.outcome is one.again.outcome is Outcome.UNDECIDED
        said = [one.remark] if one and not still else []
        first = verdict
        if one and one.holds:  # what was found first is the likelier to be too large
            verdict = replace(verdict, judgement=one.again.judgement)
            said = [f"in fresh blocks, {size_of(first)} at first"] if not brief else []
        said += ["from an earlier session"] if report.is_older(verdict.session) else []
        if is_on_cores(first, report.machine):
            plain = plain_script(first, report.machine, report.runs)
            faster = verdict.outcome is Outcome.FASTER
            over = "over one core" if plain else OVER_ONE_CORE
            said += [over] * faster + ([plain.words] if plain else [])
        said += filter(None, [part_words(first, report.kept, report.verdicts)])
        if one and one.unconfirmed:
            open_ = replace(one.again.judgement, outcome=Outcome.UNDECIDED)
            verdict = replace(verdict, judgement=open_)
        tried = not_kept_words(first, report.kept, report.searches)
        remarks[verdict] = "".join(f"; {remark}" for remark in said) + tried
    return remarks


def answers_something(ran: ReportNotebook, report: ReportSummary) -> bool:
    """Whether a study compares anything that a reader chooses, or this machine has nothing of it: an answer, too."""
    return _compares(ran, report) or bool(none_here(ran, report))


def _compares(ran: ReportNotebook, report: ReportSummary) -> bool:
    """Whether it compares anything that a reader chooses: a search does before it has a verdict."""
    searches = any(run.role in OF_SEARCH for run in report.runs.of_study(ran.name))
    return searches or any(verdict.row.choice for verdict in report.verdicts if verdict.study == ran.name)


def none_here(ran: ReportNotebook, report: ReportSummary) -> str:
    """Return why a study has nothing to compare on this machine, in a sentence; "" where it compares something."""
    return "" if _compares(ran, report) else lack_of(report.runs.of_study(ran.name), brief=True)


def headline_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that a study answers its question with: switches on time that have an interval."""
    return [v for v in verdicts if v.quantity == "time" and v.row.choice and v.low is not None]


def _card(
    ran: ReportNotebook,
    verdicts: Sequence[Verdict],
    report: ReportSummary,
    again: Mapping[Verdict, Confirmed],
) -> str:
    if not answers_something(ran, report):
        return ""
    title = html.escape(ran.title)
    link = f'<a href="{html.escape(ran.page, quote=True)}">{title}</a>' if ran.page else title
    told = remarked(headline_verdicts(verdicts), report, again)
    groups = answers(told)
    decided = [answer for answer in groups if {*answer.settings} - {Outcome.UNDECIDED}]
    fastest = fastest_library(told)
    shown = 0 if fastest else MOST_ANSWERS
    several = on_several_devices(fastest, report.runs.of_study(ran.name)) if fastest else ""
    first = "; ".join(filter(None, [fastest.words, several])) if fastest else ""
    texts = [f"<strong>Fastest</strong>: {html.escape(first)}."] if first else []
    words = beaten(told, report.machine, report.runs)
    texts += [card_text(answer, told, words) for answer in decided[:shown]]
    rest = [_decided(answer).values() for answer in decided[shown:]]
    more = [verdict for groups in rest for settings in groups for _, verdict in settings]
    if more:
        counts = ", ".join(counts_of(more, again.values()))
        number = counted(len(more), "comparison" if fastest else "more comparison")
        texts.append(f"{number} decided, on its page: {counts}.")
    texts += [open_ for open_ in (open_text(groups, told),) if open_]
    lack = html.escape(none_here(ran, report))
    said = "".join(f"<p>{text}</p>" for text in texts or [lack or NOTHING])
    text = f"<div><h3>{link}</h3>{said}</div>"
    drawn = against_each(fastest, told) if fastest else [*told]
    return f'<div class="card"><div>{text}{_picture(drawn, ran)}</div></div>'


def _decided(answer: Answer) -> dict[Outcome, list[tuple[str, Verdict]]]:
    return {outcome: several for outcome, several in answer.settings.items() if outcome != Outcome.UNDECIDED}


def card_text(
    answer: Answer, remarks: Mapping[Verdict, str] = NO_REMARKS, words: Mapping[Verdict, str] = NO_REMARKS
) -> str:
    """Return what was decided about one comparison as HTML, in short.

    Args:
        remarks: As of `remarked`.
        words: What is said of a verdict instead of its outcome: see `beaten`.
    """
    said = []
    for outcome, settings in _decided(answer).items():
        by_word: dict[str, list[tuple[str, Verdict]]] = {}
        for name, verdict in settings:
            word = words.get(verdict, OUTCOMES.get(outcome, str(outcome)))
            by_word.setdefault(word, []).append((name, verdict))
        for word, several in by_word.items():
            said.append(f"<strong>{html.escape(word)}</strong> for {_named(several, remarks)}")
    return f"{html.escape(answer.versus)}: {'; '.join(said)}."


def open_text(groups: Sequence[Answer], remarks: Mapping[Verdict, str] = NO_REMARKS) -> str:
    """Return as HTML what several answers leave open, the largest effect first; empty where all is decided."""
    several = [
        (f"{answer.versus} for {name}" if len(groups) > 1 or not _decided(answer) else name, verdict)
        for answer in groups
        for name, verdict in answer.settings.get(Outcome.UNDECIDED, ())
    ]
    several.sort(key=lambda one: -abs((one[1].speedup or 1) - 1))
    return f"<strong>Undecided</strong>: {_named(several, remarks)}." if several else ""


def _named(settings: Sequence[tuple[str, Verdict]], remarks: Mapping[Verdict, str]) -> str:
    names = [
        f"{html.escape(name)} ({size_of(verdict)}{html.escape(remarks.get(verdict, ''))})"
        for name, verdict in settings[:MOST_NAMED]
    ]
    return ", ".join([*names, f"{len(settings) - MOST_NAMED} more"] if len(settings) > MOST_NAMED else names)


def _picture(verdicts: Sequence[Verdict], ran: ReportNotebook) -> str:
    """Return the chart of the clearest verdicts as an image that needs no file; nothing without a verdict."""
    rows = card_rows(verdicts)
    if rows.empty:
        return ""
    height_in = AROUND_IN + ROW_IN * (len(rows) + LINE * sum(map(_further_lines, rows["label"])))
    figure, ax = plt.subplots(figsize=(WIDTH_IN, height_in), layout="constrained")
    plot_card(rows, ax=ax)
    drawing = render_figure(figure)
    plt.close(figure)
    size = f'width="{drawing.width_px}" height="{drawing.height_px}"'
    alt = html.escape(f"Speed-ups that answer “{ran.title}”, with intervals.", quote=True)
    return f'<img src="{drawing.source}" {size} alt="{alt}">'


def plot_card(rows: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw a small forest of speed-ups: each mark with its interval below its name and its size.

    Names stand above the marks, not beside them: on a phone they would leave no room for an axis. A long one has
    several lines, as what tells rows apart may be at its end.

    Args:
        rows: As returned by `card_rows`.
    """
    further = LINE * rows["label"].map(_further_lines)
    middles = further.cumsum() + rows.index
    rows = rows.assign(x=rows["value"], y=middles + MARK_DOWN, last=middles - LABEL_UP, further=further)
    for kind, of_kind in rows.groupby("kind", sort=False):
        marks(ax, of_kind, along="x", look=OUTCOME_STYLES[kind], gid=kind)
    look = {"transform": ax.get_yaxis_transform(), "fontsize": SMALL_PT, "va": "center"}
    for row in rows.to_dict("records"):
        middle, first = row["last"] - row["further"] / 2, row["last"] - row["further"]
        ax.text(0, middle, row["label"], ha="left", gid="label", **look)
        ax.text(1, first, f"{row['value']:.2f}x", ha="right", weight="bold", gid="size", **look)
    known = rows[["value", "low", "high"]].stack()
    ratio_axis(ax.xaxis, min(known.min(), 1 / (1 + MARGIN)), max(known.max(), 1 + MARGIN))
    for y in rows["y"]:  # not behind the names
        span = [y - HALF_STRIP, y + HALF_STRIP]
        ax.fill_betweenx(
            span, 1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5, gid="margin"
        )
        ax.plot([1, 1], span, color=".3", linewidth=1.2, zorder=0.7, gid="one")
    ax.tick_params(axis="x", labelsize=SMALL_PT)
    ax.set_xlabel("times as fast, log scale", fontsize=SMALL_PT)
    ax.set(yticks=[], ylim=(middles.iloc[-1] + 0.55, -0.5))
    ax.grid(visible=False)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def card_rows(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the rows of a card's chart, as `show.forest.forest` takes them: the largest effects, faster ones first.

    The largest either way are shown before what is undecided, so that gains do not crowd out what is slower.
    """
    groups = answers(verdicts)
    named = []
    for answer in groups:
        several = [setting for settings in answer.settings.values() for setting in settings]
        for name, verdict in several:
            label = f"{answer.versus}: {name}" if len(several) > 1 else answer.versus
            named.append((name if len(groups) == 1 else label, verdict))
    named.sort(key=lambda row: (row[1].outcome is Outcome.UNDECIDED, -gain(row[1])))
    shown = sorted(named[:MOST_ROWS], key=lambda row: (ORDER.index(row[1].outcome), -gain(row[1])))
    rows = [
        {
            "label": textwrap.fill(name, LABEL_LETTERS),
            "kind": str(verdict.outcome),
            "value": verdict.speedup,
            "low": verdict.low,
            "high": verdict.high,
        }
        for name, verdict in shown
    ]
    return pd.DataFrame(rows, columns=["label", "kind", "value", "low", "high"])


def _further_lines(label: str) -> int:
    return label.count("\n")
