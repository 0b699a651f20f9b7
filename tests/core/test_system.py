"""Where two systems differ, as far as times depend on it."""

from __future__ import annotations

import pytest

from trainspeed.core.system import Difference, machine_differences, version_differences

GPU = {"name": "NVIDIA A", "uuid": "0123", "memory_bytes": 80 * 10**9, "power_limit_w": 700.0}
HERE = {
    "device": "gpu",
    "cpu": "Test CPU",
    "cpu_flags": ["avx2", "avx512f"],
    "cores": {"physical": 8, "logical": 16, "quota": None},
    "gpus": [GPU],
    "driver": "580.65",
    "environment": {},
    "os": "Debian 12",
}


@pytest.mark.parametrize(
    ("changed", "what", "before", "now"),
    [
        ({"driver": "550.54"}, "NVIDIA driver", "580.65", "550.54"),
        ({"driver": None}, "NVIDIA driver", "580.65", "none"),
        ({"cpu": "Other CPU"}, "CPU", "Test CPU", "Other CPU"),
        ({"cpu_flags": ["avx2"]}, "CPU instructions", "avx2, avx512f", "avx2"),
        ({"environment": {"OMP_NUM_THREADS": "1"}}, "environment variables", "none", "OMP_NUM_THREADS=1"),
        ({"device": "cpu"}, "trained on", "GPU", "CPU, one core per device"),
        (
            {"cores": {"physical": 8, "logical": 16, "quota": 2.0}},
            "cores",
            "8 physical, 16 logical",
            "8 physical, 16 logical, limited to 2 at a time",
        ),
        ({"gpus": []}, "GPUs", "1 × NVIDIA A, 80 GB, 700 W at most, compute capability not known", "none"),
    ],
)
def test_what_times_depend_on_is_a_difference(changed, what, before, now):
    assert machine_differences(HERE, HERE | changed) == [Difference(what=what, before=before, now=now)]


def test_another_gpu_of_the_same_kind_is_another_gpu():
    (difference,) = machine_differences(HERE, HERE | {"gpus": [GPU | {"uuid": "4567"}]})
    assert difference.now == f"another {difference.before}"


@pytest.mark.parametrize("changed", [{}, {"os": "Debian 13"}, {"memory_bytes": 1}])
def test_what_has_no_bearing_on_times_is_no_difference(changed):
    assert machine_differences(HERE, HERE | changed) == []


def test_what_an_older_line_does_not_tell_is_no_difference():
    assert machine_differences({"cpu": "Test CPU"}, HERE) == []


def test_versions_of_packages_that_both_have_are_compared():
    before, now = {"torch": "2.14", "my.py": "0123"}, {"torch": "2.15", "cuda": "13.0"}
    assert version_differences("torch", before, now) == [
        Difference(what="PyTorch: torch", before="2.14", now="2.15")
    ]
