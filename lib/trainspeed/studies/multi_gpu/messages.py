"""What a chart of several devices says, as its title. Decides nothing: efficiency is rated in `efficiency`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trainspeed.core.format import percent
from trainspeed.judge.comparison import Verdict
from trainspeed.show.messages import SAID, all_of
from trainspeed.studies.multi_gpu.efficiency import Rating, efficiency_of, rating_of
from trainspeed.studies.multi_gpu.scaling import WEAK, scaling_of
from trainspeed.studies.multi_gpu.scaling_charts import IDEAL_QUESTION


def efficiency_title(verdicts: Sequence[Verdict]) -> str:
    """Return how near to the ideal several devices are: "Far from ideal at batch 16: 54 % of 2 times".

    What has no interval is counted: the chart has its marks, too. Undecided, it is the question.
    """
    sure = [verdict for verdict in verdicts if verdict.low is not None]
    unsure = sum(verdict.low is None and verdict.speedup is not None for verdict in verdicts)
    others = f"; {unsure} {SAID[None]}" if unsure else ""
    counts = Counter(map(rating_of, sure))
    if not counts - Counter({Rating.OPEN: len(sure)}):
        return IDEAL_QUESTION
    if len(sure) == 1:
        (only,) = sure
        where = f"batch {only.baseline.batch_size}{' on each' * (scaling_of(only) == WEAK)}"
        share = f"{percent(efficiency_of(only))} of {only.candidate.devices} times"
        return f"{rating_of(only).capitalize()} at {where}: {share}{others}"
    if len(counts) == 1:
        alike = f"{len(sure)} comparisons" if unsure else all_of(len(sure))
        return f"{rating_of(sure[0]).capitalize()} in {alike}{others}"
    found = ", ".join(f"{counts[rating]} {rating}" for rating in Rating if counts[rating])
    return f"Efficiency: {found}{others}"
