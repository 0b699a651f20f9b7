"""The environment that levers ask for: what the user has set wins, and a library that is not there is named."""

import pytest

from trainspeed.conduct import environments
from trainspeed.conduct.environments import environment_for, find_library
from trainspeed.conduct.worker_process import Unavailable

HUGE = (("huge_pages", "on"),)


def test_the_variables_of_the_levers_are_set():
    assert environment_for(HUGE, {"HOME": "/root"})["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert environment_for((), {}) == {}


@pytest.mark.parametrize(
    ("settings", "own"),
    [
        (HUGE, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}),
        ((("malloc_thresholds", "off"),), {"MALLOC_TRIM_THRESHOLD_": "1000"}),
        ((("allocator", "jemalloc"),), {"LD_PRELOAD": "libmine.so"}),
        ((("thread_placement", "close"),), {"GOMP_CPU_AFFINITY": "0-1"}),
        ((("onednn_math", "bf16"),), {"ONEDNN_DEFAULT_FPMATH_MODE": "STRICT"}),
        ((("gpu_allocator", "expandable"),), {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}),
    ],
)
def test_a_variable_that_the_user_has_set_wins_and_is_named(settings, own):
    ((name, value),) = own.items()

    with pytest.raises(Unavailable, match=f"{name} is set to '{value}' in your environment; unset it to try"):
        environment_for(settings, own)


def test_an_empty_variable_sets_nothing():
    assert environment_for(HUGE, {"GLIBC_TUNABLES": ""})


def test_a_library_that_is_not_installed_names_the_packages(monkeypatch):
    monkeypatch.setattr(environments, "find_library", lambda name: None)

    with pytest.raises(Unavailable, match=r"libjemalloc\.so\.2 is not installed here: install libjemalloc2"):
        environment_for([("allocator", "jemalloc")], {})


def test_a_library_is_preloaded_as_the_linker_finds_it(monkeypatch):
    monkeypatch.setattr(environments, "find_library", lambda name: f"/opt/{name}")

    assert environment_for([("allocator", "tcmalloc")], {}) == {"LD_PRELOAD": "/opt/libtcmalloc_minimal.so.4"}


def test_a_library_is_found_by_the_linkers_cache_or_in_a_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("ctypes.util.find_library", lambda stem: "libknown.so.2" if stem == "known" else None)
    file = tmp_path / "x86_64-linux-gnu/libother.so.1"
    file.parent.mkdir()
    file.touch()

    folders = [f"{tmp_path}/*-linux-gnu"]
    assert find_library("libknown.so.2", folders) == "libknown.so.2"
    assert find_library("libknown.so.1", folders) is None, "another version of it"
    assert find_library("libother.so.1", folders) == str(file)
    assert find_library("libmissing.so.1", folders) is None
