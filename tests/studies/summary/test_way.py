"""The front page's way from plain to best: its bars, from verdicts alone."""

from dataclasses import replace

import pytest

from front_data import report_of, runs_of, verdicts_of
from search_findings import whole
from study_data import make_run
from trainspeed.judge.verdict import Outcome
from trainspeed.show.waterfall import QUESTION, TOTAL
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.way import single_gains, waterfall_rows, waterfall_title
from trainspeed.studies.switches.views import switch_verdicts

KEPT = tuple(switch_verdicts([whole()], [make_run(study="switches")]))


def undecided(verdicts):
    """Return the verdicts with all that was kept, together, undecided."""
    return [
        replace(v, judgement=replace(v.judgement, outcome=Outcome.UNDECIDED)) if v.factor == "recipe" else v
        for v in verdicts
    ]


def test_the_bars_lead_from_plain_to_the_total_the_largest_step_first():
    rows = waterfall_rows(report_of(*KEPT))

    assert list(rows["step"]) == ["+ channels_last", "+ bf16", "+ the rest, and together", "all together"]
    assert list(rows["before"]) == pytest.approx([1, 1.35, 1.62, 1], rel=0.01)
    assert list(rows["after"]) == pytest.approx([1.35, 1.62, 1.7, 1.7], rel=0.01)
    known = rows[rows["low"].notna()]
    assert list(known["step"]) == ["+ channels_last", "+ bf16", "all together"]
    assert ((known["low"] <= known["after"]) & (known["after"] <= known["high"])).all()
    assert set(rows["where"]) == {"PyTorch, cnn10"}


def test_its_title_says_how_many_times_as_fast():
    assert waterfall_title(report_of(*KEPT)) == "1.70 times as fast with 3 switches"


def test_the_title_of_two_searches_says_what_each_kept():
    """One that kept a single switch did not have all of them together."""
    (best,) = (v for v in KEPT if v.factor == "recipe" and v.quantity == "time")
    baseline = replace(best.baseline, framework="tensorflow", layout="channels_last")
    one = replace(best, baseline=baseline, candidate=replace(baseline, precision="bf16"))

    assert waterfall_title(report_of(*KEPT, one)) == (
        "What was kept: 1.70 times as fast in PyTorch, cnn10 (3 switches) and 1.70 times as fast in TensorFlow, cnn10 "
        "(bf16)"
    )


@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        undecided(KEPT),
        [v for v in KEPT if v.factor != "recipe"],
    ],
    ids=["nothing", "undecided", "no search"],
)
def test_without_something_kept_there_is_no_way(verdicts):
    report = report_of(*verdicts)

    assert waterfall_rows(report).empty and waterfall_title(report) == QUESTION


def test_where_no_switch_was_left_out_by_itself_the_total_is_drawn_without_a_rest():
    whole = [v for v in KEPT if v.factor == "recipe"]
    (total,) = waterfall_rows(report_of(*whole)).to_dict("records")

    assert (total["where"], total["step"], total["kind"]) == ("PyTorch, cnn10", "all together", TOTAL)
    assert (total["before"], total["after"]) == (1, pytest.approx(1.7, rel=0.01))
    single = [replace(v, candidate=replace(v.baseline, precision="bf16")) for v in whole]
    assert list(waterfall_rows(report_of(*single))["step"]) == ["+ bf16"], "one switch has a name"
    other = [
        replace(v, **{side: in_keras(getattr(v, side)) for side in ("baseline", "candidate")}) for v in whole
    ]
    rows = waterfall_rows(report_of(*whole, *other))
    assert list(rows["step"]) == ["PyTorch, cnn10", "TensorFlow, cnn10"] and set(rows["kind"]) == {TOTAL}
    assert len(set(rows["where"])) == 1, "they share a panel"


def in_keras(trial):
    return replace(trial, framework="tensorflow", levers=())


def test_without_a_search_the_gain_of_the_headline_is_drawn_as_fresh_blocks_have_it():
    first, again = (verdicts_of(runs_of("layout", ratio))[0] for ratio in (1.5, 1.3))

    assert single_gains(report_of(first)) == [first]
    assert single_gains(report_of(first), [Confirmed(first=first, again=again)]) == [again]
    assert single_gains(report_of(first, *KEPT)) == single_gains(report_of()) == []


def test_what_overlaps_goes_back():
    less = [
        replace(v, judgement=replace(v.judgement, speedup=1.5, low=1.45, high=1.55))
        if v.factor == "recipe"
        else v
        for v in KEPT
    ]
    row = waterfall_rows(report_of(*less)).iloc[-2]

    assert row["step"] == "less: overlap" and row["after"] < row["before"]
