import io

import pytest

from trainspeed.progress import Lines, Progress, minutes


def make_progress(fake_clock, *estimates_s):
    shown = []
    return Progress(list(estimates_s), lambda *told: shown.append(told), clock=fake_clock), shown


def test_before_the_first_run_has_ended_the_time_left_is_not_known(fake_clock):
    progress, shown = make_progress(fake_clock, 10.0, 10.0)
    progress.starting("first")
    assert shown == [(0, 2, None, "first")]


def test_the_time_left_is_at_the_pace_so_far(fake_clock):
    """Estimated at 10 s, the first took 20: the rest, estimated at 30, will take 60."""
    progress, shown = make_progress(fake_clock, 10.0, 10.0, 20.0)
    progress.starting("first")
    fake_clock.advance(20.0)
    progress.finished()
    progress.starting("second")
    assert shown[-1] == (1, 3, 60.0, "second")


def test_a_long_run_to_come_counts_for_as_long_as_it_is_estimated(fake_clock):
    progress, _ = make_progress(fake_clock, 1.0, 99.0)
    fake_clock.advance(1.0)
    progress.finished()
    assert progress.left_s == 99.0


def test_at_the_end_nothing_is_left(fake_clock):
    progress, _ = make_progress(fake_clock, 5.0)
    fake_clock.advance(7.0)
    progress.finished()
    assert progress.left_s == 0.0


def test_lines_are_sparse(fake_clock):
    stream = io.StringIO()
    lines = Lines("layout", stream, every_s=15.0, clock=fake_clock)
    for done in range(31):
        lines(done, 31, None if done == 0 else 60.0, f"run {done}")
        fake_clock.advance(1.0)
    assert stream.getvalue().splitlines() == [
        "layout: run 1 of 31: run 0",
        "layout: run 16 of 31, 1 min 00 s left: run 15",
        "layout: run 31 of 31, 1 min 00 s left: run 30",
    ]


def test_lines_go_to_what_is_standard_output_when_they_are_printed(fake_clock, capsys):
    Lines("layout", clock=fake_clock)(0, 1, None, "torch")
    assert capsys.readouterr().out == "layout: run 1 of 1: torch\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (100 * 3600, "100 h 00 min"),
    ],
)
def test_a_duration_is_said_as_a_reader_says_it(seconds, said):
    assert minutes(seconds) == said
