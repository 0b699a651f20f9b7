"""A run's side of turns: what it trains when, what it costs meanwhile, and whether it rests between."""

from __future__ import annotations

import pynvml
import pytest

import fake_nvml
from fake_nvml import NOT_SUPPORTED, FakeGpu, FakeNvml
from fake_runs import EventsSent
from trainspeed.core.notes import BusyWhileWaiting
from trainspeed.core.result import DISTURBED_CORES, Turn
from trainspeed.sensors.cpu import CpuSeconds, HostLoad
from trainspeed.worker import meter, turns
from trainspeed.worker.events import Finish, TakeTurn, TurnEnded, WarmUp, encode_command
from trainspeed.worker.meter import Meter
from trainspeed.worker.turns import Alone, InTurns


class Commands(EventsSent):
    """Gives turns of two epochs, each after a wait, then none; waiting takes CPU time."""

    def __init__(self, clock, count, busy_s=0.0, warm_up=False, wait_s=10.0, lead_in=0) -> None:
        super().__init__()
        self.first, self.lead_in = [WarmUp()] if warm_up else [], lead_in
        self.clock, self.left, self.busy_s, self.wait_s, self.own_s = clock, count, busy_s, wait_s, 0.0

    def receive(self):
        self.clock.advance(self.wait_s)
        self.own_s += self.busy_s
        if self.first:
            return encode_command(self.first.pop()).rstrip()
        self.left -= 1
        command = (
            TakeTurn(round=9 - self.left, place=1, epochs=2, lead_in=self.lead_in)
            if self.left >= 0
            else Finish()
        )
        return encode_command(command).rstrip()


@pytest.fixture
def trained(monkeypatch, fake_clock):
    """A function that trains epochs of 1 s in turns, and returns the run's side and the seconds of its epochs."""

    def train(count, uuids=(), settle=None, others_cores=None, in_ticks=False, paced=False, **options):
        channel = Commands(fake_clock, count, **options)

        def load():
            known = others_cores is not None
            cpu = CpuSeconds(channel.own_s + others_cores * fake_clock(), 0.0, 0.0) if known else None
            return HostLoad(monotonic_s=fake_clock(), cpu=cpu, own_s=channel.own_s, in_ticks=in_ticks)

        monkeypatch.setattr(turns, "host_load", load)
        monkeypatch.setattr(meter, "host_load", load)
        monkeypatch.setattr(turns.time, "monotonic", fake_clock)
        pace, epoch_s = InTurns(channel, fake_clock(), Meter(uuids), settle, paced=paced), []
        while True:
            fake_clock.advance(1.0)
            channel.own_s += 1.0
            epoch_s.append(1.0)
            if not pace.another(epoch_s):
                pace.end()
                return pace, epoch_s, channel

    return train


def test_two_epochs_come_before_the_first_turn(trained):
    """The first holds compiling; the second tells how long an epoch takes."""
    pace, epoch_s, channel = trained(0)

    assert (epoch_s, pace.turns) == ([1.0, 1.0], ())
    assert channel.events == [TurnEnded(epoch_s=(1.0, 1.0))]


def test_a_run_that_is_built_beside_others_moves_after_its_first_epoch_and_rests(trained):
    """Its second epoch is none of its first turn: it comes when it is told to."""
    moved_after = []
    pace, epoch_s, channel = trained(1, settle=lambda: moved_after.append(True), warm_up=True)

    assert moved_after == [True]
    assert channel.events[:2] == [TurnEnded(epoch_s=(1.0,))] * 2
    assert [turn.epoch_s for turn in pace.turns] == [(1.0, 1.0)]
    assert len(epoch_s) == 2 + 2


@pytest.mark.parametrize("settle", [None, lambda: None])
def test_where_the_pace_is_known_only_the_first_epoch_comes_before_the_turns(trained, settle):
    _, epoch_s, channel = trained(1, settle=settle, paced=True)

    assert channel.events == [TurnEnded(epoch_s=(1.0,)), TurnEnded(epoch_s=(1.0, 1.0))]
    assert len(epoch_s) == 1 + 2


def test_each_turn_is_kept_with_its_place_its_start_and_its_epochs(trained):
    pace, epoch_s, channel = trained(3)

    assert [turn.epoch_s for turn in pace.turns] == [(1.0, 1.0)] * 3
    assert [(turn.round, turn.place, turn.start_s) for turn in pace.turns] == [
        (7, 1, 12.0),
        (8, 1, 24.0),
        (9, 1, 36.0),
    ]
    assert len(epoch_s) == 2 + 3 * 2
    assert len(channel.events) == 1 + 3


@pytest.mark.parametrize(
    ("clocks", "of_turns"), [([1980, 1410, 1395], [1980, 1410, 1395]), ([NOT_SUPPORTED], [None] * 3)]
)
def test_each_turn_has_the_clock_at_its_end(trained, monkeypatch, clocks, of_turns):
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM] = list(clocks)
    fake_nvml.install(monkeypatch, FakeNvml(gpu))
    pace = trained(3, uuids=("GPU-aaaa-1",))[0]

    assert [turn.sm_clock_mhz for turn in pace.turns] == of_turns


