"""What a run's work costs the devices, by a fake driver whose counter follows the power that a test plants."""

from __future__ import annotations

import os

import pytest

import fake_nvml
from fake_nvml import LOST, NOT_SUPPORTED, FakeGpu, FakeNvml
from fake_runs import EventsSent
from trainspeed.core.notes import GpuShared, GpuSlowedDown
from trainspeed.sensors.cpu import HostLoad
from trainspeed.worker import meter, turns
from trainspeed.worker.events import Finish, TakeTurn, encode_command
from trainspeed.worker.meter import Meter
from trainspeed.worker.turns import Alone, InTurns

UUIDS = ("GPU-aaaa-1",)
COMPILING_W, TRAINING_W, OTHERS_W, EVALUATING_W = 70.0, 300.0, 200.0, 120.0


class PlannedPower:
    """A GPU's energy counter: seconds at a power that a test plants, read in steps of a tenth of a second."""

    def __init__(self, clock, step_s=0.1) -> None:
        self._clock, self._step_s = clock, step_s
        self._spans: list[tuple[float, float, float]] = []

    def spend(self, seconds: float, watts: float) -> None:
        """Let time pass at a power."""
        self._spans.append((self._clock(), self._clock() + seconds, watts))
        self._clock.advance(seconds)

    def counter_mj(self) -> int:
        """Return what the counter shows: all until its last step."""
        now = self._clock() // self._step_s * self._step_s
        joules = sum(watts * max(0.0, min(end, now) - begin) for begin, end, watts in self._spans)
        return 10**9 + round(1000 * joules)


class Turns(EventsSent):
    """Gives turns of some epochs, each after others have had theirs, then none."""

    def __init__(self, power, count, epochs) -> None:
        super().__init__()
        self.power, self.left, self.epochs = power, count, epochs

    def receive(self):
        self.power.spend(1.77, OTHERS_W)
        self.left -= 1
        command = TakeTurn(round=self.left, place=0, epochs=self.epochs) if self.left >= 0 else Finish()
        return encode_command(command).rstrip()


@pytest.fixture
def power(monkeypatch, fake_clock):
    monkeypatch.setattr(turns.time, "monotonic", fake_clock)
    for module in (turns, meter):
        monkeypatch.setattr(
            module, "host_load", lambda: HostLoad(monotonic_s=fake_clock(), cpu=None, own_s=0.0)
        )
    return PlannedPower(fake_clock)


@pytest.fixture
def gpu(monkeypatch, power):
    gpu = FakeGpu(nvmlDeviceGetTotalEnergyConsumption=power.counter_mj)
    gpu.library = fake_nvml.install(monkeypatch, FakeNvml(gpu))
    return gpu


def train(pace, power, epoch_s=1.0):
    """Train as a framework does: an epoch that compiles for 30 s, then later ones; then evaluate."""
    power.spend(3.0, COMPILING_W)
    seconds = []
    while True:
        power.spend(epoch_s if seconds else 30.0, TRAINING_W if seconds else COMPILING_W)
        seconds.append(epoch_s if seconds else 30.0)
        if not pace.another(seconds):
            break
    power.spend(20.0, EVALUATING_W)
    pace.end()


def joules_an_epoch(meter, epoch_s=1.0):
    return meter.energy_j / meter.metered_s * epoch_s


def test_a_run_alone_is_metered_over_the_epochs_after_the_first(gpu, power):
    """Compiling at 70 W for 30 s is no part of what an epoch at 300 W costs."""
    measured = Meter(UUIDS)
    train(Alone(TakeTurn(epochs=4), measured), power)

    assert measured.metered_s == pytest.approx(3.0)
    assert joules_an_epoch(measured) == pytest.approx(300.0, rel=0.03)


@pytest.mark.parametrize(("epoch_s", "epochs"), [(1.0, 3), (0.2, 3)])
def test_a_run_in_turns_is_metered_over_these_alone(gpu, power, epoch_s, epochs):
    """Neither what the others draw nor what compiling and evaluating do is in it."""
    measured = Meter(UUIDS)
    train(InTurns(Turns(power, 4, epochs), 0.0, measured), power, epoch_s)

    assert measured.metered_s == pytest.approx(4 * epochs * epoch_s)
    assert joules_an_epoch(measured, epoch_s) == pytest.approx(300.0 * epoch_s, rel=0.06)


@pytest.mark.parametrize(("count", "epoch_s"), [(1, 0.3), (40, 0.1)])
def test_what_is_too_short_for_the_counters_steps_has_no_energy(gpu, power, count, epoch_s):
    """Less than a second in all, or turns that are a few steps long, however many."""
    measured = Meter(UUIDS)
    train(InTurns(Turns(power, count, 3), 0.0, measured), power, epoch_s)

    assert (measured.energy_j, measured.metered_s) == (None, None)


@pytest.mark.parametrize("counter", [[5000, 1000], NOT_SUPPORTED, [5000, NOT_SUPPORTED], LOST])
def test_a_counter_that_is_missing_or_begins_anew_tells_nothing(gpu, power, counter):
    gpu.answers["nvmlDeviceGetTotalEnergyConsumption"] = counter
    measured = Meter(UUIDS)
    train(Alone(TakeTurn(epochs=4), measured), power)

    assert (measured.energy_j, measured.metered_s) == (None, None)


def test_without_a_gpu_there_is_no_energy(power):
    measured = Meter(())
    train(Alone(TakeTurn(epochs=4), measured), power)

    assert (measured.energy_j, measured.metered_s, measured.throttle_reasons) == (None, None, None)


