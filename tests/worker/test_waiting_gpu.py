"""What a run uses of a GPU while it waits, by a fake driver that samples each process every sixth of a second."""

from __future__ import annotations

import os

import pytest

import fake_nvml
from fake_nvml import LOST, NO_PERMISSION, NOT_FOUND, NOT_SUPPORTED, SUCCESS, FakeGpu, FakeNvml
from fake_runs import EventsSent
from trainspeed.core.notes import GpuBusyWhileWaiting
from trainspeed.sensors.cpu import HostLoad
from trainspeed.worker import meter, turns, waiting_gpu
from trainspeed.worker.events import Finish, TakeTurn, encode_command
from trainspeed.worker.meter import Meter
from trainspeed.worker.turns import InTurns
from trainspeed.worker.waiting_gpu import NO_SAMPLES, NOT_WHOLE, OTHER_CLOCK, OTHER_NUMBERS, TOO_SHORT

UUID = "GPU-aaaa-1"
OURS, THEIRS, NOT_HERE = os.getpid(), os.getppid(), 2**22 + 1
EPOCH_S, SAMPLE_S, KEPT_S = (
    1.7e9,
    1 / 6,
    12.0,
)  # the wall clock; how far apart samples are, how long they are kept


class Sampled(EventsSent):
    """A runner that gives turns, and a driver that samples who uses the GPU meanwhile.

    Args:
        busy: Percent that the run uses in a wait; None where it leaves it.
        own: Its number as the driver knows it.
        others: Whether the others use the GPU while it waits.
        since_s: What the driver's clock shows at 0.
    """

    def __init__(self, clock, gpu, *, turns=4, wait_s=3.0, busy=None, own=OURS, others=True, since_s=EPOCH_S):
        super().__init__()
        self.clock, self.gpu, self.left, self.wait_s = clock, gpu, turns, wait_s
        self.busy, self.own, self.others, self.since_s = busy, own, others, since_s

    def receive(self):
        self.spend(self.wait_s, self.busy, 90 if self.others else None)
        self.left -= 1
        return encode_command(TakeTurn(round=0, place=0, epochs=1) if self.left >= 0 else Finish()).rstrip()

    def spend(self, seconds, own, others=None):
        """Let time pass; a sample that began in what came before holds that, and is told as its own."""
        begun, end = self.clock(), self.clock() + seconds
        number = int(begun / SAMPLE_S) + 1
        while (at := number * SAMPLE_S) <= end:
            before = at - SAMPLE_S < begun
            rows = [(self.own, 95 if before and self.busy is None and own is None else own), (THEIRS, others)]
            self.gpu.process_loads += [
                (pid, round((self.since_s + at) * 1e6), load) for pid, load in rows if load is not None
            ]
            number += 1
        self.clock.advance(seconds)
        oldest_us = (self.since_s + end - KEPT_S) * 1e6
        self.gpu.process_loads[:] = [load for load in self.gpu.process_loads if load[1] > oldest_us]


@pytest.fixture
def waited(monkeypatch, fake_clock):
    """A function that trains in turns of 0.6 s, and returns the run's side and the driver's library."""

    def wait(*, gpus=None, uuids=(UUID,), set_by_s=0.0, **options):
        gpu = FakeGpu()
        library = fake_nvml.install(monkeypatch, FakeNvml(*(gpus or [gpu])))
        channel = Sampled(fake_clock, (gpus or [gpu])[0], **options)
        for module in (turns, meter):
            load = lambda: HostLoad(monotonic_s=fake_clock(), cpu=None, own_s=0.0)  # noqa: E731
            monkeypatch.setattr(module, "host_load", load)
        begun_s = fake_clock()
        monkeypatch.setattr(
            waiting_gpu,
            "_now_us",
            lambda: tuple(
                round(1e6 * s)
                for s in (EPOCH_S + fake_clock() + set_by_s * (fake_clock() - begun_s), fake_clock())
            ),
        )
        monkeypatch.setattr(turns.time, "monotonic", fake_clock)
        pace, epoch_s = InTurns(channel, fake_clock(), Meter(uuids)), []
        while True:
            channel.spend(0.6, 95)
            epoch_s.append(0.6)
            if not pace.another(epoch_s):
                pace.end()
                return pace._meter.waiting, pace, library

    return wait


