"""What the benchmark of levers compares and computes: nothing is started."""

import sys
from pathlib import Path

import pytest

from test_bench import BENCHMARKS, load
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.levers.registry import LEVERS


@pytest.fixture
def levers(monkeypatch):
    """levers.py, which imports others of its folder; none of them stays imported."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    module = load("levers")
    monkeypatch.setattr(sys.modules["programs"], "find_interpreter", lambda framework: "python")
    yield module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


class FakeWorker:
    """A worker that is not started."""

    made = 0

    def __init__(self, framework, **_):
        FakeWorker.made += 1

    def close(self):
        """There is nothing to end."""


def case(levers, setting):
    return next(case for case in levers.CASES if case.setting == setting)


@pytest.mark.parametrize(("setting", "workers"), [(("optimizer", "fused"), 1), (("onednn", "off"), 2)])
def test_arms_that_need_the_same_environment_are_forked_from_one_worker(
    levers, monkeypatch, setting, workers
):
    monkeypatch.setattr(sys.modules["ours"], "Worker", FakeWorker)
    monkeypatch.setattr(FakeWorker, "made", 0)
    programs = case(levers, setting).programs(rounds=2)
    different = {id(programs[name].worker) for name in ("ours", "ours with it", "ours with it")}

    assert (len(different), FakeWorker.made) == (workers, workers)


@pytest.mark.parametrize(
    ("mode", "asked", "settings"),
    [("madvise", LEVERS["huge_pages"].environment["on"], {("huge_pages", "on")}), ("always", {}, set())],
)
def test_bare_scripts_allocate_memory_as_our_runs_do(levers, monkeypatch, mode, asked, settings):
    """In huge pages, where a program may ask for them: which small ones it gets is luck."""
    cases = sys.modules["cases"]
    monkeypatch.setattr(cases, "huge_pages_mode", lambda: mode)
    usual = cases.CASES[0].programs()
    assert usual["bare"]._environment == MALLOC_THRESHOLDS | asked
    assert {*usual["forked"]._trial.levers} == {*usual["plain"]._trial.levers} == settings

    programs = case(levers, ("onednn", "off")).programs(rounds=2)
    found = {name: program._environment for name, program in programs.items() if name.startswith("bare")}

    assert found["bare"] == found["bare again"] == MALLOC_THRESHOLDS | asked
    assert found["bare with it"] == found["bare"] | {"TF_ENABLE_ONEDNN_OPTS": "0"}
    assert {*programs["ours"]._trial.levers} == settings


@pytest.mark.parametrize(("by_itself", "value"), [(True, "off"), (False, "on")])
def test_onednn_is_measured_the_way_that_changes_something_here(levers, monkeypatch, by_itself, value):
    monkeypatch.setattr(levers, "detect_machine", lambda: {"onednn_by_itself": by_itself})
    monkeypatch.setattr(levers, "find_interpreter", lambda framework: framework)

    assert [name for name in levers.parts(None) if "onednn" in name] == [f"lever tensorflow: onednn={value}"]


def test_a_call_of_several_steps_is_measured_where_a_step_is_cheap(levers):
    several = case(levers, ("steps_per_call", "8")).programs(rounds=2)
    numbers = several["bare with it"]._command[-5:]

    assert numbers == ["2", "16", "10000", "8", "8"], "batch, images, epochs, size, steps in a call"
    assert several["ours"]._trial.image_size == 8


@pytest.mark.parametrize(("ours_s", "met"), [(0.8, "yes |"), (0.9, "NO |")])
def test_a_lever_is_worth_the_same_to_both_or_not(levers, ours_s, met):
    """In 17 sets of processes, each as slow as it happens to be."""
    slow = [1 + number / 10 for number in range(17)]
    planted = {"bare": 1.0, "bare again": 1.0, "bare with it": 0.8, "ours": 1.0, "ours with it": ours_s}
    seconds = {name: [own * one for one in slow] for name, own in planted.items()}
    found, noise = levers.rows_of(case(levers, ("optimizer", "fused")), seconds)

    assert f"{1 / ours_s:.3f} (" in found and "1.250 (1.250 to 1.250) by bare scripts" in found
    assert found.endswith(met)
    assert "| 1.000 (1.000 to 1.000), 17 sets of processes | the resolution |" in noise
