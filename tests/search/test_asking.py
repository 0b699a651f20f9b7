"""Several searches of one study, and what they measure first."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, switch, switches
from trainspeed.conduct.forecast import WORKERS_START_S
from trainspeed.conduct.plan import still_to_do
from trainspeed.conduct.schedule import schedule
from trainspeed.core.run import Role, Status
from trainspeed.search.asking import Asking
from trainspeed.search.candidates import Candidates
from trainspeed.search.search import Search

OWN = Candidates(switches=switches(2), already_on=(switch(2),))
WORLD = World(gains={0: 0.2, 1: 0.1}, crashes=0, outliers=0)
WORLDS = {"torch": replace(WORLD, fails=dict.fromkeys((0, 1), Status.UNSUPPORTED)), "jax": WORLD}


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def of_both(budget_s: float | None = None) -> Asking:
    """Return two searches, of which that of PyTorch ends with its first looks."""
    searches = [Search(replace(START, framework=name), OWN, slow_blocks=1) for name in WORLDS]
    return Asking(searches, budget_s)


def measured(sets, runs):
    return [WORLDS[one.trial.framework].run(one) for one in still_to_do(schedule(sets, 0), runs, lambda _: 0)]


def test_slow_ways_wait_until_every_search_has_had_its_fresh_blocks():
    """PyTorch's search ends at once, and what it has on already would take time from the other one's."""
    more, asked, runs = of_both(), [], []
    while sets := more(runs):
        asked.append({(one.label, one.trials[0].framework) for one in sets})
        runs += measured(sets, runs)

    assert {(Role.FEASIBLE, "torch"), (Role.FEASIBLE, "jax")} == asked[0]
    assert asked[-2:] == [{(Role.RECIPE, "jax")}, {(Role.SLOW_WAY, "torch"), (Role.SLOW_WAY, "jax")}]
    assert not any(label == Role.SLOW_WAY for sets in asked[:-1] for label, _ in sets)


@pytest.mark.parametrize(("fails", "screened"), [((0, 1), True), ((), False)])
def test_what_a_search_that_only_waits_with_its_slow_ways_left_is_for_the_other_one(
    monkeypatch, fails, screened
):
    """JAX's has no time for a screen in its own half."""
    monkeypatch.setitem(WORLDS, "torch", replace(WORLD, fails=dict.fromkeys(fails, Status.UNSUPPORTED)))
    more, runs = of_both(budget_s=120.0 + WORKERS_START_S), []
    while sets := more(runs):
        runs += measured(sets, runs)

    own = [run for run in runs if run.trial.framework == "jax"]
    assert any(run.role == Role.SCREEN for run in own) is screened
    assert any(run.role == Role.RECIPE for run in own)
    assert {run.trial.framework for run in runs if run.role == Role.SLOW_WAY} == {*WORLDS}
