"""The front page's tables: every verdict with a link to where it comes from, notebooks, the recipe's steps."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, minutes
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of, size_of
from trainspeed.show.cells import styled
from trainspeed.studies.summary.collect import NotebookResult, ReportSummary

EARLIER = "<br>earlier session"
# As wide as the page at most: words break, so that on a phone size and outcome are in sight, and the rest scrolls.
AS_WIDE_AS_THE_PAGE = {"selector": "", "props": "width: auto"}
FITTING = [
    AS_WIDE_AS_THE_PAGE,
    {"selector": ".col0", "props": "min-width: 8.5rem; overflow-wrap: anywhere"},
    {"selector": ".col1, .col3", "props": "white-space: nowrap"},
    {"selector": "th, td", "props": "padding-left: .4rem; padding-right: .4rem"},
]


def all_verdicts_table(
    verdicts: Iterable[Verdict], report: ReportSummary, *, caption: str = "Every verdict"
) -> Styler:
    """Return a row per verdict: what was compared (a link to where), size, outcome, interval, blocks, notebook."""
    rows = [
        {
            "comparison": _link(verdict.name, report.place_of(verdict)),
            "speed-up": size_of(verdict, verdict.quantity, times="×"),
            "outcome": html.escape(str(verdict.outcome)),
            "95 % interval": interval_of(verdict, verdict.quantity),
            "blocks": verdict.blocks,
            "notebook": html.escape(verdict.study) + (EARLIER if report.is_older(verdict.session) else ""),
        }
        for verdict in verdicts
    ]
    columns = ["comparison", "speed-up", "outcome", "95 % interval", "blocks", "notebook"]
    table = _with_links(rows, "front", caption, columns)
    return table.set_table_styles(FITTING, overwrite=False)


def notebook_table(report: ReportSummary) -> Styler:
    """Return a row per notebook: its question (a link), how it ended, how long it took."""
    rows = [
        {
            "status": html.escape(ran.status),
            "question": _link(ran.title, ran.page) + _remarks(ran, report),
            "time": MISSING if ran.seconds is None else minutes(ran.seconds),
        }
        for ran in report.notebooks
    ]
    columns = ["status", "question", "time"]
    styler = _with_links(rows, "notebooks", "The notebooks of this report", columns)
    return styler.set_table_styles([AS_WIDE_AS_THE_PAGE], overwrite=False)


def _remarks(ran: NotebookResult, report: ReportSummary) -> str:
    words = [ran.error] if ran.error else []
    if report.is_older(ran.session):
        words.append("from an earlier session" + (f", preset {ran.preset}" if ran.preset else ""))
    return "".join(f"<br>{html.escape(word)}" for word in words)


def step_table(rows: pd.DataFrame) -> Styler:
    """Return the switches that were tried for a recipe; see `recipe_words.step_rows`."""
    names = {"where": "", "alone": "found alone", "combined": "in combination"}
    table = styled(rows.rename(columns=names), "steps", "Switches in the order in which they were tried")
    return table.set_table_styles([AS_WIDE_AS_THE_PAGE], overwrite=False)


def _link(text: str, target: str | None) -> str:
    shown = html.escape(text)
    return f'<a href="{html.escape(target, quote=True)}">{shown}</a>' if target else shown


def _with_links(rows: Sequence[dict], kind: str, caption: str, columns: Sequence[str]) -> Styler:
    """The cells are HTML already: what came from elsewhere was escaped one by one."""
    return styled(rows, kind, caption, columns=columns).format(escape=None)
