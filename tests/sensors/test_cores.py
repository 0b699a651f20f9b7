"""The load of single cores, on a made-up /proc/stat, and which cores the devices are."""

import os

import pytest

from trainspeed.sensors.cores import CoreSensors, core_seconds
from trainspeed.sensors.processes import device_cores, usable_cores


def write_stat(path, **cores):
    """Each core's (busy, idle) hundredths of a second since boot."""
    rows = [
        "cpu  9 9 9 9 9 9 9 9 0 0",
        *(f"{core} {busy} 0 0 {idle} 0 0 0 0 0 0" for core, (busy, idle) in cores.items()),
    ]
    path.write_text("\n".join([*rows, "intr 12 3 4", "ctxt 5", ""]))


@pytest.fixture
def stat(tmp_path):
    path = tmp_path / "stat"
    write_stat(path, cpu0=(0, 0), cpu2=(100, 100), cpu10=(0, 0))
    return path


def test_a_core_is_read_from_its_own_line(stat):
    assert core_seconds(stat) == {0: (0, 0, 0), 2: (1.0, 0, 2.0), 10: (0, 0, 0)}


def test_load_is_of_each_core_alone_since_the_sample_before(stat, fake_clock):
    sensors = CoreSensors([10, 2], stat=stat, clock=fake_clock)
    write_stat(stat, cpu0=(100, 0), cpu2=(175, 125), cpu10=(0, 100))
    fake_clock.advance(1.0)
    first = sensors.sample()
    write_stat(stat, cpu0=(100, 0), cpu2=(275, 125), cpu10=(50, 150))
    fake_clock.advance(1.0)
    second = sensors.sample()

    assert {core: sample.load_percent for core, sample in first.items()} == {10: 0.0, 2: 75.0}
    assert {core: sample.load_percent for core, sample in second.items()} == {10: 50.0, 2: 100.0}
    assert first[2].reasons == {}


def test_a_sample_too_soon_has_no_load_and_does_not_spoil_the_next(stat, fake_clock):
    sensors = CoreSensors([0], stat=stat, clock=fake_clock)
    write_stat(stat, cpu0=(1, 0))
    fake_clock.advance(0.01)
    early = sensors.sample()[0]
    write_stat(stat, cpu0=(50, 50))
    fake_clock.advance(0.99)

    assert (early.load_percent, early.reasons) == (None, {})
    assert sensors.sample()[0].load_percent == pytest.approx(50.0)


def test_waiting_time_that_counts_backwards_is_no_load_above_all(stat, fake_clock):
    sensors = CoreSensors([2], stat=stat, clock=fake_clock)
    write_stat(stat, cpu2=(200, 98))
    fake_clock.advance(1.0)

    assert sensors.sample()[2].load_percent == 100.0


def test_a_core_that_is_not_listed_says_so(stat, fake_clock):
    sensors = CoreSensors([0, 7], stat=stat, clock=fake_clock)
    fake_clock.advance(1.0)

    assert sensors.sample()[7].reasons == {"load_percent": "/proc/stat does not list this core"}


def test_a_core_that_appears_has_a_load_from_its_second_sample_on(stat, fake_clock):
    sensors = CoreSensors([7], stat=stat, clock=fake_clock)
    write_stat(stat, cpu7=(10, 10))
    fake_clock.advance(1.0)
    first = sensors.sample()[7]
    write_stat(stat, cpu7=(40, 80))
    fake_clock.advance(1.0)

    assert (first.load_percent, first.reasons) == (None, {})
    assert sensors.sample()[7].load_percent == pytest.approx(30.0)


def test_a_system_without_proc_stat_says_so(tmp_path):
    sample = CoreSensors([0], stat=tmp_path / "none").sample()[0]

    assert (sample.load_percent, sample.reasons) == (None, {"load_percent": "no /proc/stat on this system"})


def test_devices_are_the_last_usable_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {10, 1, 4, 2}, raising=False)

    assert usable_cores() == [1, 2, 4, 10]
    assert device_cores(2) == [4, 10]
    assert device_cores(9) == [1, 2, 4, 10]
    assert device_cores(0) == []


def test_a_system_without_affinity_names_no_core(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    assert device_cores(2) == usable_cores() == []
