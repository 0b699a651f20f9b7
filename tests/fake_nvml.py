"""A made-up NVIDIA driver for tests: stands in for libnvidia-ml.so.1 under the real pynvml.

gpu = FakeGpu(nvmlDeviceGetPowerUsage=Code(pynvml.NVML_ERROR_NOT_SUPPORTED))
fake = install(monkeypatch, FakeNvml(gpu, FakeGpu(uuid="GPU-bbbb")))
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pynvml

FIRST_HANDLE = 0x1000  # a handle is opaque: any pointer that is not null
INSTANCES = 0x100  # handles of a GPU's MIG instances follow at this distance from one GPU to the next


class Code(int):
    """An NVML return code given instead of an answer."""


NOT_SUPPORTED = Code(pynvml.NVML_ERROR_NOT_SUPPORTED)
SUCCESS = Code(pynvml.NVML_SUCCESS)
NO_PERMISSION = Code(pynvml.NVML_ERROR_NO_PERMISSION)
NOT_FOUND = Code(pynvml.NVML_ERROR_NOT_FOUND)
LOST = Code(pynvml.NVML_ERROR_GPU_IS_LOST)

ANSWERS: dict[Any, Any] = {
    "nvmlDeviceGetName": "NVIDIA Fake 1",
    "nvmlDeviceGetUUID": "GPU-aaaa-1",
    "nvmlDeviceGetPciInfo_v3": {"busId": b"00000000:01:00.0"},
    "nvmlDeviceGetCudaComputeCapability": (9, 0),
    "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    "nvmlDeviceGetMemoryInfo_v2": {"total": 80_000, "reserved": 500, "used": 1_000, "free": 78_500},
    "nvmlDeviceGetMemoryInfo": {"total": 80_000, "used": 1_500, "free": 78_500},
    "nvmlDeviceGetUtilizationRates": {"gpu": 42, "memory": 7},
    "nvmlDeviceGetPowerUsage": 123_456,
    "nvmlDeviceGetTotalEnergyConsumption": 5_000_500,
    ("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU): 55,
    ("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM): 1980,
    "nvmlDeviceGetCurrentClocksEventReasons": 0,
    ("nvmlDeviceGetPcieThroughput", pynvml.NVML_PCIE_UTIL_RX_BYTES): 2_000,
    ("nvmlDeviceGetPcieThroughput", pynvml.NVML_PCIE_UTIL_TX_BYTES): 1_000,
}


class FakeGpu:
    """One GPU: what each NVML function answers.

    An answer is a value, a tuple (several results), a dict (fields of a structure), a `Code`, a list
    of those (one per call, the last for ever), or a Python function that returns one of them. What has an
    argument is keyed (name, argument).
    What is not in ANSWERS is not supported. `calls` counts the questions.

    Args:
        mig: In MIG mode, its instances by number; None leaves a gap.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        uuid: str | None = None,
        mig: Sequence[FakeGpu | None] | None = None,
        **answers: Any,
    ) -> None:
        self.answers = ANSWERS | answers
        self.mig = list(mig or ())
        if mig is not None:
            self.answers |= {"nvmlDeviceGetMigMode": (1, 1), "nvmlDeviceGetMaxMigDeviceCount": len(self.mig)}
        if name is not None:
            self.answers["nvmlDeviceGetName"] = name
        if uuid is not None:
            self.answers["nvmlDeviceGetUUID"] = uuid
        self.calls: Counter[Any] = Counter()
        self.process_loads: list[tuple[int, int, int]] = []  # (pid, microsecond, percent), oldest first
        self.lost = False  # True: every question is answered "GPU is lost"

    def answer(self, name: str, arguments: tuple[int, ...]) -> Any:
        """Return the next answer to a question."""
        self.calls[name] += 1
        if self.lost:
            return LOST
        key = (name, *arguments) if (name, *arguments) in self.answers else name
        found = self.answers.get(key, NOT_SUPPORTED)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found() if callable(found) else found


