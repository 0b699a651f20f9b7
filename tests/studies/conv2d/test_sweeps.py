"""From what size on a device wins, on planted curves."""

from __future__ import annotations

import pytest

from conv2d_data import BLOCKS, PAIR, grid, look, make_run, make_runs, make_trial, planted, swept
from conv2d_data import SWEEP_SIZE as SIZES
from trainspeed.core.convolution import CPU_LIBRARIES
from trainspeed.judge.crossover import CrossoverKind
from trainspeed.studies.conv2d.sweeps import (
    crossovers,
    grown,
    halved_sentences,
    not_grown_sentences,
    worth_telling,
)
from trainspeed.studies.conv2d.trials import library_trial

# Crossovers: an overhead and a cost for each unit on the device, a larger cost on the CPU.


@pytest.mark.parametrize(
    ("factor", "values", "filters", "curve"),
    [
        ("images", [1, 2, 4, 8, 16, 32, 64], 0, (0.25, 0.01, 0.035)),
        ("channels", [1, 4, 8, 12, 16, 64], 0, (0.25, 0.01, 0.035)),
        ("channels", [1, 4, 8, 12, 16, 64], 16, (0.25, 0.01, 0.035)),
        ("filter_size", [3, 5, 8, 12, 20], 0, (0.25, 0.01, 0.035)),
    ],
)
@pytest.mark.parametrize("blocks", [1, BLOCKS])
def test_the_crossover_is_where_the_overhead_is_paid_off(factor, values, filters, curve, blocks):
    a, b, c = curve
    runs = swept(factor, values, planted(factor, *curve), filters=filters, blocks=blocks)
    (sweep,) = look(runs, factor, values, filters=filters)

    assert sweep.factor == factor
    assert [point.size for point in sweep.crossover.points] == values
    assert (sweep.crossover.kind, sweep.crossover.rising) == (CrossoverKind.SINGLE, True)
    assert sweep.crossover.bracket == (8, 16 if factor == "images" else 12)
    assert sweep.crossover.size == pytest.approx(a / (c - b), rel=0.03)
    for point in sweep.crossover.points:
        assert point.speedup == pytest.approx(c * point.size / (a + b * point.size))
    if blocks == BLOCKS:
        assert sweep.crossover.low <= a / (c - b) <= sweep.crossover.high
    else:
        assert sweep.crossover.low is None


@pytest.mark.parametrize(
    ("curve", "kind"), [((0.001, 0.01, 0.1), CrossoverKind.ALWAYS), ((9, 0.1, 0.1), CrossoverKind.NEVER)]
)
def test_a_device_that_always_or_never_wins_has_no_crossover(curve, kind):
    (sweep,) = look(swept("images", [1, 8, 64], planted("images", *curve)), "images", [1, 8, 64])

    assert (sweep.crossover.kind, sweep.crossover.size) == (kind, None)
    assert "not within the sizes tried (1 to 64 images)" in sweep.sentence


def test_every_device_is_held_against_every_baseline():
    libraries = (["tensorflow", "torch"], ["scipy_signal", "opencv"])
    seconds = {"tensorflow": 2.0, "torch": 1.0, "scipy_signal": 8.0, "opencv": 0.5}
    runs = swept("images", [1, 8], lambda t, _: seconds[t.library], libraries=libraries)
    found = look(runs, "images", [1, 8], libraries=libraries)

    speedups = {(s.device.library, s.cpu.library): {p.speedup for p in s.crossover.points} for s in found}
    assert speedups == {
        ("tensorflow", "scipy_signal"): {4.0},
        ("tensorflow", "opencv"): {0.25},
        ("torch", "scipy_signal"): {8.0},
        ("torch", "opencv"): {0.5},
    }


def test_the_articles_size_belongs_to_the_sweep_over_images():
    core = make_runs([make_trial("tensorflow"), make_trial("scipy_signal")], 1.0)
    (sweep,) = look(core + swept("images", [1, 12], planted("images", 1, 1, 2)), "images", [1, 12])

    assert [point.size for point in sweep.crossover.points] == [1, 12, 840]


