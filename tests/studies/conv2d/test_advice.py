"""What to do about a convolution instead, from planted wins; and the lines to copy."""

from __future__ import annotations

import pytest

from conv2d_data import (
    ARTICLE_SIZE,
    BLOCKS,
    CORE,
    NOISE,
    PAIR,
    SWEEP_SIZE,
    grid,
    make_run,
    make_runs,
    on_cores,
    planted_world,
)
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.advice import advice, fastest_code
from trainspeed.studies.conv2d.calls import Calls
from trainspeed.studies.conv2d.sweeps import crossovers
from trainspeed.studies.conv2d.trials import core_trials

CASE = Calls(CORE[0]).names["case"]


def advised(runs, *, core=CORE, sweeps=()):
    return advice(runs, core, sweeps)


def with_word(sentences, word):
    return [text for text in sentences if word in text]


# The device or the CPU.


def test_the_device_that_wins_is_to_be_used():
    said = advised(planted_world(torch=1.0, opencv=2.0))

    assert f"For {CASE}, use the device: PyTorch is 2.00x (2.00 to 2.00) as fast as OpenCV filter2D." in said


def test_the_cpu_that_wins_is_to_be_stayed_on():
    said = advised(planted_world(torch=2.0, opencv=0.5))

    assert f"For {CASE}, stay on the CPU: OpenCV filter2D is 4.00x (4.00 to 4.00) as fast as PyTorch." in said


def test_of_two_that_are_equally_fast_the_simpler_one_will_do():
    said = advised(planted_world(torch=2.0, opencv=2.0))

    assert f"For {CASE}, PyTorch and OpenCV filter2D are equally fast: take what is simpler." in said


@pytest.mark.parametrize(
    ("runs", "decides"),
    [
        (planted_world(blocks=1, torch=1.0, opencv=2.0), ": measure 6 blocks or more"),
        (
            make_runs(CORE, lambda t, b: {"torch": NOISE[b], "opencv": 1.0}.get(t.library, 4.0), first=0.1),
            ", and more than 45 blocks would be needed to decide it: take what is simpler",
        ),
    ],
    ids=["one block", "noise"],
)
def test_what_is_undecided_says_so_and_asks_for_no_more_blocks_than_would_decide_it(runs, decides):
    (said,) = with_word(advised(runs), CASE)

    assert said == f"Whether PyTorch or OpenCV filter2D is faster for {CASE} is undecided{decides}."


@pytest.mark.parametrize(("opencv", "fast", "slow"), [(3.0, "PyTorch", "OpenCV"), (0.5, "OpenCV", "PyTorch")])
def test_where_no_gpu_was_used_libraries_are_compared_and_no_device(opencv, fast, slow):
    said = advised(on_cores(planted_world(torch=1.0, opencv=opencv, resident=0.25)))

    assert said[0].startswith(f"For {CASE}, use {fast}") and f"as fast as {slow}" in said[0]
    assert said[-1] == (
        "No GPU was used: libraries were compared on CPU cores, at one size, and a device here is such a core."
    )
    assert with_word(said[:-1], "device") == with_word(said, "stay on the CPU") == []


def test_cpu_cores_that_share_the_images_are_called_so():
    runs = on_cores(make_runs(CORE, lambda t, _: {1: 4.0, 2: 1.0, 4: 2.0}[t.devices]))

    said = "2 CPU cores share the images: 4.00x (4.00 to 4.00) over one core; a plain script uses all cores."
    assert f"TensorFlow (graph): {said}" in advised(runs)


def test_a_gpu_that_was_used_is_a_device():
    assert with_word(advised(planted_world(torch=1.0, opencv=2.0)), "No GPU") == []


@pytest.mark.parametrize("names", [["torch"], ["opencv"]])
def test_without_both_nothing_is_said_of_the_size(names):
    core = core_trials(names, [], [], **ARTICLE_SIZE)

    assert with_word(advised(planted_world(core), core=core), CASE) == []


def test_where_nothing_was_measured_nothing_is_advised():
    failed = [make_run(trial, status=Status.CRASHED) for trial in CORE]

    assert advised([]) == advised(failed) == []
    assert fastest_code([], CORE) == fastest_code(failed, CORE) == []


# Devices.


def test_the_number_of_devices_that_won_most_is_to_share_the_images():
    runs = make_runs(CORE, lambda t, _: {1: 4.0, 2: 1.0, 4: 2.0}[t.devices])

    assert "TensorFlow (graph): share the images over 2 devices: 4.00x (4.00 to 4.00)." in advised(runs)


def test_devices_that_gain_nothing_are_not_to_be_used():
    runs = make_runs(CORE, lambda t, _: {1: 4.0, 2: 4.0, 4: 8.0}[t.devices])

    assert "TensorFlow (graph): stay on one device; no other number was faster." in advised(runs)


def test_undecided_devices_are_neither_to_be_used_nor_not():
    runs = make_runs(CORE, lambda t, b: NOISE[b] if t.devices > 1 else 1.0)

    assert with_word(advised(runs), "share the images") == with_word(advised(runs), "stay on one") == []


