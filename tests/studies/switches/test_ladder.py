"""The ladder of batch sizes on the page, and what validation costs."""

from study_data import make_run
from trainspeed.core.run import Role, Status
from trainspeed.judge.phase_shares import phase_shares
from trainspeed.studies.switches.ladder import ladder_sentences, ladder_table, ladders
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


def test_what_validation_costs_has_its_interval():
    runs = [make_run(s, block=b, part=part) for part, s in (("both", 1.0), ("fit", 1.25)) for b in range(6)]

    assert validation_sentences(phase_shares(runs)) == [
        "PyTorch, cnn10: with validation and a checkpoint in each epoch, these take 20 % of the time (95 % "
        "interval 20 % to 20 %); in every 5th epoch 5 %."
    ]
