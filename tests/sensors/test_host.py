"""The host's sensors, and those of single cores, on made-up files."""

import pytest

from trainspeed.sensors.host import HostSensors, Rapl


def write_stat(path, *, user=0, idle=0, steal=0, guest=0):
    path.write_text(f"cpu  {user} 0 0 {idle} 0 0 0 {steal} {guest} 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n")


def write_rapl(folder, zone, name, energy_uj, range_uj=1_000_000_000):
    place = folder / zone
    place.mkdir(parents=True, exist_ok=True)
    (place / "name").write_text(f"{name}\n")
    (place / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (place / "energy_uj").write_text(f"{energy_uj}\n")


def test_host_load_percent_is_busy_over_all_since_the_last_sample(tmp_path):
    stat, now = tmp_path / "stat", [0.0]
    write_stat(stat)
    sensors = HostSensors(stat=stat, powercap=tmp_path, hwmon=tmp_path, clock=lambda: now[0])

    write_stat(stat, user=100, idle=250, steal=50)
    now[0] = 1.0
    first = sensors.samples()["host"]
    write_stat(stat, user=500, idle=250, steal=50)
    now[0] = 2.0

    assert first.load_percent == pytest.approx(25.0)
    assert sensors.samples()["host"].load_percent == pytest.approx(100.0)


def test_a_sample_too_soon_has_no_load_and_does_not_spoil_the_next(tmp_path):
    stat, now = tmp_path / "stat", [0.0]
    write_stat(stat)
    sensors = HostSensors(stat=stat, powercap=tmp_path, hwmon=tmp_path, clock=lambda: now[0])

    write_stat(stat, user=1)
    now[0] = 0.01
    early = sensors.samples()["host"]
    write_stat(stat, user=50, idle=50)
    now[0] = 1.0

    assert early.load_percent is None
    assert "load_percent" not in early.reasons
    assert sensors.samples()["host"].load_percent == pytest.approx(50.0)


def test_a_host_without_sensors_says_why_they_are_missing(tmp_path):
    sample = HostSensors(stat=tmp_path / "none", powercap=tmp_path, hwmon=tmp_path).samples()["host"]

    assert (sample.load_percent, sample.power_w, sample.energy_j, sample.temperature_c) == (None,) * 4
    assert sample.reasons == {
        "load_percent": "no /proc/stat on this system",
        "power_w": "no RAPL energy counter on this machine",
        "energy_j": "no RAPL energy counter on this machine",
        "temperature_c": "no CPU thermometer found",
    }
    assert 0 < sample.memory_used_bytes < sample.memory_total_bytes


def test_power_is_energy_over_time_summed_over_packages(tmp_path):
    now = [0.0]
    write_rapl(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    write_rapl(tmp_path, "intel-rapl:1", "package-1", 2_000_000)
    sensors = HostSensors(powercap=tmp_path, hwmon=tmp_path, clock=lambda: now[0])

    write_rapl(tmp_path, "intel-rapl:0", "package-0", 101_000_000)
    write_rapl(tmp_path, "intel-rapl:1", "package-1", 52_000_000)
    now[0] = 2.0
    sample = sensors.samples()["host"]

    assert sample.power_w == pytest.approx(75.0)
    assert sample.energy_j == pytest.approx(153.0)


def test_an_energy_counter_goes_on_over_its_wraparound(tmp_path):
    write_rapl(tmp_path, "intel-rapl:0", "package-0", 900_000, range_uj=1_000_000)
    rapl = Rapl(tmp_path)
    before = rapl.energy_j()

    write_rapl(tmp_path, "intel-rapl:0", "package-0", 200_000, range_uj=1_000_000)

    assert rapl.energy_j() - before == pytest.approx(0.3)


def test_parts_of_a_package_are_not_counted_twice(tmp_path):
    write_rapl(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    write_rapl(tmp_path, "intel-rapl:0:0", "core", 3_000_000)
    write_rapl(tmp_path, "intel-rapl:1", "psys", 9_000_000)

    assert Rapl(tmp_path).energy_j() == pytest.approx(5.0)


def test_energy_that_only_root_may_read_says_so(tmp_path, monkeypatch):
    """The usual case since 2020 (CVE-2020-8694)."""
    write_rapl(tmp_path, "intel-rapl:0", "package-0", 1)
    rapl = Rapl(tmp_path)

    def forbidden(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", forbidden)

    assert rapl.energy_j() is None
    assert rapl.reason == "RAPL may be read by root only"


def test_the_warmest_package_is_the_temperature(tmp_path):
    for number, (name, millidegrees) in enumerate(
        [("coretemp", 51_000), ("coretemp", 63_500), ("nvme", 90_000)]
    ):
        chip = tmp_path / f"hwmon{number}"
        chip.mkdir()
        (chip / "name").write_text(f"{name}\n")
        (chip / "temp1_input").write_text(f"{millidegrees}\n")

    assert HostSensors(powercap=tmp_path, hwmon=tmp_path).samples()["host"].temperature_c == 63.5


# Single cores.


def write_cores(path, **cores):
    """Each core's (busy, idle) hundredths of a second since boot."""
    rows = [
        "cpu  9 9 9 9 9 9 9 9 0 0",
        *(f"{core} {busy} 0 0 {idle} 0 0 0 0 0 0" for core, (busy, idle) in cores.items()),
    ]
    path.write_text("\n".join([*rows, "intr 12 3 4", "ctxt 5", ""]))


def core_samples(sensors):
    """Take a sample; return core -> what it read."""
    samples = sensors.samples()
    return {
        int(device.removeprefix("core")): sample for device, sample in samples.items() if device != "host"
    }


@pytest.fixture
def stat(tmp_path):
    path = tmp_path / "stat"
    write_cores(path, cpu0=(0, 0), cpu2=(100, 100), cpu10=(0, 0))
    return path


def test_load_is_of_each_core_alone_since_the_sample_before(stat, fake_clock):
    sensors = HostSensors([10, 2], stat=stat, clock=fake_clock)
    write_cores(stat, cpu0=(100, 0), cpu2=(175, 125), cpu10=(0, 100))
    fake_clock.advance(1.0)
    first = core_samples(sensors)
    write_cores(stat, cpu0=(100, 0), cpu2=(275, 125), cpu10=(50, 150))
    fake_clock.advance(1.0)
    second = core_samples(sensors)

    assert {core: sample.load_percent for core, sample in first.items()} == {10: 0.0, 2: 75.0}
    assert {core: sample.load_percent for core, sample in second.items()} == {10: 50.0, 2: 100.0}
    assert first[2].reasons == {}


def test_a_sample_of_a_core_too_soon_has_no_load_and_does_not_spoil_the_next(stat, fake_clock):
    sensors = HostSensors([0], stat=stat, clock=fake_clock)
    write_cores(stat, cpu0=(1, 0))
    fake_clock.advance(0.01)
    early = core_samples(sensors)[0]
    write_cores(stat, cpu0=(50, 50))
    fake_clock.advance(0.99)

    assert (early.load_percent, early.reasons) == (None, {})
    assert core_samples(sensors)[0].load_percent == pytest.approx(50.0)


def test_waiting_time_that_counts_backwards_is_no_load_above_all(stat, fake_clock):
    sensors = HostSensors([2], stat=stat, clock=fake_clock)
    write_cores(stat, cpu2=(200, 98))
    fake_clock.advance(1.0)

    assert core_samples(sensors)[2].load_percent == 100.0


def test_a_core_that_is_not_listed_says_so(stat, fake_clock):
    sensors = HostSensors([0, 7], stat=stat, clock=fake_clock)
    fake_clock.advance(1.0)

    assert core_samples(sensors)[7].reasons == {"load_percent": "/proc/stat does not list this core"}


def test_a_core_that_appears_has_a_load_from_its_second_sample_on(stat, fake_clock):
    sensors = HostSensors([7], stat=stat, clock=fake_clock)
    write_cores(stat, cpu7=(10, 10))
    fake_clock.advance(1.0)
    first = core_samples(sensors)[7]
    write_cores(stat, cpu7=(40, 80))
    fake_clock.advance(1.0)

    assert (first.load_percent, first.reasons) == (None, {})
    assert core_samples(sensors)[7].load_percent == pytest.approx(30.0)


def test_a_system_without_proc_stat_says_so(tmp_path):
    sample = core_samples(HostSensors([0], stat=tmp_path / "none"))[0]

    assert (sample.load_percent, sample.reasons) == (None, {"load_percent": "no /proc/stat on this system"})
