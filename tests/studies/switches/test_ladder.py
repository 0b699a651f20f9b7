"""The ladder of batch sizes on the page, and what validation costs."""

from dataclasses import replace

from study_data import make_run
from trainspeed.core.run import Role, Status
from trainspeed.studies.switches.ladder import (
    equal_accuracy_sentences,
    ladder_sentences,
    ladder_table,
    ladders,
)
from trainspeed.studies.switches.text import validation_sentences


def rungs(*seconds, blocks=6, label=Role.LADDER):
    return [
        make_run(
            s * (1 + block / 1000), block=block, batch_size=16 * 2**n, images_per_epoch=1024, label=label
        )
        for n, s in enumerate(seconds)
        for block in range(blocks)
    ]


def test_it_says_up_to_which_batch_throughput_grows():
    assert ladder_sentences(ladders(rungs(1.0, 0.6, 0.59))) == [
        "PyTorch, cnn10: throughput grows up to batch 32; the next one gains less than 5 %."
    ]
    assert ladder_sentences(ladders(rungs(1.0, 0.6))) == [
        "PyTorch, cnn10: it grows up to batch 32 at least; none of these ends it: try larger ones."
    ]


def test_one_block_decides_nothing():
    (sentence,) = ladder_sentences(ladders(rungs(1.0, 0.6, blocks=1)))
    assert "undecided: measure more `batch_blocks`" in sentence


def test_runs_for_something_else_are_no_rungs():
    assert ladders(rungs(1.0, 0.6, label=Role.DATA)) == [] and ladder_table([]) is None


def test_each_batch_size_is_a_row_with_what_became_of_it():
    failed = make_run(status=Status.OOM, batch_size=64, images_per_epoch=1024, label=Role.LADDER)
    table = ladder_table(ladders([*rungs(1.0, 0.5), failed])).data

    assert list(table["batch"]) == ["16", "32", "64"]
    assert list(table["over the one below"])[1] == "2.00x" and list(table["ended"]) == ["ok", "ok", "oom"]


def with_accuracy(accuracies):
    """Runs of batch 16 and 32, of which the larger is twice as fast, with the accuracies that they ended with."""
    runs = rungs(1.0, 0.5)
    return [
        replace(run, test_accuracy=accuracies[run.trial.batch_size == 32] + run.block / 1e4) for run in runs
    ]


def test_a_larger_batch_that_is_as_accurate_after_as_many_epochs_has_its_speed_up_in_time_to_accuracy():
    (sentence,) = equal_accuracy_sentences(with_accuracy((0.8, 0.801)), 0.5)
    assert sentence == (
        "PyTorch, cnn10, batch 32 against 16: 2.00x, interval 2.00 to 2.00 in time to equal accuracy, which it has "
        "after as many epochs (+0.1 points, interval +0.1 to +0.1)."
    )


def test_a_larger_batch_that_learned_less_has_no_gain_yet():
    (sentence,) = equal_accuracy_sentences(with_accuracy((0.8, 0.7)), 0.5)
    assert "it needs more of them, and the 2.00x of an epoch is no gain yet" in sentence


def test_of_a_batch_that_learned_nothing_or_trained_otherwise_the_time_to_accuracy_is_not_known():
    unknown = [
        "PyTorch, cnn10: the time to equal accuracy is not known: that takes 6 blocks in which batch 16 has learned "
        "something, and both have trained as many epochs."
    ]
    longer = [
        replace(run, epoch_s=(*run.epoch_s, 0.5)) if run.trial.batch_size == 32 else run
        for run in with_accuracy((0.8, 0.8))
    ]
    assert equal_accuracy_sentences(with_accuracy((0.1, 0.1)), 0.5) == unknown
    assert equal_accuracy_sentences(rungs(1.0, 0.6, 0.5), 0.5) == unknown
    (other,) = equal_accuracy_sentences(longer, 0.5)
    assert "time to equal accuracy is not known" in other


def test_what_validation_costs_has_its_interval():
    runs = [make_run(s, block=b, part=part) for part, s in (("both", 1.0), ("fit", 1.25)) for b in range(6)]

    assert validation_sentences(runs) == [
        "PyTorch, cnn10: with validation and a checkpoint in each epoch, these take 20 % of the time (95 % "
        "interval 20 % to 20 %); in every 5th epoch 5 %."
    ]
