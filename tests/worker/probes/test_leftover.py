"""What the device still does when an epoch is said to be over."""

import pytest

from trainspeed.worker.failures import Unsupported
from trainspeed.worker.probes import leftover
from trainspeed.worker.probes.leftover import PAUSE_S, CudaDriver, cpu_leftover_s, leftover_of


class FakeCuda:
    """The driver's library: notes what it was asked; `refuses` names what fails."""

    def __init__(self, clock=None, *, refuses="", waits_s=0.0) -> None:
        self.asked, self._clock, self._refuses, self._waits_s = [], clock, refuses, waits_s

    def __getattr__(self, name):
        def ask(*arguments):
            self.asked.append(name)
            if name == "cuCtxSynchronize":
                self._clock.advance(self._waits_s)
            return 100 if name == self._refuses else 0

        return ask


def test_the_driver_waits_for_all_queues_and_leaves_the_context_as_it_was(fake_clock):
    cuda = FakeCuda(fake_clock, waits_s=0.25)
    assert CudaDriver(lambda name: cuda).leftover_s(fake_clock) == 0.25
    assert cuda.asked[-3:] == ["cuCtxPushCurrent_v2", "cuCtxSynchronize", "cuCtxPopCurrent_v2"]


def test_a_context_is_left_even_where_the_wait_fails(fake_clock):
    cuda = FakeCuda(fake_clock, refuses="cuCtxSynchronize")
    with pytest.raises(Unsupported, match="cuCtxSynchronize with error 100"):
        CudaDriver(lambda name: cuda).leftover_s(fake_clock)
    assert cuda.asked[-1] == "cuCtxPopCurrent_v2"


def test_without_a_driver_it_says_so():
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    with pytest.raises(Unsupported, match=r"libcuda\.so\.1: cannot open"):
        CudaDriver(missing)


def test_on_a_cpu_it_is_what_the_process_computes_while_it_sleeps():
    moments = iter([5.0, 5.03])
    slept = []
    assert cpu_leftover_s(lambda: next(moments), slept.append) == pytest.approx(0.03)
    assert slept == [PAUSE_S]


def test_each_device_is_asked_in_its_own_way(monkeypatch, fake_clock):
    driver = CudaDriver(lambda name: FakeCuda(fake_clock, waits_s=0.5))
    monkeypatch.setattr(leftover, "CudaDriver", lambda: driver)

    assert leftover_of("cpu") is cpu_leftover_s
    assert leftover_of("gpu")(fake_clock) == 0.5
