"""What the charts of convolutions say."""

import pytest

from conv2d_data import CORE, by_library, make_runs, world
from scaling_data import make_verdict
from trainspeed.articles.charts import CONVOLUTIONS_QUESTION
from trainspeed.core.convolution import CPU_LIBRARIES
from trainspeed.judge.crossover import Crossover, CrossoverKind, SizeSpeedup
from trainspeed.studies.conv2d.findings import cpu_verdicts, device_verdicts, library_verdicts
from trainspeed.studies.conv2d.messages import (
    CALL_QUESTION,
    at_one_size,
    beyond_sharing,
    calls_title,
    devices_title,
    sweeps_title,
)
from trainspeed.studies.conv2d.sweep_charts import QUESTION
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import library_trial

SHAPE = {"images": 8, "height": 100, "width": 100}
SURE, UNSURE = SizeSpeedup(size=8, speedup=2.0, low=1.9, high=2.1), SizeSpeedup(size=80, speedup=2.0)
LARGE = SizeSpeedup(size=840, speedup=2.0, low=1.9, high=2.1)


def sweep(kind, *, factor="images", points=(SURE, LARGE), **more):
    return Sweep(
        factor=factor,
        device=library_trial("torch", **SHAPE),
        cpu=library_trial("scipy_signal", **SHAPE),
        filters_follow=False,
        crossover=Crossover(kind=kind, points=points, **more),
    )


ON_ONE = [trial for trial in CORE if trial.devices == 1]
FOUND = {"size": 30.0, "low": 20.0, "high": 40.0}


@pytest.mark.parametrize(
    ("sweeps", "said"),
    [
        (
            [sweep(CrossoverKind.SINGLE, **FOUND)],
            "PyTorch beats scipy.signal.convolve2d from about 30 images on",
        ),
        (
            [sweep(CrossoverKind.SINGLE, rising=False, **FOUND)],
            "PyTorch beats scipy.signal.convolve2d up to about 30 images",
        ),
        (
            [sweep(CrossoverKind.SINGLE, **{**FOUND, "size": 1.92})],
            "PyTorch beats scipy.signal.convolve2d from about 2 images on",
        ),
        (
            [sweep(CrossoverKind.SINGLE, rising=False, **{**FOUND, "size": 3.92})],
            "PyTorch beats scipy.signal.convolve2d up to about 3 images",
        ),
        (
            [sweep(CrossoverKind.SINGLE, points=(SURE, LARGE), left_out=(900.0,), **FOUND)],
            "PyTorch beats scipy.signal.convolve2d from about 30 to 840 images",
        ),
        (
            [sweep(CrossoverKind.SINGLE, rising=False, points=(SURE, LARGE), left_out=(1.0, 80.0), **FOUND)],
            "PyTorch beats scipy.signal.convolve2d from 8 to about 30 images",
        ),
        (
            [sweep(CrossoverKind.NEVER)],
            "scipy.signal.convolve2d beats PyTorch at every size tried from 8 to 840 images",
        ),
        (
            [
                sweep(CrossoverKind.ALWAYS),
                sweep(CrossoverKind.ALWAYS, factor="channels"),
                sweep(CrossoverKind.NEVER),
            ],
            "PyTorch beats scipy.signal.convolve2d at every size tried from 8 to 840 images and at every size "
            "tried from 8 to 840 channels",
        ),
        (
            [sweep(CrossoverKind.SINGLE, **FOUND), sweep(CrossoverKind.ALWAYS, factor="filter_size")],
            "PyTorch beats scipy.signal.convolve2d from about 30 images on and at every size tried from 8 to "
            "840 px of filter",
        ),
        (
            [sweep(CrossoverKind.ALWAYS, points=(SURE, LARGE), left_out=(80.0,))],
            "PyTorch beats scipy.signal.convolve2d at 8 and 840 images",
        ),
        ([sweep(CrossoverKind.ALWAYS, points=(SURE, UNSURE))], QUESTION),
        ([sweep(CrossoverKind.ALWAYS, points=(SURE,))], QUESTION),
        ([sweep(CrossoverKind.SINGLE, size=30.0)], QUESTION),
        ([sweep(CrossoverKind.SEVERAL), sweep(CrossoverKind.UNDECIDED, factor="channels")], QUESTION),
        ([], QUESTION),
    ],
)
def test_from_what_size_on_a_device_wins_or_the_question(sweeps, said):
    assert sweeps_title(sweeps) == said


