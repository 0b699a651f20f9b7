"""Which kernels took a device's time: a profile's sums by name, and what lies between marks in it. Knows no framework.

TensorFlow and JAX write the same kind of profile: planes of devices, with a line for each of a GPU's streams. Further
lines of such a plane repeat the same time under the names of XLA's operations and modules, and are not read.
Source: `kGpuPlanePrefix` in xla/tsl/profiler/utils/xplane_schema.cc and `GetDeviceXLineName` in
    xla/backends/profiler/gpu/cupti_collector.cc of https://github.com/openxla/xla
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# CUDA kernels and CPU operators that multiply matrices: convolutions and dense layers, both ways.
MATRIX_WORK = re.compile(
    r"gemm|conv|xmma|cutlass|wgrad|dgrad|fprop|winograd|nvjet|splitk|[sh\d]cudnn_|triton_tem_|addmm|\bmm\b|bmm"
    r"|linear",
    re.I,
)
# Names that match the above and are no matrix work: conversions, bilinear resizing, and what Inductor fuses
# around a convolution and names after it. Kernels of depthwise and grouped convolutions, too: they run outside
# the matrix units and speed up as their bytes shrink. The name of a CPU operator does not tell which kind of
# convolution it is, and so it counts.
OTHER_WORK = re.compile(
    r"convert|conversion|bilinear|triton_(?!tem_|gemm)|cpp_fused|depthwise|grouped_direct|_c1_k1_", re.I
)
MAX_KERNELS = 3
MAX_LETTERS = 120  # of a kernel's name
GPU_PLANE = "/device:GPU"
STREAM_LINE = "Stream #"


class Kernel(NamedTuple):
    """What a device ran once: its name, when it began, in ns since a moment of the profile's, and for how many ns."""

    name: str
    begin_ns: float
    duration_ns: float


def split_of(times: Mapping[str, float]) -> Mapping[str, Any]:
    """Return how a device's time splits, for the time that each kernel or operator took, by its name.

    Keys: matrix_share (0 to 1, of all time; None where there is none), kernels (names of those that took most of the
    matrix work, most time first).
    """
    total = sum(times.values())
    matrix = {
        name: time for name, time in times.items() if MATRIX_WORK.search(name) and not OTHER_WORK.search(name)
    }
    return {
        "matrix_share": sum(matrix.values()) / total if total else None,
        "kernels": [
            name[:MAX_LETTERS] for name in sorted(matrix, key=matrix.get, reverse=True)[:MAX_KERNELS]
        ],
    }


def matrix_kernels(ran: Iterable[Kernel]) -> list[str]:
    """Return the names of the kernels that took most of the matrix work, most time first."""
    times: Counter[str] = Counter()
    for kernel in ran:
        times[kernel.name] += kernel.duration_ns
    return split_of(times)["kernels"]


def kernels_of_data(data: Any) -> list[Kernel]:
    """Return what the GPUs ran, in a `jax.profiler.ProfileData`, in the order of time."""
    ran = [
        Kernel(each.name, each.start_ns, each.duration_ns) for line in _streams(data) for each in line.events
    ]
    return sorted(ran, key=lambda kernel: kernel.begin_ns)


def kernels_of_space(space: Any) -> list[Kernel]:
    """Return what the GPUs ran, in an `XSpace` as TensorFlow writes it (times in ps), in the order of time."""
    ran = [
        Kernel(
            plane.event_metadata[each.metadata_id].name,
            line.timestamp_ns + each.offset_ps / 1000,
            each.duration_ps / 1000,
        )
        for plane in space.planes
        for line in _streams_of(plane)
        for each in line.events
    ]
    return sorted(ran, key=lambda kernel: kernel.begin_ns)


def marked_spans_s(ran: Sequence[Kernel], spans: int) -> tuple[float, ...] | None:
    """Return the seconds from each odd mark to the next even one; None where it is not clear what the marks are.

    A mark is a kernel that runs for nothing else. The very first one says by its name which it is, and does not count.

    Args:
        ran: In the order of time.
        spans: How many there must be.
    """
    marks = [kernel.begin_ns for kernel in ran if kernel.name == ran[0].name]
    if len(marks) != 1 + 2 * spans:
        return None
    return tuple((end - begin) / 1e9 for begin, end in zip(marks[1::2], marks[2::2], strict=True))


def _streams(data: Any) -> list[Any]:
    return [line for plane in data.planes for line in _streams_of(plane)]


def _streams_of(plane: Any) -> list[Any]:
    of_gpu = plane.name.startswith(GPU_PLANE)
    return [line for line in plane.lines if line.name.startswith(STREAM_LINE)] if of_gpu else []
