"""The levers of the host: threads, allocators, flags of libraries. Knows no framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainspeed.core.levers.lever import OFF, ON, Level, Lever, LeverKind, Numbers, Setting

ALL_CORES: Setting = ("threads", "all")  # one process on every core that it may use
ONE_THREAD: Setting = ("threads", "one")  # as without the lever, beside a plain setting that has all cores
HALF_THREADS: Setting = ("threads", "half")  # half as many threads as a plain script has
LEAST_CORES_TO_HALVE = 4  # of fewer, half is one, or nearly all
AS_SET: Setting = ("threads", "as_set")  # as many as a variable of the user's says, on whichever cores
# Variables with which a user sets the number of threads: then a plain script has so many.
THREAD_VARIABLES = {
    "torch": ("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    "tensorflow": ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    "jax": ("NPROC",),
}
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
# Where glibc's own thresholds end up in a process that trains long enough; each worker is started with them. A forked
# run inherits them as far as they happen to have grown: without this, one in two ddp runs gave memory back and took it
# anew in every step, at 70,000 page faults a second and 8 % of its speed. Source: mallopt(3).
MMAP_THRESHOLD_BYTES = 32 * 2**20
MALLOC_THRESHOLDS = {
    "MALLOC_MMAP_THRESHOLD_": str(MMAP_THRESHOLD_BYTES),
    "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
}


def plain_values(machine: Mapping[str, Any]) -> dict[str, str]:
    """Return lever -> the value that a plain script has on a machine by itself, where machines differ in it.

    Args:
        machine: As `trainspeed.sensors.machine.detect_machine` returns it; one that does not say it has oneDNN on.
    """
    return {"onednn": OFF if machine.get("onednn_by_itself") is False else ON}


def half_of(threads: int) -> int:
    """Return half as many threads, at least 1."""
    return max(1, threads // 2)


LEVERS = (
    Lever(
        name="threads",
        words="threads",
        devices=("cpu",),
        values=("all", "half", "one", "as_set"),
        valued={
            "all": "threads on all cores",
            "half": "half as many threads",
            "one": "one thread",
            "as_set": "as many threads as the environment sets",
        },
        plain={"cpu": "as_set"},  # where a variable says so: see THREAD_VARIABLES
        default="one on each core in a script; in Trainspeed one on one core, which is what a CPU device is",
        level=Level.IMPORT,
        conflicts={"strategy": ("mirrored", "ddp", "data_parallel")},
        evidence="the framework's count of threads, and the cores in /proc/self/status",
        source="https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html",
    ),
    Lever(
        name="thread_placement",
        words="thread placement",
        frameworks=("torch",),
        devices=("cpu",),
        values=("close", "spread"),
        default="left to the kernel: threads wander over the cores",
        level=Level.ENVIRONMENT,
        needs={"threads": ("all", "half", "as_set")},
        missing=dict.fromkeys(("tensorflow", "jax"), "its threads are not OpenMP's"),
        environment={value: {"OMP_PROC_BIND": value, "OMP_PLACES": "cores"} for value in ("close", "spread")},
        evidence="threads that are kept to one core in /proc/self/task",
        source="https://www.openmp.org/spec-html/5.0/openmpse52.html",
    ),
    Lever(
        name="allocator",
        words="allocator",
        values=tuple(ALLOCATORS),
        default="glibc's malloc; in Trainspeed with thresholds that a script's has not: see malloc_thresholds",
        level=Level.ENVIRONMENT,
        environment={value: {"LD_PRELOAD": library} for value, library in ALLOCATORS.items()},
        packages={
            "jemalloc": "libjemalloc2 (Debian, Ubuntu) or jemalloc (Fedora)",
            "tcmalloc": "libtcmalloc-minimal4 (Debian, Ubuntu) or gperftools-libs (Fedora)",
        },
        evidence="the library in /proc/self/maps",
        source="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
    Lever(
        name="huge_pages",
        words="huge pages",
        level=Level.ENVIRONMENT,
        conflicts={"allocator": ()},
        environment={"on": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}},
        default="the system's: mostly only where a program asks for them; in Trainspeed beside glibc's malloc with "
        "thresholds that a script's has not: see malloc_thresholds",
        evidence="share of the heap for which huge pages were asked, and AnonHugePages there, in /proc/self/smaps",
        source="https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html",
    ),
    Lever(
        name="malloc_thresholds",
        words="malloc's thresholds",
        values=(OFF,),
        valued={OFF: "malloc's thresholds left to glibc, as in a script"},
        level=Level.ENVIRONMENT,
        kind=LeverKind.OWN,
        conflicts={"allocator": ()},
        environment={OFF: dict.fromkeys(MALLOC_THRESHOLDS, "")},
        default="on in Trainspeed, where they are fixed for all runs; off in a script: glibc moves them as memory is "
        "given back",
        evidence="whether malloc takes a piece of nearly 32 MiB from its heap",
        source="https://man7.org/linux/man-pages/man3/mallopt.3.html",
    ),
    Lever(
        name="gpu_allocator",
        words="GPU allocator",
        frameworks=("torch",),
        devices=("gpu",),
        values=("expandable", "cuda_async"),
        valued={"expandable": "expandable segments", "cuda_async": "CUDA's own allocator"},
        default="segments of fixed sizes that the framework caches",
        level=Level.ENVIRONMENT,
        # Inductor's graphs ask for the state of a pool of the framework's own allocator, which this one has not.
        conflicts_of={"cuda_async": {"compile_mode": ("reduce-overhead", "max-autotune")}},
        missing=dict.fromkeys(("tensorflow", "jax"), "another allocator"),
        environment={
            "expandable": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
            "cuda_async": {"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"},
        },
        evidence="the allocator's backend, and its settings in a snapshot",
        source="https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf",
    ),
    Lever(
        name="python_gc",
        words="garbage collector",
        values=(OFF,),
        valued={OFF: "garbage collector off"},
        kind=LeverKind.ALREADY_ON,
        level=Level.IMPORT,
        default="on: Python looks for cycles as objects come; in Trainspeed not among what was imported before the "
        "run, which a script's collector walks, too",
        evidence="gc.isenabled(), and how often it collected",
        source="https://docs.python.org/3/library/gc.html",
    ),
    Lever(
        name="onednn",
        words="oneDNN",
        frameworks=("tensorflow",),
        devices=("cpu",),
        values=(OFF, ON),
        valued={OFF: "without oneDNN", ON: "oneDNN"},
        default="on where the processor has VNNI, bf16 or AMX; off on others, where it is a switch",
        numbers=Numbers.ROUNDING,
        level=Level.ENVIRONMENT,
        kind=LeverKind.ALREADY_ON,
        kind_of={ON: LeverKind.SWITCH},
        conflicts={"compile": (ON,)},
        missing={
            "torch": "it is TensorFlow's switch; PyTorch's convolutions on a CPU are oneDNN's",
            "jax": "its build has no oneDNN: XLA takes --xla_cpu_use_onednn and does nothing with it",
        },
        environment={OFF: {"TF_ENABLE_ONEDNN_OPTS": "0"}, ON: {"TF_ENABLE_ONEDNN_OPTS": "1"}},
        evidence="name of a convolution in the graph that TensorFlow runs",
        source="https://github.com/tensorflow/tensorflow/issues/56350",
    ),
    Lever(
        name="gpu_threads",
        words="host threads of each GPU's own",
        frameworks=("tensorflow",),
        devices=("gpu",),
        default="off: all devices share the threads of the host",
        level=Level.ENVIRONMENT,
        missing=dict.fromkeys(("torch", "jax"), "one thread launches its kernels"),
        environment={ON: {"TF_GPU_THREAD_MODE": "gpu_private", "TF_GPU_THREAD_COUNT": "2"}},
        evidence="names of the process's threads",
        source="https://www.tensorflow.org/guide/gpu_performance_analysis",
    ),
    Lever(
        name="cuda_malloc_async",
        words="CUDA's own allocator",
        frameworks=("tensorflow",),
        devices=("gpu",),
        default="off: TensorFlow's own, which keeps what it has taken",
        level=Level.ENVIRONMENT,
        missing={"torch": "it is a value of gpu_allocator", "jax": "XLA's own is measured by preallocation"},
        environment={ON: {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}},
        evidence="name of the allocator in a profiled step",
        source="https://www.tensorflow.org/guide/gpu",
    ),
)
