"""What a training costs, with answers worked out by hand."""

import math

import pandas as pd
import pytest

from trainspeed.core.errors import UserError
from trainspeed.judge.cost import (
    KEY_COLUMNS,
    MEASURED,
    NO_PRICE,
    check_price,
    cost_frame,
    cost_sentence,
    energy_sentences,
)


def arm(precision="fp32", **changes):
    """Return 100 images a second, half an hour of training, 500 J for an epoch of 1000 images."""
    usual = {"framework": "torch", "model": "resnet50", "precision": precision, "images_per_s": 100.0}
    measured = {"training_s": 1800.0, "energy_j_per_epoch": 500.0, "images_per_epoch": 1000}
    return usual | measured | changes


def said(*rows, usd_per_hour=2.0):
    return cost_sentence(cost_frame(rows, usd_per_hour))


@pytest.mark.parametrize("price", [0, 0.0, -1, math.nan, math.inf, "2", True])
def test_a_price_is_a_positive_number(price):
    with pytest.raises(
        UserError, match=r"usd_per_hour \(=.*\) must be a positive number .* leave it out"
    ) as caught:
        cost_frame([], price)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=r"^a_usd_per_hour \(="):
        check_price(price, "a_usd_per_hour")


class TestFrame:
    def test_adds_money_and_energy_to_each_row(self):
        frame = cost_frame(pd.DataFrame([arm(), arm("bf16", images_per_s=200.0, training_s=900.0)]), 2.0)
        assert list(frame["precision"]) == ["fp32", "bf16"]
        assert list(frame["usd_per_training"]) == [1.0, 0.5]
        assert list(frame["images_per_usd"]) == [180_000, 360_000]
        assert list(frame["energy_j_per_image"]) == [0.5, 0.5]

    def test_without_a_price_energy_remains(self):
        frame = cost_frame([arm()], None)
        assert frame[["usd_per_hour", "usd_per_training", "images_per_usd"]].isna().all().all()
        assert list(frame["energy_j_per_image"]) == [0.5]

    @pytest.mark.parametrize("missing", [None, math.nan])
    def test_what_is_not_known_has_no_cost(self, missing):
        frame = cost_frame([arm(energy_j_per_epoch=missing), arm(training_s=missing)], 2.0)
        assert frame["energy_j_per_image"].isna().tolist() == [True, False]
        assert frame["usd_per_training"].isna().tolist() == [False, True]

    def test_no_rows_are_an_empty_frame_with_all_columns(self):
        assert {*KEY_COLUMNS, *MEASURED, "usd_per_training"} <= set(cost_frame([], 2.0))


class TestSentence:
    def test_names_the_cheapest_precision_of_each_model(self):
        rows = [
            arm(),
            arm("bf16", training_s=900.0),
            arm(model="vgg16"),
            arm("fp16", model="vgg16", training_s=720),
        ]
        assert said(*rows) == (
            "PyTorch, resnet50: bf16 is cheapest, 0.500 USD a training, 0.50x fp32's 1.00 USD. "
            "PyTorch, vgg16: fp16 is cheapest, 0.400 USD a training, 0.40x fp32's 1.00 USD."
        )

    def test_fp32_may_be_the_cheapest(self):
        assert said(arm(), arm("bf16", training_s=2700.0)) == (
            "PyTorch, resnet50: fp32 is cheapest, 1.00 USD a training; next is bf16 at 1.50x."
        )

    @pytest.mark.parametrize("seconds", [1790.0, 1810.0])
    def test_a_ratio_within_the_margin_is_called_so(self, seconds):
        assert said(arm(), arm("bf16", training_s=seconds)).endswith("(the same within the margin of 2 %).")

    def test_blocks_of_an_arm_count_by_their_median(self):
        rows = [arm(training_s=seconds) for seconds in (3600.0, 1800.0, 36.0)]
        assert "0.50x fp32's 1.00 USD" in said(*rows, arm("bf16", training_s=900.0))

    def test_what_is_missing_is_said(self):
        assert said(arm(), usd_per_hour=None) == NO_PRICE == "Price not given: set usd_per_hour."
        assert said(arm(training_s=None)) == "No training time is known, so nothing has a cost."
        assert said() == "Nothing was trained, so nothing has a cost."
        assert said(arm("bf16")).endswith(
            "a training in bf16 costs 1.00 USD; no other precision was measured."
        )
        assert said(arm("bf16"), arm("fp16", training_s=2000.0)).endswith(
            "; default precision was not measured."
        )

    def test_a_failed_precision_is_left_out(self):
        assert "bf16 is cheapest" in said(arm(), arm("bf16", training_s=900.0), arm("fp16", training_s=None))


def test_energy_is_that_of_the_board_and_what_was_too_short_for_its_counter_is_said():
    known, unknown = arm(), arm("bf16", energy_j_per_epoch=None)

    assert energy_sentences(cost_frame([unknown], None)) == []
    assert energy_sentences(cost_frame([known], None)) == ["The energy is that of the GPU's board alone."]
    (said_too,) = energy_sentences(cost_frame([known, unknown], None))
    assert said_too.endswith("where turns are too short for its counter there is none: raise turn_s.")