def test_each_turn_has_what_held_the_clocks_down_at_its_end(trained, monkeypatch):
    capped, nothing = 0x4, 0x1
    gpu = FakeGpu(nvmlDeviceGetCurrentClocksEventReasons=[capped, nothing, NOT_SUPPORTED])
    fake_nvml.install(monkeypatch, FakeNvml(gpu))
    pace = trained(3, uuids=("GPU-aaaa-1",))[0]

    assert [turn.throttle_reasons for turn in pace.turns] == ["sw_power_cap", "", None]


@pytest.mark.parametrize(
    ("others_cores", "disturbed"), [(0.0, False), (DISTURBED_CORES / 2, False), (1.0, True), (None, False)]
)
def test_each_turn_has_the_cores_that_others_used_in_it(trained, others_cores, disturbed):
    """And the runner hears it, to give further turns; what comes before the first turn is none."""
    pace, _, channel = trained(3, others_cores=others_cores)

    used = [turn.others_cores for turn in pace.turns]
    assert used == ([None] * 3 if others_cores is None else pytest.approx([others_cores] * 3))
    assert [turn.is_disturbed for turn in pace.turns] == [disturbed] * 3
    assert [event.disturbed for event in channel.events] == [False, *[disturbed] * 3]


def test_a_turn_without_a_gpu_has_no_clock(trained):
    assert {(turn.sm_clock_mhz, turn.throttle_reasons) for turn in trained(3)[0].turns} == {(None, None)}


def test_waiting_is_no_part_of_training(trained):
    assert trained(3)[0].waited_s == 4 * 10.0


@pytest.mark.parametrize(
    ("busy_s", "notes"), [(0.05, []), (0.09, []), (0.11, [BusyWhileWaiting(cores=0.011)])]
)
def test_a_run_that_does_not_rest_while_it_waits_is_noted(trained, busy_s, notes):
    pace = trained(3, busy_s=busy_s)[0]

    assert pace.waiting_cores == pytest.approx(busy_s / 10.0, abs=1e-4)
    assert [type(note) for note in pace.notes()] == [type(note) for note in notes]


@pytest.mark.parametrize(
    ("wait_s", "in_ticks", "told"),
    [(0.1, False, True), (0.05, False, False), (0.1, True, False), (0.8, True, True), (0.7, True, False)],
)
def test_short_waits_tell_what_a_run_used_but_where_its_descendants_count_in_ticks(
    trained, wait_s, in_ticks, told
):
    """It waits four times."""
    pace = trained(3, wait_s=wait_s, busy_s=0.02 * wait_s, in_ticks=in_ticks)[0]

    assert pace.waiting_cores == (pytest.approx(0.02, abs=1e-3) if told else None)
    assert len(pace.notes()) == told


def test_a_turn_is_over_when_the_threads_that_spin_after_it_are_at_rest(monkeypatch, fake_clock):
    """Else they would have a core in the next arm's turn."""
    slept, told = [], []
    monkeypatch.setattr(
        turns.time, "sleep", lambda seconds: (slept.append(seconds), fake_clock.advance(seconds))
    )
    monkeypatch.setattr(turns.time, "monotonic", fake_clock)
    channel = Commands(fake_clock, 2)
    channel.send = lambda line: told.append(sum(slept))
    pace = InTurns(channel, fake_clock(), Meter(()), spin_s=0.25)
    while pace.rest():
        pass

    assert told == [0.25, 0.5, 0.75]
    assert {turn.end_s - turn.start_s for turn in pace.turns} == {0.0}, "they are no part of it"


def test_a_turn_keeps_how_many_of_its_epochs_do_not_count(trained):
    turns = trained(3, lead_in=1)[0].turns

    assert [(turn.lead_in, turn.epoch_s, turn.counted_epoch_s) for turn in turns] == [
        (1, (1.0, 1.0), (1.0,))
    ] * 3


def test_a_run_alone_trains_its_epochs_in_a_row():
    pace = Alone(TakeTurn(epochs=3), Meter(()))

    assert [pace.another([1.0] * done) for done in (1, 2, 3)] == [True, True, False]
    assert (pace.turns, pace.waiting_cores, pace.waited_s, pace.notes()) == ((), None, 0.0, [])


def test_a_convolution_alone_makes_its_calls_as_one_turn():
    whole = TakeTurn(calls=4, seconds=0.8)
    pace = Alone(whole, Meter(()))

    assert [pace.rest(), pace.rest(call_s=(0.5,), resident_s=(0.1,))] == [whole, None]
    assert pace.turns == ()


def test_calls_are_kept_turn_by_turn(monkeypatch, fake_clock):
    """What was called before the first turn is no part of one."""
    for module in (turns, meter):
        monkeypatch.setattr(
            module, "host_load", lambda: HostLoad(monotonic_s=fake_clock(), cpu=None, own_s=0.0)
        )
    monkeypatch.setattr(turns.time, "monotonic", fake_clock)
    channel = Commands(fake_clock, 2)
    pace = InTurns(channel, fake_clock(), Meter(()))
    measured = {}
    while pace.rest(**measured):
        fake_clock.advance(3.0)
        measured = {"call_s": (1.0, 1.5), "resident_s": (0.5,)}

    assert pace.turns == (
        Turn(round=8, place=1, start_s=10.0, end_s=13.0, **measured),
        Turn(round=9, place=1, start_s=23.0, end_s=26.0, **measured),
    )
    assert channel.events == [TurnEnded()] * 3
