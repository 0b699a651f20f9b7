"""The share of the wall time that validation and checkpoints take."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.judge.phase_shares import phase_shares


def arm(seconds, part="both", blocks=6, **more):
    return [
        make_run(s * seconds, block=b, part=part, **more)
        for b, s in enumerate((1.0, 1.1, 0.9, 1.2, 1.0, 1.05)[:blocks])
    ]


def test_a_quarter_of_an_epoch_with_validation_is_no_training():
    (shares,) = phase_shares([*arm(3.0), *arm(4.0, "fit")])

    assert (shares.besides, shares.low, shares.high, shares.training) == pytest.approx(
        (0.25, 0.25, 0.25, 0.75)
    )


def test_drift_from_block_to_block_cancels_but_noise_widens_the_interval():
    noisy = [
        make_run(3.0 * s, block=b) for b, s in enumerate((1.0, 1.05, 0.9, 1.2, 1.0, 1.1))
    ]  # two blocks off by 5 %
    (shares,) = phase_shares([*noisy, *arm(4.0, "fit")])

    assert shares.besides == pytest.approx(0.25)
    assert shares.low < 0.23 and shares.high > 0.27


def test_validating_in_every_fifth_epoch_costs_less_than_a_fifth_of_the_share():
    (shares,) = phase_shares([*arm(3.0), *arm(4.0, "fit")])

    assert shares.every(1) == pytest.approx(shares.besides)
    assert shares.every(5) == pytest.approx((1 / 15) / (1 + 1 / 15))


def test_too_few_blocks_have_no_interval():
    (shares,) = phase_shares([*arm(3.0, blocks=3), *arm(4.0, "fit", blocks=3)])

    assert shares.besides == pytest.approx(0.25) and shares.low is None and shares.high is None


def test_only_the_same_trial_in_both_phases_is_told():
    runs = [*arm(3.0), *arm(4.0, "fit", layout="channels_last"), *arm(4.0, "compute")]

    assert phase_shares(runs) == []
