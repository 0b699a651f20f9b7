"""What the benchmark of made-up machines makes of counts, and how the command ends by it: nothing is searched."""

import sys

import pytest

import search_at_random
from test_bench import BENCHMARKS

GOOD = {
    "worlds": 200,
    "found": 195,
    "nulls": 1200,
    "nulls_kept": 5,
    "silent": 200,
    "silent_kept": 0,
    "claims": 1500,
    "covered": 1440,
    "runs": 600,
    "one_at_a_time": 1000,
}


@pytest.fixture
def worlds(monkeypatch):
    """worlds.py and what it imports of its folder, which stay imported for no other test."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("worlds", "scatter", "bounds"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import worlds

    yield worlds
    for name in ("worlds", "scatter", "bounds"):
        sys.modules.pop(name, None)


def test_a_search_that_is_right_is_met_in_every_row(worlds):
    rows = worlds.rows_of(GOOD)
    assert [row.split(" | ")[-1] for row in rows] == ["yes |"] * 5
    assert "| 5 of 1000: 0.5% (" in rows[1], "levers that are not in effect are counted apart"


@pytest.mark.parametrize(
    ("row", "worse", "met"),
    [
        (0, {"found": 186}, "undecided |"),  # 93 %, from 88.5 % on
        (0, {"found": 160}, "NO |"),
        (1, {"nulls_kept": 40}, "NO |"),
        (2, {"nulls_kept": 1, "silent_kept": 1}, "NO |"),
        (3, {"covered": 1350}, "NO |"),
        (4, {"runs": 800}, "NO |"),
    ],
)
def test_each_row_is_judged_by_the_whole_interval(worlds, monkeypatch, capsys, row, worse, met):
    """And the command exits with 1 where one is missed."""
    count = GOOD | worse
    assert [line.split(" | ")[-1] for line in worlds.rows_of(count)][row] == met

    monkeypatch.setattr(sys, "argv", ["search_at_random.py", "200"])
    monkeypatch.setattr(search_at_random, "register_levers", lambda: None)
    monkeypatch.setattr(search_at_random, "scored", lambda *_, **__: search_at_random.Score(**count))
    assert search_at_random.main() == (met == "NO |")
    assert capsys.readouterr().out.count("|\n") == 5


def test_a_share_of_thousands_has_an_interval_too(worlds):
    """Beside the normal law's, which is close by then."""
    found = worlds.share(1800, 2000)
    half = 1.96 * (0.9 * 0.1 / 2000) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.9 - half, 0.9 + half), abs=1e-3)
