"""What the benchmark makes of searches, on numbers alone: nothing is searched, and no program is started."""

import sys
from pathlib import Path

import pytest

from found_switches import whole
from test_bench import BENCHMARKS, load


@pytest.fixture
def searches(monkeypatch):
    """searches.py, which imports others of its folder; none of them stays imported."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    module = load("searches")
    monkeypatch.setattr(module, "search", lambda framework, **_: whole())
    monkeypatch.setattr(module, "find_interpreter", lambda framework: "python")
    yield module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


COMPILED = {"by hand, compiled": 0.71}


def measured(**seconds):
    """Return what stands for `run.turns_of`: so many seconds an epoch in each of 14 rounds."""
    names = {name.replace("_", " "): [value] * 14 for name, value in seconds.items()}
    return lambda programs, **_: names


def test_the_best_of_a_search_is_judged_by_the_script_that_was_written_by_hand(searches):
    slower = searches.best(measured(plain=1.0, found=0.8, by_hand=0.7, **COMPILED))
    assert [row.split(" | ")[-1] for row in slower] == ["|", "|", "NO |"] * 2
    assert "the best script (by hand) / plain | 1.429 (" in slower[1]
    assert slower[0].startswith("| torch: the search's best (channels_last, ") and "1.250 (" in slower[0]
    assert searches.best(measured(plain=1.0, found=0.7, by_hand=0.7, **COMPILED))[-1].endswith("yes |")


def test_a_framework_whose_turns_cannot_be_paired_costs_the_other_nothing(searches):
    def measure(programs, **_):
        if programs.args[0] == "torch":
            raise SystemExit("bench: only 5 rounds could be paired: measure again.")
        return measured(plain=1.0, found=0.7, by_hand=0.7, **COMPILED)(programs)

    rows = searches.best(measure)
    assert "| not measured: bench: only 5 rounds could be paired" in rows[0]
    assert len(rows) == 4 and rows[-1].endswith("yes |")


@pytest.mark.parametrize(("other", "met"), [(1.02, "yes |"), (1.05, "NO |")])
def test_two_searches_agree_within_three_percent(searches, other, met):
    rows = searches.seeds(measured(plain=1.3, one=1.0, two=other, by_hand=0.9))
    assert len(rows) == 3 and rows[-1].endswith(met)
