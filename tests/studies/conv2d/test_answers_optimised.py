"""The article's guess that TensorFlow is not optimised, in worlds where the answer is planted."""

from __future__ import annotations

import pytest

from conv2d_data import (
    ARTICLE_SIZE,
    asked,
    by_library,
    make_runs,
    noisy_arm,
    world,
)
from trainspeed.articles.claims import Result
from trainspeed.studies.conv2d.trials import core_trials

AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result
SURE = 8  # blocks with which one of two or three comparisons decides alone


# TensorFlow is not optimised.


@pytest.mark.parametrize(("seconds", "answer"), [(1.0, AGREES), (4.0, DISAGREES), (16.0, DISAGREES)])
def test_it_is_not_optimised_where_another_library_is_faster_on_the_device(seconds, answer):
    got, why = asked("unoptimised", world(torch=seconds))

    assert got == answer
    assert why.startswith(f"Here PyTorch vs TensorFlow (graph): {4 / seconds:.2f}x")


def test_one_that_is_faster_is_enough_and_every_one_is_told():
    core = core_trials(["tensorflow", "torch", "jax", "keras"], [], [], **ARTICLE_SIZE)
    runs = make_runs(core, by_library(tensorflow=4.0, torch=8.0, jax=1.0, keras=4.0), blocks=SURE)
    answer, why = asked("unoptimised", runs, core=core)

    assert answer == AGREES
    assert [text in why for text in ("0.50x", "4.00x", "1.00x")] == [True] * 3


def test_a_library_of_the_cpu_does_not_tell_whether_it_is_optimised_for_the_device():
    assert asked("unoptimised", world(opencv=1e-3))[0] == DISAGREES


def test_noise_leaves_it_open_whether_it_is_optimised():
    assert asked("unoptimised", noisy_arm("torch"))[0] == UNDECIDED


def test_without_another_library_it_is_not_known_whether_it_is_optimised():
    core = core_trials(["tensorflow", "opencv"], [], [], **ARTICLE_SIZE)

    assert asked("unoptimised", world(core), core=core)[0] == UNMEASURED


def test_without_tensorflow_it_is_not_known_whether_it_is_optimised():
    core = core_trials(["torch", "jax"], [], [], **ARTICLE_SIZE)
    answer, why = asked("unoptimised", make_runs(core, by_library(torch=1.0, jax=2.0)), core=core)

    assert (answer, why) == (UNMEASURED, "TensorFlow was not measured on the device.")