# Data that stay, calls before, images in a call.


def test_data_are_to_stay_where_that_is_faster():
    (said,) = with_word(advised(planted_world(resident=0.25)), "round trip")

    assert said.startswith("In TensorFlow (graph) and PyTorch, keep images and results on the device ")
    assert said.endswith("that takes 25 % (25 % to 25 %) and 25 % (25 % to 25 %) of a round trip.")


@pytest.mark.parametrize(
    "runs", [planted_world(resident=1.0), planted_world(resident=0.25, blocks=5), planted_world(resident=2.0)]
)
def test_data_need_not_stay_where_that_is_not_known_to_be_faster(runs):
    assert with_word(advised(runs), "round trip") == []


@pytest.mark.parametrize(("first", "said"), [(20.0, True), (4.1, True), (3.9, False), (2.0, False)])
def test_a_slow_first_call_is_to_be_made_before(first, said):
    """PyTorch is the fastest on the device: 2 s a call. From twice that on it is worth a sentence."""
    sentences = with_word(advised(planted_world(torch=2.0, first=first)), "before the one that counts")

    assert (
        sentences
        == [
            "Make a call before the one that counts: in PyTorch the first one of a process takes "
            f"{first / 2:.1f} times ({first / 2:.1f} to {first / 2:.1f}) as long as a later one."
        ]
        * said
    )


def test_a_first_call_of_too_few_blocks_for_an_interval_says_that_it_has_none():
    (said,) = with_word(advised(planted_world(torch=2.0, first=20.0, blocks=5)), "before the one that counts")

    assert said.endswith("takes 10.0 times (no interval) as long as a later one.")


def test_a_very_slow_first_call_has_no_decimals():
    (said,) = with_word(
        advised(planted_world(torch=2.0, first=9254.2, blocks=5)), "before the one that counts"
    )

    assert said.endswith("takes 4,627 times (no interval) as long as a later one.")


def test_the_interval_of_a_slower_device_is_turned_around_with_its_factor():
    """OpenCV takes 1 s, PyTorch 4 s times a noise of up to 1.5: OpenCV is 4 to 6 times as fast."""
    (said,) = with_word(advised(make_runs(CORE, lambda t, b: noisy(t, b), first=0.1)), "stay on the CPU")

    assert said == f"For {CASE}, stay on the CPU: OpenCV filter2D is 5.00x (4.00 to 6.00) as fast as PyTorch."


def noisy(trial, block):
    """Return the seconds of a call: of OpenCV 1, of PyTorch 4, 5 and 6 in turn, of others 8."""
    return {"opencv": 1.0, "torch": 4.0 + block % 3}.get(trial.library, 8.0)


def swept(a, b, c, *, blocks=BLOCKS, factor="images", values=(1, 4, 8, 12, 16, 64)):
    """Return the sweep of a device that takes a + b n against a CPU that takes c n."""
    trials = grid(*PAIR, {factor: values}, **SWEEP_SIZE).trials()
    runs = make_runs(
        trials,
        lambda t, _: (
            (c if t.library == "scipy_signal" else b) * getattr(t, factor) + (t.library == "tensorflow") * a
        ),
        blocks=blocks,
    )
    return crossovers(runs, grid(*PAIR, {factor: values}, **SWEEP_SIZE))


def test_images_are_to_be_put_into_a_call_from_the_crossover_on():
    assert advised([], sweeps=swept(0.25, 0.01, 0.035)) == [
        "Put about 11 images or more into a call of TensorFlow (graph); for fewer, scipy.signal.convolve2d is faster."
    ]


def test_images_are_to_be_kept_below_a_crossover_that_falls():
    """The CPU has the overhead here: see it as the device's, below nought."""
    (said,) = advised([], sweeps=swept(-0.005, 0.01, 0.0095))

    assert said.startswith(
        "Put no more than about 10 images into a call of TensorFlow (graph); beyond, scipy"
    )


def test_between_sizes_that_are_far_apart_no_number_of_images_is_advised():
    assert advised([], sweeps=swept(0.25, 0.01, 0.035, values=(1, 64))) == [
        "Images in a call: with 1 scipy.signal.convolve2d is faster, with 64 TensorFlow (graph); measure sizes "
        "between (`image_counts`)."
    ]


def test_a_crossover_of_channels_is_no_advice_about_images():
    assert advised([], sweeps=swept(0.25, 0.01, 0.035, factor="channels")) == []


@pytest.mark.parametrize("curve", [(0.001, 0.01, 0.1), (9, 0.1, 0.1)])
def test_without_a_crossover_no_number_of_images_is_advised(curve):
    assert advised([], sweeps=swept(*curve)) == []


def test_a_crossover_by_one_block_is_not_told_as_one_that_was_decided():
    assert advised([], sweeps=swept(0.25, 0.01, 0.035, blocks=1)) == []
