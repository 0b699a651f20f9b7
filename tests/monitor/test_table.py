"""The monitor's CSV: what is written, and what reading it gives back."""

import csv

import pandas as pd
import pytest

from fake_nvml import NOT_SUPPORTED, FakeGpu, FakeNvml, install, install_none
from trainspeed.core.errors import UserError
from trainspeed.core.monitor_csv import MONITOR_COLUMNS, read_monitor
from trainspeed.monitor.table import SampleTable, open_table
from trainspeed.sensors.host import HostSensors
from trainspeed.sensors.nvml import open_nvml


def write_samples(path, samples=1, interval_s=5.0, host=None):
    nvml = open_nvml()
    with open_table(path) as file:
        table = SampleTable(file, nvml, host or HostSensors(), interval_s)
        for _ in range(samples):
            table.sample()


def test_writes_a_row_per_device_and_sample(tmp_path, monkeypatch):
    install(monkeypatch, FakeNvml(FakeGpu(), FakeGpu(uuid="GPU-bbbb-2", name="NVIDIA Fake #2")))

    write_samples(tmp_path / "gpu.csv", samples=2)
    frame, comments = read_monitor(tmp_path / "gpu.csv")

    assert list(frame.columns) == list(MONITOR_COLUMNS)
    assert list(frame["device"]) == ["host", "gpu0", "gpu1"] * 2
    first = frame[frame["device"] == "gpu0"].iloc[0]
    assert (first["name"], first["uuid"]) == ("NVIDIA Fake 1", "c3045f930569")
    assert (first["load_percent"], first["power_w"], first["sm_clock_mhz"]) == (42, 123.456, 1980)
    assert first["pcie_rx_bytes_per_s"] == 2_000_000
    assert first["throttle_reasons"] == ""
    assert str(frame["utc"].dtype).endswith("UTC]")
    assert "not how full the GPU was" in " ".join(comments)
    assert comments[0] == "trainspeed.monitor, a sample every 5 s"


def test_plain_pandas_reads_the_csv(tmp_path, monkeypatch):
    install(
        monkeypatch, FakeNvml(FakeGpu(name="NVIDIA Fake #1", nvmlDeviceGetUtilizationRates=NOT_SUPPORTED))
    )
    write_samples(tmp_path / "gpu.csv", samples=3)

    frame = pd.read_csv(tmp_path / "gpu.csv", comment="#")

    assert list(frame.columns) == list(MONITOR_COLUMNS)
    gpu = frame[frame["device"] == "gpu0"]
    assert len(gpu) == 3
    assert gpu["load_percent"].isna().all()
    assert (gpu["power_w"] == 123.456).all()


def test_a_missing_sensor_is_an_empty_cell_and_a_comment_before_the_columns(tmp_path, monkeypatch):
    install(monkeypatch, FakeNvml(FakeGpu(nvmlDeviceGetPowerUsage=NOT_SUPPORTED)))

    write_samples(tmp_path / "gpu.csv", samples=2)

    lines = (tmp_path / "gpu.csv").read_text().splitlines()
    assert lines.count("# gpu0 power_w: not supported by this GPU") == 1
    assert lines.index("# gpu0 power_w: not supported by this GPU") < lines.index(",".join(MONITOR_COLUMNS))
    row = next(csv.DictReader([",".join(MONITOR_COLUMNS), *(line for line in lines if ",gpu0," in line)]))
    assert (row["power_w"], row["throttle_reasons"]) == ("", "none")


def test_a_machine_without_a_driver_still_samples_its_host(tmp_path, monkeypatch):
    install_none(monkeypatch)

    write_samples(tmp_path / "gpu.csv")
    frame, comments = read_monitor(tmp_path / "gpu.csv")

    assert "gpus: no NVIDIA driver library found" in comments
    assert list(frame["device"]) == ["host"]
    assert frame["memory_used_bytes"].iloc[0] > 0


