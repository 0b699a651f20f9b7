"""Which of the sides of a job may be called best: by no less than sides that are alike differ."""

import pytest

from sides_data import blocks, jobs_of
from trainspeed.studies.across.answers import best_in_words
from trainspeed.studies.across.facts import comparable_facts
from trainspeed.studies.across.ranking import Aim

L4 = {"machine": {"device": "cpu", "cpu": "L4", "gpus": []}}
LATER = {"started_at": "2026-11-21T10:00:00+00:00", "session": "20261121T100000Z-abcd"}


def ranking_of(sides, aim=Aim.FASTEST, **usd_per_hour):
    (job,) = jobs_of(sides, kind_of=comparable_facts, **usd_per_hour)
    return job.fastest if aim is Aim.FASTEST else job.cheapest


def test_a_machine_whose_own_repeat_is_slower_than_another_one_is_not_called_fastest():
    sides = {"a10g": blocks(1.0), "l4": blocks(1.05, **L4), "a10g_again": blocks(1.12, **LATER)}
    ranking = ranking_of(sides)

    assert (ranking.best, ranking.by_spread) == (["a10g", "l4", "a10g_again"], ["l4", "a10g_again"])
    assert ranking.spread == pytest.approx(1.12)
    assert best_in_words(ranking).endswith(
        "which differ by no more than sessions on machines that are alike: 1.12x"
    )
    assert ranking_of({**sides, "l4": blocks(1.3, **L4)}).best == ["a10g", "a10g_again"]
    assert ranking_of({**sides, "a10g_again": blocks(1.02, **LATER)}).best == ["a10g", "a10g_again"]


def test_how_far_two_others_that_are_alike_are_apart_counts_too():
    sides = {"h100": blocks(1.0), "l4": blocks(1.1, **L4), "l4_again": blocks(1.25, **L4, **LATER)}

    assert ranking_of(sides).best == ["h100", "l4"]


def test_a_side_that_scatters_is_not_said_to_differ_as_little_as_machines_that_are_alike():
    sides = {
        "old": blocks(3.0, step=0, machine={"device": "cpu", "cpu": "Old", "gpus": []}),
        "a10g": blocks(1.0, step=0),
        "a10g_again": blocks(1.06, step=0, **LATER),
        "l4": blocks(0.9, step=0.1, **L4),
    }
    ranking = ranking_of(sides)

    assert (ranking.best, ranking.by_spread) == (["a10g", "a10g_again", "l4"], ["a10g_again"])
    assert best_in_words(ranking).endswith(
        "whose intervals overlap or which are the same within 2 %, or which differ by no more than sessions on "
        "machines that are alike: 1.06x"
    )


def test_a_repeat_without_one_of_the_frameworks_is_a_repeat():
    both = [*blocks(1.0), *blocks(2.0, framework="tensorflow")]
    sides = {"a": both, "h100": [*blocks(1.5, **L4), *blocks(2.5, framework="tensorflow", **L4)]}

    assert ranking_of({**sides, "a_again": blocks(1.3, **LATER)}).best == ["a", "a_again"]


@pytest.mark.parametrize(("usd", "best"), [(1.0, ["a", "b"]), (9.0, ["a"])])
def test_of_sides_that_are_alike_only_a_price_makes_one_cheapest(usd, best):
    assert ranking_of({"a": blocks(1.0), "b": blocks(1.8)}, Aim.CHEAPEST, a=1.0, b=usd).best == best


def test_machines_of_which_nothing_is_known_are_not_alike():
    sides = {"a": blocks(1.0, machine={}), "b": blocks(1.8, machine={})}

    assert (ranking_of(sides).best, ranking_of(sides).spread) == (["a"], None)
