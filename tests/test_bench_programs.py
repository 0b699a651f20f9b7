"""Which program of a benchmark starts when, and has which turns, with programs that only say so."""

import importlib

import pytest

from test_bench import BENCHMARKS

NAMES = ("bare", "bare again", "ours")


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("programs")


@pytest.fixture
def played(programs, monkeypatch):
    """A function that has programs take turns, and returns who started and whose turns there were, in order."""
    started, turned = [], []

    class Played(programs.Program):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def like(self):
            return Played(f"like {self.name}")

        def start(self, pace):
            started.append(self.name)
            self.on_s.append(1.9)
            return pace or programs.turns.Pace(epoch_s=0.1)

        def turn(self, seconds):
            turned.append(self.name)
            self.on_s.append(seconds)
            return True

        def finish(self):
            return [
                1.0,
                *(0.1 for _ in range(9)),
                *(value for _ in self.on_s[1:] for value in (9.0, 0.1, 0.1, 0.1)),
            ]

    monkeypatch.setattr(programs.time, "sleep", lambda seconds: None)

    def play(seed):
        started.clear(), turned.clear()
        programs.take_turns({name: Played(name) for name in NAMES}, rounds=4, seed=seed, turn_s=1.0)
        return tuple(started), tuple(turned)

    return play


def test_whoever_starts_first_has_no_turns_and_the_others_start_in_any_order(played):
    """The first one was slower than the same script that started second."""
    orders = {played(seed)[0] for seed in range(20)}

    assert {order[0] for order in orders} == {"like bare"}
    assert {order[1] for order in orders} == set(NAMES) == {order[-1] for order in orders}


def test_each_has_a_turn_in_each_round_and_nobody_two_in_a_row(played):
    for seed in range(20):
        started, turned = played(seed)
        rounds = [turned[at : at + 3] for at in range(0, 12, 3)]

        assert all(sorted(each) == sorted(NAMES) for each in rounds)
        assert all(one != other for one, other in zip((started[-1], *turned), turned, strict=False))
