"""Which sizes of the sweeps are measured, and which pairs of libraries."""

from __future__ import annotations

import pytest

from conv2d_data import PAIR, grid
from conv2d_data import SWEEP_SIZE as SIZES
from trainspeed.conduct.estimates import call_s
from trainspeed.core.errors import UserError


def sizes_of(trials, factor="images"):
    return [getattr(trial, factor) for trial in trials]


@pytest.mark.parametrize(("filters", "expected"), [(0, [1, 10, 64]), (16, [16, 16, 16])])
def test_filters_follow_the_channels_or_are_fixed(filters, expected):
    trials = grid(["torch"], [], {"channels": [1, 10, 64]}, filters=filters, **SIZES).trials()

    assert sizes_of(trials, "channels") == [1, 10, 64]
    assert sizes_of(trials, "filters") == expected


@pytest.mark.parametrize("factor", ["images", "filter_size"])
def test_in_the_other_sweeps_there_is_one_filter_whatever_that_of_channels_has(factor):
    trials = grid(["torch"], [], {factor: [4, 8]}, filters=16, **SIZES).trials()

    assert sizes_of(trials, factor) == [4, 8]
    assert {trial.filters for trial in trials} == {1}


def test_a_size_that_two_sweeps_share_is_one_trial():
    sweeps = {"images": [12, 84], "channels": [1, 10], "filter_size": [3, 5]}
    trials = grid(*PAIR, sweeps, **SIZES).trials()

    assert len(trials) == len(set(trials)) == 2 * 4, "12 images, 1 channel and 3 px are the same"


def test_an_unknown_sweep_is_refused():
    with pytest.raises(UserError, match=r"unknown sweep 'chanels'.*channels"):
        grid(*PAIR, {"chanels": [1]}, longest_call_s=1, **SIZES).trials()


def test_what_would_take_too_long_is_left_out_and_exactly_that_is_named():
    arguments = (*PAIR, {"channels": [1, 8, 64], "images": [12, 9000]})
    every = grid(*arguments, **SIZES).trials()
    kept = grid(*arguments, longest_call_s=3.0, **SIZES).trials()
    said = grid(*arguments, longest_call_s=3.0, **SIZES).left_out_sentences()

    left_out = [trial for trial in every if trial not in kept]
    assert {call_s(trial) > 3 for trial in left_out} == {True}
    assert {call_s(trial) > 3 for trial in kept} == {False}
    assert {t.channels for t in left_out if t.library == "scipy_signal"} == {1, 64}, (
        "64 channels, 9000 images"
    )
    assert len(said) == len(left_out) > 0
    for trial, sentence in zip(left_out, said, strict=True):
        assert f"{trial.images} images of 100×100" in sentence
        assert f"{trial.channels} channel" in sentence
        assert "longest_call_s is 3" in sentence


def test_nothing_is_said_where_nothing_is_left_out():
    assert grid(*PAIR, {"images": [1]}, longest_call_s=60, **SIZES).left_out_sentences() == []


def test_the_time_of_what_is_left_out_is_longer_than_what_is_allowed():
    (said,) = grid([], ["scipy_signal"], {"images": [12]}, longest_call_s=1e-3, **SIZES).left_out_sentences()

    assert float(said.split("about ")[1].split(" s")[0]) > 1e-3


def test_there_is_a_sweep_for_each_pair_of_libraries_at_its_first_size():
    sizes = {"images": [1, 12], "channels": [10, 64], "filter_size": []}
    made = grid(["torch", "jax"], ["opencv", "scipy_fft"], sizes, **SIZES, seed=5)
    images, channels = made.sweeps("images"), made.sweeps("channels")

    for sweeps in (images, channels):
        assert [(s.device.library, s.cpu.library) for s in sweeps] == [
            ("torch", "opencv"),
            ("torch", "scipy_fft"),
            ("jax", "opencv"),
            ("jax", "scipy_fft"),
        ]
    assert {s.device.images for s in images} == {1}
    assert {(s.device.channels, s.device.filters) for s in channels} == {(10, 10)}
    assert {trial.seed for s in (*images, *channels) for trial in s.at(64)} == {0}
    assert made.sweeps("filter_size") == []


@pytest.mark.parametrize("libraries", [([], ["opencv"]), (["torch"], [])])
def test_without_a_pair_there_is_no_sweep(libraries):
    assert grid(*libraries, {"images": [1]}, **SIZES).sweeps("images") == []