@pytest.mark.parametrize(
    "other",
    [
        {"filter_size": 5},
        {"height": 50},
        {"width": 101},
        {"channels": 2},
        {"filters": 2},
        {"devices": 2},
        {"calls": 20},
    ],
)
def test_another_size_never_leaks_into_the_sweep_over_images(other):
    strangers = [make_trial("tensorflow", **other)]
    strangers += [make_trial("scipy_signal", **other)] if "devices" not in other else []
    runs = make_runs([*strangers, make_trial("scipy_signal")], 1.0)
    (sweep,) = look(runs + swept("images", [1, 12], planted("images", 1, 1, 2)), "images", [1, 12])

    assert [point.size for point in sweep.crossover.points] == [1, 12]


@pytest.mark.parametrize("spec", ["tensorflow eager", "tensorflow cpu", "keras", "jax"])
def test_another_library_mode_or_processor_never_leaks_into_a_sweep(spec):
    runs = make_runs([make_trial(spec), make_trial("scipy_signal")], 1.0)
    (sweep,) = look(runs + swept("images", [1, 12], planted("images", 1, 1, 2)), "images", [1, 12])

    assert [point.size for point in sweep.crossover.points] == [1, 12]


@pytest.mark.parametrize(
    ("filters", "stranger"), [(0, {"channels": 8, "filters": 16}), (16, {"channels": 8, "filters": 8})]
)
def test_another_number_of_filters_never_leaks_into_the_sweep_over_channels(filters, stranger):
    pair = [library_trial(name, **{**SIZES, **stranger}) for name in ("tensorflow", "scipy_signal")]
    runs = swept("channels", [1, 64], planted("channels", 1, 1, 2), filters=filters)
    (sweep,) = look(runs + make_runs(pair, 1.0), "channels", [1, 64], filters=filters)

    assert [point.size for point in sweep.crossover.points] == [1, 64]


def test_each_sweep_has_its_own_sizes_only():
    values = {"images": [1, 12, 84], "channels": [1, 10], "filter_size": [3, 10]}
    trials = grid(*PAIR, values, **SIZES).trials()
    found = crossovers(make_runs(trials, 1.0, blocks=1), grid(*PAIR, values, **SIZES))

    assert {s.factor: [p.size for p in s.crossover.points] for s in found} == values


def test_blocks_are_paired_and_drift_cancels():
    """Every block is twice as slow as the one before, on both sides."""
    runs = swept("images", [1, 8], lambda t, block: 2.0**block * (3 if t.library in CPU_LIBRARIES else 1))
    (sweep,) = look(runs, "images", [1, 8])

    assert {(p.low, p.speedup, p.high) for p in sweep.crossover.points} == {(3.0, 3.0, 3.0)}


def test_a_block_that_only_one_of_them_has_does_not_count():
    runs = swept("images", [1, 8], lambda t, b: None if (t.library, b) == ("tensorflow", 2) else 1.0)
    (sweep,) = look(runs, "images", [1, 8])

    assert {point.low for point in sweep.crossover.points} == {None}, "5 blocks have no interval"


def test_a_size_that_one_of_them_never_ran_at_is_no_point():
    runs = swept(
        "images",
        [1, 8, 64],
        lambda t, b: None if (t.library, t.images) == ("opencv", 64) else 1.0,
        libraries=(["torch"], ["opencv"]),
    )
    (sweep,) = look(runs, "images", [1, 8, 64], libraries=(["torch"], ["opencv"]))

    assert [point.size for point in sweep.crossover.points] == [1, 8]


def test_a_seed_of_the_notebook_changes_nothing():
    values = {"images": [1, 64]}
    trials = grid(*PAIR, values, **SIZES, seed=5).trials()
    (sweep,) = crossovers(make_runs(trials, planted("images", 1, 1, 2)), grid(*PAIR, values, **SIZES, seed=5))

    assert [point.size for point in sweep.crossover.points] == [1, 64]


