"""The CPU's time, name and flags, from made-up files and made-up readings."""

import os
import time
from dataclasses import replace

import psutil
import pytest

from trainspeed.sensors.cpu import (
    FLAGS_VARIABLE,
    CpuSeconds,
    HostLoad,
    cpu_flags,
    cpu_name,
    cpu_seconds,
    foreign_cores,
    host_load,
    last_cores,
    others_cores,
    siblings,
    stolen_share,
    taken_by_others_s,
)
from trainspeed.sensors.processes import usable_cores

IDLE = HostLoad(monotonic_s=100.0, cpu=CpuSeconds(busy=50.0, stolen=1.0, total=400.0), own_s=10.0)


def later(seconds, *, busy_s=0.0, steal_s=0.0, own_s=0.0, cores=4):
    """Return the reading `seconds` after IDLE, with this CPU time used in between."""
    busy, stolen, total = IDLE.cpu
    return HostLoad(
        monotonic_s=IDLE.monotonic_s + seconds,
        cpu=CpuSeconds(busy + busy_s, stolen + steal_s, total + cores * seconds),
        own_s=IDLE.own_s + own_s,
    )


def test_foreign_cores_are_what_others_used_per_second():
    """Two cores busy for 10 s, one of them ours: the others used one core."""
    assert foreign_cores(IDLE, later(10, busy_s=20, own_s=10)) == pytest.approx(1.0)


def test_a_quiet_machine_has_no_foreign_load():
    assert foreign_cores(IDLE, later(10, busy_s=40, own_s=40)) == 0.0


def test_our_clock_running_ahead_is_not_a_negative_load():
    """Both counters tick in steps, so our share may seem larger than the whole."""
    assert foreign_cores(IDLE, later(10, busy_s=39.98, own_s=40)) == 0.0


def test_stolen_share_is_of_all_cores():
    """The hypervisor took 2 s of one core in 10 s of four cores."""
    assert stolen_share(IDLE, later(10, steal_s=2)) == pytest.approx(0.05)


def test_stolen_time_is_not_foreign_load():
    assert foreign_cores(IDLE, later(10, busy_s=10, own_s=10, steal_s=5)) == 0.0


def test_others_are_other_processes_and_the_hypervisor():
    assert others_cores(IDLE, later(10, busy_s=15, own_s=10, steal_s=5)) == pytest.approx(1.0)
    assert others_cores(IDLE, later(0.09, busy_s=0.09)) is None, "a tick is a large part of it"


@pytest.mark.parametrize(("own_s", "others"), [(8.0, 0.5), (12.0, 0.3)])
def test_others_count_where_a_run_may_run(own_s, others):
    """Others keep another core busy; of the run's own, the hypervisor takes 3 s, and others what is left of 10."""
    cores = {name: CpuSeconds(busy=5.0, stolen=0.0, total=100.0) for name in ("cpu0", "cpu1")}
    used = {"cpu0": CpuSeconds(15.0, 0.0, 110.0), "cpu1": CpuSeconds(15.0, 3.0, 113.0)}
    before, after = (
        replace(IDLE, cores=cores),
        replace(later(10, busy_s=20, own_s=own_s, steal_s=3), cores=used),
    )

    assert others_cores(before, after, {1}) == pytest.approx(others)
    of_all = pytest.approx((20 - own_s + 3) / 10)
    assert others_cores(before, after) == others_cores(before, after, {0, 1}) == of_all
    assert others_cores(before, after, {1, 2}) == of_all, "where one of them is not known"


def test_threads_of_one_physical_core_share_it(tmp_path):
    lists = {0: "0,4-5", 1: "1", 2: "strange"}
    for core, text in lists.items():
        (tmp_path / f"cpu{core}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}/topology/thread_siblings_list").write_text(f"{text}\n")

    assert [siblings(core, tmp_path) for core in range(4)] == [(0, 4, 5), (1,), (2,), (3,)]


def test_the_cores_of_a_block_are_the_last_ones_with_those_that_share_them(monkeypatch):
    monkeypatch.setattr("trainspeed.sensors.cpu.all_cores", lambda: [2, 3, 6, 7])
    monkeypatch.setattr("trainspeed.sensors.cpu.siblings", lambda core: (core % 4, core % 4 + 4))

    assert last_cores(1) == {3, 7}
    assert last_cores(2) == {2, 3, 6, 7}


def taken_s(tmp_path, *, own_s, cores=(1,)):
    """Return what others had of some cores: the first was busy for 9 s, the second for 4 s and stolen for 1 s."""
    stat = tmp_path / "stat"
    stat.write_text("cpu  1300 0 0 900 0 0 0 100\ncpu0 900 0 0 0 0 0 0 0\ncpu1 300 0 100 900 0 0 0 100\n")
    return taken_by_others_s(stat, cores=lambda: cores, own_s=lambda: own_s)