def test_a_first_call_is_said_to_take_longer_where_every_library_decides_that():
    slow = make_runs(CORE, 1.0, first=40.0)

    assert calls_title(slow, CORE) == "A first call takes 40 times as long as a warm one"
    assert calls_title(make_runs(CORE, 1.0, first=40.0, blocks=2), CORE) == CALL_QUESTION
    assert calls_title(make_runs(CORE, 1.0, first=1.0), CORE) == CALL_QUESTION
    assert calls_title([], CORE) == CALL_QUESTION


def test_where_not_every_library_decides_it_is_counted_in_how_many_a_first_call_takes_longer():
    runs = [*make_runs(CORE[:1], 1.0, first=40.0), *make_runs(CORE[1:], 1.0, first=1.0)]
    known = [trial for trial in CORE if trial.library not in CPU_LIBRARIES]

    assert (
        calls_title(runs, CORE) == f"A first call takes longer than a warm one in 1 of {len(known)} settings"
    )
    few = [*make_runs(CORE[:1], 1.0, first=40.0), *make_runs(CORE[1:2], 1.0, first=40.0, blocks=1)]
    once = "A first call takes 40 times as long as a warm one (1 more without an interval)"
    assert calls_title(few, CORE) == once


def test_at_one_size_the_fastest_library_is_told_and_drawn_against_each_that_it_beats():
    runs = make_runs(ON_ONE, by_library(tensorflow=4.0, torch=2.0, scipy_signal=3.0, opencv=0.5))
    compared = [*cpu_verdicts(runs, CORE), *library_verdicts(runs, CORE)]
    title, drawn = at_one_size(compared)

    assert title == "OpenCV filter2D, 4.0x to 8.0x as fast as TensorFlow (graph) and PyTorch"
    assert sorted(verdict.speedup for verdict in drawn) == [4.0, 8.0]


def test_at_one_size_without_a_fastest_library_outcomes_are_told_or_asked_about():
    runs = make_runs(ON_ONE, by_library(tensorflow=4.0, torch=0.5, scipy_signal=3.0, opencv=0.5))
    verdicts = cpu_verdicts(runs, CORE)

    title, drawn = at_one_size(verdicts)
    assert title.startswith("Of 4 comparisons: ") and drawn == verdicts
    assert at_one_size([]) == ("Which library is faster at this size?", [])


def test_libraries_that_differ_are_a_range():
    runs = [run for run in world(torch=1.0, tensorflow=4.0) if run.trial.devices == 1]
    title = calls_title(runs, CORE)

    assert title.startswith("A first call takes ") and " to " in title


def test_several_devices_are_told_of_warm_calls_or_asked_about():
    gain = make_verdict(1.3)
    assert devices_title([gain]) == "Warm calls, 2 devices (ddp) vs 1 device: faster"
    assert devices_title([make_verdict(1.3, blocks=1)]) == devices_title([]) == CONVOLUTIONS_QUESTION


def of_devices(two_s, share=0.5, **more):
    """Return what is said of one device that takes 1 s, and two that take so many, of each a share in the kernel."""
    trials = [library_trial("torch", **{**SHAPE, "images": 840}, devices=devices) for devices in (1, 2)]
    runs = make_runs(trials[:1], 1.0) + make_runs(trials[1:], two_s, shares={"kernel": share}, **more)
    return beyond_sharing(device_verdicts(runs), runs)


def test_what_an_image_takes_in_the_kernel_is_said_where_it_is_why_devices_bring_more_than_their_number():
    assert of_devices(0.25) == [
        "PyTorch: in its kernel an image takes 298 µs on each of 2 devices, which have 420 of them, and 595 µs on one "
        "that has all 840. So they bring more than 2 times as much."
    ]
    assert of_devices(0.25, share=0.95) == [], "it takes about as long"
    assert of_devices(0.25, share=1.2) == []


def test_nothing_is_said_of_devices_that_share_or_where_nothing_is_decided():
    assert of_devices(0.5) == of_devices(0.51) == []
    assert of_devices(0.25, blocks=2) == []


def test_a_point_beyond_the_devices_with_an_interval_that_is_not_is_no_finding():
    assert of_devices(lambda trial, block: 0.3 if block else 0.6) == []
