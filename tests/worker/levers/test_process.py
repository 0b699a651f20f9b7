"""What is read of a process below /proc, as the kernel writes it."""

import pytest

from trainspeed.worker.levers import process
from trainspeed.worker.levers.process import HugePages, Thread

MAPS = """\
55d5c0a00000-55d5c0c00000 rw-p 00000000 00:00 0                          [heap]
7f1000000000-7f1000100000 r-xp 00000000 08:01 1234                       /usr/lib/my libs/libjemalloc.so.2
7f1000200000-7f1000300000 rw-p 00000000 00:00 0
"""
MAPPING = """\
{header}
Size:               {size} kB
Rss:                  10 kB
AnonHugePages:      {huge} kB
VmFlags: rd wr mr mw me ac {flags}
"""
HEAP = "55d5c0a00000-55d5c0c00000 rw-p 00000000 00:00 0                          [heap]"
ARRAY = "7f1000200000-7f1000300000 rw-p 00000000 00:00 0"
STATUS = "Name:\t{name}\nState:\tS (sleeping)\nCpus_allowed:\tff\nCpus_allowed_list:\t{cores}\n"


@pytest.fixture
def folder(tmp_path):
    """A process with two threads, one library and a heap."""
    (tmp_path / "maps").write_text(MAPS)
    for number, (name, cores) in enumerate([("python", "0-2,5"), ("tf_XLAEigen", "3")], start=1):
        task = tmp_path / "task" / str(number)
        task.mkdir(parents=True)
        (task / "status").write_text(STATUS.format(name=name, cores=cores))
    return tmp_path


def of_mappings(folder, *mappings):
    texts = [MAPPING.format(header=h, size=size, huge=huge, flags=flags) for h, size, huge, flags in mappings]
    (folder / "smaps").write_text("".join(texts))
    return process.huge_pages(folder)


def test_each_thread_has_a_name_and_the_cores_that_it_may_run_on(folder):
    assert process.threads(folder) == [
        Thread(name="python", cores=frozenset({0, 1, 2, 5})),
        Thread(name="tf_XLAEigen", cores=frozenset({3})),
    ]


def test_a_thread_that_ended_meanwhile_is_left_out(folder):
    (folder / "task/1/status").unlink()

    assert [thread.name for thread in process.threads(folder)] == ["tf_XLAEigen"]


def test_a_library_is_found_by_the_beginning_of_its_name(folder):
    assert process.library_path("libjemalloc", folder) == "/usr/lib/my libs/libjemalloc.so.2"
    assert process.library_path("libtcmalloc", folder) is None
    assert process.library_path("jemalloc", folder) is None


def test_huge_pages_that_an_array_asked_for_are_not_the_heaps(folder):
    """NumPy asks for its large arrays, in a plain process too."""
    found = of_mappings(folder, (HEAP, 4096, 0, "sd"), (ARRAY, 8192, 6144, "hg sd"))

    assert found == HugePages(heap=4096 * 1024, heap_advised=0, held=6144 * 1024)


def test_a_heap_in_several_parts_is_summed(folder):
    found = of_mappings(folder, (HEAP, 100, 0, "sd"), (ARRAY, 8, 8, "sd"), (HEAP, 4000, 2048, "hg sd"))

    assert found == HugePages(heap=4100 * 1024, heap_advised=4000 * 1024, held=2048 * 1024)


def test_this_process_can_be_read():
    assert process.threads()[0].cores
    assert process.huge_pages().heap > 0
    assert process.library_path("libc.so") or process.library_path("libc-") or process.library_path("ld-")
