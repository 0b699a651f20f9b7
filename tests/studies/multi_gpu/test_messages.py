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
FEW = make_verdict(1.5, blocks=2)
WEAK_FAR = replace(FAR, baseline=replace(FAR.baseline, batch_size=FAR.candidate.batch_size // 2))


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([FAR], "Far from ideal at batch 64: 55 % of 2 times"),
        ([NEAR], "Near ideal at batch 64: 98 % of 2 times"),
        ([FAR, FEW, FEW], "Far from ideal at batch 64: 55 % of 2 times; 2 without an interval"),
        ([WEAK_FAR], "Far from ideal at batch 32 on each: 55 % of 2 times"),
        ([FAR, FAR, FEW], "Far from ideal in 2 comparisons; 1 without an interval"),
        ([FAR, FAR], "Far from ideal in both comparisons"),
        ([FAR] * 3, "Far from ideal in all 3 comparisons"),
        ([FAR, OPEN, NEAR, FAR], "Efficiency: 1 near ideal, 2 far from ideal, 1 not decided how near"),
        ([OPEN], IDEAL_QUESTION),
        ([FEW], IDEAL_QUESTION),
        ([], IDEAL_QUESTION),
    ],
    ids=[
        "far",
        "near",
        "beside few blocks",
        "weak",
        "alike beside few blocks",
        "alike",
        "all alike",
        "mixed",
        "open",
        "few blocks",
        "nothing",
    ],
)
def test_its_title_says_how_near_to_the_ideal_or_asks(verdicts, said):
    assert efficiency_title(verdicts) == said
