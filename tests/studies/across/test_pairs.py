"""Each side against the first: what is judged, and what is said of it."""

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from sides_data import blocks, common_of
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.across import pairs
from trainspeed.studies.across.pairs import against_first


def pairs_of(**sides):
    return against_first(common_of(**sides))


def test_each_other_side_is_judged_against_the_first():
    found = pairs_of(a=blocks(3.0), b=blocks(1.5), c=blocks(6.0))
    assert {pair.other: pair.outcome for pair in found} == {"b": Outcome.FASTER, "c": Outcome.SLOWER}
    assert found[0].speedup == pytest.approx(2.0, rel=0.01)
    assert found[0].low < found[0].speedup < found[0].high
    assert {pair.first for pair in found} == {"a"}


def test_a_trial_that_the_first_lacks_is_no_pair_and_is_counted():
    others = [*blocks(1.0), *blocks(1.0, batch_size=64)]
    found = common_of(a=blocks(1.0), b=others, c=others)
    assert [pair.other for pair in against_first(found)] == ["b", "c"]
    assert pairs.without_first_sentences(found) == [
        "1 trial that other sides share are not among those of a."
    ]
    assert pairs.without_first_sentences(common_of(a=others, b=others)) == []


def test_sides_may_have_different_numbers_of_blocks():
    (pair,) = pairs_of(a=blocks(1.0, count=9), b=blocks(1.0))
    assert pair.blocks == 6
    assert pair.sentence.endswith("9 blocks on a, 6 on b.")


def test_a_failure_on_one_side_is_a_pair_without_a_verdict():
    oom = [make_run(status=Status.OOM, dataset="digits")]
    (pair,) = pairs_of(a=oom, b=blocks(1.0))
    assert (pair.speedup, pair.low, pair.outcome) == (None, None, Outcome.UNDECIDED)


def test_convolutions_are_compared_by_their_warm_calls():
    trial = make_convolution()
    a, b = ([make_call(trial, seconds, block=block) for block in range(6)] for seconds in (2.0, 0.5))
    (pair,) = pairs_of(a=a, b=b)
    assert (pair.speedup, pair.outcome) == (4.0, Outcome.FASTER)


def test_the_sentence_of_a_pair_says_how_sure_it_is():
    (pair,) = pairs_of(old=blocks(2.0), new=blocks(1.0))
    assert pair.sentence.startswith(
        "new vs old: 2.00x (95 % interval 1.99 to 2.01): faster. layout: PyTorch, cnn10,"
    )


def test_false_verdicts_are_told_beforehand():
    sure, unsure = pairs_of(a=blocks(2.0), b=blocks(1.0)), pairs_of(a=blocks(2.0, count=1), b=blocks(1.0))
    assert pairs.chance_sentences([*sure, *sure, *unsure]) == [
        "2 intervals at 95 % confidence: on average 0.1 of so many miss by the luck of blocks alone; what a whole "
        "session shares comes on top."
    ]
    assert pairs.chance_sentences(unsure) == []


def test_decided_verdicts_come_largest_first_and_undecided_ones_not_at_all():
    a = [*blocks(2.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128, count=1)]
    b = [*blocks(1.0), *blocks(4.0, batch_size=64), *blocks(1.0, batch_size=128)]
    said = pairs.decided_sentences(pairs_of(a=a, b=b))
    assert [sentence[:12] for sentence in said] == ["b vs a: 0.25", "b vs a: 2.00"]


def test_of_very_many_verdicts_the_largest_are_told_and_the_others_counted():
    found = pairs_of(a=blocks(2.0), **{f"b{n}": blocks(1.0) for n in range(pairs.MOST_SENTENCES + 3)})
    said = pairs.decided_sentences(found)
    assert len(said) == pairs.MOST_SENTENCES + 1
    assert said[-1] == "3 more are decided, with smaller differences."


def test_alike_sessions_show_how_far_apart_sessions_are():
    a, b = ([*blocks(x), *blocks(y, batch_size=64)] for x, y in ((2.0, 1.0), (1.0, 4.0)))
    said = pairs.session_sentence(pairs_of(a=a, b=b))
    assert said.endswith("are apart: up to 4.00x, median 3.00x, of 2 comparisons with an interval.")
    assert pairs.session_sentence([]).endswith("are apart.")
