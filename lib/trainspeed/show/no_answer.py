"""What a page says in place of an answer: that nothing is decided, and why nothing has a result. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from trainspeed.core.format import one_line
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.no_result import failures_in_short, has_result
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import MIN_BLOCKS

MOST_REASONS = 2
NOTHING = f"Nothing is decided: no comparison has {MIN_BLOCKS} blocks or more."


def nothing_measured(runs: Sequence[Run]) -> Marked | None:
    """Return that no run gave a result, and why most of them did not; None where one did, or there is none."""
    return (
        None
        if has_result(runs)
        else Marked(f"Nothing was measured: {escape(failures_in_short(runs) or '')}.")
    )


def nothing_decided(measured: Measured | None, verdicts: Sequence[Verdict] = ()) -> list[Marked]:
    """Return that nothing is decided, and why, as far as runs without a result are the reason.

    Where nothing could be compared, more blocks would decide nothing, and are not asked for.

    Args:
        verdicts: What was compared, if anything.
        measured: All of the study; None where there is none.
    """
    runs = () if measured is None else measured.runs
    if nothing := nothing_measured(runs):
        return [nothing]
    lack, failed = lack_of(runs), failures_in_short(runs)
    compared = failed or not lack or any(not verdict.is_control for verdict in verdicts)
    why = [*[f"{failed}."] * bool(failed), *[lack] * bool(lack)]
    return [*[Marked(NOTHING)] * bool(compared), *(Marked(escape(one)) for one in why)]


def lack_of(runs: Iterable[Run], *, brief: bool = False) -> str:
    """Return what cannot be had here, of what was to be compared, by the reasons of most of these runs; "" for none.

    Args:
        brief: Whether what stands in brackets is left out.
    """
    missing = Counter(run.reason for run in runs if run.status is Status.UNSUPPORTED and run.reason)
    reasons = [one_line(reason) for reason, _ in missing.most_common(MOST_REASONS)]
    if brief:
        reasons = _as_one([reason.partition(" (")[0] for reason in reasons])
    return f"Not to be had here: {'; '.join(reasons)}." if reasons else ""


def _as_one(reasons: Sequence[str]) -> list[str]:
    """Return two reasons that differ in one word as one: "this CPU has no bf16 or fp16 arithmetic"."""
    words = [reason.split() for reason in reasons]
    if len(words) != 2 or len(words[0]) != len(words[1]):
        return [*reasons]
    pairs = [*zip(*words, strict=True)]
    if sum(one != other for one, other in pairs) != 1:
        return [*reasons]
    return [" ".join(one if one == other else f"{one} or {other}" for one, other in pairs)]