def test_a_core_is_a_row_with_its_load_alone_and_no_comment_for_what_no_core_has(tmp_path, monkeypatch):
    install_none(monkeypatch)
    stat, seconds = tmp_path / "stat", iter(range(10))

    def clock():
        now = next(seconds)
        stat.write_text(f"cpu {30 * now} 0 0 {170 * now} 0 0 0 0\ncpu2 {25 * now} 0 0 {75 * now} 0 0 0 0\n")
        return now

    write_samples(tmp_path / "gpu.csv", samples=2, host=HostSensors([2, 9], stat=stat, clock=clock))
    frame, comments = read_monitor(tmp_path / "gpu.csv")

    assert list(frame["device"]) == ["host", "core2", "core9"] * 2
    core = frame[frame["device"] == "core2"]
    assert list(core["load_percent"]) == [25, 25]
    assert core.drop(columns=["utc", "device", "load_percent"]).isna().all(axis=None)
    assert frame[frame["device"] == "core9"]["load_percent"].isna().all()
    assert [comment for comment in comments if comment.startswith("core")] == [
        "core9 load_percent: /proc/stat does not list this core"
    ]
    assert "a core: has only load_percent" in comments


def test_a_gpu_lost_later_is_noted_once_and_the_other_goes_on(tmp_path, monkeypatch):
    lost = FakeGpu()
    install(monkeypatch, FakeNvml(lost, FakeGpu(uuid="GPU-bbbb-2")))
    nvml = open_nvml()

    with open_table(tmp_path / "gpu.csv") as file:
        table = SampleTable(file, nvml, HostSensors(), 5.0)
        table.sample()
        lost.lost = True
        table.sample()
        table.sample()
    frame, comments = read_monitor(tmp_path / "gpu.csv")

    assert [comment for comment in comments if "lost" in comment] == [
        "gpu0: the GPU is lost: it does not answer any more; reboot"
    ]
    loads = frame.pivot_table(index="utc", columns="device", values="load_percent", aggfunc="count")
    assert loads["gpu1"].sum() == 3
    assert frame[frame["device"] == "gpu0"]["load_percent"].tolist()[0] == 42
    assert frame[frame["device"] == "gpu0"]["load_percent"].isna().tolist() == [False, True, True]


def test_pcie_is_left_out_where_reading_it_takes_a_tenth_of_the_interval(tmp_path, monkeypatch):
    """Its 40 ms for each GPU would spread the values of a row over the interval."""
    install(monkeypatch, FakeNvml(FakeGpu()))

    write_samples(tmp_path / "slow.csv", interval_s=1.0)
    write_samples(tmp_path / "fast.csv", interval_s=0.1)

    slow, _ = read_monitor(tmp_path / "slow.csv")
    fast, comments = read_monitor(tmp_path / "fast.csv")
    assert slow["pcie_tx_bytes_per_s"].iloc[1] == 1_000_000
    assert fast["pcie_tx_bytes_per_s"].isna().all()
    assert any(c.startswith("gpu0 pcie_tx_bytes_per_s: not read at this interval") for c in comments)


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path, monkeypatch):
    """Cut in a number, the rest would look like a measurement."""
    install(monkeypatch, FakeNvml(FakeGpu()))
    path = tmp_path / "gpu.csv"
    write_samples(path, samples=2)
    path.write_text(path.read_text()[:-4])

    frame, _ = read_monitor(path)

    assert list(frame["device"]) == ["host", "gpu0", "host"]


def test_a_file_without_samples_is_an_empty_frame_with_the_columns(tmp_path):
    path = tmp_path / "gpu.csv"
    path.write_text("# trainspeed.monitor, a sample ev")

    frame, comments = read_monitor(path)

    assert (list(frame.columns), len(frame), comments) == (list(MONITOR_COLUMNS), 0, [])


def test_another_csv_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")

    with pytest.raises(UserError, match=r"other\.csv is not a monitor's file: it has no column 'utc'"):
        read_monitor(path)


def test_an_older_monitors_samples_are_kept(tmp_path, monkeypatch):
    """Nothing measured is ever overwritten; the half row of a killed monitor is dropped."""
    install_none(monkeypatch)
    path = tmp_path / "gpu.csv"
    write_samples(path, samples=2)
    path.write_text(path.read_text()[:-3])

    write_samples(path, samples=1)
    frame, _ = read_monitor(path)

    assert len(frame) == 2
    assert path.read_text().count("utc,device") == 1
