"""Which side does a job best: exact times and prices."""

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from sides_data import blocks, common_of, jobs_of
from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.across.jobs import best_first
from trainspeed.studies.across.ranking import Aim


def job_of(sides, **usd_per_hour):
    (job,) = jobs_of(sides, **usd_per_hour)
    return job


def test_the_fastest_has_the_most_images_per_second():
    job = job_of({"a": blocks(1.0, step=0), "b": blocks(0.5, step=0)})
    assert [entry.side for entry in job.fastest.entries] == ["b", "a"]
    assert [entry.images for entry in job.fastest.entries] == [256.0, 128.0]
    assert (job.fastest.best, job.fastest.reference, job.cheapest) == (["b"], "a", None)
    assert job.label == "cnn10 on digits, 16 px, 128 images an epoch"


def test_a_price_can_turn_the_fastest_into_the_dearest():
    sides = {"a": blocks(1.0), "b": blocks(0.5)}
    alike, dear = job_of(sides, a=3.6, b=3.6), job_of(sides, a=3.6, b=36.0)
    assert (alike.cheapest.best, dear.cheapest.best) == (["b"], ["a"])
    assert dear.fastest.best == ["b"]
    assert dear.cheapest.of("a").images == pytest.approx(128_000, rel=0.01), (
        "a second costs a tenth of a cent"
    )
    assert dear.cheapest.of("b").outcome is Outcome.SLOWER
    assert dear.cheapest.aim is Aim.CHEAPEST


def test_a_training_is_its_first_epoch_and_99_others():
    """The first epoch of these runs takes three times as long."""
    entry = job_of({"a": blocks(2.0, step=0), "b": blocks(2.0)}, a=36.0).fastest.of("a")
    assert entry.training_s == 6 + 99 * 2
    assert entry.usd_per_training == pytest.approx(2.04)
    long = blocks(2.0, step=0, epochs=150, epoch_s=(6.0, *[2.0] * 149))
    entry = job_of({"a": long, "b": long}).fastest.of("a")
    assert entry.training_s == 6 + 149 * 2, "more than the articles' epochs are not cut short"
    assert entry.usd_per_training is None


def test_only_sides_with_a_price_can_be_cheapest():
    sides = {"a": blocks(1.0), "b": blocks(0.5), "c": blocks(0.1)}
    job = job_of(sides, a=1.0, b=1.0)
    assert [entry.side for entry in job.cheapest.entries] == ["b", "a"]
    assert job_of(sides, b=1.0).cheapest is None


# What is best is never more than the intervals say.


def test_sides_whose_intervals_overlap_are_not_told_apart():
    job = job_of({"a": blocks(2.0), "b": blocks(1.0, step=0.02), "c": blocks(1.03, step=0.02)})
    assert job.fastest.best == ["b", "c"]


def test_a_side_that_is_better_by_less_than_the_margin_is_not_called_best():
    job = job_of({"a": blocks(2.0, step=0), "b": blocks(1.0, step=0), "c": blocks(1.01, step=0)})
    assert job.fastest.best == ["b", "c"]


def test_the_first_side_itself_can_be_best_or_one_of_the_best():
    assert job_of({"a": blocks(1.0), "b": blocks(2.0)}).fastest.best == ["a"]
    assert job_of({"a": blocks(1.0), "b": blocks(1.0)}).fastest.best == ["a", "b"]


def test_intervals_that_overlap_in_the_chart_are_not_told_apart_though_the_two_differ():
    """A first side that scatters makes the intervals of all ratios to it wide."""
    job = job_of({"a": blocks(2.0, step=0.2), "b": blocks(1.0, step=0), "c": blocks(1.1, step=0)})
    b, c = job.fastest.of("b"), job.fastest.of("c")
    assert b.low < c.high
    assert job.fastest.best == ["b", "c"]


def test_without_two_intervals_nothing_is_best():
    job = job_of({"a": blocks(1.0), "b": blocks(0.5, count=5)})
    assert (job.fastest.best, job.fastest.unsure) == ((), ["b"])


def test_a_side_with_few_blocks_is_left_out_of_what_is_best():
    job = job_of({"a": blocks(1.0), "b": blocks(0.5), "c": blocks(0.4, count=1)})
    assert (job.fastest.best, job.fastest.unsure) == (["b"], ["c"])
    assert job.fastest.entries[0].side == "c", "it is still shown where its median is"


# Settings.