def test_nvml_is_opened_once_and_closed(gpu, power):
    train(InTurns(Turns(power, 4, 3), 0.0, Meter(UUIDS)), power)

    assert (gpu.library.times_opened, gpu.library.times_closed) == (1, 1)


# What slows a GPU down while it is measured.


@pytest.mark.parametrize(
    ("bits", "notes"),
    [
        ([0x20, 0, 0, 0], [GpuSlowedDown(gpu=0, reason="sw_thermal_slowdown", share=0.25)]),
        ([0x48, 0x48, 0x8, 0], [("hw_slowdown", 0.25), ("hw_thermal_slowdown", 0.5)]),
        ([0x88, 0x88, 0x88, 0x88], [GpuSlowedDown(gpu=0, reason="hw_power_brake_slowdown", share=1.0)]),
        ([0x4, 0x4, 0x4, 0x4], []),  # the power limit
        ([0x1, 0x2, 0x10, 0x100], []),  # idle, set clocks, synchronised boost, display
        ([NOT_SUPPORTED], []),
    ],
)
def test_a_gpu_that_its_cooling_or_supply_slows_down_is_noted(gpu, power, bits, notes):
    gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"] = bits
    measured = Meter(UUIDS)
    train(InTurns(Turns(power, 4, 3), 0.0, measured), power)

    expected = [
        GpuSlowedDown(gpu=0, reason=note[0], share=note[1]) if isinstance(note, tuple) else note
        for note in notes
    ]
    assert measured.notes() == expected


def test_a_run_alone_is_looked_at_after_every_epoch_but_the_first(gpu, power):
    gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"] = [0, 0x20, 0, 0]
    measured = Meter(UUIDS)
    train(Alone(TakeTurn(epochs=5), measured), power)

    assert gpu.calls["nvmlDeviceGetCurrentClocksEventReasons"] == 4
    assert measured.notes() == [GpuSlowedDown(gpu=0, reason="sw_thermal_slowdown", share=0.25)]


# How busy it is.


def test_the_load_is_that_of_the_ends_of_the_turns(gpu, power):
    gpu.answers["nvmlDeviceGetUtilizationRates"] = [{"gpu": percent} for percent in (40, 60, 80, 100)]
    measured = Meter(UUIDS)
    train(InTurns(Turns(power, 4, 3), 0.0, measured), power)

    assert measured.gpu_load_percent == 70.0


def test_a_turn_that_is_shorter_than_the_drivers_period_tells_no_load(gpu, power):
    measured = Meter(UUIDS)
    train(InTurns(Turns(power, 4, 3), 0.0, measured), power, epoch_s=0.1)

    assert measured.gpu_load_percent is None


@pytest.mark.parametrize("uuids", [(), UUIDS])
def test_where_no_load_can_be_read_there_is_none(gpu, power, uuids):
    gpu.answers["nvmlDeviceGetUtilizationRates"] = NOT_SUPPORTED  # while MIG is on
    measured = Meter(uuids)
    train(Alone(TakeTurn(epochs=4), measured), power)

    assert measured.gpu_load_percent is None


# Others that use the GPU while it is measured. This process is the report's; its parent is not below it.

OURS, THEIRS, NOT_HERE = os.getpid(), os.getppid(), 2**22 + 1


@pytest.mark.parametrize(
    ("loads", "notes"),
    [
        ([(OURS, 95), (THEIRS, 40), (THEIRS, 20)], [GpuShared(gpu=0, load_percent=30.0)]),
        ([(OURS, 95), (THEIRS, 4)], []),  # it refreshes a screen
        ([(OURS, 95)], []),
        ([(THEIRS, 40)], []),  # numbers that do not know this process are another namespace's
        ([(OURS, 95), (NOT_HERE, 40)], []),
        ([(OURS, 95), (THEIRS, 4_000_000)], []),  # a row that was not filled
        ([], []),
    ],
)
def test_a_process_of_somebody_else_on_the_gpu_is_noted(gpu, power, loads, notes):
    measured = Meter(UUIDS, runner_pid=OURS)
    gpu.process_loads = [(THEIRS, 1, 90)]  # before the span
    measured.begin()
    power.spend(2.0, TRAINING_W)
    gpu.process_loads += [(pid, 2 + number, percent) for number, (pid, percent) in enumerate(loads)]
    measured.end()

    assert measured.notes() == notes


def test_a_row_that_was_not_filled_hides_no_later_one(gpu, power):
    """Its time may lie years ahead."""
    measured = Meter(UUIDS, runner_pid=OURS)
    gpu.process_loads = [(NOT_HERE, 2**60, 37_100)]
    for moment in (2, 4):
        measured.begin()
        power.spend(2.0, TRAINING_W)
        gpu.process_loads += [(OURS, moment, 95), (THEIRS, moment, 40)]
        measured.end()

    assert measured.notes() == [GpuShared(gpu=0, load_percent=40.0)]


def test_a_process_of_somebody_else_between_the_spans_is_not(gpu, power):
    measured = Meter(UUIDS, runner_pid=OURS)
    for moment in (1, 3):
        gpu.process_loads += [(OURS, moment, 90), (THEIRS, moment, 90)]
        measured.begin()
        power.spend(2.0, TRAINING_W)
        gpu.process_loads += [(OURS, moment + 1, 90)]
        measured.end()

    assert measured.notes() == []
