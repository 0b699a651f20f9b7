import pytest

from trainspeed.worker.timing import MAX_REPEATS, EpochMarks, RepeatedWork, in_a_row, time_epochs


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


# Work without a model, repeated until an epoch is long enough.


class FakeDevice:
    """Queues steps that take so long each, after a first one that takes longer, and is waited for at a price."""

    def __init__(self, clock, step_s, *, cold_s=0.0, wait_s=0.0):
        self._clock, self._step_s, self._cold_s, self._wait_s = clock, step_s, cold_s, wait_s
        self._queued_s, self.steps = 0.0, 0

    def step(self):
        self._queued_s += self._step_s + (0 if self.steps else self._cold_s)
        self.steps += 1

    def synchronize(self):
        self._clock.advance(self._queued_s + self._wait_s)
        self._queued_s = 0.0

    def repeated(self, **options):
        options = {"steps": 5, "epoch_s": 1.0, "clock": self._clock} | options
        return RepeatedWork(self.step, options.pop("steps"), self.synchronize, **options)


@pytest.mark.parametrize(
    ("step_s", "repeats"), [(1.4e-3, 143), (2e-5, 10_000), (0.07, 3), (0.3, 1), (4.0, 1)]
)
def test_epochs_take_about_a_second_however_fast_the_device_is(fake_clock, step_s, repeats):
    """Five products of a large GPU take 7 ms: its clocks would not have risen yet."""
    device = FakeDevice(fake_clock, step_s, cold_s=30.0)
    epoch = device.repeated()

    times = time_epochs(epoch, device.synchronize, another=in_a_row(4), clock=fake_clock)

    assert epoch.repeats == pytest.approx(repeats, rel=0.01)
    assert times[1:] == pytest.approx([5 * step_s * epoch.repeats] * 3)
    assert times[0] > 30.0, "what is found out, and what is cold, is in the first epoch"


def test_what_waiting_costs_hardly_counts_in_a_repeated_step(fake_clock):
    """16 small sums in 0.25 ms, waited for in 0.1 ms, would be called 40 % longer than they are."""
    device = FakeDevice(fake_clock, 16e-6, wait_s=1e-4)
    epoch = device.repeated(steps=16, epoch_s=0.25)

    times = time_epochs(epoch, device.synchronize, another=in_a_row(3), clock=fake_clock)

    assert times[-1] / (16 * epoch.repeats) == pytest.approx(16e-6, rel=0.005)


def test_processes_that_work_together_repeat_as_often_as_the_first_one_says(fake_clock):
    """Else one would wait for sums that the other never sends."""
    slow, fast = (FakeDevice(fake_clock, step_s) for step_s in (0.02, 0.001))
    told = []
    first = fast.repeated(agree=lambda seconds: told.append(seconds) or seconds)
    first()
    heard = iter(told)
    second = slow.repeated(agree=lambda seconds: next(heard))
    second()

    assert second.repeats == first.repeats == 200
    assert slow.steps == fast.steps


def test_work_that_takes_no_time_at_all_is_not_repeated_for_ever(fake_clock, monkeypatch):
    monkeypatch.setattr("trainspeed.worker.timing.MAX_REPEATS", 100)
    epoch = FakeDevice(fake_clock, 0.0).repeated()
    epoch()

    assert epoch.repeats == 100 < MAX_REPEATS
