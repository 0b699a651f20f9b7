import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from trainspeed.core.errors import UserError
from trainspeed.sensors import memory as process_memory
from trainspeed.sensors.memory import (
    KernelKills,
    PeakMemory,
    Shortage,
    allowance_bytes,
    limit_memory,
    oom_kills,
)

GB = 10**9
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")


@pytest.fixture
def free(monkeypatch):
    """8 GB of free memory."""
    memory = SimpleNamespace(available=8 * GB)
    monkeypatch.setattr(process_memory.psutil, "virtual_memory", lambda: memory)


def cgroup(root, limit, used, cache=None):
    folder = root / "sys/fs/cgroup"
    folder.mkdir(parents=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    if cache is not None:
        (folder / "memory.stat").write_text(f"anon 17\ninactive_file {cache}\nactive_file 5\n")
    return root


def job(root, version, limit, used, cache):
    """Make the group of a job, as a batch system does, within one without a limit."""
    own, files, stat = {
        1: ("sys/fs/cgroup/memory/slurm/job_7", ("limit_in_bytes", "usage_in_bytes"), "total_inactive_file"),
        2: ("sys/fs/cgroup/slurm/job_7", ("max", "current"), "inactive_file"),
    }[version]
    for path, text in {
        **{f"{own}/memory.{file}": f"{value}\n" for file, value in zip(files, (limit, used), strict=True)},
        f"{own}/memory.stat": f"{stat} {cache}\n",
        "proc/self/cgroup": "9:cpu,memory:/slurm/job_7\n" if version == 1 else "0::/slurm/job_7\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def allowance(folder, **environment):
    return allowance_bytes(environment, folder)


def test_a_run_may_take_what_is_free_less_a_spare_twentieth(free, tmp_path):
    assert allowance(tmp_path / "no cgroup") == 7.6 * GB


def test_in_a_container_its_limit_counts(free, tmp_path):
    assert allowance(cgroup(tmp_path, 4 * GB, 1 * GB)) == pytest.approx(0.95 * 3 * GB)


@pytest.mark.parametrize("version", [1, 2])
def test_a_jobs_own_limit_counts_in_both_versions_of_control_groups(free, tmp_path, version):
    assert allowance(job(tmp_path, version, 4 * GB, 3 * GB, GB)) == pytest.approx(0.95 * 2 * GB)


def test_a_container_without_a_limit_may_take_what_is_free(free, tmp_path):
    assert allowance(cgroup(tmp_path, "max", 1 * GB)) == 7.6 * GB


def test_a_limit_larger_than_the_machine_does_not_count(free, tmp_path):
    assert allowance(cgroup(tmp_path, 64 * GB, 1 * GB)) == 7.6 * GB


def test_file_cache_that_would_be_given_up_is_free(free, tmp_path):
    """A container that has read 3 GB of files seems full; its runs would all be called out of memory."""
    assert allowance(cgroup(tmp_path, 4 * GB, 35 * GB // 10, cache=3 * GB)) == pytest.approx(0.95 * 3.5 * GB)


def test_a_full_container_allows_nothing_rather_than_less(free, tmp_path):
    assert allowance(cgroup(tmp_path, 4 * GB, 5 * GB)) == 0


def test_the_readers_own_limit_comes_first(free, tmp_path):
    assert allowance(cgroup(tmp_path, 4 * GB, 1 * GB), TRAINSPEED_MEMORY_BYTES="123") == 123
    assert allowance(tmp_path / "no cgroup", TRAINSPEED_MEMORY_BYTES="") == 7.6 * GB


@pytest.mark.parametrize("value", ["4GB", "-1", "1e9", "lots"])
def test_a_limit_that_is_no_number_of_bytes_is_told(value, tmp_path):
    with pytest.raises(
        UserError, match=rf"TRAINSPEED_MEMORY_BYTES \(='{value}'\) must be a whole number of bytes"
    ):
        allowance(tmp_path, TRAINSPEED_MEMORY_BYTES=value)


LIMITED = """
from trainspeed.sensors.memory import limit_memory
limit_memory(50_000_000)
small = bytearray(20_000_000)
try:
    large = bytearray(100_000_000)
except MemoryError:
    print("refused")
"""


@linux
def test_past_its_allowance_an_allocation_fails_instead_of_the_machine_swapping():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\n", "")


@linux
def test_a_lower_hard_limit_of_the_system_stays(monkeypatch):
    """Asking for more than it is an error, which would have ended every run."""
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 * GB, 2 * GB))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    limit_memory(100 * GB)
    assert asked == [(2 * GB, 2 * GB)]


@linux
def test_the_peak_is_what_was_added_at_most_even_if_it_was_given_back():
    memory = PeakMemory()
    if memory.bytes() is None:
        pytest.skip("this kernel does not let a process reset its high-water mark")
    taken = b"x" * 60_000_000
    del taken
    assert 50_000_000 < memory.bytes() < 200_000_000


@linux
def test_where_the_mark_cannot_be_reset_the_peak_is_not_known(monkeypatch):
    """Otherwise the peak of what the worker imported would be reported as the run's."""

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(process_memory.Path, "write_text", refuse)
    assert PeakMemory().bytes() is None


@linux
def test_the_kernels_count_of_killed_processes_is_a_number():
    kills = oom_kills()
    assert kills is None or kills >= 0


def test_a_container_counts_its_own_killed_processes_and_not_those_of_its_neighbours(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("oom_kill 40\n")
    assert oom_kills(tmp_path) == 40, "no container"

    group = cgroup(tmp_path, 4 * GB, GB) / "sys/fs/cgroup"
    (group / "memory.events").write_text("max 7\noom 3\noom_kill 2\n")
    assert oom_kills(tmp_path) == 2


@pytest.mark.parametrize(
    ("file", "counted"), [("memory.events", "oom {}\noom_kill {}\n"), ("memory.failcnt", "{}\n")]
)
def test_a_limit_of_the_container_or_job_is_no_want_of_memory_of_the_machine(tmp_path, file, counted):
    """A worker was killed at the limit of its container, and the machine, with 20 GB free, was named for it."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)

    def count(kills, reached):
        (tmp_path / "sys/fs/cgroup/memory.oom_control").write_text(f"under_oom 0\noom_kill {kills}\n")
        (tmp_path / "sys/fs/cgroup" / file).write_text(counted.format(reached, kills))

    count(2, 3)
    kills = KernelKills(tmp_path)
    assert kills.shortage is None
    count(3, 3)
    assert kills.shortage is Shortage.OF_MACHINE
    count(3, 4)
    assert kills.shortage is Shortage.OF_GROUP


def test_where_there_is_no_proc_nothing_is_known(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(process_memory.Path, "read_text", missing)
    monkeypatch.setattr(
        resource, "setrlimit", lambda *_: pytest.fail("limited without knowing how much it has")
    )
    assert oom_kills() is None and KernelKills().shortage is None
    assert PeakMemory().bytes() is None
    limit_memory(1)


@pytest.mark.parametrize(
    ("text", "mode"),
    [("always [madvise] never\n", "madvise"), ("[always] madvise never", "always"), ("", None), (None, None)],
)
def test_reads_which_programs_the_kernel_gives_huge_pages(tmp_path, text, mode):
    file = tmp_path / "enabled"
    if text is not None:
        file.write_text(text)

    assert process_memory.huge_pages_mode(file) == mode
