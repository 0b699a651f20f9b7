"""The article's findings and guesses, in worlds where the answer is planted."""

from __future__ import annotations

import re

import pytest

from conv2d_data import (
    ARTICLE_LIBRARIES,
    ARTICLE_SIZE,
    BLOCKS,
    CORE,
    CPU_MACHINE,
    GPU_MACHINE,
    NOISE,
    PAIR,
    SWEEP_SIZE,
    asked,
    grid,
    make_run,
    make_runs,
    make_trial,
    noisy_arm,
    world,
)
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.text import reason
from trainspeed.studies.conv2d.answers import EXPERIMENTS, NO_GPU, Measurements, claim_answers
from trainspeed.studies.conv2d.trials import core_trials

AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result
SURE = 8  # blocks with which one of two or three comparisons decides alone


# What there is to answer.


def test_every_claim_of_the_article_has_an_experiment_and_the_reverse():
    assert [claim.id for claim in claims("conv2d")] == [*EXPERIMENTS]


@pytest.mark.parametrize("machine", [CPU_MACHINE, GPU_MACHINE, {}])
@pytest.mark.parametrize("blocks", [0, 1, BLOCKS])
def test_every_claim_is_answered_whatever_was_measured(machine, blocks):
    runs = world(blocks=blocks)
    held = Measurements(
        runs=runs,
        machine=machine,
        core=CORE,
        grid=grid(*PAIR, {}, **SWEEP_SIZE),
    )
    answered = claim_answers(held)

    assert [answer.claim.id for answer in answered] == [*EXPERIMENTS]
    for answer in answered:
        why = reason(answer)
        assert why.endswith(".")
        assert not re.search(r"None|nan|\.\.", why)
        told = answer.result == UNMEASURED or "GPU" in why
        assert why.endswith(NO_GPU) is (machine is not GPU_MACHINE and not told)


@pytest.mark.parametrize("machine", [CPU_MACHINE, {**GPU_MACHINE, "device": "cpu"}])
def test_what_is_about_gpus_is_not_measured_where_none_was_used(machine):
    """TRAINSPEED_DEVICE=cpu: there are GPUs, and the devices are cores."""
    held = Measurements(runs=world(), machine=machine, core=CORE, grid=grid(*PAIR, {}, **SWEEP_SIZE))
    answered = {answer.claim.id: answer for answer in claim_answers(held)}

    of_gpus = {name for name, answer in answered.items() if "none was used here" in answer.note}
    assert of_gpus == {"cpu_wins", "few_gpus_slow", "no_scaling", "stay_on_device", "memory_swap"}
    assert {answered[name].result for name in of_gpus} == {UNMEASURED}
    assert answered["unoptimised"].result != UNMEASURED


def test_with_one_block_nothing_is_supported_or_refuted_by_time():
    runs = world(blocks=1, scipy_signal=1.0, torch=1.0)

    for claim in EXPERIMENTS.keys() - {"memory_swap"}:
        assert asked(claim, runs)[0] in (UNDECIDED, UNMEASURED)


# One CPU is faster.


@pytest.mark.parametrize(("seconds", "answer"), [(0.5, AGREES), (4.0, DISAGREES), (1.0, DISAGREES)])
def test_the_cpu_wins_where_its_warm_calls_are_faster_than_those_of_the_most_devices(seconds, answer):
    """Four devices take 1 s, and one takes 4 s."""
    got, why = asked("cpu_wins", world(scipy_signal=seconds))

    assert got == answer
    assert (
        f"scipy.signal.convolve2d vs TensorFlow (graph) on 4 devices, warm calls: {1 / seconds:.2f}x" in why
    )


def test_of_one_device_no_number_is_told():
    core = core_trials(ARTICLE_LIBRARIES, [], [], **ARTICLE_SIZE)
    answer, why = asked("cpu_wins", world(core, scipy_signal=1.0), core=core)

    assert answer == AGREES
    assert why.startswith("Here scipy.signal.convolve2d vs TensorFlow (graph), warm calls: 4.00x")


def test_noise_leaves_it_open_whether_the_cpu_wins():
    assert asked("cpu_wins", noisy_arm("scipy_signal"))[0] == UNDECIDED


def test_the_cpu_that_was_not_measured_did_not_win():
    core = core_trials(["tensorflow"], [], [], **ARTICLE_SIZE)
    answer, why = asked("cpu_wins", make_runs(core, 1.0), core=core)

    assert (answer, why) == (UNMEASURED, "No library was measured on the CPU.")


def test_first_calls_are_told_apart_from_warm_ones():
    runs = make_runs([make_trial("tensorflow")], 1.0, first=30.0)
    runs += make_runs([make_trial("scipy_signal")], 2.0, first=3.0)
    answer, why = asked("cpu_wins", runs)

    assert answer == DISAGREES
    assert "warm calls: 0.50x" in why
    assert "the first call of each: 10.00x" in why


def test_the_cpu_is_held_against_all_devices_as_the_claim_has_it():
    """The CPU beats one device, and four devices beat the CPU."""
    assert asked("cpu_wins", world(scipy_signal=2.0))[0] == DISAGREES


# More devices.


def cold_on(seconds, warm=1.0, core=CORE, blocks=SURE):
    """Return runs whose first call takes so long by the number of devices."""
    return [
        run
        for trial in core
        for block in range(blocks)
        for took in [seconds[trial.devices]]
        for run in [make_run(trial, warm, block=block, first=took(block) if callable(took) else took)]
    ]


def far_and_wide(block):
    """About twice as long as 4 s, from once to four times."""
    return 8 * NOISE[block % len(NOISE)]


