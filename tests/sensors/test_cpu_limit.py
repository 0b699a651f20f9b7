"""Limits of CPU time, in control groups that a test writes."""

import os

import pytest

from trainspeed.sensors.cpu_limit import Periods, core_quota, limit_periods, throttled_of

STAT = "nr_periods {}\nnr_throttled {}\nthrottled_{} 9\n"


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (
            {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
            None,
        ),
        (
            {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
            4.0,
        ),
        ({"sys/fs/cgroup/slurm/job/cpu.max": "150000 100000\n", "proc/self/cgroup": "0::/slurm/job\n"}, 1.5),
        (
            {
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
            },
            0.5,
        ),
    ],
)
def test_reads_how_many_cores_a_container_grants(tmp_path, files, quota):
    write(tmp_path, files)

    assert core_quota(tmp_path) == quota


def test_a_group_may_have_any_name_that_a_folder_has(tmp_path):
    """It ended the report."""
    name = os.fsdecode(b"caf\xe9")
    write(tmp_path, {f"sys/fs/cgroup/{name}/cpu.max": "150000 100000\n"})
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_bytes(b"0::/caf\xe9\n")

    assert core_quota(tmp_path) == 1.5


@pytest.mark.parametrize(
    ("files", "periods"),
    [
        ({}, {}),
        ({"cpu.stat": "usage_usec 5\nuser_usec 5\n"}, {}),  # of version 2, at the top
        ({"cpu/cpu.stat": STAT.format(0, 0, "time")}, {}),  # of version 1, without a limit
        ({"cpu/cpu.stat": STAT.format(1418, 1129, "time")}, {"cpu": Periods(1418, 1129)}),
        (
            {"pod/cpu.stat": STAT.format(9, 0, "usec"), "pod/7/cpu.stat": STAT.format(8, 2, "usec")},
            {"pod": Periods(9, 0), "pod/7": Periods(8, 2)},
        ),
    ],
)
def test_the_periods_of_every_limit_are_read_in_both_versions(tmp_path, files, periods):
    top = tmp_path / "sys/fs/cgroup"
    write(top, files)
    write(tmp_path, {"proc/self/cgroup": "0::/pod/7\n"})

    assert limit_periods(tmp_path) == {str(top / group): counts for group, counts in periods.items()}


def test_the_tightest_limit_tells_how_often_it_stopped_somebody():
    before = {"pod": Periods(100, 50), "pod/7": Periods(100, 90), "other": Periods(5, 5)}
    after = {"pod": Periods(120, 51), "pod/7": Periods(120, 105), "other": Periods(5, 5)}

    assert throttled_of(before, after) == 0.75
    assert throttled_of(before, before) is None
    assert throttled_of({}, {}) is None
