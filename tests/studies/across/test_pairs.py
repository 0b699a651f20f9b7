"""The same trials of two sides: which are compared, how they are named, and what is said of them."""

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.across import pairs
from trainspeed.studies.across.pairs import failed, median_of, side_by_side, timed

OLD, NEW = "20250101T000000Z-aaaa", "20260101T000000Z-bbbb"


def blocks(seconds, count=6, **more):
    """Return runs of one trial, a block each, that took nearly the same."""
    return [make_run(seconds * (1 + 0.001 * block), block=block, **more) for block in range(count)]


def pairs_of(a, b):
    return side_by_side(a, b).pairs


def only(found):
    (pair,) = found
    return pair


def test_a_trial_of_both_sides_is_a_row_with_the_speed_up_of_b():
    pair = only(pairs_of(blocks(3.0), blocks(1.5)))
    assert pair.speedup == pytest.approx(2.0, rel=0.01)
    assert pair.low < pair.speedup < pair.high
    assert pair.outcome == Outcome.FASTER
    assert median_of(pair.a, "median_s") == pytest.approx(3.0, rel=0.01)
    assert (len(timed(pair.a)), len(timed(pair.b)), pair.blocks) == (6, 6, 6)


def test_checks_of_the_instrument_are_not_compared():
    probe = Run(session=OLD, study="check", trial=Probe(framework="torch", name="epoch"), block=0)
    assert len(pairs_of([probe, *blocks(3.0)], [probe, *blocks(1.5)])) == 1


def test_sides_may_have_different_numbers_of_blocks():
    pair = only(pairs_of(blocks(1.0, count=9), blocks(1.0, count=6)))
    assert (len(timed(pair.a)), len(timed(pair.b)), pair.blocks) == (9, 6, 6)


def test_another_base_seed_is_still_the_same_trial():
    shifted = [make_run(1.0, block=block, seed=100 + block) for block in range(6)]
    assert only(pairs_of(blocks(2.0), shifted)).speedup == pytest.approx(2.0, rel=0.01)


def test_a_control_is_data_of_its_trial_and_its_second_half_is_not():
    a = [*blocks(1.0, label="A"), *blocks(9.0, label="A again"), *blocks(9.0, label="default allocation")]
    pair = only(pairs_of(a, blocks(1.0)))
    assert len(timed(pair.a)) == 6
    assert pair.speedup == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("label", ["recipe", "confirmation", "A again"])
def test_runs_for_another_purpose_are_no_data(label):
    pair = only(pairs_of([*blocks(1.0), *blocks(7.0, label=label)], blocks(1.0)))
    assert len(timed(pair.a)) == 6


def test_of_each_study_the_newest_session_counts():
    a = [
        *blocks(9.0, session=OLD),
        *blocks(1.0, session=NEW),
        *blocks(5.0, session=OLD, study="amp"),
    ]
    b = [*blocks(1.0), *blocks(5.0, study="amp")]
    found = {pair.study: pair.speedup for pair in pairs_of(a, b)}
    assert found == pytest.approx({"layout": 1.0, "amp": 1.0}, rel=0.01)


def test_the_same_trial_in_two_studies_is_two_rows():
    both = [*blocks(1.0), *blocks(1.0, study="amp")]
    assert [pair.study for pair in pairs_of(both, both)] == ["amp", "layout"]


def test_a_run_that_was_measured_again_on_resuming_counts_once():
    crashed = make_run(block=0, status=Status.CRASHED)
    pair = only(pairs_of([crashed, *blocks(1.0)], blocks(1.0)))
    assert (len(pair.a), len(timed(pair.a)), failed(pair.a)) == (6, 6, [])


def test_a_failure_on_one_side_is_a_row_without_a_verdict():
    oom = [make_run(block=0, status=Status.OOM, reason="too large")]
    pair = only(pairs_of(oom, blocks(1.0)))
    assert (pair.speedup, pair.low, pair.outcome) == (None, None, Outcome.UNDECIDED)
    assert (median_of(pair.a, "median_s"), len(timed(pair.a)), len(timed(pair.b))) == (None, 0, 6)
    assert failed(pair.a) == oom


def test_convolutions_are_compared_by_their_warm_calls():
    trial = make_convolution()
    a = [make_call(trial, 2.0, block=block) for block in range(6)]
    b = [make_call(trial, 0.5, block=block) for block in range(6)]
    pair = only(pairs_of(a, b))
    assert (pair.speedup, pair.outcome) == (4.0, Outcome.FASTER)
    assert median_of(pair.a, "test_accuracy") is None


def test_memory_and_accuracy_are_medians_of_the_blocks_that_have_them():
    a = blocks(1.0, count=2)
    a.append(make_run(1.0, block=2, peak_memory_bytes=300, test_accuracy=0.5))
    a.append(make_run(1.0, block=3, peak_memory_bytes=100, test_accuracy=None))
    arm = only(pairs_of(a, a)).a
    assert (median_of(arm, "peak_memory_bytes"), median_of(arm, "test_accuracy")) == (200, 0.5)


