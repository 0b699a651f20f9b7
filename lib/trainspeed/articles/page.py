"""What stands beside the articles on a page: what is of this machine, and folded below it what is theirs alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from pandas.io.formats.style import Styler

from trainspeed.articles.claims import ClaimAnswer, Result
from trainspeed.articles.ratios import has_ours
from trainspeed.articles.sources import articles_sentence
from trainspeed.articles.views import claims_table, unmeasured_table
from trainspeed.core.format import counted
from trainspeed.core.guard import guarded
from trainspeed.show import notebook
from trainspeed.show.theme import show

NO_STATEMENT = "No statement of the articles is about what was measured here."
NO_NUMBER = "Nothing here can be compared with the articles' numbers."
THEIRS_ALONE = "numbers of the article alone, not comparable here"


def show_claims(answers: Sequence[ClaimAnswer]) -> None:
    """Show the statements that something was measured about here as a table, the others folded, and whose they are."""
    told = [answer for answer in answers if answer.result is not Result.UNMEASURED]
    untold = [answer for answer in answers if answer.result is Result.UNMEASURED]
    if not answers:
        notebook.show_sentences([], otherwise=NO_STATEMENT)
    if told:
        with guarded():
            notebook.show_table(claims_table(told))
    if untold:
        name = f"Not measured here: {counted(len(untold), 'statement')}"
        with guarded():
            notebook.show_folded(name, unmeasured_table(untold))
    if said := articles_sentence({answer.claim.source for answer in answers}):
        notebook.show_sentences([said])


def show_numbers(
    data: pd.DataFrame,
    plot: Callable[[pd.DataFrame], Axes],
    table: Callable[[pd.DataFrame], Styler],
    *,
    name: str,
    alt: str,
    with_table: bool = True,
) -> None:
    """Show this machine's numbers beside the article's as a chart and a table; the article's alone as a folded table.

    Args:
        data: A frame of `ratios`.
        plot, table: The chart and the table of the frame.
        name: What the numbers are, of which a folded table says that they are the article's alone.
        alt: What the chart shows, for readers who cannot see it.
        with_table: Whether the table stands below the chart, too.
    """
    if data.empty:
        notebook.show_sentences([], otherwise=NO_NUMBER)
    elif not has_ours(data):
        notebook.show_folded(f"{name}: {THEIRS_ALONE}", table(data))
    else:
        with guarded():
            show(plot(data), alt=alt)
        notebook.show_table(table(data) if with_table else None)
