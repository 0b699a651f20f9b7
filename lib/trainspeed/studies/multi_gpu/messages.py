"""What a chart of several devices says, as its title. Decides nothing: efficiency is rated in `efficiency`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trainspeed.core.format import percent
from trainspeed.judge.comparison import Verdict
from trainspeed.show.messages import all_of
from trainspeed.studies.multi_gpu.efficiency import Rating, efficiency_of, rating_of
from trainspeed.studies.multi_gpu.scaling_charts import IDEAL_QUESTION


def efficiency_title(verdicts: Sequence[Verdict]) -> str:
    """Return how near to the ideal several devices are: "Far from ideal: 54 % of 2 times"; undecided, the question."""
    sure = [verdict for verdict in verdicts if verdict.low is not None]
    counts = Counter(map(rating_of, sure))
    if not counts - Counter({Rating.OPEN: len(sure)}):
        return IDEAL_QUESTION
    if len(sure) == 1:
        share = percent(efficiency_of(sure[0]))
        return f"{rating_of(sure[0]).capitalize()}: {share} of {sure[0].candidate.devices} times"
    if len(counts) == 1:
        return f"{rating_of(sure[0]).capitalize()} in {all_of(len(sure))}"
    return "Efficiency: " + ", ".join(f"{counts[rating]} {rating}" for rating in Rating if counts[rating])
