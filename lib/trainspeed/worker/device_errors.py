"""What an error text of CUDA, its libraries, XLA, TensorFlow, torch or the kernel means. Pure; knows no framework.

The texts that it was made from, each with its source, are in `tests/worker/device_errors.jsonl`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from trainspeed.core.result import Failure
from trainspeed.core.run import Status


class Cause(StrEnum):
    """Why a run failed, as far as its text tells; the value is `Failure.cause`."""

    OUT_OF_MEMORY = "out_of_memory"
    OUT_OF_SHARED_MEMORY = (
        "out_of_shared_memory"  # /dev/shm, through which a loader's workers hand on batches
    )
    KILLED = "killed"  # by SIGKILL: perhaps the kernel, for want of memory
    KERNEL_TOO_LARGE = "kernel_too_large"  # for the memory or the registers of a multiprocessor
    NO_ALGORITHM = "no_algorithm"  # cuDNN has none for the shapes, or none that fits into memory
    NO_KERNELS = "no_kernels"  # in this build for this GPU
    OLD_DRIVER = "old_driver"
    OLD_LIBRARY = "old_library"
    NO_DEVICE = "no_device"
    DEVICE_NOT_READY = "device_not_ready"  # a service of the driver does not run
    DEVICE_BUSY = "device_busy"  # it serves one process at a time
    DEVICE_LOST = "device_lost"
    ECC = "ecc"
    LIBRARY_NOT_STARTED = "library_not_started"  # for want of memory, or of another version
    KERNEL_FAILED = "kernel_failed"  # an illegal access and its like, which end a process's use of the device
    NO_MORE_PROCESSES = "no_more_processes"  # or threads: a container's or a user's limit
    NOT_TO_BE_RUN = "not_to_be_run"  # what was compiled, from the folder of temporary files
    UNKNOWN_FLAG = "unknown_flag"  # of XLA, in the environment: another version has others
    RANK_LOST = "rank_lost"
    RANK_SILENT = "rank_silent"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What follows from a cause.

    Attributes:
        status: Of the run; one that is final is not tried again.
        crowds: Whether it may go well with fewer runs alive.
        for_all: Whether every run of this framework on these GPUs will fail alike.
        of_gpu: Whether only what uses a GPU can fail so.
        says: What is said of it in place of its text, where that names no cause.
    """

    cause: Cause
    status: Status = Status.CRASHED
    crowds: bool = False
    for_all: bool = False
    of_gpu: bool = True
    says: str | None = None


_FAULTS = (
    Fault(cause=Cause.OUT_OF_MEMORY, status=Status.OOM, crowds=True, of_gpu=False),
    Fault(cause=Cause.OUT_OF_SHARED_MEMORY, status=Status.OOM, crowds=True, of_gpu=False),
    Fault(cause=Cause.KILLED, of_gpu=False),
    Fault(cause=Cause.KERNEL_TOO_LARGE, status=Status.UNSUPPORTED),
    Fault(cause=Cause.NO_ALGORITHM, status=Status.UNSUPPORTED, crowds=True),
    Fault(cause=Cause.NO_KERNELS, status=Status.UNSUPPORTED, for_all=True),
    Fault(cause=Cause.OLD_DRIVER, status=Status.UNSUPPORTED, for_all=True),
    Fault(cause=Cause.OLD_LIBRARY, status=Status.UNSUPPORTED, for_all=True),
    Fault(cause=Cause.NO_DEVICE, status=Status.UNSUPPORTED, for_all=True),
    Fault(cause=Cause.DEVICE_NOT_READY, status=Status.UNSUPPORTED, for_all=True),
    Fault(cause=Cause.DEVICE_BUSY, crowds=True),
    Fault(cause=Cause.DEVICE_LOST, for_all=True),
    Fault(cause=Cause.ECC),
    Fault(cause=Cause.LIBRARY_NOT_STARTED, crowds=True),
    Fault(cause=Cause.KERNEL_FAILED),
    Fault(
        cause=Cause.NO_MORE_PROCESSES,
        crowds=True,
        of_gpu=False,
        says="no further process or thread could be started: raise the limit of this container (Docker: --pids-limit), "
        "of this job, or of this user (ulimit -u)",
    ),
    Fault(
        cause=Cause.NOT_TO_BE_RUN,
        status=Status.UNSUPPORTED,
        of_gpu=False,
        says="what was compiled could not be run from the folder of temporary files, as where that is mounted noexec: "
        "set TMPDIR to another folder",
    ),
    Fault(cause=Cause.UNKNOWN_FLAG, status=Status.UNSUPPORTED, of_gpu=False),
    Fault(cause=Cause.RANK_LOST, of_gpu=False),
    Fault(cause=Cause.RANK_SILENT, of_gpu=False),
)
FAULTS = {fault.cause: fault for fault in _FAULTS}

