"""How many blocks an undecided verdict is likely to take. Pure functions on a verdict's numbers."""

from __future__ import annotations

import math

from trainspeed.judge.equivalence import is_uneven, margin_of
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Judged, Judgement, Outcome

MOST_BLOCKS = 45  # worth asking for: an interval is then a third as wide as that of 5
BLOCKS_APART = 3  # 6, 9, 12, 15 …: with a number between them an interval is hardly narrower


def blocks_to_decide(verdict: Judged | Judgement) -> int | None:
    """Return how many blocks are likely to decide a verdict on time; None for more than is worth it.

    The interval narrows with the square root of the number of blocks: it has to end before the margin's end that is
    nearest to the effect, if that is as large as it looks.
    """
    if verdict.speedup is None or verdict.low is None:
        return MIN_BLOCKS
    size, low, high = map(math.log, (verdict.speedup, verdict.low, verdict.high))
    end = math.log(1 + MARGIN)
    if abs(size) > end:  # faster or slower: the end towards 1 has to clear the margin
        reach, room = (size - low, size - end) if size > 0 else (high - size, -end - size)
    else:
        reach, room = max((high - size, end - size), (size - low, size + end), key=_ratio)
    return _blocks(verdict.blocks, _ratio((reach, room)))


def is_at_edge(verdict: Judged | Judgement) -> bool:
    """Return whether a verdict on time that is undecided is so for the margin alone, and not for noise.

    Its interval has no 1 in it, and ends within twice the margin: whatever is true is hardly a reason to switch.
    """
    if verdict.low is None or verdict.outcome is not Outcome.UNDECIDED:
        return False
    most = 1 + 2 * MARGIN
    return 1 < verdict.low <= verdict.high <= most or 1 / most <= verdict.low <= verdict.high < 1


def blocks_for_margin(accuracy: Judged | Judgement, margin: float | None = None) -> int | None:
    """Return how many blocks are likely to decide whether an accuracy was kept; None for more than is worth it.

    The interval has to end above -margin, or below it where the difference lies there: see `equivalence.equality_of`.
    It narrows as in `blocks_to_decide`, if the difference is as large as it looks; after uneven training, none decide.

    Args:
        accuracy: Difference in points, candidate - baseline, that is undecided.
        margin: What may be lost, in points; None for that by which the judgement was made.
    """
    if accuracy.speedup is None or accuracy.low is None:
        return MIN_BLOCKS
    judgement = accuracy if isinstance(accuracy, Judgement) else accuracy.judgement
    if is_uneven(judgement, margin):
        return None
    room = accuracy.speedup + margin_of(judgement, margin)
    reach = accuracy.speedup - accuracy.low if room > 0 else accuracy.high - accuracy.speedup
    return _blocks(accuracy.blocks, _ratio((reach, abs(room))))


def _blocks(measured: int, times: float) -> int | None:
    """Return the blocks that narrow an interval of so many so many times; None for more than is worth it."""
    if not math.isfinite(times):
        return None
    blocks = math.ceil(measured * max(1.0, times) ** 2 / BLOCKS_APART) * BLOCKS_APART
    blocks = max(blocks, measured + BLOCKS_APART, MIN_BLOCKS)
    return blocks if blocks <= MOST_BLOCKS else None


def _ratio(reach_and_room: tuple[float, float]) -> float:
    reach, room = reach_and_room
    return reach / room if room > 0 else math.inf
