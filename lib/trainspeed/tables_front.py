"""The front page's tables: every verdict with a link to where it comes from, notebooks, the recipe's steps."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.cells import NOTHING, styled
from trainspeed.comparison import Verdict
from trainspeed.front_page import Front, Ran
from trainspeed.naming import name_of
from trainspeed.progress import minutes

EARLIER = "<br>earlier session"
# As wide as the page at most: words break, so that on a phone size and outcome are in sight, and the rest scrolls.
AS_WIDE_AS_THE_PAGE = {"selector": "", "props": "width: auto"}
FITTING = [
    AS_WIDE_AS_THE_PAGE,
    {"selector": ".col0", "props": "min-width: 8.5rem; overflow-wrap: anywhere"},
    {"selector": ".col1, .col3", "props": "white-space: nowrap"},
    {"selector": "th, td", "props": "padding-left: .4rem; padding-right: .4rem"},
]


def verdict_table(verdicts: Iterable[Verdict], front: Front, *, caption: str = "Every verdict") -> Styler:
    """Return a row per verdict: what was compared (a link to where), size, outcome, interval, blocks, notebook."""
    rows = [
        {
            "comparison": _link(name_of(verdict), front.place_of(verdict)),
            "speed-up": _size(verdict),
            "outcome": html.escape(str(verdict.outcome)),
            "95 % interval": _ends(verdict),
            "blocks": f"{verdict.blocks:g}",
            "notebook": html.escape(verdict.study) + (EARLIER if front.is_older(verdict.session) else ""),
        }
        for verdict in verdicts
    ]
    columns = ["comparison", "speed-up", "outcome", "95 % interval", "blocks", "notebook"]
    table = _with_links(pd.DataFrame(rows, columns=columns), "front", caption)
    return table.set_table_styles(FITTING, overwrite=False)


def _size(verdict: Verdict) -> str:
    if verdict.speedup is None:
        return NOTHING
    return f"{_number(verdict, verdict.speedup)}{'×' if verdict.quantity == 'time' else ' points'}"


def _ends(verdict: Verdict) -> str:
    if verdict.low is None:
        return NOTHING
    return f"{_number(verdict, verdict.low)} to {_number(verdict, verdict.high)}"


def _number(verdict: Verdict, value: float) -> str:
    decimals, sign = (2, "") if verdict.quantity == "time" else (1, "+")
    return f"{round(value, decimals) + 0.0:{sign}.{decimals}f}"  # no -0.0


def notebook_table(front: Front) -> Styler:
    """Return a row per notebook: its question (a link), how it ended, how long it took."""
    rows = [
        {
            "status": html.escape(ran.status),
            "question": _link(ran.title, ran.page) + _remarks(ran, front),
            "time": NOTHING if ran.seconds is None else minutes(ran.seconds),
        }
        for ran in front.notebooks
    ]
    table = pd.DataFrame(rows, columns=["status", "question", "time"])
    styler = _with_links(table, "notebooks", "The notebooks of this report")
    return styler.set_table_styles([AS_WIDE_AS_THE_PAGE], overwrite=False)


def _remarks(ran: Ran, front: Front) -> str:
    words = [ran.error] if ran.error else []
    if front.is_older(ran.session):
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


def _with_links(table: pd.DataFrame, kind: str, caption: str) -> Styler:
    """The cells are HTML already: what came from elsewhere was escaped one by one."""
    return styled(table, kind, caption).format(escape=None)