# The first that matches tells: a text may hold several, and what is above is nearer to the root.
_PATTERNS = (
    (
        Cause.KERNEL_TOO_LARGE,
        r"outofresources|shared memory size limit exceeded|too many resources requested",
    ),
    (
        Cause.OUT_OF_SHARED_MEMORY,
        r"out of shared memory|insufficient shared memory|creating shared memory segment|failed to extend /dev/shm"
        r"|unable to (write to file|allocate shared memory.* for file) </torch_",
    ),
    (
        Cause.OUT_OF_MEMORY,
        r"out ?of ?memory|memoryerror|oom when allocating|can(no|')t allocate memory|bad_alloc"
        r"|(failed|unable) to allocate|_alloc(ation)?_failed|resource[_ ]?exhausted"
        r"|unable to find a valid cudnn algorithm",
    ),
    (Cause.ECC, r"uncorrectable ecc error|ecc_?uncorrectable"),
    (Cause.DEVICE_LOST, r"gpu is lost|fallen off the bus|determine the device handle"),
    (
        Cause.OLD_DRIVER,
        r"driver on your system is too old|driver version is insufficient|insufficientdriver"
        r"|compiled with an unsupported toolchain|unsupported_?ptx_?version|does not match dso version"
        r"|driver/library version mismatch|forward compatibility was attempted",
    ),
    (Cause.OLD_LIBRARY, r"was built against (version )?\S+, which is newer|outdated \w+ installation found"),
    (
        Cause.NO_KERNELS,
        r"no kernel image is available|device kernel image is invalid|nokernelimagefordevice|no_binary_for_gpu"
        r"|_arch_mismatch|cuda_error_invalid_ptx|'culaunchkernel.*cuda_error_invalid_handle",
    ),
    (
        Cause.DEVICE_NOT_READY,
        r"system not yet initialized|system_?not_?ready|failed call to cuinit: cuda_error_unknown",
    ),
    (Cause.DEVICE_BUSY, r"busy or unavailable|devices_?unavailable"),
    (
        Cause.NO_DEVICE,
        r"no cuda-capable device|cuda_error_no_device|no visible gpu devices|no cuda gpus are available"
        r"|no supported devices found for platform cuda|found no nvidia driver",
    ),
    (
        Cause.LIBRARY_NOT_STARTED,
        r"status_not_initialized|could not create cudnn handle|failed to create cublas handle"
        r"|dnn library initialization failed|unable to find an engine",
    ),
    (Cause.NO_ALGORITHM, r"cudnn_status_not_supported"),
    (
        Cause.KERNEL_FAILED,
        r"illegal (memory access|instruction|address)|illegal_?address|misaligned.?address|launch_?failed"
        r"|unspecified launch failure|launch timed out|device-side assert|_status_(execution_failed|mapping_error)",
    ),
    (
        Cause.NO_MORE_PROCESSES,
        r"can't start new thread|thread creation failed|pthread_create failed"
        r"|blockingioerror: \[errno \d+\] resource temporarily unavailable",
    ),
    (Cause.NOT_TO_BE_RUN, r"failed to map segment from shared object"),
    (Cause.UNKNOWN_FLAG, r"unknown flags? in \w*XLA_FLAGS"),
    (
        Cause.RANK_SILENT,
        r"caught collective operation timeout|timed out waiting \d+ms|timed out after \d+ seconds waiting for"
        r"|application timeout caused",
    ),
    (
        Cause.RANK_LOST,
        r"ncclremoteerror|remote process exited|connection (closed|reset) by (remote )?peer"
        r"|a rank ended without a word",
    ),
    (Cause.KILLED, r"killed by (signal: killed|sigkill)|process pool was terminated abruptly"),
)
_TELLS = tuple((FAULTS[cause], re.compile(pattern, re.IGNORECASE)) for cause, pattern in _PATTERNS)
# A line that tells of something that was overcome: TensorFlow says so, and absl marks warnings.
_HARMLESS = re.compile(r"is not a failure|^W\d{4} |: W (tensorflow|external|tsl|xla)/")


def classify(text: str, device: str = "gpu") -> Fault | None:
    """Return what an error text means; None where it is not known, as it is of a mistake in a program.

    Args:
        device: "gpu" or "cpu": what the program computes on. What it says of GPUs on a CPU is no reason to end:
            TensorFlow's CUDA build always says that it sees none.
    """
    known = (
        fault for fault, pattern in _TELLS if device == "gpu" or not fault.of_gpu if pattern.search(text)
    )
    return next(known, None)


def fault_of(problem: BaseException) -> Fault | None:
    """Return what an exception means, by its class or its text."""
    if isinstance(problem, MemoryError):
        return FAULTS[Cause.OUT_OF_MEMORY]
    return classify(f"{type(problem).__name__}: {problem}")


def telling_line(printed: str, device: str = "gpu") -> str | None:
    """Return the first line that tells why a process ended, of those that it printed last; None where none does.

    What follows it are consequences: a device that is lost fails in whatever is called next.

    Args:
        device: As of `classify`.
    """
    lines = (line.strip() for line in printed.splitlines())
    return next((line for line in lines if not _HARMLESS.search(line) and classify(line, device)), None)


def crowds(status: Status, failure: Failure | None) -> bool:
    """Return whether a run that ended so may end well with fewer others alive."""
    cause = failure.cause if failure else None
    return status is Status.OOM or (cause in FAULTS and FAULTS[cause].crowds)


def fails_for_all(failure: Failure | None) -> bool:
    """Return whether every run of its framework on the same GPUs will fail as this one did."""
    return failure is not None and failure.cause in FAULTS and FAULTS[failure.cause].for_all