@pytest.mark.parametrize(
    ("seconds", "answer", "told"),
    [
        (
            {1: 16.0, 2: 8.0, 4: 4.0},
            UNDECIDED,
            ["4.00x (95 % interval 4.00 to 4.00)", "2.00x (95 % interval 2.00 to 2.00)"],
        ),
        ({1: 16.0, 2: 8.1, 4: 4.0}, AGREES, ["4.00x", "2.02x"]),
        ({1: 16.0, 2: 7.9, 4: 4.0}, DISAGREES, ["4.00x", "1.98x"]),
        ({1: 8.0, 2: 8.0, 4: 8.0}, DISAGREES, ["1.00x"]),
        ({1: 8.0, 2: 9.0, 4: 16.0}, DISAGREES, ["0.50x"]),
        ({1: 16.0, 2: far_and_wide, 4: 4.0}, UNDECIDED, ["2.50x (95 % interval 1.00 to 4.00)"]),
        ({1: 4.0, 2: far_and_wide, 4: 4.0}, DISAGREES, ["1.00x"]),
    ],
)
def test_few_devices_are_extremely_slow_where_every_first_call_takes_twice_that_on_the_most(
    seconds, answer, told
):
    """By the interval's low end; one number of devices that surely takes less than twice refutes it."""
    got, why = asked("few_gpus_slow", cold_on(seconds))

    assert got == answer
    assert why.startswith("Here the first call of TensorFlow (graph) on 1 over that on 4 devices: ")
    assert all(text in why for text in told)


def test_from_four_devices_on_they_are_not_few():
    core = core_trials(
        ARTICLE_LIBRARIES, ["tensorflow"], [1, 2, 3, 4, 5, 8], **{**ARTICLE_SIZE, "images": 120}
    )
    seconds = {1: 8.0, 2: 8.0, 3: 9.0, 4: 1.0, 5: 1.0, 8: 2.0}
    answer, why = asked("few_gpus_slow", cold_on(seconds, core=core), core=core)

    assert answer == AGREES
    assert [
        f"on {few} over that on 8 devices: {x}" in why
        for few, x in ((1, "4.00x"), (2, "4.00x"), (3, "4.50x"))
    ]
    assert "on 4 over" not in why


@pytest.mark.parametrize(("counts", "most"), [([1, 2], 2), ([1, 2, 3], 3), ([1], 1)], ids=["2", "3", "1"])
def test_fewer_than_four_devices_say_nothing_about_few(counts, most):
    core = core_trials(ARTICLE_LIBRARIES, ["tensorflow"], counts, **ARTICLE_SIZE)
    answer, why = asked("few_gpus_slow", world(core), core=core)

    assert (answer, why) == (UNMEASURED, f"It takes 4 devices or more, and at most {most} were measured.")


ELSEWHERE = core_trials(["tensorflow", "torch"], ["torch"], [1, 2, 4], **ARTICLE_SIZE)


def test_few_devices_of_a_library_that_was_not_spread_are_not_measured():
    assert asked("few_gpus_slow", world(ELSEWHERE), core=ELSEWHERE)[0] == UNMEASURED


@pytest.mark.parametrize("claim", ["few_gpus_slow", "no_scaling"])
def test_another_mode_of_the_library_does_not_answer_for_the_articles(claim):
    """Eager is measured on four devices first, and far slower than the graph on one: no matter."""
    core = core_trials(["tensorflow"], ["tensorflow eager", "tensorflow"], [1, 4], **ARTICLE_SIZE)
    runs = [
        run
        for trial in core
        for run in make_runs([trial], 50.0 if trial.mode == "eager" else 8.0 / trial.devices)
    ]
    answer, why = asked(claim, runs, core=core)

    assert answer == (AGREES if claim == "few_gpus_slow" else DISAGREES)
    assert "eager" not in why


@pytest.mark.parametrize(
    ("two", "four", "answer"),
    [(1.0, 0.25, DISAGREES), (1.0, 1.0, AGREES), (2.0, 4.0, AGREES), (0.5, 1.0, DISAGREES)],
)
def test_there_is_no_scaling_where_no_number_of_devices_is_faster_than_one(two, four, answer):
    runs = make_runs(CORE, lambda t, _: {1: 1.0, 2: two, 4: four}[t.devices], blocks=SURE)
    got, why = asked("no_scaling", runs)

    assert got == answer
    assert why.startswith(f"Here 2 devices vs 1, TensorFlow (graph): {1 / two:.2f}x")
    assert f"; 4 devices vs 1, TensorFlow (graph): {1 / four:.2f}x" in why


def test_one_number_of_devices_of_several_decides_by_a_wider_interval_alone():
    """Six blocks are 96.9 % sure of one comparison; of two, each has to be 97.5 % sure."""
    runs = make_runs(CORE, lambda t, _: {1: 1.0, 2: 1.0, 4: 0.25}[t.devices], blocks=6)
    got, why = asked("no_scaling", runs)

    assert got == UNDECIDED
    assert (
        "Of 2 comparisons, one alone decides only by its 97.5 % interval, which takes 7 blocks or more."
        in why
    )


def test_noise_leaves_it_open_whether_more_devices_are_faster():
    assert asked("no_scaling", noisy_arm(4, "devices"))[0] == UNDECIDED


def test_one_device_alone_says_nothing_of_scaling():
    core = core_trials(ARTICLE_LIBRARIES, ["tensorflow"], [1], **ARTICLE_SIZE)

    assert asked("no_scaling", world(core), core=core) == (
        UNMEASURED,
        "TensorFlow (graph) was measured on one device only.",
    )


def test_it_is_not_said_that_one_device_was_measured_where_others_were():
    """PyTorch was; the article's library was not."""
    assert asked("no_scaling", world(ELSEWHERE), core=ELSEWHERE) == (
        UNMEASURED,
        "TensorFlow (graph) was measured on one device only.",
    )
