"""Several searches of one study, and what they measure first."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, switch, switches
from trainspeed.conduct.plan import still_to_do
from trainspeed.conduct.schedule import schedule
from trainspeed.core.run import Role, Status
from trainspeed.search.asking import Asking
from trainspeed.search.candidates import Candidates
from trainspeed.search.search import Search


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def test_slow_ways_wait_until_every_search_has_had_its_fresh_blocks():
    """PyTorch's search ends at once, and what it has on already would take time from the other one's."""
    own = Candidates(switches=switches(2), already_on=(switch(2),))
    more = Asking([Search(replace(START, framework=name), own, slow_blocks=1) for name in ("torch", "jax")])
    world = World(gains={0: 0.2, 1: 0.1}, crashes=0, outliers=0)
    without_switches = replace(world, fails=dict.fromkeys((0, 1), Status.UNSUPPORTED))
    asked, runs = [], []
    while sets := more(runs):
        asked.append({(one.label, one.trials[0].framework) for one in sets})
        worlds = {"torch": without_switches, "jax": world}
        planned = still_to_do(schedule(sets, 0), runs, lambda _: False)
        runs += [worlds[one.trial.framework].run(one) for one in planned]

    assert {(Role.FEASIBLE, "torch"), (Role.FEASIBLE, "jax")} == asked[0]
    assert asked[-2:] == [{(Role.RECIPE, "jax")}, {(Role.SLOW_WAY, "torch"), (Role.SLOW_WAY, "jax")}]
    assert not any(label == Role.SLOW_WAY for sets in asked[:-1] for label, _ in sets)