def test_a_run_that_rests_used_nothing_though_a_sample_at_its_turns_end_tells_of_that(waited):
    waiting, pace, library = waited()

    assert (waiting.share, waiting.unknown, pace.notes()) == (0.0, None, [])
    assert (library.times_opened, library.times_closed) == (1, 1)


def test_of_a_wait_that_is_longer_than_samples_are_kept_the_end_counts(waited):
    """And the run is known by what it did in its turns."""
    assert waited(wait_s=2 * KEPT_S)[0].share == 0.0
    assert waited(wait_s=2 * KEPT_S, busy=3)[0].share == pytest.approx(0.03)


@pytest.mark.parametrize("since_s", [EPOCH_S, 0.0], ids=["wall clock", "since boot"])
@pytest.mark.parametrize(("busy", "noted"), [(1, False), (4, True), (60, True)])
def test_a_run_that_uses_the_gpu_while_it_waits_is_noted_above_1_percent(waited, busy, noted, since_s):
    waiting, pace, _ = waited(busy=busy, since_s=since_s)

    assert waiting.share == pytest.approx(busy / 100) and waiting.unknown is None
    assert pace.notes() == ([GpuBusyWhileWaiting(share=waiting.share)] if noted else [])


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NOT_SUPPORTED, "not supported by this GPU"),
        (NO_PERMISSION, "no permission to read it"),
        (LOST, "the GPU is lost: it does not answer any more; reboot"),
        (NOT_FOUND, NO_SAMPLES),
        (SUCCESS, NO_SAMPLES),  # of no process
    ],
)
def test_a_driver_that_does_not_tell_is_none_with_the_reason(waited, error, reason):
    waiting, pace, _ = waited(gpus=[FakeGpu(nvmlDeviceGetProcessUtilization=error)], busy=60)

    assert (waiting.share, waiting.unknown, pace.notes()) == (None, reason, [])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"own": NOT_HERE, "busy": 60}, OTHER_NUMBERS),  # the host's, in a container
        ({"wait_s": 0.9}, TOO_SHORT),
        ({"others": False}, NO_SAMPLES),  # nobody is named in a wait: not known to be 0
        ({"since_s": 5e8, "busy": 60}, OTHER_CLOCK),
        ({"uuids": ("MIG-aaaa-1",), "busy": 60}, NOT_WHOLE),
        ({"uuids": (UUID, "MIG-aaaa-1")}, NOT_WHOLE),
        ({"set_by_s": 1.0, "busy": 60}, TOO_SHORT),  # somebody sets the wall clock in each wait
    ],
)
def test_what_the_samples_do_not_show_is_none_and_never_0(waited, options, reason):
    waiting, pace, _ = waited(**options)

    assert (waiting.share, waiting.unknown, pace.notes()) == (None, reason, [])


def test_of_several_gpus_it_is_the_busiest_and_each_must_be_told(waited):
    silent = FakeGpu(uuid="GPU-bbbb-2")
    assert waited(gpus=[FakeGpu(), silent], uuids=(UUID, "GPU-bbbb-2"), busy=60)[0].share is None
    assert waited(gpus=[FakeGpu(), silent], busy=60)[0].share == pytest.approx(0.6)


def test_a_gpu_that_is_lost_while_others_have_their_turns_is_the_reason(waited):
    gpu = FakeGpu()
    gpu.answers["nvmlDeviceGetUtilizationRates"] = gpu.answers["nvmlDeviceGetTotalEnergyConsumption"] = LOST
    gpu.answers["nvmlDeviceGetProcessUtilization"] = LOST

    assert "lost" in waited(gpus=[gpu])[0].unknown


def test_without_a_gpu_there_is_nothing_to_know(waited):
    waiting, pace, _ = waited(uuids=())

    assert (waiting.share, waiting.unknown, pace.notes()) == (None, None, [])


def test_processes_that_it_started_count_as_its_own(waited, monkeypatch):
    """The ranks of a training on several GPUs are its children."""
    monkeypatch.setattr(waiting_gpu, "descends_from", lambda pid, ancestor: pid == NOT_HERE or None)

    assert waited(own=NOT_HERE, busy=7)[0].share == pytest.approx(0.07)
