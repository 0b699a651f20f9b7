"""What fresh blocks make of each switch that is in them."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, kept, switch, switches
from trainspeed.core.run import Role
from trainspeed.judge.equivalence import Equality
from trainspeed.judge.verdict import Outcome, judge
from trainspeed.search.candidates import Candidates
from trainspeed.search.claims import Ablation, Confirmation
from trainspeed.search.confirm import hurts, looks_slower
from trainspeed.search.findings import Decision
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch

SEARCH = Search(START, Candidates(switches=switches(5)))


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def searched(**planted):
    """Return a search on a quiet machine."""
    return drive(SEARCH, World(**{"outliers": 0.0, "crashes": 0.0, **planted})).search


def not_in_effect(search, *numbers):
    """Return a search beside whose fresh blocks some levers were not in effect."""
    seen = {f"made_{number:02}": ("off", "planted") for number in numbers}
    fresh = lambda run: run.role is Role.RECIPE  # noqa: E731
    runs = [replace(run, in_effect=run.in_effect | seen) if fresh(run) else run for run in search.runs]
    return replace(search, runs=runs)


def test_what_is_left_without_one_that_was_thrown_out_is_kept_where_it_was_measured():
    found = not_in_effect(searched(gains={0: 0.2, 1: 0.1, 2: 0.08}), 1)
    assert found.decisions[switch(1)] is Decision.NOT_IN_EFFECT
    assert kept(found) == {0, 2}
    assert found.rest.on == (switch(0), switch(2)) and found.findings.rest == found.rest
    assert found.rest.time.outcome is Outcome.FASTER and found.rest.time.confidence == pytest.approx(
        1 - 0.05 / 3
    )
    assert 1.2 < found.rest.time.speedup < found.confirmation.total.speedup


def test_where_nothing_was_thrown_out_there_is_no_rest():
    assert searched(gains={0: 0.2, 1: 0.1, 2: 0.08}).rest is None


def test_what_is_left_and_was_never_measured_by_itself_is_not_confirmed():
    """Of three each was left out once: no fresh block had one of them alone."""
    found = not_in_effect(searched(gains={0: 0.2, 1: 0.1, 2: 0.08}), 1, 2)
    assert found.decisions[switch(0)] is Decision.UNCONFIRMED
    assert found.kept == () and found.rest is None


def test_what_is_left_and_is_no_faster_than_the_plain_trial_is_not_confirmed():
    """The two pay only together, and one of them is not to be had."""
    found = not_in_effect(searched(together={(0, 1): 0.2}), 1)
    assert found.confirmation.total.outcome is Outcome.FASTER
    assert found.decisions[switch(0)] is Decision.UNCONFIRMED
    assert not found.rest.pays


def test_a_slow_way_that_a_switch_needs_is_no_switch_of_the_recipe():
    """As images that are uploaded, which each way to upload them needs: nobody decides on it, and it comes along."""
    slow = switch(5)
    needing = Switch(lever="made_00", value="on", settings=(*switch(0).settings, *slow.settings))
    candidates = Candidates(switches=(needing, *switches(3)[1:]), already_on=(slow,))
    planted = World(gains={0: 0.2, 1: 0.1, 2: 0.08}, outliers=0.0, crashes=0.0)
    found = drive(Search(START, candidates), planted).search

    assert set(found.confirmation.on) == set(candidates.switches) == set(found.kept)
    assert {gone for part in found.confirmation.left_out for gone in part.switches} == set(
        candidates.switches
    )
    assert dict(found.findings.best.levers)["made_05"] == "on"
    lost = not_in_effect(found, 5)
    assert lost.decisions[needing] is Decision.NOT_IN_EFFECT


def confirmed(total, *parts):
    """Return what fresh blocks said of accuracy: of all, and of (switches, equality) that were left out."""
    same = judge([1.2] * 9, [1.0] * 9)
    left_out = [
        Ablation(switches=gone, time=same, accuracy=None, equality=own, large=len(gone) == 1)
        for gone, own in parts
    ]
    return Confirmation(
        on=switches(4), total=same, accuracy=None, equality=total, left_out=tuple(left_out), blocks=9
    )


def test_the_small_ones_do_not_hurt_where_a_large_one_does():
    """Left out together they make no difference; all together are worse by the large one."""
    small = (switch(1), switch(2))
    found = confirmed(Equality.WORSE, ((switch(0),), Equality.WORSE), (small, Equality.EQUAL))
    assert [hurts(found, switch(number)) for number in range(3)] == [
        Equality.WORSE,
        Equality.EQUAL,
        Equality.EQUAL,
    ]


def test_where_all_together_hurt_and_none_does_for_sure_what_is_open_is_not_kept():
    parts = [((switch(0),), Equality.OPEN), ((switch(1),), Equality.OPEN), ((switch(2),), Equality.EQUAL)]
    found = confirmed(Equality.WORSE, *parts)
    assert [hurts(found, switch(number)) for number in range(3)] == [
        Equality.WORSE,
        Equality.WORSE,
        Equality.EQUAL,
    ]


def test_where_all_together_hurt_little_by_little_none_is_kept():
    found = confirmed(Equality.WORSE, ((switch(0),), Equality.EQUAL), ((switch(1),), Equality.EQUAL))
    assert {hurts(found, switch(number)) for number in range(2)} == {Equality.WORSE}


def test_what_is_open_stays_open_where_all_together_do_not_hurt():
    found = confirmed(Equality.OPEN, ((switch(0),), Equality.OPEN), ((switch(1),), Equality.EQUAL))
    assert hurts(found, switch(0)) is Equality.OPEN


def test_what_needs_one_that_hurts_is_not_kept_without_it():
    """The child was left out alone, and with its parent."""
    both = (switch(0), switch(1))
    found = confirmed(Equality.WORSE, ((switch(1),), Equality.EQUAL), (both, Equality.WORSE))
    assert hurts(found, switch(1)) is Equality.WORSE


def test_without_parts_all_together_tell():
    assert hurts(confirmed(Equality.WORSE), switch(0)) is Equality.WORSE


def judged(speedup, spread):
    """Return what 9 blocks make of a speed-up that scatters so much."""
    blocks = [1 + spread * (number - 4) / 4 for number in range(9)]
    return judge([speedup * block for block in blocks], [1.0] * 9)


@pytest.mark.parametrize(
    ("parts", "gone"),
    [
        ([(0, 1.30, 0.02), (1, 0.90, 0.15)], {1}),  # undecided, and slower by far
        ([(0, 1.30, 0.02), (1, 0.99, 0.15)], set()),  # within the margin
        ([(0, 0.95, 0.15), (1, 0.90, 0.15)], {1}),  # without both there is no arm
        ([(0, 0.80, 0.02), (1, 0.90, 0.15)], set()),  # one is surely slower, and goes by itself
        ([], set()),
    ],
)
def test_of_what_looked_slower_beside_the_others_the_slowest_is_told(parts, gone):
    left_out = [
        Ablation(
            switches=(switch(n),), time=judged(*time), accuracy=None, equality=Equality.EQUAL, large=True
        )
        for n, *time in parts
    ]
    found = replace(confirmed(Equality.EQUAL), left_out=tuple(left_out))
    assert set(looks_slower(found)) == {switch(number) for number in gone}
