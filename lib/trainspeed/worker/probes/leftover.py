"""What the device still does when an epoch is said to be over. Knows no framework.

A GPU is asked by the driver, which waits for every queue of the process, whoever made it. A CPU has no queue that could
be asked: there, what this process still computes while it sleeps is what was not waited for.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from trainspeed.worker.failures import Unsupported

PAUSE_S = 0.05  # of a CPU, after which nobody computes any more
LIBRARY = "libcuda.so.1"

Leftover = Callable[[], float]


def leftover_of(device: str) -> Leftover:
    """Return what tells for how many seconds the device goes on from now: on a CPU, in seconds of CPU time.

    Args:
        device: "gpu" or "cpu".
    Raises:
        Unsupported: The driver does not answer.
    """
    return cpu_leftover_s if device == "cpu" else CudaDriver().leftover_s


def cpu_leftover_s(
    clock: Callable[[], float] = time.process_time, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Return the CPU seconds that all threads of this process use while it sleeps for `PAUSE_S`."""
    before_s = clock()
    sleep(PAUSE_S)
    return clock() - before_s


class CudaDriver:
    """The CUDA driver's own wait for everything that this process has queued on its first GPU.

    Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html
    """

    def __init__(self, load: Callable[[str], ctypes.CDLL] = ctypes.CDLL) -> None:
        """Find the context that the framework uses too: the device's primary one.

        Raises:
            Unsupported: There is no driver, or it refuses.
        """
        try:
            self._cuda = load(LIBRARY)
        except OSError as problem:
            raise Unsupported(f"the CUDA driver's library could not be loaded: {problem}") from None
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._ask("cuInit", 0)
        self._ask("cuDeviceGet", ctypes.byref(device), 0)
        self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)

    def leftover_s(self, clock: Callable[[], float] = time.perf_counter) -> float:
        """Return the seconds until all queues of the first GPU are empty."""
        self._ask("cuCtxPushCurrent_v2", self._context)
        try:
            before_s = clock()
            self._ask("cuCtxSynchronize")
            return clock() - before_s
        finally:
            self._ask("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _ask(self, function: str, *arguments: object) -> None:
        if code := getattr(self._cuda, function)(*arguments):
            raise Unsupported(f"the CUDA driver answers {function} with error {code}")
