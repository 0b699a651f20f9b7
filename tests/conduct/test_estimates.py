"""Why a plan of convolutions is refused, how long it may take, and where each of its runs is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_runs import BeginsRuns
from study_data import no_use_after
from trainspeed.conduct.estimates import check_memory, estimates_s, shortage
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import Planned, TrialSet, check_devices, still_to_do
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.schedule import schedule
from trainspeed.core.convolution import CPU_LIBRARIES, LIBRARIES, Conv2dTrial
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import CoresBusy
from trainspeed.core.result import RunResult
from trainspeed.core.run import Role, Run, Status

GB = 10**9


def conv2d(library: str = "tensorflow", **changed) -> Conv2dTrial:
    """Return the article's convolution with these changes."""
    usual = {"mode": LIBRARIES[library][0], "images": 840, "height": 100, "width": 100}
    return Conv2dTrial(library=library, **{**usual, **changed})


def planned(trial: Conv2dTrial) -> Planned:
    return Planned(block=0, label="", trial=trial)


# The plan.


def test_a_plan_has_every_convolution_in_every_block_with_data_of_its_own():
    trials = (conv2d(), conv2d("torch"), conv2d("opencv"))
    plan = schedule(
        [TrialSet(trials=trials, blocks=3, controls=trials[:1], factors=("library", "mode"))], seed=0
    )

    assert len(plan) == 3 * 4
    for block in range(3):
        runs = [p for p in plan if p.block == block]
        assert {p.trial for p in runs} == {trial.in_block(block) for trial in trials}
        assert sorted(p.label for p in runs) == ["", "", Role.CONTROL, Role.CONTROL_AGAIN]


def test_a_resumed_plan_leaves_out_what_was_measured_and_what_is_hopeless():
    wrong, well = conv2d("torch"), conv2d("opencv")
    plan = schedule([TrialSet(trials=(wrong, well), blocks=2)], seed=0)
    row = {"session": "s", "study": "conv2d", "block": 0, "versions": {"torch": "2"}}
    done = [
        Run(trial=wrong.in_block(0), status=Status.INVALID, reason="wrong", **row),
        Run(trial=well.in_block(0), call_s=(0.1,), **row),
    ]

    assert [(p.block, p.trial) for p in still_to_do(plan, done, no_use_after(done))] == [
        (1, well.in_block(1))
    ]


# What is refused before it runs.


def memory_needed(trial: Conv2dTrial) -> int:
    """Return the least allowance, in bytes, that a trial fits into."""
    low, high = 0, 10**18
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shortage(trial, middle) else (low, middle)
    return high


def test_images_beyond_the_hosts_memory_are_refused_with_what_they_need_and_what_is_there():
    """33.6 MB for each 840 images, as many for the results, and copies of both."""
    plan = schedule([TrialSet(trials=(conv2d(images=840_000),), blocks=2)], seed=0)

    with pytest.raises(UserError) as caught:
        check_memory(plan, 8 * GB)
    assert str(caught.value) == (
        "840000 images of 100x100x1 with 1 filter need about 201.6 GB of memory, and 8.0 GB are available "
        "for a run: lower images, channels or filters."
    )


def test_the_articles_convolution_fits_into_a_gigabyte():
    assert 0.07 * GB < memory_needed(conv2d()) < 1 * GB


@pytest.mark.parametrize("size", ["images", "height", "width", "channels", "filters"])
def test_more_of_anything_needs_more_memory(size):
    trial = conv2d(channels=4, filters=4)
    larger = replace(trial, **{size: 10 * getattr(trial, size)})

    assert 2 * memory_needed(trial) < memory_needed(larger) <= 10 * memory_needed(trial)


def test_a_wide_filter_of_many_channels_counts_too():
    """4 TB of filters alone; the images are few."""
    huge = conv2d(images=1, channels=4096, filters=4096, filter_size=255)

    with pytest.raises(
        UserError, match=r"need about \d\d,\d{3}\.\d GB of memory, and 64\.0 GB are available"
    ):
        check_memory([planned(huge)], 64 * GB)


def test_a_plan_is_refused_only_where_nothing_of_it_fits():
    small, large = [conv2d(), conv2d("opencv")], [conv2d(images=10**7), conv2d("scipy_fft", images=10**7)]

    assert [shortage(trial, GB) is None for trial in (*small, *large)] == [True, True, False, False]
    check_memory([planned(trial) for trial in (*large, *small)], GB)
    check_memory([], GB)
    with pytest.raises(UserError, match="10000000 images"):
        check_memory([planned(trial) for trial in large], GB)


GPU = {"memory_bytes": 2 * GB}
LARGE = conv2d(images=84_000)  # 6.72 GB of images and results


def test_a_gpu_must_hold_its_share():
    with pytest.raises(UserError) as caught:
        check_memory([planned(LARGE)], 99 * GB, [GPU] * 4)
    assert "need about 6.7 GB of a GPU's memory, and 2.0 GB are available" in str(caught.value)
    assert "\n" not in str(caught.value)

    check_memory([planned(replace(LARGE, devices=4))], 99 * GB, [GPU] * 4)


def test_the_smallest_of_the_gpus_in_use_decides():
    """The first ones are used; those after them may be as small as they like."""
    small = {"memory_bytes": GB}
    shared = planned(replace(LARGE, devices=4))

    check_memory([shared], 99 * GB, [GPU] * 4 + [small])
    with pytest.raises(UserError, match=r"1\.7 GB of a GPU's memory, and 1\.0 GB are available"):
        check_memory([shared], 99 * GB, [GPU, GPU, GPU, small])


