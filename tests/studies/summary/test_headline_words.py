"""What the front page's first sentence says of a gain alone, and where no run gave a result."""

from dataclasses import replace

from front_data import report_of, runs_of, verdicts_of
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.headline import headline


def test_where_no_run_gave_a_result_the_headline_is_why():
    broken = make_run(status=Status.CRASHED, reason="train.py:build raised KeyError")
    (said,) = headline(report_of(runs=(broken,)))
    assert said == "Nothing was measured: 1 of 1 run gave no result: crashed: train.py:build raised KeyError."


def test_a_precision_alone_comes_with_what_is_known_of_its_accuracy():
    first = verdicts_of(runs_of("layout", 1.5))[0]
    first = replace(first, factor="precision", candidate=replace(first.baseline, precision="bf16"))
    again = [Confirmed(first=first, again=first)]

    assert headline(report_of(first), again)[0].endswith("confirmed in fresh blocks; accuracy not compared.")
