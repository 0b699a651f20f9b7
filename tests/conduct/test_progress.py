import pytest

from trainspeed.conduct.progress import Lines, Progress
from trainspeed.core.format import minutes


def make_progress(fake_clock, *estimates_s, kinds=None):
    shown = []
    return Progress(
        estimates_s, lambda *arguments: shown.append(arguments), kinds=kinds, clock=fake_clock
    ), shown


def run_all(progress, fake_clock, seconds):
    for took_s in seconds:
        progress.starting("a run")
        fake_clock.advance(took_s)
        progress.finished()


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


def test_a_kind_that_has_run_takes_as_long_again(fake_clock):
    """Both were estimated at 10 s; one took 2 s and 4 s, so 3 s each, the other 40 s."""
    progress, _ = make_progress(fake_clock, *[10.0] * 6, kinds="aabaab")
    run_all(progress, fake_clock, [2.0, 4.0, 40.0])
    assert progress.left_s == 3.0 + 3.0 + 40.0


def test_a_kind_to_come_is_scaled_by_all_that_ran(fake_clock):
    """30 s for 20 estimated: the new kind, estimated at 8 s, will take 12; the known one 30 as before."""
    progress, _ = make_progress(fake_clock, 20.0, 20.0, 8.0, kinds=("known", "known", "new"))
    run_all(progress, fake_clock, [30.0])
    assert progress.left_s == 30.0 + 12.0


def test_cheap_runs_do_not_make_the_kinds_to_come_cheap(fake_clock):
    """Runs took a tenth of their estimates; a kind that has not run yet counts for at least half of its own."""
    progress, _ = make_progress(fake_clock, *[10.0] * 4, kinds="aaab")
    run_all(progress, fake_clock, [1.0, 1.0])
    assert progress.left_s == 1.0 + 10.0 / 2


def test_a_core_that_takes_longer_than_estimated_is_not_taken_for_the_survey(fake_clock):
    """As a quick preset measured: block 0 holds a survey far below its estimates, the core repeats.

    One pace for all kinds gave 4 s with 120 s to go.
    """
    survey, core = [f"input {n}" for n in range(30)], ["traced"] * 2 + ["ranks"] * 2
    truth = {"traced": 4.0, "ranks": 2.0} | dict.fromkeys(survey, 0.5)
    estimates = {"traced": 2.0, "ranks": 0.5} | dict.fromkeys(survey, 10.0)
    kinds = survey + core * 11
    progress, _ = make_progress(fake_clock, *[estimates[kind] for kind in kinds], kinds=kinds)
    run_all(progress, fake_clock, [truth[kind] for kind in survey + core])
    assert progress.left_s == 120.0


def test_what_happens_before_a_run_is_not_its_time(fake_clock):
    """Workers that take 60 s to start tell nothing about the runs."""
    progress, _ = make_progress(fake_clock, 5.0, 5.0, kinds="aa")
    fake_clock.advance(60.0)
    run_all(progress, fake_clock, [5.0])
    assert progress.left_s == 5.0


def test_at_the_end_nothing_is_left(fake_clock):
    progress, _ = make_progress(fake_clock, 5.0)
    fake_clock.advance(7.0)
    progress.finished()
    assert progress.left_s == 0.0


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
        (100 * 3600, "100 h 00 min"),
    ],
)
def test_a_duration_is_said_as_a_reader_says_it(seconds, text):
    assert minutes(seconds) == text