class FakeNvml:
    """The library: its attributes are called as pynvml calls C functions.

    Args:
        init: What opening it returns: 0, or the code of an error.
        without: Functions that this version of the driver does not have.
        driver, cuda: Its version, and the newest CUDA that it runs: 12_040 is 12.4.
        ancestors: {(0, 1): level}: where the PCIe paths of two GPUs meet; default: across sockets.
    """

    def __init__(
        self,
        *gpus: FakeGpu,
        init: int = 0,
        without: tuple[str, ...] = (),
        ancestors=None,
        driver: str = "580.65.06",
        cuda: int = 13_000,
    ) -> None:
        self.gpus = gpus
        self._driver, self._cuda = driver, cuda
        self.is_open = False
        self.times_opened = self.times_closed = 0
        self._init = init
        self._without = without
        self._ancestors = ancestors or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("nvmlDevice") and name not in self.__dict__["_without"]:
            return partial(self._ask_device, name)
        raise AttributeError(name)  # what ctypes does: pynvml makes it FUNCTION_NOT_FOUND

    def nvmlInitWithFlags(self, flags):
        self.is_open = self._init == 0
        self.times_opened += self.is_open
        return self._init

    def nvmlShutdown(self):
        self.is_open = False
        self.times_closed += 1
        return 0

    def nvmlSystemGetDriverVersion(self, buffer, size):
        buffer.value = self._driver.encode()
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, version):
        version._obj.value = self._cuda
        return 0

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = len(self.gpus)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        gpu = self.gpus[index.value]
        ctypes.c_void_p.from_buffer(handle._obj).value = FIRST_HANDLE + index.value
        return LOST if gpu.lost else 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu, number, handle):
        if self._gpu(gpu).mig[number.value] is None:
            return pynvml.NVML_ERROR_NOT_FOUND
        first = FIRST_HANDLE + INSTANCES * (1 + self._index(gpu))
        ctypes.c_void_p.from_buffer(handle._obj).value = first + number.value
        return 0

    def nvmlDeviceGetTopologyCommonAncestor(self, one, other, level):
        pair = (self._index(one), self._index(other))
        level._obj.value = self._ancestors.get(pair, pynvml.NVML_TOPOLOGY_SYSTEM)
        return 0

    def nvmlDeviceGetProcessUtilization(self, handle, samples, count, since):
        gpu = self.gpus[self._index(handle)]
        if gpu.lost or isinstance(gpu.answers.get("nvmlDeviceGetProcessUtilization"), Code):
            return gpu.answer("nvmlDeviceGetProcessUtilization", ())
        loads = [load for load in gpu.process_loads if load[1] > since.value]
        count._obj.value = len(loads)
        if not loads:
            return NOT_FOUND
        if samples is None:
            return Code(pynvml.NVML_ERROR_INSUFFICIENT_SIZE)
        for sample, load in zip(samples, loads, strict=True):
            sample.pid, sample.timeStamp, sample.smUtil = load
        return 0

    def _index(self, handle) -> int:
        return ctypes.cast(handle, ctypes.c_void_p).value - FIRST_HANDLE

    def _gpu(self, handle) -> FakeGpu:
        group, number = divmod(self._index(handle), INSTANCES)
        return self.gpus[group - 1].mig[number] if group else self.gpus[number]

    def _ask_device(self, name, handle, *arguments):
        outs = [argument._obj for argument in arguments if hasattr(argument, "_obj")]
        buffers = [argument for argument in arguments if isinstance(argument, ctypes.Array)]
        inputs = tuple(
            getattr(argument, "value", argument)
            for argument in arguments
            if not buffers and not hasattr(argument, "_obj")
        )
        answer = self._gpu(handle).answer(name, inputs)
        if isinstance(answer, Code):
            return answer
        if buffers:
            buffers[0].value = answer.encode()
        elif isinstance(answer, dict):
            for field, value in answer.items():
                setattr(outs[0], field, value)
        else:
            values = answer if isinstance(answer, tuple) else (answer,)
            for out, value in zip(outs, values, strict=True):
                out.value = value
        return 0


def install(monkeypatch, fake: FakeNvml) -> FakeNvml:
    """Put the fake below pynvml until the test ends."""
    monkeypatch.setattr(pynvml, "nvmlLib", fake)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    return fake


def install_none(monkeypatch) -> None:
    """Have pynvml find no driver library, whatever this machine has."""

    def not_found(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setattr(pynvml, "CDLL", not_found)
