"""What is measured of links, and what is known of them then."""

from dataclasses import replace

import pytest

from multi_gpu_data import ALPHA_S, BYTES_PER_S, GPU, link_run, runs_of, sums_s, trials
from study_data import MACHINE
from trainspeed.core.errors import UserError
from trainspeed.core.phase import EXCHANGE, LATENCY
from trainspeed.judge.interconnect import LinkClass
from trainspeed.studies.multi_gpu.links import (
    SUMS_PER_EPOCH,
    check_forecast,
    exchange_of,
    link_trials,
    links_of,
    one_device_share,
    overlap_of,
    overlap_trials,
)

NOT_GIVEN = {"alpha_s": None, "bytes_per_s": None}
(STEP,) = (t for t in trials() if t.devices == 2 and t.batch_size == 8)
TWO_NODES = replace(STEP, nodes=2)
FOUR_ON_TWO = replace(STEP, devices=4, nodes=2)


def placed(found):
    return [(trial.part, trial.devices, trial.nodes) for trial in found]


def test_the_exchange_is_measured_once_a_model_and_number_of_devices():
    found = overlap_trials(trials(counts=(1, 2, 4), frameworks=("tensorflow", "torch")))

    assert [(t.part, t.devices, t.batch_size) for t in found] == [
        ("both", 1, 4),
        ("exchange", 2, 8),
        ("both", 1, 2),
        ("exchange", 4, 8),
    ]
    assert {t.steps_per_epoch for t in found if t.phase is EXCHANGE} == {SUMS_PER_EPOCH}


def test_a_link_within_a_node_is_measured_with_each_number_of_devices():
    several = trials(counts=(1, 2, 4), frameworks=("tensorflow", "torch"))
    assert placed(link_trials(several, shared_memory=False)) == [("link", 2, 1), ("link", 4, 1)]


def test_cores_share_a_memory_and_have_no_link_but_between_nodes():
    assert link_trials(trials(), shared_memory=True) == ()
    assert placed(link_trials([STEP, FOUR_ON_TWO], shared_memory=True)) == [("link", 2, 2)]


def test_a_link_between_nodes_is_measured_with_one_device_a_node_and_the_one_within_beside_it():
    found = link_trials([FOUR_ON_TWO, TWO_NODES], shared_memory=False)
    assert placed(found) == [("link", 2, 2), ("link", 2, 1)]


def test_each_class_of_link_has_its_own_constants():
    within, between = link_trials([STEP, TWO_NODES], shared_memory=False)
    found = links_of([link_run(within), link_run(between, alpha_s=2e-3, bytes_per_s=1e8)], **NOT_GIVEN)

    assert (found.within.alpha_s, 1 / found.within.beta_s_per_byte) == pytest.approx((ALPHA_S, BYTES_PER_S))
    assert (found.between.alpha_s, 1 / found.between.beta_s_per_byte) == pytest.approx((2e-3, 1e8))
    assert (found.within.link, found.between.link) == tuple(LinkClass)
    assert found.ring(STEP).links(8) == (found.within,)
    assert found.ring(TWO_NODES).links(8) == (found.between,)
    assert found.ring(FOUR_ON_TWO).links(8) == (found.within, found.between)


def test_nodes_without_gpus_have_a_link_between_them_and_none_within():
    within, between = link_trials([STEP, TWO_NODES], shared_memory=False)
    found = links_of([link_run(within, machine=MACHINE), link_run(between, machine=MACHINE)], **NOT_GIVEN)
    assert found.within is None and found.between is not None


def test_an_older_ledger_has_two_sizes():
    sums = exchange_of(STEP), exchange_of(STEP).only(LATENCY)
    runs = runs_of([STEP, *sums], lambda t: 0.1 if t.part == "both" else sums_s(t), machine=GPU)

    found = links_of(runs, **NOT_GIVEN).within
    assert (found.alpha_s, 1 / found.beta_s_per_byte) == pytest.approx((ALPHA_S, BYTES_PER_S))
    assert (found.devices, found.sizes) == ((2,), 2)
    without_small = [run for run in runs if run.trial.phase is not LATENCY]
    assert links_of(without_small, **NOT_GIVEN).within is None, "one size cannot tell latency from bandwidth"
    on_cores = [replace(run, machine=MACHINE) for run in runs]
    assert links_of(on_cores, **NOT_GIVEN).within is None


def test_what_is_given_holds_for_every_link():
    found = links_of([], alpha_s=2e-6, bytes_per_s=1e10)
    for trial in (STEP, TWO_NODES):
        (link,) = found.ring(trial).links(1024)
        assert (link.alpha_s, link.beta_s_per_byte) == (2e-6, 1e-10)


def test_times_of_no_ring_are_told_as_such():
    """Each size takes as long as the square of it: alpha would be negative."""
    (trial,) = link_trials([STEP], shared_memory=False)
    run = link_run(trial)
    curved = tuple(
        type(one)(size_bytes=one.size_bytes, sum_s=(one.size_bytes**2 * 1e-12,)) for one in run.link_sums
    )
    found = links_of([replace(run, link_sums=curved)], **NOT_GIVEN)
    assert found.within is None and found.unfit == (LinkClass.WITHIN,)


def test_what_hides_is_found_of_a_step_and_its_parts():
    """60 ms of computing and 20 ms of sums make a step of 70 ms: half of the sums ran beside the computing."""
    parts = [STEP, one_device_share(STEP), exchange_of(STEP)]

    def step_s(trial):
        return 0.020 if trial.part == "exchange" else {2: 0.070, 1: 0.060}[trial.devices]

    found = overlap_of(runs_of(parts, step_s, blocks=6), STEP)
    assert (found.share, found.low, found.high, found.devices) == (*[pytest.approx(0.5)] * 3, 2)
    assert (
        overlap_of(runs_of(parts, step_s), replace(STEP, strategy="data_parallel", framework="jax")) is None
    )
    assert overlap_of(runs_of(parts[:2], step_s), STEP) is None


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        ({"alpha_s": 1e-6, "bytes_per_s": None}, "link_alpha_s"),
        ({"alpha_s": None, "bytes_per_s": 1e9}, "go together"),
        ({"alpha_s": 1e-6, "bytes_per_s": 0.0}, "must be positive"),
        ({"alpha_s": -1.0, "bytes_per_s": 1e9}, "alpha_s"),
    ],
)
def test_constants_that_make_no_sense_are_refused(constants, said):
    with pytest.raises(UserError, match=said):
        links_of([], **constants)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((None, None, [0], None), "devices"),
        ((None, None, [2000], None), "devices"),
        ((None, None, [2], 7.0), "overlap"),
        ((1e-6, None, [2], 1.0), "go together"),
    ],
)
def test_a_forecast_that_cannot_be_made_is_refused_before_anything_is_measured(arguments, said):
    with pytest.raises(UserError, match=said):
        check_forecast(*arguments)
    check_forecast(None, None, [], None)
    check_forecast(1e-6, 1e9, [2, 4, 1024], 0.5)
