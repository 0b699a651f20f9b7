"""The same trials of two sides: which are compared, how they are named, and what is said of them."""

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from study_data import make_run
from trainspeed import compare
from trainspeed.errors import UserError
from trainspeed.run import Status
from trainspeed.verdict import Outcome

OLD, NEW = "20250101T000000Z-aaaa", "20260101T000000Z-bbbb"


def blocks(seconds, count=6, **more):
    """Return runs of one trial, a block each, that took nearly the same."""
    return [make_run(seconds * (1 + 0.001 * block), block=block, **more) for block in range(count)]


def rows_of(a, b):
    return compare.compared(a, b)


def only(rows):
    (row,) = rows
    return row


def test_a_trial_of_both_sides_is_a_row_with_the_speed_up_of_b():
    row = only(rows_of(blocks(3.0), blocks(1.5)))
    assert row.speedup == pytest.approx(2.0, rel=0.01)
    assert row.low < row.speedup < row.high
    assert row.outcome == Outcome.FASTER
    assert row.a.median_s == pytest.approx(3.0, rel=0.01)
    assert (row.a.blocks, row.b.blocks, row.blocks) == (6, 6, 6)


def test_sides_may_have_different_numbers_of_blocks():
    row = only(rows_of(blocks(1.0, count=9), blocks(1.0, count=6)))
    assert (row.a.blocks, row.b.blocks, row.blocks) == (9, 6, 6)


def test_another_base_seed_is_still_the_same_trial():
    shifted = [make_run(1.0, block=block, seed=100 + block) for block in range(6)]
    assert only(rows_of(blocks(2.0), shifted)).speedup == pytest.approx(2.0, rel=0.01)


def test_a_control_is_data_of_its_trial_and_its_second_half_is_not():
    a = [*blocks(1.0, label="A"), *blocks(9.0, label="A again"), *blocks(9.0, label="default allocation")]
    row = only(rows_of(a, blocks(1.0)))
    assert row.a.blocks == 6
    assert row.speedup == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("label", ["recipe", "confirmation", "bisected"])
def test_runs_for_another_purpose_are_no_data(label):
    row = only(rows_of([*blocks(1.0), *blocks(7.0, label=label)], blocks(1.0)))
    assert row.a.blocks == 6


def test_of_each_study_the_newest_session_counts():
    a = [
        *blocks(9.0, session=OLD),
        *blocks(1.0, session=NEW),
        *blocks(5.0, session=OLD, study="amp"),
    ]
    b = [*blocks(1.0), *blocks(5.0, study="amp")]
    found = {row.study: row.speedup for row in rows_of(a, b)}
    assert found == pytest.approx({"layout": 1.0, "amp": 1.0}, rel=0.01)


def test_the_same_trial_in_two_studies_is_two_rows():
    both = [*blocks(1.0), *blocks(1.0, study="amp")]
    assert [row.study for row in rows_of(both, both)] == ["amp", "layout"]


def test_a_run_that_was_measured_again_on_resuming_counts_once():
    crashed = make_run(block=0, status=Status.CRASHED)
    row = only(rows_of([crashed, *blocks(1.0)], blocks(1.0)))
    assert (len(row.a.runs), row.a.blocks, row.a.failed) == (6, 6, ())


def test_a_failure_on_one_side_is_a_row_without_a_verdict():
    oom = [make_run(block=0, status=Status.OOM, reason="too large")]
    row = only(rows_of(oom, blocks(1.0)))
    assert (row.speedup, row.low, row.outcome) == (None, None, Outcome.UNDECIDED)
    assert (row.a.median_s, row.a.blocks, row.b.blocks) == (None, 0, 6)
    assert row.a.failed == tuple(oom)


def test_convolutions_are_compared_by_their_warm_calls():
    trial = make_convolution()
    a = [make_call(trial, 2.0, block=block) for block in range(6)]
    b = [make_call(trial, 0.5, block=block) for block in range(6)]
    row = only(rows_of(a, b))
    assert (row.speedup, row.outcome) == (4.0, Outcome.FASTER)
    assert row.a.test_accuracy is None


