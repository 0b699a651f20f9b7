import pytest

from trainspeed.worker.timing import EpochMarks, in_a_row, time_epochs


def test_times_the_finished_epoch_not_its_launch(fake_clock):
    """An epoch that queues 2 s of GPU work and returns at once counts as 2 s."""
    queued = []

    def synchronize():
        fake_clock.advance(2.0 * len(queued))
        queued.clear()

    times = time_epochs(lambda: queued.append(1), synchronize, another=in_a_row(3), clock=fake_clock)

    assert times == (2.0,) * 3


def test_work_that_was_queued_before_is_no_part_of_the_first_epoch(fake_clock):
    """Building the model may leave 5 s of work on the device."""
    queued = [5.0]

    def synchronize():
        fake_clock.advance(sum(queued))
        queued.clear()

    assert time_epochs(lambda: queued.append(1.0), synchronize, another=in_a_row(2), clock=fake_clock) == (
        1.0,
        1.0,
    )


def test_the_device_is_waited_for_at_both_ends_of_an_epoch_and_never_within(fake_clock):
    events = []

    def epoch():
        events.append("epoch")
        fake_clock.advance(1.0)

    time_epochs(epoch, lambda: events.append("wait"), another=in_a_row(2), clock=fake_clock)
    assert events == ["wait", "epoch", "wait"] * 2


def test_what_happens_between_two_epochs_is_not_timed(fake_clock):
    """Keras calls back at both ends; what it does between epochs is its own."""
    marks = EpochMarks(lambda: None, clock=fake_clock)
    for seconds in (3.0, 1.0):
        fake_clock.advance(100.0)
        marks.begin()
        fake_clock.advance(seconds)
        marks.end()
    assert marks.epoch_s == (3.0, 1.0)


def test_an_epoch_that_has_not_ended_has_no_time(fake_clock):
    marks = EpochMarks(lambda: None, clock=fake_clock)
    marks.begin()
    assert marks.epoch_s == ()


def test_an_epoch_cannot_end_before_it_begins_nor_twice(fake_clock):
    marks = EpochMarks(lambda: None, clock=fake_clock)
    with pytest.raises(RuntimeError, match="end of an epoch that did not begin"):
        marks.end()
    marks.begin()
    marks.end()
    with pytest.raises(RuntimeError, match="did not begin"):
        marks.end()
    assert len(marks.epoch_s) == 1


def test_a_wait_between_two_epochs_is_not_timed(fake_clock):
    """Such as for a turn: the other arms of a block train meanwhile."""

    def another(epoch_s):
        fake_clock.advance(100.0)
        return len(epoch_s) < 2

    assert time_epochs(lambda: fake_clock.advance(1.0), lambda: None, another=another, clock=fake_clock) == (
        1.0,
        1.0,
    )