def test_each_side_is_judged_in_its_own_best_setting():
    """A is best with batch 32, B with batch 64; both together are one job."""
    a = [*blocks(1.0, batch_size=32), *blocks(2.0, batch_size=64)]
    b = [*blocks(3.0, batch_size=32), *blocks(0.5, batch_size=64)]
    job = job_of({"a": a, "b": b})
    assert [(entry.side, entry.trial.batch_size) for entry in job.fastest.entries] == [("b", 64), ("a", 32)]
    assert job.fastest.of("b").speedup == pytest.approx(2.0)


def test_a_setting_with_too_few_blocks_is_not_the_best_beside_sure_ones():
    """The best of many single blocks is the luckiest."""
    a = [*blocks(1.0), *blocks(0.9, batch_size=64, count=1)]
    job = job_of({"a": a, "b": [*blocks(1.0), *blocks(1.0, batch_size=64)]})
    assert job.fastest.of("a").trial.batch_size == 32


def test_a_setting_that_one_side_alone_has_does_not_count():
    """Else a side would win by what was measured on it."""
    job = job_of({"a": blocks(1.0), "b": [*blocks(1.0), *blocks(0.1, precision="bf16")]})
    assert job.fastest.of("b").trial.precision == "default"


@pytest.mark.parametrize("batch_size", [32, 128])
def test_more_devices_than_the_others_have_count_where_all_else_is_shared(batch_size):
    many = {"devices": 4, "strategy": "ddp", "batch_size": batch_size}
    job = job_of({"a": blocks(1.0), "b": [*blocks(1.0), *blocks(0.3, **many)]}, a=1.0, b=4.0)
    assert job.fastest.of("b").trial.devices == 4
    assert job.cheapest.best == ["a"]
    other = job_of({"a": blocks(1.0), "b": [*blocks(1.0), *blocks(0.3, **many, precision="bf16")]})
    assert other.fastest.of("b").trial.devices == 1


def test_a_setting_of_two_nodes_is_no_counterpart_of_one_node():
    """Two machines of a fleet against one of another say nothing of either kind."""
    two = {"devices": 2, "nodes": 2, "strategy": "ddp", "batch_size": 64}
    single, pair = blocks(1.0), [*blocks(1.0), *blocks(0.5, **two)]
    job = job_of({"a10g": pair, "h100": single})
    assert job.fastest.of("a10g").trial.nodes == 1 and job.fastest.best == ["a10g", "h100"]
    job = job_of({"a10g": pair, "h100": single, "l4": pair})
    assert {entry.trial.nodes for entry in job.fastest.entries} == {1}, "h100 has no second node"
    assert {entry.trial.nodes for entry in job_of({"a10g": pair, "l4": pair}).fastest.entries} == {2}
    more = [*blocks(1.0), *blocks(0.2, **two | {"devices": 4, "batch_size": 128})]
    job = job_of({"a10g": pair, "l4": more})
    assert {entry.trial.nodes for entry in job.fastest.entries} == {1}, "no training on two nodes is shared"


def test_a_side_with_nothing_but_two_nodes_is_no_part_of_the_job():
    two = blocks(0.5, devices=2, nodes=2, strategy="ddp", batch_size=64)
    job = job_of({"a": blocks(1.0), "b": blocks(1.0), "c": two, "d": two})
    assert [entry.side for entry in job.fastest.entries] == ["a", "b"] and job.failed == {}


def test_another_model_or_size_is_another_job():
    runs = [
        *blocks(1.0),
        *blocks(1.0, model="wrn28_1"),
        *blocks(1.0, image_size=32),
        *blocks(1.0, augment=False),
    ]
    assert len(jobs_of({"a": runs, "b": runs})) == 3


def test_convolutions_and_pieces_of_a_step_are_no_jobs():
    trial = make_convolution()
    runs = [*(make_call(trial, 1.0, block=block) for block in range(6)), *blocks(1.0, part="compute")]
    assert jobs_of({"a": runs, "b": runs}) == []


def test_a_side_that_failed_is_named_with_how_it_ended():
    oom = [make_run(status=Status.OOM, dataset="digits")]
    job = job_of({"a": oom, "b": blocks(1.0), "c": blocks(2.0)})
    assert job.failed == {"a": [Status.OOM]}
    assert job.fastest.reference == "b", "the first that did it"
    assert job_of({"a": oom, "b": blocks(1.0)}).rankings == []


def test_the_best_over_all_jobs_comes_first():
    fast = {"a": 3.0, "b": 1.0, "c": 2.0}
    sides = {side: [*blocks(s), *blocks(s, image_size=32)] for side, s in fast.items()}
    sides["d"] = blocks(1.0, part="compute")
    sides["e"] = blocks(1.0, part="compute")
    common = common_of(**sides)
    assert best_first(common, jobs_of(sides)) == ["b", "c", "a", "d", "e"]
