"""A stopwatch in another process."""

import time

import pytest

from trainspeed.worker.probes import stopwatch
from trainspeed.worker.probes.stopwatch import Stopwatch


def test_it_times_from_each_odd_mark_to_the_next_even_one():
    before_s = time.perf_counter()
    with Stopwatch() as watch:
        for _ in range(4):
            watch.mark()
    elapsed_s = time.perf_counter() - before_s
    assert len(watch.spans_s) == 2 and all(0 <= span_s < elapsed_s for span_s in watch.spans_s)


def test_one_that_dies_has_seen_nothing(monkeypatch):
    monkeypatch.setattr(stopwatch, "PROGRAM", 'print("ready", flush=True); raise SystemExit(1)')
    with Stopwatch() as watch:
        pass
    assert watch.spans_s == ()


def test_it_leaves_the_core_of_the_run_alone(monkeypatch):
    monkeypatch.setenv("TRAINSPEED_CORES", "3,4,5")
    monkeypatch.setattr(stopwatch, "usable_cores", lambda: [4])
    assert stopwatch._other_cores() == [3, 5]


@pytest.mark.parametrize("cores", ["", "4"])
def test_where_there_is_no_other_core_it_runs_anywhere(monkeypatch, cores):
    monkeypatch.setenv("TRAINSPEED_CORES", cores)
    monkeypatch.setattr(stopwatch, "usable_cores", lambda: [4])
    assert stopwatch._other_cores() == []
