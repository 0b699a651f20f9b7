"""The model finds what is planted, and nothing that is not."""

import math

import pytest

import search_world
from search_world import START, World, drive, random_world, switch, switches
from trainspeed.conduct.schedule import schedule
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.model import model
from trainspeed.search.screen import lenth_error, screen, screen_groups
from trainspeed.search.search import Search


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def screened(world, count=14, lost=(), columns=16):
    """Return what is known after a screen of so many switches; lost are numbers of pairs."""
    known = Known(START, switches(count))
    groups = [g for n, g in enumerate(screen_groups(known, switches(count), columns)) if n not in lost]
    planned = schedule([group.trial_set(START) for group in groups], 0)
    return Known(START, switches(count), [world.run(one) for one in planned])


def quiet(**planted):
    """Return a machine without drift, outliers or crashes, and nearly without noise."""
    return World(**{"sd": 1e-3, "drift": 0.0, "outliers": 0.0, "crashes": 0.0, **planted})


@pytest.mark.parametrize(("count", "columns"), [(6, 8), (11, 12), (14, 16), (19, 20), (23, 24)])
def test_a_screen_finds_what_was_planted_through_drift(count, columns):
    world = quiet(gains={0: 0.2, 5: -0.1, count - 1: 0.03}, drift=0.3)
    found = screen(screened(world, count, columns=columns), switches(count), {})
    gains = {one.switches[0]: one.log for one in found.estimates}
    expected = {s: world.gains.get(n, 0.0) for n, s in enumerate(switches(count))}
    assert gains == pytest.approx(expected, abs=0.003)
    assert (found.pairs, found.planned, len(found.empty)) == (columns, columns, columns - count)


def test_an_interaction_of_two_is_in_no_other_switch():
    found = screen(screened(quiet(together={(2, 3): 0.2})), switches(14), {})
    gains = {one.switches[0]: one.log for one in found.estimates}
    expected = {s: 0.1 if n in (2, 3) else 0.0 for n, s in enumerate(switches(14))}
    assert gains == pytest.approx(expected, abs=0.002)


def test_pairs_that_are_missing_leave_what_they_told_to_the_others():
    world = quiet(gains={0: 0.2, 5: -0.1})
    alone = {one: world.gains.get(n, 0.0) for n, one in enumerate(switches(14))}
    found = screen(screened(world, lost={0, 7, 9}), switches(14), alone)
    gains = {one.switches[0]: one.log for one in found.estimates}
    assert found.pairs == 13
    assert gains == pytest.approx(alone, abs=0.004)


def test_empty_columns_are_as_wide_as_the_noise():
    world = quiet(gains={0: 0.2}, sd=0.016)
    widths = []
    for seed in range(30):
        world.seed = seed
        widths += screen(screened(world, count=10), switches(10), {}).empty
    error = math.sqrt(sum(width**2 for width in widths) / len(widths))
    assert error == pytest.approx(0.016 * 2 / math.sqrt(32), rel=0.15)


def test_lenths_error_leaves_out_what_is_active():
    noise = [0.01 * math.sin(number) for number in range(1, 13)]
    assert lenth_error([*noise, 0.5, -0.4, 0.3]) == pytest.approx(lenth_error(noise), rel=0.3)
    assert lenth_error([0.1] * 3) is None


@pytest.mark.parametrize(("count", "columns"), [(11, 12), (14, 16), (19, 20)])
def test_the_model_names_two_that_pay_only_together(count, columns):
    world = quiet(gains={0: 0.2}, together={(2, 3): 0.15}, sd=0.01, drift=0.01)
    known = screened(world, count, columns=columns)
    found = model(known.arms(Role.SCREEN), switches(count))
    (one,) = found.interactions
    assert (switch(2), switch(3)) in [one.pair, *one.aliases]
    assert one.log == pytest.approx(0.15, abs=4 * one.se)


def test_an_outlier_moves_no_estimate_far():
    world, search = random_world(3)
    world.outliers = 0.0
    clean = drive(search, world).runs
    screens = [n for n, run in enumerate(clean) if run.role is Role.SCREEN]
    spoiled = list(clean)
    slow = spoiled[screens[5]]
    spoiled[screens[5]] = type(slow)(**{**slow.__dict__, "epoch_s": tuple(1.4 * s for s in slow.epoch_s)})
    before, after = (
        Search(START, Candidates(switches=switches(16)), runs=runs).elimination.estimates
        for runs in (clean, spoiled)
    )
    assert max(abs(before[one].log - after[one].log) for one in before) < 0.012


@pytest.mark.parametrize(("count", "columns"), [(11, 12), (14, 16)])
def test_noise_has_no_interactions(count, columns):
    """Of 55 or 91 pairs in each of 30 screens."""
    told = 0
    for seed in range(30):
        known = screened(World(seed=seed, crashes=0.0, gains={0: 0.1, 1: 0.2}), count, columns=columns)
        told += len(model(known.arms(Role.SCREEN), switches(count)).interactions)
    assert told <= 2


def test_a_group_is_an_arm_short_where_switches_exclude_each_other():
    group = ArmGroup(label=Role.SCREEN, seed=0, arms=((), (switch(1), switch(1, "other"))))
    assert len(group.trials(START)) == 1
