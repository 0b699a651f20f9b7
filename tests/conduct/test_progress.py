"""How far a study is, by a made-up timetable."""

import math
from dataclasses import dataclass

import pytest

from trainspeed.conduct.progress import Lines, Progress
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.format import minutes

BLOCK_S = 10.0


@dataclass(frozen=True)
class TwoArms:
    """A group of two arms, in three blocks."""

    name: str
    core: bool = True
    around: bool = False
    most: int = 3
    blocks: tuple = (("a", "b"),) * 3

    def place(self, number: int) -> int:
        return 0


@pytest.fixture
def table():
    return Timetable(groups=[TwoArms("x"), TwoArms("y")], block_s=lambda group: BLOCK_S)


def run_blocks(progress, table, number):
    for _ in range(number):
        progress.starting("a pair")
        table.took(table.next(math.inf))
        progress.finished(2)


def test_before_the_first_run_has_ended_the_time_left_is_not_known(table):
    shown = []
    Progress(table, lambda *values: shown.append(values)).starting("first")
    assert shown == [(0, 12, None, "first")]


def test_the_time_left_is_that_of_the_blocks_to_come(table):
    shown = []
    progress = Progress(table, lambda *values: shown.append(values))
    run_blocks(progress, table, 5)
    progress.starting("last")
    assert shown[-1] == (10, 12, BLOCK_S, "last")


def test_what_there_is_no_time_for_is_not_to_come(table):
    shown = []
    progress = Progress(table, lambda *values: shown.append(values))
    run_blocks(progress, table, 2)
    progress.starting("third", 3 * BLOCK_S)
    assert shown[-1] == (4, 8, 2 * BLOCK_S, "third")


def test_lines_are_sparse(fake_clock, capsys):
    lines = Lines("layout", clock=fake_clock)
    for done in range(31):
        lines(done, 31, None if done == 0 else 60.0, f"run {done}")
        fake_clock.advance(1.0)
    assert capsys.readouterr().out.splitlines() == [
        "layout: run 1 of 31: run 0",
        "layout: run 16 of 31, 1 min 00 s left: run 15",
        "layout: run 31 of 31, 1 min 00 s left: run 30",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (40 * 3600, "40 h 00 min"),
        (100 * 3600, "4 days"),
    ],
)
def test_a_duration_is_said_as_a_reader_says_it(seconds, text):
    assert minutes(seconds) == text
