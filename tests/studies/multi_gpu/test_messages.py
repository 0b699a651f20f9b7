"""What the chart of efficiency says, from verdicts."""

from dataclasses import replace

import pytest

from scaling_data import make_verdict
from trainspeed.studies.multi_gpu.messages import efficiency_title
from trainspeed.studies.multi_gpu.scaling_charts import IDEAL_QUESTION


def verdict(ratio, low=None, high=None):
    made = make_verdict(ratio)
    ends = {"low": low or ratio * 0.99, "high": high or ratio * 1.01}
    return replace(made, judgement=replace(made.judgement, speedup=ratio, **ends))


NEAR, FAR, OPEN = verdict(1.95), verdict(1.1), verdict(1.8, 1.6, 1.9)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([FAR], "Far from ideal: 55 % of 2 times"),
        ([NEAR], "Near ideal: 98 % of 2 times"),
        ([FAR, FAR], "Far from ideal in both comparisons"),
        ([FAR] * 3, "Far from ideal in all 3 comparisons"),
        ([FAR, OPEN, NEAR, FAR], "Efficiency: 1 near ideal, 2 far from ideal, 1 not decided how near"),
        ([OPEN], IDEAL_QUESTION),
        ([make_verdict(1.5, blocks=2)], IDEAL_QUESTION),
        ([], IDEAL_QUESTION),
    ],
    ids=["far", "near", "alike", "all alike", "mixed", "open", "few blocks", "nothing"],
)
def test_its_title_says_how_near_to_the_ideal_or_asks(verdicts, said):
    assert efficiency_title(verdicts) == said