def test_memory_and_accuracy_are_medians_of_the_blocks_that_have_them():
    a = blocks(1.0, count=2)
    a.append(make_run(1.0, block=2, peak_memory_bytes=300, test_accuracy=0.5))
    a.append(make_run(1.0, block=3, peak_memory_bytes=100, test_accuracy=None))
    arm = only(rows_of(a, a)).a
    assert (arm.peak_memory_bytes, arm.test_accuracy) == (200, 0.5)


# How trials are named.


def test_a_label_is_what_tells_a_trial_from_the_others_of_its_study():
    runs = [*blocks(1.0, batch_size=16), *blocks(1.0, batch_size=32)]
    rows = rows_of(runs, runs)
    assert [row.label for row in rows] == ["batch 16", "batch 32"], "numbers in their order"
    assert compare.shared_words(rows) == "PyTorch, cnn10, channels_first, 16 px, fp32, not compiled"
    assert rows[0].where == "PyTorch, cnn10, channels_first, batch 16, 16 px, fp32, not compiled"


def test_numbers_are_sorted_as_numbers():
    runs = [*blocks(1.0, batch_size=128), *blocks(1.0, batch_size=64)]
    assert [row.label for row in rows_of(runs, runs)] == ["batch 64", "batch 128"]


def test_trials_that_are_described_alike_are_told_apart_by_their_fields():
    runs = [*blocks(1.0, epochs=4), *blocks(1.0, epochs=5)]
    assert [row.label for row in rows_of(runs, runs)] == ["epochs 4", "epochs 5"]


def test_a_single_trial_is_named_in_full():
    row = only(rows_of(blocks(1.0), blocks(1.0)))
    assert row.label == row.where
    assert compare.shared_words([row]) == ""


# What is said.


def test_the_sentence_of_a_row_says_how_sure_and_of_how_many_blocks():
    sentence = only(rows_of(blocks(2.0, count=9), blocks(1.0))).sentence
    assert sentence.startswith("B vs A: 2.00x (95 % interval 2.00 to 2.01): faster. layout: PyTorch, cnn10,")
    assert sentence.endswith("9 blocks on A, 6 on B.")


def test_verdicts_are_counted_study_by_study():
    a = [*blocks(2.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128, count=1)]
    a.append(make_run(batch_size=16, status=Status.TIMEOUT))
    b = [*blocks(1.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128), *blocks(1.0, batch_size=16)]
    said = compare.count_sentences(rows_of(a, b))
    assert said == [
        "layout: 4 trials on both sides: 1 faster on B, 1 the same within the margin, 1 undecided, 1 without "
        "a result on a side. Speed-up of B over A: 1.00x to 2.00x, median 1.00x.",
        "2 intervals at 95 % confidence: on average 0.1 of so many miss by the luck of blocks alone; what a "
        "whole session shares comes on top.",
    ]


def test_decided_verdicts_come_largest_first_and_undecided_ones_not_at_all():
    a = [*blocks(2.0), *blocks(1.0, batch_size=64), *blocks(1.0, batch_size=128, count=1)]
    b = [*blocks(1.0), *blocks(4.0, batch_size=64), *blocks(1.0, batch_size=128)]
    said = compare.decided_sentences(rows_of(a, b))
    assert [sentence[:12] for sentence in said] == ["B vs A: 0.25", "B vs A: 2.00"]


def test_alike_sessions_show_how_far_apart_two_sessions_are():
    rows = rows_of([*blocks(2.0), *blocks(1.0, batch_size=64)], [*blocks(1.0), *blocks(4.0, batch_size=64)])
    said = compare.session_sentence(rows)
    assert said.endswith("are apart: up to 4.00x, median 3.00x, of 2 trials with an interval.")
    assert compare.session_sentence([]).endswith("are apart.")


def test_trials_of_one_side_are_counted_with_what_keeps_them_apart():
    a = [*blocks(1.0), *blocks(1.0, dataset="digits"), *blocks(1.0, study="amp")]
    b = [*blocks(1.0), *blocks(1.0, dataset="cifar10"), *blocks(1.0, dataset="cifar10", batch_size=64)]
    assert compare.unmatched(a, b) == [
        "layout: 1 trial only in A, 2 trials only in B; dataset digits in A, cifar10 in B.",
        "amp: 1 trial only in A.",
    ]
    assert compare.unmatched(a, a) == []


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
        rows_of(blocks(1.0), b)
    assert str(problem.value) == message
