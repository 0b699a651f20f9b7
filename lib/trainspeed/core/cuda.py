"""What CUDA asks of a driver and of a GPU, and why a GPU is left out, as values. Knows no framework and no driver."""

from __future__ import annotations

from enum import StrEnum

# Major version of CUDA -> branch of the oldest driver that runs programs built with it. `lib/setup_environments.py`,
# which runs before this package is installed, has the same table; a test compares the two.
# Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
# The compute capability from which on CUDA 13 compiles kernels: it dropped Maxwell, Pascal and Volta. torch's wheels
# for CUDA 13.2 begin with it, too (torch.cuda.get_arch_list()).
# Source: https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/index.html
CUDA_13_CAPABILITY = (7, 5)


class ExclusionReason(StrEnum):
    """Why a GPU that the driver shows is not trained on."""

    NOT_WANTED = "not_wanted"
    HIDDEN = "hidden"
    TOO_OLD = "too_old"
    LOST = "lost"
    NO_INSTANCE = "no_instance"
    SECOND_INSTANCE = "second_instance"


def version_pair(text: str | None) -> tuple[int, int] | None:
    """Return major and minor of "12.9", "13", "sm_120", "sm_90a" or "compute_90"; None where it is neither."""
    number = (text or "").rpartition("_")[2].rstrip("af")
    major, _, minor = number.partition(".")
    if "_" in (text or ""):
        major, minor = number[:-1], number[-1:]
    return (int(major), int(minor or 0)) if major.isdigit() and (minor or "0").isdigit() else None