def test_threads_of_this_process_that_wait_for_each_other_take_nothing_from_it(tmp_path):
    """Two of them had its core for 2 s each: only the hypervisor took a second."""
    assert taken_s(tmp_path, own_s=2.0 + 2.0) == pytest.approx(1.0)


def test_others_count_on_the_cores_that_this_process_may_run_on(tmp_path):
    assert taken_s(tmp_path, own_s=1.0) == pytest.approx(4.0), "what ran on the other core does not matter"
    assert taken_s(tmp_path, own_s=4.0, cores=(0, 1)) == pytest.approx((9 + 5 - 4) / 2), "of each, on average"


def test_where_the_cores_are_not_told_it_is_not_known_who_had_them(tmp_path):
    assert taken_s(tmp_path, own_s=1.0, cores=()) is taken_s(tmp_path, own_s=1.0, cores=(7,)) is None


@pytest.mark.parametrize("share", [foreign_cores, others_cores, stolen_share])
def test_a_machine_that_cannot_tell_gives_none(share):
    nothing = HostLoad(monotonic_s=0.0, cpu=None, own_s=0.0)

    assert share(nothing, replace(nothing, monotonic_s=10.0, own_s=1.0)) is None


@pytest.mark.parametrize("share", [foreign_cores, others_cores, stolen_share])
def test_too_short_a_time_gives_none(share):
    assert share(IDLE, later(0.05, busy_s=0.05)) is None
    assert share(IDLE, IDLE) is None


def test_reads_the_lines_of_all_cores_and_of_each_in_proc_stat(tmp_path):
    """Guest time is in user time already; waiting for a disk is idle."""
    stat = tmp_path / "stat"
    stat.write_text(
        "cpu  100 20 30 4000 500 6 7 80 60 0\ncpu2 100 0 0 100 0 0 0 0 0 0\nintr 1 2 3 4 5 6 7 8 9\n"
    )

    seconds = cpu_seconds(stat)

    assert list(seconds) == ["cpu", "cpu2"]
    assert seconds["cpu"] == pytest.approx((1.63, 0.80, 47.43))
    assert seconds["cpu2"] == (1.0, 0.0, 2.0)


@pytest.mark.parametrize("text", [None, "", "cpu 1 2 3\n", "intr 1 2 3 4 5 6 7 8 9\n"])
def test_an_absent_or_strange_proc_stat_tells_nothing(tmp_path, text):
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)

    assert cpu_seconds(stat) == {}
    assert host_load(stat).cpu is None


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="needs Linux")
def test_own_work_counts_as_own_on_the_real_machine():
    before = host_load()
    deadline = time.process_time() + 0.2
    while time.process_time() < deadline:
        pass

    after = host_load()

    assert after.own_s - before.own_s >= 0.15
    assert {f"cpu{core}" for core in usable_cores()} <= set(after.cores)
    assert after.cpu.total >= before.cpu.total
    assert 0 <= foreign_cores(before, after) <= psutil.cpu_count() + 1


def test_the_cpu_is_named_by_the_kernel(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast CPU @ 2.50GHz\n\nprocessor\t: 1\n")

    assert cpu_name(cpuinfo) == "Fast CPU @ 2.50GHz"
    assert cpu_name(tmp_path / "none") is None


@pytest.mark.parametrize("name", ["flags", "Features"])
def test_cpu_flags_are_read_from_the_first_core(tmp_path, monkeypatch, name):
    monkeypatch.delenv(FLAGS_VARIABLE, raising=False)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\n{name}\t: fpu avx2 bf16\n\nprocessor\t: 1\n{name}\t: other\n")

    assert cpu_flags(cpuinfo) == {"fpu", "avx2", "bf16"}


@pytest.mark.parametrize("text", [None, "", "model name: Unknown\n"])
def test_a_system_that_does_not_tell_has_no_cpu_flags(tmp_path, monkeypatch, text):
    monkeypatch.delenv(FLAGS_VARIABLE, raising=False)
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)

    assert cpu_flags(tmp_path / "cpuinfo") == frozenset()


@pytest.mark.parametrize(("given", "flags"), [("", set()), ("avx2 amx_bf16", {"avx2", "amx_bf16"})])
def test_given_cpu_flags_replace_those_of_the_cpu(tmp_path, monkeypatch, given, flags):
    monkeypatch.setenv(FLAGS_VARIABLE, given)
    (tmp_path / "cpuinfo").write_text("flags\t: fpu avx512_bf16\n")

    assert cpu_flags(tmp_path / "cpuinfo") == flags