@pytest.mark.parametrize("unknown", [{"memory_bytes": None}, {}])
def test_a_gpu_that_does_not_tell_its_memory_refuses_nothing(unknown):
    check_memory([planned(LARGE)], 99 * GB, [unknown])


@pytest.mark.parametrize(
    "trial", [replace(LARGE, library="opencv", mode="loop"), replace(LARGE, processor="cpu")]
)
def test_what_runs_on_the_cpu_needs_no_memory_of_a_gpu(trial):
    check_memory([planned(trial)], 99 * GB, [GPU])


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(UserError, match=r"devices \(=4\) is more than there are: 2 CPU cores"):
        check_devices([planned(conv2d()), planned(conv2d(devices=4))], 2, "CPU core")


# How long it may take.


def seconds(trial: Conv2dTrial) -> float:
    return estimates_s([planned(trial)], [], "cpu")[0]


SIZES = st.fixed_dictionaries(
    {
        "images": st.integers(1, 10**6),
        "height": st.integers(1, 1000),
        "width": st.integers(1, 1000),
        "channels": st.integers(1, 400),
        "filters": st.integers(1, 400),
        "filter_size": st.integers(1, 25),
    }
)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(library=st.sampled_from(list(LIBRARIES)), sizes=SIZES, data=st.data())
def test_more_operations_are_estimated_to_take_longer(library, sizes, data):
    size = data.draw(st.sampled_from(list(sizes)))
    trial = conv2d(library, **sizes)
    larger = replace(trial, **{size: sizes[size] * 10})

    assert trial.flops < larger.flops
    assert 0 < seconds(trial) < seconds(larger)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_articles_convolution_is_estimated_to_take_seconds(library):
    """On this project's machines it took from 0.6 to 3 s."""
    assert 0.3 < seconds(conv2d(library)) < 10


@pytest.mark.parametrize("library", CPU_LIBRARIES)
def test_calls_of_many_planes_are_estimated_to_take_longer_in_a_loop_over_them(library):
    """The number of operations is the same, in more calls."""
    few = conv2d(library, images=10, height=100, width=100)
    many = conv2d(library, images=100_000, height=1, width=1)

    assert few.flops == many.flops
    assert seconds(few) < seconds(many)


def test_an_estimate_is_how_long_it_took_before_in_any_block():
    row = {"session": "s", "study": "conv2d", "versions": {"tensorflow": "2"}, "call_s": (1.0,)}
    known = [Run(trial=conv2d().in_block(n), block=n, stages_s={"warm": 2.0 + n}, **row) for n in (0, 1)]

    plan = [planned(conv2d(seed=9)), planned(conv2d("torch"))]
    assert estimates_s(plan, known, "cpu") == [2.5, seconds(conv2d("torch"))]


# Where it is sent, and what becomes a line.


@dataclass
class FakeWorker(BeginsRuns):
    """Answers every request with the same result, and keeps the requests."""

    requests: list = field(default_factory=list)
    result: RunResult = field(default_factory=RunResult)
    versions: dict = field(default_factory=lambda: {"fake": "1"})
    import_s: float | None = 4.5
    alive: bool = True

    def wait_until_ready(self) -> None:
        """It always is."""

    def run(self, request, timeout_s):
        self.requests.append(request)
        return RunOutcome(status=Status.OK, result=self.result)

    def close(self) -> None:
        self.alive = False


def sent(tmp_path, *trials, result=None):
    """Return the requests and the lines of trials that are measured on a machine with two GPUs."""
    worker = FakeWorker(result=result or RunResult(call_s=(0.5,), placement="GPU:0"))
    runner = Runner(
        ledger=Ledger(tmp_path),
        session="s",
        study="conv2d",
        device="gpu",
        machine={"device": "gpu"},
        gpu_uuids=("GPU-a", "GPU-b"),
        start=lambda *_: worker,
        timeout_s=9,
    )
    lines = [runner.measure(planned(trial)) for trial in trials]
    return worker.requests, lines


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("processor", ["device", "cpu"])
def test_on_a_machine_with_gpus_each_run_is_sent_to_its_own_processor(tmp_path, library, processor):
    """The CPU baseline neither watches a GPU nor may run on one."""
    trial = conv2d(library, processor=processor)
    (request,), _ = sent(tmp_path, trial)

    on_gpu = processor == "device" and library not in CPU_LIBRARIES
    assert request.trial == trial
    assert request.device == ("gpu" if on_gpu else "cpu")
    assert request.gpu_uuids == (("GPU-a",) if on_gpu else ())


def test_as_many_gpus_are_watched_as_share_the_images(tmp_path):
    (one, two), _ = sent(tmp_path, conv2d(), conv2d(devices=2))

    assert (one.gpu_uuids, two.gpu_uuids) == (("GPU-a",), ("GPU-a", "GPU-b"))


def test_what_a_worker_measured_is_a_line_of_the_ledger(tmp_path):
    result = RunResult(
        call_s=(0.5, 0.25),
        resident_s=(0.125,),
        warm_s={"to_device": [1.0], "kernel": [2.0], "from_device": [3.0], "gather": [4.0]},
        stages_s={"start": 0.5, "kernel": 1.5},
        placement="GPU:0",
        notes=(CoresBusy(cores=1.5),),
    )
    _, (run,) = sent(tmp_path, conv2d(), result=result)

    assert (run.call_s, run.resident_s, run.warm_s) == ((0.5, 0.25), (0.125,), result.warm_s)
    assert (run.placement, run.import_s, run.notes) == ("GPU:0", 4.5, (CoresBusy(cores=1.5),))
    assert (run.epoch_s, run.status) == ((), Status.OK)
    assert Ledger(tmp_path).read() == ((run,), ())
