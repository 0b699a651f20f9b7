"""The front page's tables: every verdict with a link to where it comes from, the notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from enum import StrEnum

from pandas.io.formats.style import Styler

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import MISSING, minutes
from trainspeed.core.markdown import visible
from trainspeed.core.no_result import failures_in_short, has_result
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of, outcome_word, size_of
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.show.cells import said_once, styled, with_sentences
from trainspeed.studies.summary.collect import ReportSummary, in_order
from trainspeed.studies.summary.endings import INCOMPLETE, OK
from trainspeed.studies.summary.notebooks import ReportNotebook

WHOLE_COLUMNS = ("speed-up", "difference in points", "95 % interval")  # whose cells are never broken
SWITCHES = f"Switches, in {MIN_BLOCKS} blocks or more"
FEW_BLOCKS = f"fewer than {MIN_BLOCKS} blocks"
# At most as wide as the page: words break, so that size and outcome are in sight on a phone; the rest scrolls.
PAGE_WIDTH = {"selector": "", "props": "width: auto"}
FITTING = (
    {"selector": ".col0", "props": "min-width: 8.5rem; overflow-wrap: anywhere"},
    {"selector": "th, td", "props": "padding-left: .4rem; padding-right: .4rem"},
)


class FrontTable(StrEnum):
    """The tables of the front page, in their order."""

    SWITCHES = "switches"  # of a training, or of convolutions where nothing was trained
    CALLS = "calls"
    OTHERS = "others"
    FEW = "few blocks"  # no interval


def verdicts_by_table(report: ReportSummary) -> dict[FrontTable, list[Verdict]]:
    """Return the verdicts that are no headline by their table, in order."""
    told = report.headlines
    others = [verdict for verdict in in_order(report.verdicts) if verdict not in told]
    sure = [verdict for verdict in others if verdict.low is not None]
    calls = [verdict for verdict in sure if verdict.candidate.phase.calls and not verdict.is_control]
    return {
        FrontTable.CALLS: calls,
        FrontTable.OTHERS: [verdict for verdict in sure if verdict not in calls],
        FrontTable.FEW: [verdict for verdict in others if verdict.low is None],
    }


def other_verdicts(report: ReportSummary) -> dict[str, list[Verdict]]:
    """Return the verdicts that are no headline under what they are, in order; kinds without any are left out."""
    captions = {
        FrontTable.CALLS: ("Single convolutions", "Accuracy of single convolutions"),
        FrontTable.OTHERS: (", ".join(_kinds(report)).capitalize(), "Accuracy"),
        FrontTable.FEW: (f"First looks, in {FEW_BLOCKS}", f"First looks at accuracy, in {FEW_BLOCKS}"),
    }
    kinds = {}
    for table, several in verdicts_by_table(report).items():
        for caption, in_points in zip(captions[table], (False, True), strict=True):
            own = [verdict for verdict in several if (verdict.quantity == "accuracy") is in_points]
            kinds |= {f"{caption}: {len(own)}": own} if own else {}
    return kinds


def _kinds(report: ReportSummary) -> list[str]:
    """Return what the verdicts on time with an interval are of that are neither headlines nor of convolutions."""
    own = [v for v in verdicts_by_table(report)[FrontTable.OTHERS] if v.quantity == "time"]
    kinds = {
        "frameworks": [v for v in own if v.factor == "framework"],
        "all switches together": [v for v in own if v.factor == RECIPE],
        "controls": [v for v in own if v.is_control],
    }
    other = [v for v in own if not any(v in several for several in kinds.values())]
    return [name for name, several in kinds.items() if several] + ["others"] * bool(other)


def all_verdicts_table(
    verdicts: Sequence[Verdict], report: ReportSummary, *, caption: str = SWITCHES
) -> Styler:
    """Return a row per verdict: what was compared (a link to where), size, outcome, interval, blocks, notebook.

    Verdicts on accuracy have tables of their own, as their sizes are points.

    Without any interval nothing is decided, and there is neither a column for it nor one for the outcome.
    """
    in_points = bool(verdicts) and all(verdict.quantity == "accuracy" for verdict in verdicts)
    size = "difference in points" if in_points else "speed-up"
    rows = [
        {
            "comparison": verdict.name,
            size: size_of(verdict, verdict.quantity, points=" points" * (not in_points)),
            "outcome": outcome_word(verdict.judgement, verdict.quantity),
            "95 % interval": interval_of(verdict, verdict.quantity),
            "blocks": verdict.blocks,
            "notebook": verdict.study + ", earlier session" * report.is_older(verdict.session),
        }
        for verdict in verdicts
    ]
    columns = ["comparison", size, "outcome", "95 % interval", "blocks", "notebook"]
    if rows and all(verdict.low is None for verdict in verdicts):  # as the caption says
        columns = [name for name in columns if name not in ("outcome", "95 % interval")]
        rows = [{name: row[name] for name in columns} for row in rows]
    rows, said = said_once(rows)
    shown = [{name: _escaped(value) for name, value in row.items()} for row in rows]
    for row, verdict in zip(shown, verdicts, strict=True):
        row["comparison"] = _link(verdict.name, report.place_of(verdict))
    whole = [f"td.col{n}" for n, name in enumerate(shown[0] if shown else ()) if name in WHOLE_COLUMNS]
    styles = [*FITTING, {"selector": ", ".join(whole), "props": "white-space: nowrap"}] if whole else FITTING
    table = _linked_table(shown, "front", caption, columns, styles)
    return table.set_caption(_escaped(with_sentences(caption, said)))


def _escaped(value: object) -> object:
    """Return a text as HTML, and a number as it is."""
    return html.escape(visible(value), quote=False) if type(value) is str else value


def notebook_table(report: ReportSummary) -> Styler:
    """Return a row per notebook: how it ended, its question (a link), how long measuring took."""
    rows = [
        {
            "status": _ending(ran, report),
            "question": _link(ran.title, ran.page) + _remarks(ran, report),
            "measuring": MISSING if ran.seconds is None else minutes(ran.seconds),
        }
        for ran in report.notebooks
    ]
    caption = "The notebooks of this report"
    return _linked_table(rows, "notebooks", caption, ["status", "question", "measuring"])


def _ending(ran: ReportNotebook, report: ReportSummary) -> str:
    """Return how a notebook ended, not what it answers: "ok" beside a question reads as a yes."""
    if ran.status == OK:
        return "ran to its end"
    without_result = ran.status == INCOMPLETE and not has_result(_runs_of(ran, report))
    return "ran to its end, without a result" if without_result else html.escape(ran.status)


def _runs_of(ran: ReportNotebook, report: ReportSummary) -> tuple[Run, ...]:
    """Return the runs that a notebook's page shows."""
    return tuple(run for run in (*report.runs, *report.checks, *report.own) if run.study == ran.name)


def _remarks(ran: ReportNotebook, report: ReportSummary) -> str:
    remarks = [ran.error] if ran.error else []
    runs = _runs_of(ran, report)
    if not has_result(runs) and (why := failures_in_short(runs)) not in remarks:
        remarks.append(why)
    if report.is_older(ran.session):
        remarks.append("from an earlier session" + (f", preset {ran.preset}" if ran.preset else ""))
    return "".join(f"<br>{html.escape(remark)}" for remark in remarks)


def _link(text: str, target: str | None) -> str:
    label = html.escape(text)
    return f'<a href="{html.escape(target, quote=True)}">{label}</a>' if target else label


def _linked_table(
    rows: Sequence[dict], kind: str, caption: str, columns: Sequence[str], styles: Sequence[dict] = ()
) -> Styler:
    """Return a table whose cells are HTML already: whatever came from elsewhere has been escaped one by one."""
    table = styled(rows, kind, caption, columns=columns, say_once=False).format(escape=None)
    return table.set_table_styles([PAGE_WIDTH, *styles], overwrite=False)
