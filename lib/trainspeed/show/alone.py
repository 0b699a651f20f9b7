"""What stands beside the advice on one setting: where it holds, and which page measures settings together."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.asked import read_asked
from trainspeed.core.markdown import escape
from trainspeed.core.runs import Measured
from trainspeed.judge.answer import shared_words
from trainspeed.judge.comparison import Verdict

TOGETHER = "switches"  # the notebook that measures settings together


def alone_texts(measured: Measured, verdicts: Sequence[Verdict]) -> list[str]:
    """Return as Markdown in which setting the advice of a study holds, and what it does not say; none of no verdict."""
    if not verdicts:
        return []
    setting = escape(", ".join(shared_words(verdicts)))
    held = f" (held equal: {setting})" if setting else ""
    if measured.by_hand:
        together = f"The notebook `{TOGETHER}` measures settings together"
    elif _is_in_report(measured):
        together = f"[{TOGETHER}]({TOGETHER}.html) measures settings together"
    else:
        together = f"Settings together were not measured in this report: the notebook `{TOGETHER}` does that"
    return [
        f"All of this is of one setting changed by itself{held}. With another one changed as well, or for another "
        f"model, it may be different. {together}."
    ]


def _is_in_report(measured: Measured) -> bool:
    """Whether a report into this folder was asked for the page, which may come later than this one."""
    return any(TOGETHER in session.notebooks for session in read_asked(measured.folder))
