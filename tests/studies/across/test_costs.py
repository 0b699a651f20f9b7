"""Which machine trains cheapest: exact times and prices."""

import re

import pytest

from conv2d_data import make_run as make_call
from conv2d_data import make_trial as make_convolution
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.format import usd
from trainspeed.core.run import Status
from trainspeed.judge.verdict import Outcome
from trainspeed.studies.across.costs import cheapest_sentences, check_prices, pair_costs
from trainspeed.studies.across.pairs import side_by_side


def blocks(seconds, count=6, **more):
    return [make_run(seconds, block=block, dataset="digits", **more) for block in range(count)]


def pairs_of(a, b):
    return side_by_side(a, b).pairs


def test_a_training_is_its_first_epoch_and_99_others():
    """The first epoch of these runs takes three times as long."""
    runs = blocks(2.0)
    (cost,) = pair_costs(pairs_of(runs, runs), (None, None))
    assert cost.training_s == (6 + 99 * 2, 6 + 99 * 2)
    long = blocks(2.0, epochs=150, epoch_s=(6.0, *[2.0] * 149))
    (cost,) = pair_costs(pairs_of(long, long), (None, None))
    assert cost.training_s[0] == 6 + 149 * 2, "more than the articles' epochs are not cut short"


def test_cost_is_the_time_times_the_price_of_an_hour():
    (cost,) = pair_costs(pairs_of(blocks(1.0), blocks(0.5)), (36.0, 90.0))
    assert cost.training_s == (102.0, 51.0)
    assert cost.usd == pytest.approx((1.02, 1.275))
    assert cost.judgement.speedup == pytest.approx(0.8), "half the time at 2.5 times the price"
    assert cost.judgement.outcome == Outcome.SLOWER


def test_without_both_prices_times_are_judged():
    (cost,) = pair_costs(pairs_of(blocks(1.0), blocks(0.5)), (36.0, None))
    assert cost.usd[1] is None and cost.usd[0] == pytest.approx(1.02)
    assert cost.judgement.speedup == pytest.approx(2.0)


def test_the_cheapest_machine_is_said_with_the_interval_of_the_costs():
    prices = (36.0, 90.0)
    (said,) = cheapest_sentences(pair_costs(pairs_of(blocks(1.0), blocks(0.5)), prices), prices)
    assert said.startswith(
        "cnn10 on digits, 16 px, 128 images an epoch: A is cheaper. A at its cheapest 1.02 USD "
    )
    assert said.endswith("A costs 0.80x as much as B (95 % interval 0.80 to 0.80).")


def test_the_price_can_turn_the_faster_machine_into_the_dearer_one():
    rows = pairs_of(blocks(1.0), blocks(0.5))
    cheap = cheapest_sentences(pair_costs(rows, (36.0, 36.0)), (36.0, 36.0))
    dear = cheapest_sentences(pair_costs(rows, (36.0, 360.0)), (36.0, 360.0))
    assert "B is cheaper" in cheap[0] and "A is cheaper" in dear[0]


def test_each_machine_is_judged_in_its_own_best_setting():
    """A is best with batch 32, B with batch 64; both together are one job."""
    a = [*blocks(1.0, batch_size=32), *blocks(2.0, batch_size=64)]
    b = [*blocks(3.0, batch_size=32), *blocks(0.5, batch_size=64)]
    prices = (36.0, 36.0)
    (said,) = cheapest_sentences(pair_costs(pairs_of(a, b), prices), prices)
    assert (
        "A at its cheapest 1.02 USD a training (batch 32); B at its cheapest 0.510 USD a training (batch 64)"
        in said
    )
    assert "A costs 2.00x as much as B" in said


def test_a_setting_with_too_few_blocks_is_not_called_the_cheapest_beside_sure_ones():
    """The cheapest of many single blocks is the luckiest."""
    a = [*blocks(1.0, batch_size=32), *blocks(0.9, batch_size=64, count=1)]
    b = [*blocks(1.0, batch_size=32), *blocks(1.0, batch_size=64)]
    prices = (36.0, 36.0)
    (said,) = cheapest_sentences(pair_costs(pairs_of(a, b), prices), prices)
    assert "A at its cheapest 1.02 USD a training (batch 32)" in said


def test_another_model_or_size_is_another_job():
    runs = [*blocks(1.0), *blocks(1.0, model="wrn28_1"), *blocks(1.0, image_size=32)]
    prices = (1.0, 1.0)
    said = cheapest_sentences(pair_costs(pairs_of(runs, runs), prices), prices)
    assert len(said) == 3
    assert all("cost the same within the margin" in sentence for sentence in said)


def test_few_blocks_leave_it_undecided():
    prices = (1.0, 1.0)
    (said,) = cheapest_sentences(pair_costs(pairs_of(blocks(1.0, count=1), blocks(0.5)), prices), prices)
    assert "undecided which is cheaper: measure more blocks." in said
    assert said.endswith("A costs 2.00x as much as B, no interval.")


def test_where_one_side_failed_only_the_other_has_a_cost():
    oom = [make_run(block=0, status=Status.OOM, dataset="digits")]
    prices = (36.0, 36.0)
    found = pair_costs(pairs_of(oom, blocks(1.0)), prices)
    assert found[0].usd == (None, pytest.approx(1.02))
    (said,) = cheapest_sentences(found, prices)
    assert said.endswith(
        ": only B trained it: B at its cheapest 1.02 USD a training (" + found[0].pair.label + ")."
    )


def test_convolutions_and_pieces_of_a_step_are_no_trainings():
    trial = make_convolution()
    calls = [make_call(trial, 1.0, block=block) for block in range(6)]
    pieces = blocks(1.0, part="compute")
    assert pair_costs(pairs_of([*calls, *pieces], [*calls, *pieces]), (1.0, 1.0)) == []
    assert cheapest_sentences([], (1.0, 1.0)) == [
        "No trial of both sides trains a model, so nothing has a cost."
    ]


@pytest.mark.parametrize(
    ("prices", "missing"),
    [
        ((None, None), "a_usd_per_hour and b_usd_per_hour"),
        ((1.0, None), "b_usd_per_hour"),
        ((None, 1.0), "a_usd_per_hour"),
    ],
)
def test_a_missing_price_is_named(prices, missing):
    (said,) = cheapest_sentences(pair_costs(pairs_of(blocks(1.0), blocks(1.0)), prices), prices)
    assert said == f"Price not given: set {missing}. Without both prices only times are compared."


@pytest.mark.parametrize("price", [0, -1.5, float("nan"), float("inf"), "cheap", True])
def test_a_price_that_is_none_is_refused(price):
    with pytest.raises(UserError, match=re.escape(f"b_usd_per_hour (={price!r}) must be a positive number")):
        check_prices(None, price)
    with pytest.raises(UserError, match=r"^a_usd_per_hour"):
        check_prices(price, None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1,234.50 USD"),
        (0.1234, "0.123 USD"),
        (0.085, "0.0850 USD"),
        (0.0000123, "0.0000123 USD"),
        (1.0, "1.00 USD"),
    ],
)
def test_amounts_have_the_digits_that_count(value, text):
    assert usd(value) == text
