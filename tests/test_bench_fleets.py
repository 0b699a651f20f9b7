"""The benchmark of a made-up fleet, of a few machines: no kernel is started."""

import gc
import weakref
from collections import Counter

import pytest

from test_bench import load
from trainspeed.core.ledger import Ledger


def test_a_small_fleet_is_planned_taken_in_and_resumed(tmp_path):
    """All 600 runs of three machines are kept, whole, on the node that measured them: else it exits."""
    fleets = load("fleets")

    assert {*fleets.measure(tmp_path, 3)} == {"planning", "taking in", "resuming"}
    nodes = Counter(run.node for run in Ledger(tmp_path / "m1").read()[0])
    assert nodes == {"m1-1": 100, "m1-2": 100}


def test_no_run_of_a_machine_outlives_it(tmp_path, monkeypatch):
    """Else the cost of a run grows with the fleet, by what the collector of garbage walks through."""
    fleets, made, alive = load("fleets"), [], []
    make = fleets._run

    def noted(*given):
        run = make(*given)
        made.append(weakref.ref(run))
        if len(made) == 600:
            gc.collect()  # what is held counts, not what is still to be collected
            alive.append(sum(one() is not None for one in made))
        return run

    monkeypatch.setattr(fleets, "_run", noted)
    fleets.measure(tmp_path, 3)
    assert alive and alive[0] <= 400, "the last machine's, and the one's before while it is planned"


def test_the_page_of_a_fleet_is_drawn_from_all_of_its_machines(tmp_path, monkeypatch):
    """By the command's own function; what it prints is not what the benchmark prints."""
    fleets, asked = load("fleets"), []

    def draw(sides, *, out, name):
        asked.extend(sides)
        (out / f"{name}.html").touch()
        return 0

    monkeypatch.setattr(fleets, "compare_reports", draw)
    assert {*fleets.compare(tmp_path, 3)} == {"comparing, as a page"}
    assert asked == [tmp_path / name for name in ("m0", "m1", "m2")]
    monkeypatch.setattr(fleets, "compare_reports", lambda *_, **__: 1)
    with pytest.raises(SystemExit, match="page of 3 machines was not drawn: exit code 1"):
        fleets.compare(tmp_path, 3)
