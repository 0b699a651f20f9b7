"""The front page's tables: every verdict with a link to where it comes from, notebooks, the recipe's steps."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.cells import NOTHING, styled
from trainspeed.comparison import Verdict
from trainspeed.front_page import Ran

MANY_S = 90.0  # longer times are given in minutes


def verdict_table(
    verdicts: Iterable[Verdict], place: Callable[[Verdict], str], *, caption: str = "Every verdict"
) -> Styler:
    """Return a row per verdict: what was compared (a link), size, interval, blocks, outcome.

    Args:
        place: Where a verdict comes from: the target of its link.
    """
    rows = [
        {
            "comparison": _link(verdict.label, place(verdict)),
            "notebook": html.escape(verdict.study),
            "speed-up": _size(verdict),
            "95 % interval": _ends(verdict),
            "blocks": str(verdict.blocks),
            "outcome": html.escape(str(verdict.outcome)),
        }
        for verdict in verdicts
    ]
    columns = ["comparison", "notebook", "speed-up", "95 % interval", "blocks", "outcome"]
    return _with_links(pd.DataFrame(rows, columns=columns), "front", caption)


def _size(verdict: Verdict) -> str:
    if verdict.speedup is None:
        return NOTHING
    return f"{verdict.speedup:.2f}×" if verdict.quantity == "time" else f"{verdict.speedup:+.1f} points"


def _ends(verdict: Verdict) -> str:
    if verdict.low is None:
        return NOTHING
    decimals = 2 if verdict.quantity == "time" else 1
    return f"{verdict.low:.{decimals}f} to {verdict.high:.{decimals}f}"


def notebook_table(notebooks: Sequence[Ran], session: str) -> Styler:
    """Return a row per notebook: its question (a link), how it ended, how long it took.

    Args:
        session: Of this report: what another one left in the folder says so.
    """
    rows = [
        {
            "status": ran.status,
            "question": _link(ran.title, ran.page) + _remarks(ran, session),
            "time": _time(ran.seconds),
        }
        for ran in notebooks
    ]
    table = pd.DataFrame(rows, columns=["status", "question", "time"])
    return _with_links(table, "notebooks", "The notebooks of this report")


def _remarks(ran: Ran, session: str) -> str:
    words = [ran.error] if ran.error else []
    if ran.session and ran.session != session:
        words.append("from an earlier session" + (f", preset {ran.preset}" if ran.preset else ""))
    return "".join(f"<br>{html.escape(word)}" for word in words)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    return f"{seconds:.0f} s" if seconds < MANY_S else f"{seconds / 60:.0f} min"


def step_table(rows: pd.DataFrame) -> Styler:
    """Return the switches that were tried for a recipe; see `recipe_words.step_rows`."""
    names = {"where": "", "alone": "found alone", "combined": "in combination"}
    return styled(rows.rename(columns=names), "steps", "Switches in the order in which they were tried")


def _link(text: str, target: str | None) -> str:
    shown = html.escape(text)
    return f'<a href="{html.escape(target, quote=True)}">{shown}</a>' if target else shown


def _with_links(table: pd.DataFrame, kind: str, caption: str) -> Styler:
    """The cells are HTML already: what came from elsewhere was escaped one by one."""
    return styled(table, kind, caption).format(escape=None)