# How trials are named.


def test_a_label_is_what_tells_a_trial_from_the_others_of_its_study():
    runs = [*blocks(1.0, batch_size=16), *blocks(1.0, batch_size=32)]
    found = pairs_of(runs, runs)
    assert [pair.label for pair in found] == ["batch 16", "batch 32"], "numbers in their order"
    assert pairs.shared_sentences("layout", found) == [
        "All trials of layout: PyTorch, cnn10, channels_first, 16 px, default precision, not compiled."
    ]
    assert (
        ", ".join(found[0].description)
        == "PyTorch, cnn10, channels_first, batch 16, 16 px, default precision, not compiled"
    )


def test_numbers_are_sorted_as_numbers():
    runs = [*blocks(1.0, batch_size=128), *blocks(1.0, batch_size=64)]
    assert [pair.label for pair in pairs_of(runs, runs)] == ["batch 64", "batch 128"]


def test_trials_that_are_described_alike_are_told_apart_by_their_fields():
    runs = [*blocks(1.0, epochs=4), *blocks(1.0, epochs=5)]
    assert [pair.label for pair in pairs_of(runs, runs)] == ["epochs 4", "epochs 5"]


def test_a_single_trial_is_named_in_full():
    pair = only(pairs_of(blocks(1.0), blocks(1.0)))
    assert pair.label == ", ".join(pair.description)
    assert pairs.shared_sentences("layout", [pair]) == []


# What is said.


def test_the_sentence_of_a_row_says_how_sure_and_of_how_many_blocks():
    sentence = only(pairs_of(blocks(2.0, count=9), blocks(1.0))).sentence
    assert sentence.startswith("B vs A: 2.00x (95 % interval 2.00 to 2.01): faster. layout: PyTorch, cnn10,")
    assert sentence.endswith("9 blocks on A, 6 on B.")


def test_verdicts_are_counted_study_by_study():
    a = [*blocks(2.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128, count=1)]
    a.append(make_run(batch_size=16, status=Status.TIMEOUT))
    b = [*blocks(1.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128), *blocks(1.0, batch_size=16)]
    said = pairs.count_sentences(side_by_side(a, b))
    assert said == [
        "layout: 4 trials on both sides: 1 faster on B, 1 the same within the margin, 1 undecided, 1 without "
        "a result on a side. Speed-up of B over A: 1.00x to 2.00x, median 1.00x.",
        "2 intervals at 95 % confidence: on average 0.1 of so many miss by the luck of blocks alone; what a "
        "whole session shares comes on top.",
    ]


def test_decided_verdicts_come_largest_first_and_undecided_ones_not_at_all():
    a = [*blocks(2.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128, count=1)]
    b = [*blocks(1.0), *blocks(4.0, batch_size=64), *blocks(1.0, batch_size=128)]
    said = pairs.decided_sentences(pairs_of(a, b))
    assert [sentence[:12] for sentence in said] == ["B vs A: 0.25", "B vs A: 2.00"]


def test_alike_sessions_show_how_far_apart_two_sessions_are():
    found = pairs_of([*blocks(2.0), *blocks(1.0, batch_size=64)], [*blocks(1.0), *blocks(4.0, batch_size=64)])
    said = pairs.session_sentence(found)
    assert said.endswith("are apart: up to 4.00x, median 3.00x, of 2 trials with an interval.")
    assert pairs.session_sentence([]).endswith("are apart.")


def test_trials_of_one_side_are_counted_with_what_keeps_them_apart():
    a = [*blocks(1.0), *blocks(1.0, dataset="digits"), *blocks(1.0, study="amp")]
    b = [*blocks(1.0), *blocks(1.0, dataset="cifar10"), *blocks(1.0, dataset="cifar10", batch_size=64)]
    assert pairs.unmatched_sentences(side_by_side(a, b)) == [
        "layout: 1 trial only in A, 2 trials only in B; dataset digits in A, cifar10 in B.",
        "amp: 1 trial only in A.",
    ]
    assert pairs.unmatched_sentences(side_by_side(a, a)) == []


@pytest.mark.parametrize(
    ("b", "message"),
    [
        (
            blocks(1.0, images_per_epoch=2048, batch_size=64),
            "A and B have no common trials: A has layout (1 trial), B has layout (1 trial); batch_size 32 in A, "
            "64 in B; images_per_epoch 128 in A, 2048 in B. Measure one with the parameters of the other.",
        ),
        (
            blocks(1.0, study="amp"),
            "A and B have no common trials: A has layout (1 trial), B has amp (1 trial). Measure one with the "
            "parameters of the other.",
        ),
        (
            blocks(1.0, label="recipe"),
            "A and B have no common trials: A has layout (1 trial), B has none at all. Measure one with the "
            "parameters of the other.",
        ),
    ],
)
def test_without_common_trials_the_message_says_what_each_side_has(b, message):
    with pytest.raises(UserError) as problem:
        pairs_of(blocks(1.0), b)
    assert str(problem.value) == message
