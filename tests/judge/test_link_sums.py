"""Sums that measured a link before and after a study: what is fitted, and what is doubted."""

from dataclasses import replace

import pytest

from study_data import make_run, make_trial
from trainspeed.core.result import LinkSum
from trainspeed.core.run import Status
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.interconnect import LinkClass
from trainspeed.judge.link_sums import LinkChange, fitted_points, link_changes, link_doubts

SMALL, LARGE = 4096, 16 * 2**20
SCATTER = (0.98, 1.0, 1.01, 1.03, 0.99)


def sums(block=0, *, small_s=1e-3, large_s=0.1, devices=2, nodes=1, **more):
    """Return a run that summed two sizes in these seconds, with a scatter of 5 %."""
    trial = make_trial(strategy="ddp", devices=devices, nodes=nodes, part="link", seed=block)
    found = tuple(
        LinkSum(size_bytes=size, sum_s=tuple(factor * seconds for factor in SCATTER))
        for size, seconds in ((SMALL, small_s), (LARGE, large_s))
    )
    return make_run(trial=trial, block=block, link_sums=found, **more)


def test_what_stays_is_fitted_to_the_median_of_both_measures():
    points = fitted_points([sums(0), sums(1)], LinkClass.WITHIN)
    assert points == [(2, SMALL, pytest.approx(1e-3)), (2, LARGE, pytest.approx(0.1))]


def test_a_bucket_of_tokens_is_seen_and_its_later_time_counts():
    """Bursts go through at twice the rate that lasts; small messages do not change."""
    runs = [sums(0, large_s=0.05), sums(1, large_s=0.1)]
    where = {"link": LinkClass.WITHIN, "devices": 2, "size_bytes": LARGE}
    assert link_changes(runs) == [LinkChange(**where, before_s=0.05, after_s=0.1)]
    fitted_s = {size: seconds for _, size, seconds in fitted_points(runs, LinkClass.WITHIN)}
    assert fitted_s == {SMALL: pytest.approx(1e-3), LARGE: pytest.approx(0.1)}
    (doubt,) = link_doubts(runs)
    assert doubt.startswith(
        "The link within a node changed while the study ran: a sum of 16.8 MB on 2 devices took 100 % longer after it"
    )
    assert doubt in study_doubts(runs, [])


@pytest.mark.parametrize("after_s", [0.104, 0.096, 0.1])
def test_what_lies_within_the_scatter_is_no_change(after_s):
    runs = [sums(0), sums(1, large_s=after_s)]
    assert link_changes(runs) == link_doubts(runs) == []


def test_a_small_change_beyond_a_small_scatter_is_none_that_matters():
    """7 % of two measures that hardly scatter: a forecast is not wanted that exactly."""
    exact = [
        make_run(
            trial=make_trial(strategy="ddp", devices=2, part="link", seed=block),
            block=block,
            link_sums=(LinkSum(size_bytes=LARGE, sum_s=(seconds,) * 5),),
        )
        for block, seconds in enumerate((0.1, 0.107))
    ]
    assert link_changes(exact) == []


def test_a_link_that_was_measured_once_is_doubted():
    (doubt,) = link_doubts([sums(0), sums(1, status=Status.CRASHED)])
    assert doubt.startswith("The link within a node was measured once only, on 2 devices")


def test_classes_of_link_are_told_apart_and_a_mixed_one_is_fitted_to_neither():
    """Two nodes of two devices each go over both links."""
    runs = [sums(large_s=0.1), sums(large_s=0.2, nodes=2), sums(large_s=0.3, nodes=2, devices=4)]
    within, between = (fitted_points(runs, link) for link in LinkClass)
    assert within == [(2, SMALL, pytest.approx(1e-3)), (2, LARGE, pytest.approx(0.1))]
    assert between == [(2, SMALL, pytest.approx(1e-3)), (2, LARGE, pytest.approx(0.2))]


def test_a_size_that_was_not_measured_again_has_no_time_from_before():
    """The bucket was empty: after the study there was no time for the large size."""
    slow = sums(1, small_s=2e-3)
    slow = replace(slow, link_sums=slow.link_sums[:1])
    points = fitted_points([sums(0), slow], LinkClass.WITHIN)
    assert points == [(2, SMALL, pytest.approx(2e-3))]
