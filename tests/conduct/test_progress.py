"""How far a study is, by a made-up timetable."""

import math
from dataclasses import dataclass

import pytest

from study_data import make_trial
from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.progress import Lines, Progress, ProgressBar
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.format import minutes

BLOCK_S = 10.0
ARMS = tuple(Planned(block=0, label="", trial=make_trial(batch_size=size)) for size in (8, 16))
NAME = (
    ", ".join(ARMS[0].trial.describe(without=("image_size", "precision", "compile")))
    + ", in turns with 1 more"
)


@dataclass(frozen=True)
class TwoArms:
    """A group of two arms, in three blocks."""

    name: str
    core: bool = True
    around: bool = False
    most: int = 3
    blocks: tuple = (ARMS,) * 3

    def place(self, number: int) -> int:
        return 0


def queue_of(table, end_s=math.inf):
    return BlockQueue(
        table=table,
        end_s=end_s,
        left_of=lambda group, number: group.blocks[number],
        begin=lambda groups: None,
    )


@pytest.fixture
def table():
    return Timetable(groups=[TwoArms("x"), TwoArms("y")], block_s=lambda group: BLOCK_S)


@pytest.fixture
def shown():
    return []


@pytest.fixture
def progress_of(fake_clock, monkeypatch, shown):
    """Return what measures so many blocks of a queue, each in its time, and begins the next one."""
    monkeypatch.setattr("time.monotonic", fake_clock)

    def measured(queue, blocks):
        progress = Progress(queue, lambda *values: shown.append(values))
        for _ in range(blocks):
            block = queue.take()
            progress.starting(block.planned)
            fake_clock.advance(BLOCK_S)
            queue.finished(block)
            progress.finished(len(block.planned))
        progress.starting(queue.take().planned)

    return measured


def test_before_the_first_run_has_ended_the_time_left_is_not_known(table, progress_of, shown):
    progress_of(queue_of(table), 0)
    assert shown == [(0, 12, None, NAME)]


def test_the_time_left_is_that_of_the_blocks_to_come(table, progress_of, shown):
    progress_of(queue_of(table), 5)
    assert shown[-1] == (10, 12, BLOCK_S, NAME)


def test_what_there_is_no_time_for_is_not_to_come(table, progress_of, shown, fake_clock):
    progress_of(queue_of(table, fake_clock() + 5 * BLOCK_S), 2)
    assert shown[-1] == (4, 8, 2 * BLOCK_S, NAME)


def test_two_hands_need_half_the_time_for_what_neither_has_begun(table, progress_of, shown):
    queue = queue_of(table)
    progress_of(queue, 1)
    queue.joined()
    queue.take()
    Progress(queue, lambda *values: shown.append(values)).finished(2)
    assert queue.outlook() == (10, 5 * BLOCK_S / 2)


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


class Display:
    """Stands in for a notebook's output: keeps what it shows, newest last."""

    def __init__(self) -> None:
        self.shown = []

    def __call__(self, data, **options):
        assert options == {"raw": True, "display_id": True}
        self.update(data, raw=True)
        return self

    def update(self, data, *, raw):
        self.shown.append(data)


def test_a_bar_says_the_time_left_and_leaves_nothing(monkeypatch):
    display = Display()
    monkeypatch.setattr("IPython.display.display", display)
    bar = ProgressBar("layout")
    bar(0, 12, None, "first")
    bar(4, 12, 90.0, "<b>")
    bar.close()

    assert "value" not in display.shown[0]["text/html"], "it cannot say how far it is"
    assert "when the first runs have ended: first" in display.shown[1]["text/html"]
    assert 'value="4" max="12"' in display.shown[2]["text/html"]
    assert display.shown[2]["text/html"].endswith("4 of 12 runs, 1 min 30 s left: &lt;b&gt;")
    assert display.shown[2]["text/plain"] == "layout: 4 of 12 runs, 1 min 30 s left: <b>"
    assert display.shown[3] == {}


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