def test_a_sweep_without_sizes_is_not_looked_at():
    assert look([], "images", []) == []


def test_a_sweep_without_runs_says_so():
    (sweep,) = look([], "images", [1, 8])

    assert sweep.crossover.kind == CrossoverKind.UNDECIDED
    assert "no size was measured in both" in sweep.sentence


# In words.


def test_what_did_not_grow_is_one_sentence_for_all_pairs():
    pairs, sizes = (["torch", "jax"], ["opencv"]), {"images": [1, 8], "channels": [1, 8], "filter_size": [3]}
    looked = grid(*pairs, sizes, **SIZES)
    runs = make_runs(
        [trial for sweep in looked.sweeps("images") for n in (1, 8) for trial in sweep.at(n)], 1.0
    )
    found = crossovers(runs, looked)

    assert {sweep.factor for sweep in grown(found)} == {"images"}
    assert not_grown_sentences(found) == [
        "Not known here: from what number of channels or size of the filter on which library is faster; no two sizes "
        "were measured."
    ]
    assert not_grown_sentences(grown(found)) == grown(crossovers([], looked)) == []


def test_of_the_other_pairs_only_those_with_a_crossover_are_worth_telling():
    sizes, pairs = {"images": [1, 64]}, (["torch", "jax"], ["opencv", "scipy_fft"])
    trials = grid(*pairs, sizes, **SIZES).trials()
    seconds = {
        "torch": lambda n: 1.0,
        "jax": lambda n: 10.0,
        "opencv": lambda n: 2.0,
        "scipy_fft": lambda n: n / 2,
    }
    runs = make_runs(trials, lambda t, _: seconds[t.library](t.images))
    sweeps = crossovers(runs, grid(*pairs, sizes, **SIZES))

    assert [(s.device.library, s.cpu.library, str(s.crossover.kind)) for s in worth_telling(sweeps)] == [
        ("torch", "opencv", "always"),
        ("torch", "scipy_fft", "found"),
        ("jax", "scipy_fft", "found"),
    ]
    assert worth_telling([]) == []


def test_a_sweep_says_who_wins_from_where_and_what_is_held():
    values = [3, 5, 8, 12, 20]
    runs = swept("filter_size", values, planted("filter_size", 0.25, 0.01, 0.035))
    (sweep,) = look(runs, "filter_size", values)

    assert sweep.sentence.startswith(
        "TensorFlow (graph) is faster than scipy.signal.convolve2d from about 11 px of filter on"
    )
    assert sweep.sentence.endswith(" (12 images of 100×100, 1 channel, 1 filter).")


def test_a_framework_on_the_cpu_is_said_to_be_there_once():
    libraries = (["torch"], ["torch cpu"])
    (sweep,) = look(swept("images", [1, 8], 1.0, libraries=libraries), "images", [1, 8], libraries=libraries)

    assert sweep.sentence.count("on the CPU") == 1
    assert "PyTorch on the CPU" in sweep.sentence


def test_a_sweep_over_images_says_how_large_they_are():
    (sweep,) = look(swept("images", [1, 8], 1.0), "images", [1, 8])

    assert "100×100" in sweep.sentence


def test_a_sweep_over_channels_says_how_many_filters_there_are():
    fixed, follow = [
        look(swept("channels", [1, 8], 1.0, filters=count), "channels", [1, 8], filters=count)[0].sentence
        for count in (16, 0)
    ]

    assert fixed.endswith(" (12 images of 100×100, 16 filters, 3×3).")
    assert follow.endswith(" (as many filters, 12 images of 100×100, 3×3).")


def test_brackets_are_said_to_be_halved_only_where_sizes_were_measured_for_that():
    assert halved_sentences([]) == []
    runs = [make_run(make_trial(images=5), block=block) for block in range(2)]
    assert halved_sentences(runs) == ["1 more size was measured, each to halve the bracket of a crossover."]
